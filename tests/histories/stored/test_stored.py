"""Stored conversations of each format: what is wrong is found and repaired, and nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from benchmarks.stored_conversations import thread_conversation as make_store_thread
from conformance.bad_documents import load_bad_documents, load_good_threads, make_document
from pydantic_ai import messages
from tests.histories.stored.version_4 import CALL, chats_of_version_4
from tests.model_apis.cases import CASES, Case

from tpharness.errors import TpharnessError, UsageError
from tpharness.findings import Level
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.histories.stored.formats import StoredFormat, check_stored, format_of, repair_stored, require_format
from tpharness.histories.stored.sequence import NO_RESULT
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.request import read_request
from tpharness.model_apis.rules import RULES
from tpharness.protocol.reading import check_as_read

AT = "2025-01-20T10:00:{:02d}Z"
TEXT = {"type": "text", "text": "It is warm.", "state": "done"}
START = {"type": "step-start"}


def asked(number: int) -> dict[str, Any]:
    """Return a UI message of the user."""
    return {"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": "How is it?"}]}


def answer(number: int, *parts: dict[str, Any]) -> dict[str, Any]:
    """Return a UI message of the assistant."""
    return {"id": f"a{number}", "role": "assistant", "parts": list(parts)}


def used(call_id: str, state: str = "output-available", **more: Any) -> dict[str, Any]:
    """Return the part of a call."""
    output = {"output": {"t": 18}} if state == "output-available" else {}
    return {"type": "tool-look", "toolCallId": call_id, "state": state, "input": {"at": 1}, **output, **more}


def closed(call_id: str) -> dict[str, Any]:
    """Return the part of a call of which nobody knows what became of it."""
    return used(call_id, "output-error", errorText=NO_RESULT)


LATER = (asked(2), answer(2, TEXT))
ASKED = {"approval": {"id": "p1"}}
DENIED = {"approval": {"id": "p1", "approved": False}}
FAILED = used("c1", "output-error", input={"INVALID_JSON": '{"at'}, errorText="no")

UI: Mapping[str, tuple[list[Any], list[tuple[str, str]], list[Any] | None]] = {
    "a call without an answer": (
        [asked(1), answer(1, START, used("c1", "input-available")), *LATER],
        [("stored-call-unanswered", "/1/parts/1")],
        [asked(1), *LATER],
    ),
    "one of two calls without an answer": (
        [asked(1), answer(1, START, TEXT, START, used("c1"), used("c2", "approval-requested", **ASKED), START, TEXT)],
        [("stored-call-unanswered", "/1/parts/4")],
        [asked(1), answer(1, START, TEXT, START, used("c1"), closed("c2"), START, TEXT)],
    ),
    "one of two calls that the user denied": (
        [asked(1), answer(1, START, used("c1"), used("c2", "approval-responded", **DENIED)), *LATER],
        [("stored-call-unanswered", "/1/parts/2")],
        [asked(1), answer(1, START, used("c1"), used("c2", "output-denied", **DENIED)), *LATER],
    ),
    "one of two calls that still streams": (
        [asked(1), answer(1, START, used("c1"), used("c2", "input-streaming")), *LATER],
        [("stored-call-unanswered", "/1/parts/2")],
        [asked(1), answer(1, START, used("c1")), *LATER],
    ),
    "a text that still streams beside a call": (
        [asked(1), answer(1, START, {**TEXT, "state": "streaming"}, used("c1")), *LATER],
        [("stored-still-streaming", "/1/parts/1")],
        [asked(1), answer(1, START, used("c1")), *LATER],
    ),
    "half arguments of a call that failed, beside one that did not": (
        [asked(1), answer(1, START, FAILED, used("c2"), START, TEXT)],
        [("stored-arguments-half", "/1/parts/1")],
        [asked(1), answer(1, START, used("c2"), START, TEXT)],
    ),
    "a call twice with other outputs": (
        [asked(1), answer(1, START, used("c1"), used("c1", output={"t": 2}), START, TEXT)],
        [("stored-call-doubled", "/1/parts/2")],
        None,
    ),
    "a call twice, in two answers": (
        [asked(1), answer(1, START, used("c1"), START, TEXT), asked(2), answer(2, START, used("c1"), START, TEXT)],
        [("stored-call-doubled", "/3/parts/1")],
        None,
    ),
    "a call twice, once without its answer": (
        [asked(1), answer(1, START, used("c1", "input-available"), START, used("c1"), START, TEXT)],
        [("stored-call-doubled", "/1/parts/3")],
        [asked(1), answer(1, START, used("c1"), START, TEXT)],
    ),
    "two calls with one id": (
        [asked(1), answer(1, START, used("c1"), START, used("c1", input={"at": 2}), START, TEXT)],
        [("stored-call-doubled", "/1/parts/3")],
        None,
    ),
    "a message twice": (
        [asked(1), asked(1), answer(1, TEXT)],
        [("stored-message-doubled", "/1")],
        [asked(1), answer(1, TEXT)],
    ),
    "two messages with one id": (
        [asked(1), answer(1, TEXT), answer(1, {**TEXT, "text": "It is cold."})],
        [("stored-message-doubled", "/2")],
        None,
    ),
    "half arguments of a tool that ran": (
        [asked(1), answer(1, START, used("c1", input='{"at'), START, TEXT)],
        [("stored-arguments-half", "/1/parts/1")],
        None,
    ),
    "arguments that are gone": (
        [asked(1), answer(1, START, {k: v for k, v in used("c1").items() if k != "input"}, START, TEXT)],
        [("stored-arguments-half", "/1/parts/1")],
        None,
    ),
    "the mark of a framework in a call that failed": (
        [asked(1), answer(1, START, FAILED, START, TEXT)],
        [("stored-arguments-half", "/1/parts/1")],
        [asked(1), answer(1, START, TEXT)],
    ),
    "arguments in a text": (
        [asked(1), answer(1, START, used("c1", input='{"at": 1}'), START, TEXT)],
        [("stored-arguments-in-text", "/1/parts/1/input")],
        [asked(1), answer(1, START, used("c1"), START, TEXT)],
    ),
    "states of another version": (
        [asked(1), answer(1, START, used("c1", "result", output={"t": 18}), START, {**TEXT, "state": "finished"})],
        [("stored-state-unknown", "/1/parts/1"), ("stored-state-unknown", "/1/parts/3")],
        [asked(1), answer(1, START, used("c1"), START, {"type": "text", "text": "It is warm."})],
    ),
    "an answer without parts": (
        [asked(1), answer(1, START), *LATER],
        [("stored-message-empty", "/1")],
        [asked(1), *LATER],
    ),
    "an answer that still streams": (
        [asked(1), answer(1, START, used("c1"), START, {**TEXT, "state": "streaming"}), *LATER],
        [("stored-still-streaming", "/1/parts/3")],
        [asked(1), answer(1, START, used("c1")), *LATER],
    ),
    "an answer without its output": (
        [asked(1), answer(1, {k: v for k, v in used("c1").items() if k != "output"}), *LATER],
        [("stored-malformed", "/1/parts/0")],
        None,
    ),
    "a refusal without its text": (
        [asked(1), answer(1, used("c1", "output-error")), *LATER],
        [("stored-malformed", "/1/parts/0")],
        None,
    ),
    "a tool without a name": (
        [asked(1), answer(1, {**used("c1"), "type": "tool-"}), *LATER],
        [("stored-malformed", "/1/parts/0/type")],
        None,
    ),
    "a role that is not known": ([{"role": "tool", "parts": []}], [("stored-malformed", "/0")], None),
}
"""What is wrong, where it is found, and what is left; None where nothing can be done mechanically."""

RIGHT_UI = {
    "whole": [asked(1), answer(1, START, used("c1"), START, TEXT), *LATER],
    "a call that waits at the end": [asked(1), answer(1, START, used("c1", "input-available"))],
    "a text that streams at the end": [asked(1), answer(1, START, {**TEXT, "state": "streaming"})],
    "a call of the provider": [asked(1), answer(1, used("c1", "input-available", providerExecuted=True), TEXT)],
    "arguments that the model got wrong": [
        asked(1),
        answer(1, START, used("c1", "output-error", input=None, rawInput='{"at', errorText="no"), START, TEXT),
    ],
}


def said(kind: str, second: int, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a message of Pydantic AI."""
    return {"kind": kind, "timestamp": AT.format(second), "parts": list(parts), **more}


PROMPT = {"part_kind": "user-prompt", "content": "How is it?"}
WORDS = {"part_kind": "text", "content": "It is warm."}


def called(call_id: str, args: Any = '{"at": 1}') -> dict[str, Any]:
    """Return a call."""
    return {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": call_id, "args": args}


def returned(call_id: str, outcome: str = "success") -> dict[str, Any]:
    """Return the answer of a call."""
    answered = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": call_id}
    return {**answered, "content": 18, "outcome": outcome}


REQUEST, RESPONSE = said("request", 1, PROMPT), said("response", 9, WORDS)

MESSAGES: Mapping[str, tuple[list[Any], list[tuple[str, str]], list[Any] | None]] = {
    "a call without an answer": (
        [REQUEST, said("response", 2, called("c1")), said("request", 3, PROMPT), RESPONSE],
        [("stored-call-unanswered", "/1/parts/0")],
        [REQUEST, said("request", 3, PROMPT), RESPONSE],
    ),
    "one of two calls without an answer": (
        [REQUEST, said("response", 2, called("c1"), called("c2")), said("request", 3, returned("c1")), RESPONSE],
        [("stored-call-unanswered", "/1/parts/1")],
        [
            *[REQUEST, said("response", 2, called("c1"), called("c2"))],
            *[said("request", 3, returned("c1"), {**returned("c2", "failed"), "content": NO_RESULT}), RESPONSE],
        ],
    ),
    "the first of two calls without an answer": (
        [REQUEST, said("response", 2, called("c1"), called("c2")), said("request", 3, returned("c2")), RESPONSE],
        [("stored-call-unanswered", "/1/parts/0")],
        [
            *[REQUEST, said("response", 2, called("c1"), called("c2"))],
            *[said("request", 3, {**returned("c1", "failed"), "content": NO_RESULT}, returned("c2")), RESPONSE],
        ],
    ),
    "an answer without a call": (
        [REQUEST, said("request", 3, returned("c1")), RESPONSE],
        [("stored-answer-without-call", "/1/parts/0")],
        None,
    ),
    "a refusal without a call": (
        [REQUEST, said("request", 3, returned("c1", "failed")), RESPONSE],
        [("stored-answer-without-call", "/1/parts/0")],
        [REQUEST, RESPONSE],
    ),
    "an answer behind another prompt, in time": (
        [
            *[REQUEST, said("response", 2, called("c1")), said("request", 4, PROMPT)],
            *[said("request", 3, returned("c1")), RESPONSE],
        ],
        [("stored-answer-misplaced", "/3/parts/0"), ("stored-out-of-order", "/3/timestamp")],
        [
            *[REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1"))],
            *[said("request", 4, PROMPT), RESPONSE],
        ],
    ),
    "another answer to a call": (
        [
            *[REQUEST, said("response", 2, called("c1"))],
            *[said("request", 3, returned("c1"), {**returned("c1"), "content": 55}), RESPONSE],
        ],
        [("stored-answer-doubled", "/2/parts/1")],
        None,
    ),
    "an answer behind the next response": (
        [REQUEST, said("response", 2, called("c1")), said("response", 3, WORDS), said("request", 4, returned("c1"))],
        [("stored-answer-misplaced", "/3/parts/0")],
        [
            *[REQUEST, said("response", 2, called("c1"))],
            *[said("request", 2, {**returned("c1"), "timestamp": AT.format(4)}), said("response", 3, WORDS)],
        ],
    ),
    "an answer before its call": (
        [REQUEST, said("request", 2, returned("c1")), said("response", 3, called("c1")), said("request", 4, PROMPT)],
        [("stored-answer-misplaced", "/1/parts/0")],
        [
            *[REQUEST, said("response", 3, called("c1"))],
            *[said("request", 3, {**returned("c1"), "timestamp": AT.format(2)}), said("request", 4, PROMPT)],
        ],
    ),
    "answers in another order": (
        [
            REQUEST,
            said("response", 2, called("c1"), called("c2")),
            said("request", 3, returned("c2"), returned("c1")),
            RESPONSE,
        ],
        [("stored-answers-unordered", "/2")],
        [
            REQUEST,
            said("response", 2, called("c1"), called("c2")),
            said("request", 3, returned("c1"), returned("c2")),
            RESPONSE,
        ],
    ),
    "an answer twice": (
        [REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1"), returned("c1")), RESPONSE],
        [("stored-answer-doubled", "/2/parts/1")],
        [REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1")), RESPONSE],
    ),
    "a message twice": (
        [REQUEST, REQUEST, RESPONSE],
        [("stored-message-doubled", "/1")],
        [REQUEST, RESPONSE],
    ),
    "a call twice": (
        [REQUEST, said("response", 2, called("c1"), called("c1")), said("request", 3, returned("c1")), RESPONSE],
        [("stored-call-doubled", "/1/parts/1")],
        [REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1")), RESPONSE],
    ),
    "half arguments of a call that failed": (
        [REQUEST, said("response", 2, called("c1", '{"at')), said("request", 3, returned("c1", "failed")), RESPONSE],
        [("stored-arguments-half", "/1/parts/0")],
        [REQUEST, RESPONSE],
    ),
    "the mark of half arguments in a call that succeeded": (
        [REQUEST, said("response", 2, called("c1", {"INVALID_JSON": '{"'})), said("request", 3, returned("c1"))],
        [("stored-arguments-half", "/1/parts/0")],
        None,
    ),
    "a state that is not known": (
        [REQUEST, said("response", 2, WORDS, state="done")],
        [("stored-state-unknown", "/1/state")],
        None,
    ),
    "an answer of another tool": (
        [REQUEST, said("response", 2, called("c1")), said("request", 3, {**returned("c1"), "tool_name": "book"})],
        [("return-of-another-tool", "/2/parts/0")],
        None,
    ),
    "a return without its content": (
        [
            *[REQUEST, said("response", 2, called("c1"))],
            said("request", 3, {k: v for k, v in returned("c1").items() if k != "content"}),
        ],
        [("stored-malformed", "/2/parts/0")],
        None,
    ),
    "a prompt that is null": (
        [said("request", 1, {**PROMPT, "content": None}), RESPONSE],
        [("stored-malformed", "/0/parts/0/content")],
        None,
    ),
    "a text that is not a time": (
        [REQUEST, {**RESPONSE, "timestamp": "yesterday"}],
        [("stored-malformed", "/1/timestamp")],
        None,
    ),
    "a list that is not a kind": ([{"kind": [], "parts": []}], [("stored-malformed", "/0")], None),
    "a kind that is not known": ([{"kind": "event", "parts": []}], [("stored-malformed", "/0")], None),
}

RIGHT_MESSAGES = {
    "whole": [REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1")), RESPONSE],
    "a call that waits at the end": [REQUEST, said("response", 2, called("c1"))],
    "the same again within a second": [
        *[
            said("request", 1, PROMPT),
            said("response", 1, WORDS),
            said("request", 1, PROMPT),
            said("response", 1, WORDS),
        ],
    ],
    "no arguments": [REQUEST, said("response", 2, called("c1", None), called("c2", ""))],
    "interrupted": [
        REQUEST,
        said("response", 2, called("c1", '{"at'), state="interrupted"),
        said("request", 3, PROMPT),
    ],
    "an id again": [
        *[REQUEST, said("response", 2, called("c1")), said("request", 3, returned("c1"))],
        *[said("response", 4, called("c1")), said("request", 5, returned("c1")), RESPONSE],
    ],
}

DOUBTFUL: Mapping[str, tuple[StoredFormat, list[Any], tuple[str, str]]] = {
    "a part of another program": (
        "ai-sdk",
        [asked(1), answer(1, {"type": "card", "title": "Paris"}, TEXT)],
        ("stored-part-unknown", "/1/parts/0"),
    ),
    "a part that Pydantic AI does not have": (
        "pydantic-ai",
        [REQUEST, said("response", 2, {"part_kind": "wibble"}, WORDS)],
        ("stored-part-unknown", "/1/parts/0"),
    ),
    "a message that is older than the one before it": (
        "pydantic-ai",
        [REQUEST, RESPONSE, said("request", 3, PROMPT), said("response", 12, WORDS)],
        ("stored-out-of-order", "/2/timestamp"),
    ),
}
"""What an import takes and somebody should look at: nothing has to be repaired."""

WRONG: list[Any] = [
    *(pytest.param("ai-sdk", *case, id=f"ui: {name}") for name, case in UI.items()),
    *(pytest.param("pydantic-ai", *case, id=f"pydantic: {name}") for name, case in MESSAGES.items()),
]
RIGHT: list[Any] = [
    *(pytest.param("ai-sdk", case, id=f"ui: {name}") for name, case in RIGHT_UI.items()),
    *(pytest.param("pydantic-ai", case, id=f"pydantic: {name}") for name, case in RIGHT_MESSAGES.items()),
]


@pytest.mark.parametrize(("name", "stored", "found", "repaired"), WRONG)
def test_what_is_wrong_is_found_and_repaired(
    name: StoredFormat, stored: Any, found: list[tuple[str, str]], repaired: Any
) -> None:
    """Each mistake is one finding, at its place; the repair is what a person would do by the rulings, or nothing."""
    before = copy.deepcopy(stored)
    assert [(finding.code, finding.place.pointer) for finding in check_stored(stored, name)] == found
    made = repair_stored(stored, name)
    assert stored == before
    if repaired is None:
        assert made.value is stored
        assert not made.changes
        assert {finding.code for finding in made.left} == {code for code, _ in found}
        return
    assert made.value == repaired
    mended = [(code, place) for code, place in found if code != "stored-out-of-order"]  # goes with what is misplaced
    assert sorted((change.kind.code, change.pointer) for change in made.changes) == sorted(mended)
    assert check_stored(made.value, name) == []
    again = repair_stored(made.value, name)
    assert (again.value, again.changes) == (made.value, ())
    read = thread_of_ui_messages if name == "ai-sdk" else thread_of_messages
    imported = read(made.value, agent_id="a", thread_id="t", at=AT.format(0))
    assert imported.losses == ()


@pytest.mark.parametrize(("name", "stored", "found"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_is_doubtful_is_found_and_left(name: StoredFormat, stored: Any, found: tuple[str, str]) -> None:
    """One finding at SHOULD, at its place; the repair changes nothing."""
    (finding,) = check_stored(stored, name)
    assert (finding.code, finding.place.pointer, finding.level) == (*found, Level.SHOULD)
    made = repair_stored(stored, name)
    assert not made.changes
    assert made.left == ()


def test_every_part_of_pydantic_ai_is_known() -> None:
    """Those of the release that is installed."""
    kinds = {getattr(one, "part_kind", None) for one in vars(messages).values() if isinstance(one, type)} - {None}
    assert {"text", "tool-call", "compaction"} <= kinds
    for kind in kinds:
        found = check_stored([said("response", 1, {"part_kind": kind})], "pydantic-ai")
        assert "stored-part-unknown" not in {finding.code for finding in found}, kind


@pytest.mark.parametrize(("name", "stored"), RIGHT)
def test_what_is_right_is_left_alone(name: StoredFormat, stored: Any) -> None:
    """No finding, no change; the format is recognised."""
    assert check_stored(stored, name) == []
    assert repair_stored(stored, name).value is stored
    assert format_of(stored) == name
    assert format_of({"id": 7, "messages": stored}) == name


def must(thread: Any) -> list[str]:
    """Return the codes of what breaks a rule of threads."""
    return [finding.code for finding in check_as_read(thread) if finding.level is Level.MUST]


def test_threads_are_repaired_until_they_are_valid_or_not_at_all() -> None:
    """Every document of the suite with one mistake; the rules of threads say whether it is valid then."""
    repaired = set()
    for entry, drops in product(load_bad_documents(), (False, True)):
        thread = make_document(entry)
        before = copy.deepcopy(thread)
        made = repair_stored(thread, "thread", drop_results=drops)
        assert thread == before
        if made.changes:
            assert must(made.value) == []
            assert repair_stored(made.value, "thread", drop_results=drops).changes == ()
            repaired |= {change.kind.code for change in made.changes}
        else:
            assert made.value is thread
            assert {finding.code for finding in made.left if finding.level is Level.MUST} == set(must(thread))
    assert repaired >= {
        "arguments-in-text",
        "call-answered-twice",
        "call-id-in-use",
        "complete-turn-without-end",
        "cycle-incomplete",
        "interrupted-turn-empty",
        "message-empty",
        "return-late",
        "return-without-call",
        "returns-out-of-order",
        "system-prompt-stored",
        "user-input-repeated",
    }


def test_valid_threads_do_not_change() -> None:
    """Those of the suite."""
    for thread in load_good_threads().values():
        made = repair_stored(thread, "thread")
        assert (made.value, made.changes) == (thread, ())


PROVIDER = {rule.id: rule.provider for rule in RULES}


def refused(payload: Any, name: str) -> bool:
    """Whether an API refuses a request."""
    request = read_request(payload, provider=name)
    found = check_payload(request.provider, request.payload, options=request.options)
    return any(finding.level is Level.MUST for finding in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_request_is_repaired_until_it_is_taken_or_not_at_all(case: Case) -> None:
    """For each rule of an API what breaks it, and its neighbour that does not; what is taken does not change."""
    name = require_format(PROVIDER[case.rule])
    for payload in (case.bad, case.good):
        try:
            wrong = refused(payload, name)
        except TpharnessError:
            continue
        before = copy.deepcopy(payload)
        made = repair_stored(payload, name)
        assert payload == before
        if made.changes:
            assert wrong
            assert not refused(made.value, name)
            assert repair_stored(made.value, name).changes == ()
        else:
            assert made.value is payload


REPAIRED_RULES = {"C1", "C2", "C4", "R1", "A1", "A4", "A11", "A12", "A14"}


@pytest.mark.parametrize("rule", sorted(REPAIRED_RULES))
def test_what_interrupted_chats_send_is_repaired(rule: str) -> None:
    """Calls without answers, answers without calls, what is doubled or empty, arguments in a text."""
    broken = [case for case in CASES if case.rule == rule]
    assert any(repair_stored(case.bad, require_format(PROVIDER[rule])).changes for case in broken)


def test_the_least_change_is_made() -> None:
    """Of a long request the rest is as it was, also its model and its tools."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "And?"},
    ]
    request = {"model": "gpt-5", "tools": [], "messages": messages}
    made = repair_stored(request, "openai-chat")
    assert made.value == {**request, "messages": [messages[0], messages[1], messages[3]]}
    assert [change.pointer for change in made.changes] == ["/messages/2/tool_calls/0"]


def test_an_unknown_format_is_refused() -> None:
    """With the one that is like it."""
    with pytest.raises(UsageError, match="no format of conversations is called 'ai-sdc'") as refused_:
        require_format("ai-sdc")
    assert "ai-sdk" in refused_.value.hint
    assert format_of([{"role": "user", "content": "Hi"}]) is None


@pytest.mark.parametrize("rule", ["C2", "R2"])
def test_a_result_without_its_call_is_left_out_only_if_somebody_says_so(rule: str) -> None:
    """Nothing changes otherwise, and what stands in the way is named, with what the tool returned."""
    name = require_format(PROVIDER[rule])
    told = []
    for case in (case for case in CASES if case.rule == rule):
        if (made := repair_stored(case.bad, name)).refused:
            assert made.value is case.bad
            assert made.changes == ()
            dropped = repair_stored(case.bad, name, drop_results=True)
            assert not refused(dropped.value, name)
            assert all(one.content is not None and one.call_id for one in made.refused)
            told += [(one.pointer, one.call_id) for one in dropped.changes]
    assert told


def _chat_turn(*more: Any) -> list[Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "book", "arguments": "{}"}} for i in ("c1", "c2")]
    answered = {"role": "tool", "tool_call_id": "c1", "content": "HOTEL-77"}
    return [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": calls}, answered, *more]


def _blocks(*more: Any) -> list[Any]:
    calls: list[Any] = [{"type": "tool_use", "id": i, "name": "book", "input": {}} for i in ("c1", "c2")]
    answered = {"type": "tool_result", "tool_use_id": "c1", "content": "HOTEL-77"}
    user = {"role": "user", "content": "Hi"}
    return [user, {"role": "assistant", "content": calls}, {"role": "user", "content": [answered, *more]}]


def _converse(*more: Any) -> list[Any]:
    calls: list[Any] = [{"toolUse": {"toolUseId": one, "name": "book", "input": {}}} for one in ("c1", "c2")]
    answered = {"toolResult": {"toolUseId": "c1", "content": [{"text": "HOTEL-77"}]}}
    asked, then = ({"role": "user", "content": [{"text": said}]} for said in ("Hi", "And?"))
    return [
        asked,
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [answered, *more, *then["content"]]},
    ]


def _items(*more: Any) -> list[Any]:
    calls = [{"type": "function_call", "call_id": i, "name": "book", "arguments": "{}"} for i in ("c1", "c2")]
    answered = {"type": "function_call_output", "call_id": "c1", "output": "HOTEL-77"}
    return [{"role": "user", "content": "Hi"}, *calls, answered, *more, {"role": "user", "content": "And?"}]


CLOSED: Mapping[str, tuple[Any, Any]] = {
    "openai-chat": (_chat_turn(), _chat_turn({"role": "tool", "tool_call_id": "c2", "content": NO_RESULT})),
    "anthropic": (
        _blocks(),
        _blocks({"type": "tool_result", "tool_use_id": "c2", "content": NO_RESULT, "is_error": True}),
    ),
    "bedrock": (
        _converse(),
        _converse({"toolResult": {"toolUseId": "c2", "content": [{"text": NO_RESULT}], "status": "error"}}),
    ),
    "openai-responses": (
        _items(),
        _items({"type": "function_call_output", "call_id": "c2", "output": NO_RESULT}),
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_request_keeps_what_a_tool_has_returned(name: str) -> None:
    """The call beside it that has no result is closed with an error, and the API takes the request."""
    stored, closed_ = CLOSED[name]
    made = repair_stored(stored, name, model="m")
    assert made.value == closed_
    (change,) = made.changes
    assert (change.call_id, change.tool) == ("c2", "book")
    assert repair_stored(made.value, name, model="m").changes == ()


@pytest.mark.parametrize("status", ["complete", "interrupted"])
def test_a_thread_keeps_what_a_tool_has_returned(status: str) -> None:
    """Also in a turn that was interrupted, where R21 has a response with an open call left out."""
    thread = make_store_thread(0, 1)
    turn = thread["turns"][1]
    first = turn["messages"][0]
    call = first["parts"][1]
    first["parts"].append({**call, "tool_call_id": "c9"})
    if status == "interrupted":
        del turn["completed_at"]
        turn |= {
            "completion_status": status,
            "interruption": {"reason": "user_cancelled", "interrupted_at": thread["updated_at"]},
        }
    before = copy.deepcopy(thread)
    made = repair_stored(thread, "thread")
    assert thread == before
    answers = made.value["turns"][1]["messages"][1]["parts"]
    assert answers[0] == turn["messages"][1]["parts"][0]
    assert (answers[1]["tool_call_id"], answers[1]["status"], answers[1]["content"]) == ("c9", "error", NO_RESULT)
    assert must(made.value) == []
    assert [(change.call_id, change.tool) for change in made.changes] == [("c9", "weather")]


def test_a_chat_of_version_4_is_recognised_imported_and_repaired() -> None:
    """By what only it has; its calls, results, thoughts and files are there."""
    for chat in chats_of_version_4():
        before = copy.deepcopy(chat)
        assert format_of(chat) == "ai-sdk"
        assert [finding.code for finding in check_stored(chat, "ai-sdk")] == ["stored-by-older-version"]
        thread = thread_of_ui_messages(chat, agent_id="a", thread_id="t", at=AT.format(0)).thread
        made = repair_stored(chat, "ai-sdk")
        assert chat == before
        assert [change.kind.code for change in made.changes] == ["stored-by-older-version"]
        assert thread == thread_of_ui_messages(made.value, agent_id="a", thread_id="t", at=AT.format(0)).thread
        assert check_stored(made.value, "ai-sdk") == []
        said = [part for turn in thread["turns"] for one in turn.get("messages", ()) for part in one.get("parts", ())]
        calls = [part for part in said if part["part_kind"] == "tool-call"]
        assert all(call["tool_name"] == "look" and call["args"] == {"at": 1} for call in calls)
        assert calls
        results = [part["content"] for part in said if part["part_kind"] == "tool-return"]
        waits = chat[1]["toolInvocations"][:1] == [{**CALL, "state": "call"}]
        assert results == ([] if waits else [{"t": 18}] * len(calls))


def test_what_is_wrong_in_a_chat_of_version_4_has_its_place_there() -> None:
    """A call that was never answered, and one with half its arguments."""
    asked_ = {"id": "u1", "role": "user", "content": "How is it?"}
    done: dict[str, Any] = {"state": "result", "result": 1}
    for more, code, inside in (
        ({"state": "call"}, "stored-call-unanswered", ""),
        ({**done, "args": '{"at'}, "stored-arguments-half", ""),
        ({**done, "args": '{"at": 1}'}, "stored-arguments-in-text", "/args"),
        ({**done, "toolCallId": 5}, "stored-malformed", "/toolCallId"),
    ):
        call = {"id": "a1", "role": "assistant", "content": "", "toolInvocations": [{**CALL, **more}]}
        chat = [asked_, call, {**asked_, "id": "u2"}]
        found = {(finding.code, finding.place.pointer) for finding in check_stored(chat, "ai-sdk")}
        assert (code, f"/1/toolInvocations/0{inside}") in found
        assert format_of(chat) == "ai-sdk"


def test_messages_that_could_be_a_request_are_of_version_4_only_if_somebody_says_so() -> None:
    """An id, a role and a text may be in requests to APIs, too."""
    plain = [{"id": "1", "role": "user", "content": "Hi"}, {"id": "2", "role": "assistant", "content": "Hello"}]
    assert format_of(plain) is None
    imported = thread_of_ui_messages(plain, agent_id="a", thread_id="t", at=AT.format(0))
    assert [turn["turn_type"] for turn in imported.thread["turns"]] == ["user", "agent"]
    made = repair_stored(plain, "ai-sdk")
    assert [message["parts"] for message in made.value] == [
        [{"type": "text", "text": "Hi"}],
        [{"type": "text", "text": "Hello"}],
    ]
