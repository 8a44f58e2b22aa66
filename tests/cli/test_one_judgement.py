"""`check`, `repair` and `import` agree about a stored conversation: what one of them calls wrong, the others do too.

Mistakes are planted by functions that know nothing of what finds them, each alone, several together, and any value at
any place. What Pydantic AI itself does not load is wrong with its messages.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest
from benchmarks.stored_conversations import MAKERS
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter
from tests.places import places, replace_at

from tpharness.cli.batch.work import BatchDocument, DocumentDone
from tpharness.cli.check import CheckAs
from tpharness.cli.import_ import ImportFrom
from tpharness.cli.repair import RepairBy, RepairIn
from tpharness.errors import InputError, TpharnessError, UsageError
from tpharness.findings import Level
from tpharness.histories.stored import formats
from tpharness.histories.stored.plain import PLAIN

Found = set[tuple[str, str | None]]
IMPORTED = ("ai-sdk", "pydantic-ai")
BY_LAYERS = ("thread", "openai-chat", "anthropic")
"""Where a rule is broken, a repair may name more than `check`: a thread of the wrong shape is not judged further, and
rules of an API have names of their own."""
LATER = "2025-01-20T12:00:00Z"


def chat(number: int) -> Any:
    """Return a request for chat completions with a call that is answered."""
    function = {"name": "weather", "arguments": '{"town": 1}'}
    called = {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
    answered = {"role": "tool", "tool_call_id": f"c{number}", "content": "18"}
    messages = [{"role": "user", "content": "How warm is it?"}, called, answered, {"role": "user", "content": "And?"}]
    return {"model": "gpt-5", "messages": messages}


def anthropic(number: int) -> Any:
    """Return the same for Anthropic."""
    called = {"type": "tool_use", "id": f"c{number}", "name": "weather", "input": {"town": 1}}
    answered = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "18"}
    turns = [
        ("user", "How warm is it?"),
        ("assistant", [called]),
        ("user", [answered]),
        ("assistant", "18"),
        ("user", "!"),
    ]
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}


MAKE: dict[str, Callable[[int], Any]] = {**MAKERS, "openai-chat": chat, "anthropic": anthropic}


def ui_call(messages: Any) -> Any:
    """Return the first call of UI messages."""
    return messages[1]["parts"][2]


def again(items: Any, at: int, **more: Any) -> None:
    """Put an item there twice, the second one changed."""
    items.insert(at + 1, {**copy.deepcopy(items[at]), **more})


def swap_order(messages: Any) -> None:
    """Answer two calls in the order in which the tools have finished."""
    again(messages[1]["parts"], 1, tool_call_id="c9")
    again(messages[2]["parts"], 0, tool_call_id="c9")
    messages[2]["parts"].reverse()


PLANTS: dict[str, dict[str, tuple[Callable[[Any], object], str]]] = {
    "ai-sdk": {
        "no output": (lambda m: ui_call(m).pop("output"), "stored-malformed"),
        "unanswered": (lambda m: ui_call(m).update(state="input-available"), "stored-call-unanswered"),
        "half": (lambda m: ui_call(m).update(input='{"town": 1'), "stored-arguments-half"),
        "mark": (lambda m: ui_call(m).update(input={"INVALID_JSON": "{"}), "stored-arguments-half"),
        "state": (lambda m: ui_call(m).update(state="result"), "stored-state-unknown"),
        "no error": (lambda m: ui_call(m).update(state="output-error"), "stored-malformed"),
        "no name": (lambda m: ui_call(m).update(type="tool-"), "stored-malformed"),
        "no id": (lambda m: ui_call(m).pop("toolCallId"), "stored-malformed"),
        "call twice": (lambda m: again(m[1]["parts"], 2), "stored-call-doubled"),
        "two outputs": (lambda m: again(m[1]["parts"], 2, output={"degrees": -40}), "stored-call-doubled"),
        "message twice": (lambda m: again(m, 0), "stored-message-doubled"),
        "two of one id": (lambda m: again(m, 0, parts=[{"type": "text", "text": "Other."}]), "stored-message-doubled"),
        "role": (lambda m: m[1].update(role="bot"), "stored-malformed"),
        "no text": (lambda m: m[1]["parts"][1].update(text=None), "stored-malformed"),
        "arguments in a text": (lambda m: ui_call(m).update(input='{"town": 1}'), "stored-arguments-in-text"),
        "part": (lambda m: m[1]["parts"][1].update(type="card"), "stored-part-unknown"),
        "empty": (lambda m: m[1].update(parts=[]), "stored-message-empty"),
        "no id of a message": (lambda m: m[0].pop("id"), "stored-id-missing"),
        "null state": (lambda m: m[1]["parts"][1].update(state=None), "stored-state-unknown"),
        "streams": (lambda m: m[1]["parts"][-1].update(state="streaming"), "stored-still-streaming"),
    },
    "pydantic-ai": {
        "no return": (lambda m: m.pop(2), "stored-call-unanswered"),
        "no call": (lambda m: m.pop(1), "stored-answer-without-call"),
        "late": (lambda m: m.insert(4, m.pop(2)), "stored-answer-misplaced"),
        "return twice": (lambda m: again(m[2]["parts"], 0), "stored-answer-doubled"),
        "two returns": (lambda m: again(m[2]["parts"], 0, content=55), "stored-answer-doubled"),
        "message twice": (lambda m: again(m, 0), "stored-message-doubled"),
        "half": (lambda m: m[1]["parts"][1].update(args='{"town'), "stored-arguments-half"),
        "mark": (lambda m: m[1]["parts"][1].update(args={"INVALID_JSON": "{"}), "stored-arguments-half"),
        "other tool": (lambda m: m[2]["parts"][0].update(tool_name="book"), "return-of-another-tool"),
        "no content": (lambda m: m[2]["parts"][0].pop("content"), "stored-malformed"),
        "null prompt": (lambda m: m[0]["parts"][0].update(content=None), "stored-malformed"),
        "time": (lambda m: m[1].update(timestamp="yesterday"), "stored-malformed"),
        "time of a part": (lambda m: m[0]["parts"][0].update(timestamp="12 o'clock"), "stored-malformed"),
        "kind": (lambda m: m[1].update(kind="event"), "stored-malformed"),
        "part": (lambda m: m[1]["parts"][0].update(part_kind="wibble"), "stored-part-unknown"),
        "outcome": (lambda m: m[2]["parts"][0].update(outcome="fine"), "stored-state-unknown"),
        "state": (lambda m: m[1].update(state="done"), "stored-state-unknown"),
        "order in time": (lambda m: m[0].update(timestamp=LATER), "stored-out-of-order"),
        "order of returns": (swap_order, "stored-answers-unordered"),
    },
    "thread": {
        "no return": (lambda t: t["turns"][1]["messages"].pop(1), "call-left-behind"),
        "no call": (lambda t: t["turns"][1]["messages"].pop(0), "return-without-call"),
        "return twice": (lambda t: again(t["turns"][1]["messages"][1]["parts"], 0), "call-answered-twice"),
        "other tool": (
            lambda t: t["turns"][1]["messages"][1]["parts"][0].update(tool_name="book"),
            "return-of-another-tool",
        ),
        "no end": (lambda t: t["turns"][1].pop("completed_at"), "complete-turn-without-end"),
        "empty": (lambda t: t["turns"][1]["messages"][2].update(parts=[]), "message-empty"),
        "in a text": (lambda t: t["turns"][1]["messages"][0]["parts"][1].update(args='{"a": 1}'), "arguments-in-text"),
        "mark": (
            lambda t: t["turns"][1]["messages"][0]["parts"][1].update(args={"INVALID_JSON": "{"}),
            "arguments-unparsed",
        ),
        "version": (lambda t: t.update(version="0.9"), "thread-version-unknown"),
    },
    "openai-chat": {
        "no answer": (lambda r: r["messages"].pop(2), "chat-call-unanswered"),
        "no call": (lambda r: r["messages"].pop(1), "chat-orphan-tool-message"),
        "mark": (
            lambda r: r["messages"][1]["tool_calls"][0]["function"].update(arguments='{"INVALID_JSON": "{"}'),
            "stored-arguments-half",
        ),
    },
    "anthropic": {
        "no answer": (lambda r: r["messages"].pop(2), "anthropic-call-unanswered"),
        "mark": (
            lambda r: r["messages"][1]["content"][0].update(input={"INVALID_JSON": "{"}),
            "stored-arguments-half",
        ),
    },
}
"""What can be wrong, by the format: how it is planted, and what a person would call it."""

NAMES = [(form, name) for form, plants in PLANTS.items() for name in plants]
KEYS = {"ai-sdk": "role", "pydantic-ai": "kind", "thread": "turn_type", "openai-chat": "role", "anthropic": "role"}
"""A key of each format that is worth having twice."""


def document(data: bytes) -> BatchDocument:
    """Return a document of a batch."""
    return BatchDocument(name="chats/chat.json", data=data, place="chat.json")


def codes(found: Any, least: Level = Level.MAY) -> Found:
    """Return codes and places of what was reported, at a level or a stronger one."""
    return {(one["code"], one["place"].get("pointer")) for one in found if Level(one["level"]).rank <= least.rank}


def import_as(form: str, doc: BatchDocument, *, strict: bool = False) -> tuple[DocumentDone | None, Found]:
    """Return what an import made, None for nothing, and what it called wrong."""
    try:
        done = ImportFrom(form, "assistant", None, LATER, strict)(doc)
    except TpharnessError as error:
        return None, codes([one.as_json() for one in error.findings], Level.MUST)
    return done, codes(done.facts["findings"], Level.MUST)


def loads(data: bytes) -> bool:
    """Whether Pydantic AI itself reads these messages."""
    try:
        ModelMessagesTypeAdapter.validate_json(data)
    except pydantic.ValidationError:
        return False
    return True


def hold(form: str, data: bytes) -> tuple[Found, str]:
    """Hold the three commands to each other; return what was found, and what `repair` did."""
    doc = document(data)
    check, repair = CheckAs(form, None, Level.MAY), RepairIn(RepairBy(source=form), writes=True, prints=False)
    try:
        report = check(doc).facts["findings"]
    except UsageError:  # not a request to this API at all
        with pytest.raises(UsageError):
            repair(doc)
        return set(), "refused"
    wrong = codes(report, Level.MUST)
    done = repair(doc)
    changes = {one["code"] for one in done.facts["changes"]}
    left = codes(done.facts["left"])
    if done.outcome in ("valid", "doubtful"):
        assert not wrong
        assert bool(codes(report, Level.SHOULD)) == (done.outcome == "doubtful")
        assert done.value == json.loads(data)
    elif done.outcome == "not repaired":
        assert left
        assert left <= codes(report)
        assert done.value is None
    else:
        assert changes
        assert changes <= {code for code, _ in codes(report)} or (form in BY_LAYERS and wrong)
        repaired = json.dumps(done.value).encode()
        now = check(document(repaired)).facts["findings"]
        assert codes(now, Level.MUST) == set()
        again = repair(document(repaired))
        assert (again.outcome, again.facts["changes"]) == ("doubtful" if codes(now, Level.SHOULD) else "valid", [])
    if form in IMPORTED:
        made, said = import_as(form, doc)
        assert said == wrong
        assert made is not None or wrong
        strict, _ = import_as(form, doc, strict=True)
        assert strict is None or strict.value is None or not wrong
        value = formats.messages_of(json.loads(data))
        if PLAIN[form](value):
            assert formats._check_messages(value, form) == []
            assert formats._import_findings(value, form) == []
    if form == "pydantic-ai" and not wrong:
        assert loads(data) or "stored-part-unknown" in {code for code, _ in codes(report)}
    return codes(report), done.outcome


@pytest.mark.parametrize(("form", "name"), NAMES)
def test_a_planted_mistake_is_one_to_all_of_them(form: str, name: str) -> None:
    """Found by its name, and by nothing else that breaks a rule."""
    plant, code = PLANTS[form][name]
    conversation = MAKE[form](1)
    assert hold(form, json.dumps(conversation).encode())[1] == "valid"
    assert form not in IMPORTED or PLAIN[form](conversation)
    plant(conversation)
    found, _ = hold(form, json.dumps(conversation).encode())
    assert code in {one for one, _ in found}, found


@pytest.mark.parametrize("form", MAKE)
def test_what_two_readers_read_otherwise_is_not_repaired(form: str) -> None:
    """Of two equal keys one would be lost: `repair` writes nothing and says why, and a strict import makes nothing."""
    text = json.dumps(MAKE[form](1))
    twice = text.replace(f'"{KEYS[form]}"', f'"{KEYS[form]}": "other", "{KEYS[form]}"', 1).encode()
    found, outcome = hold(form, twice)
    assert "json-duplicate-key" in {code for code, _ in found}
    assert outcome == "not repaired"
    if form in IMPORTED:
        strict, _ = import_as(form, document(twice), strict=True)
        assert strict is not None
        assert (strict.value, strict.code) == (None, 1)


def test_what_is_not_json_is_said_by_all_of_them() -> None:
    """For `check` it is a finding, as that is its task; there is nothing to repair or to import."""
    doc = document(b'[{"role": "user"')
    done = CheckAs(None, None, Level.MAY)(doc)
    assert (done.outcome, done.code) == ("wrong", 1)
    for work in (
        RepairIn(RepairBy(), writes=True, prints=False),
        ImportFrom("ai-sdk", "a", None, "", False),
    ):
        with pytest.raises(InputError):
            work(doc)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a conversation with up to three mistakes, and any value in up to two places."""
    form = draw(st.sampled_from(sorted(MAKE)))
    conversation = MAKE[form](draw(st.integers(0, 3)))
    for name in draw(st.lists(st.sampled_from(sorted(PLANTS[form])), max_size=3, unique=True)):
        try:
            PLANTS[form][name][0](conversation)
        except (KeyError, IndexError, StopIteration, AttributeError, TypeError):
            continue  # another mistake has taken away what this one changes
    for _ in range(draw(st.integers(0, 2))):
        odd = draw(st.sampled_from([None, "", "x", 5, True, [], {}, [1], {"a": 1}, "streaming", LATER, "c1-0"]))
        conversation = replace_at(conversation, draw(st.sampled_from(places(conversation))), odd)
    return form, conversation


@given(conversations())
def test_they_agree_about_any_conversation(drawn: tuple[str, Any]) -> None:
    """What `check` calls wrong `repair` mends or names and `import` says, and nothing else; what is plain is right."""
    form, conversation = drawn
    hold(form, json.dumps(conversation).encode())


@pytest.mark.parametrize(
    ("form", "plant", "command", "outcome"),
    [
        ("thread", "no return", ["check"], "doubtful"),
        ("ai-sdk", "state", ["import", "--from", "ai-sdk"], "imported though wrong"),
    ],
)
def test_each_document_of_a_total_is_named(
    form: str, plant: str, command: list[str], outcome: str, tmp_path: Path, call: Any
) -> None:
    """Up to a hundred of them, a line each; the report as JSON has a line for every document."""
    conversation = MAKE[form](1)
    PLANTS[form][plant][0](conversation)
    line = json.dumps(conversation)
    many, few = tmp_path / "many.jsonl", tmp_path / "few.jsonl"
    many.write_text(f"{line}\n" * 103, "utf-8")
    few.write_text(f"{line}\n{json.dumps(MAKE[form](2))}\n{line}\n", "utf-8")
    called = call(*command, str(few))
    named = [one for one in (called.out + called.err).splitlines() if one.startswith(f"{outcome}: ")]
    assert named == [f"{outcome}: {few}:1", f"{outcome}: {few}:3"]
    called = call(*command, str(many))
    named = [one for one in (called.out + called.err).splitlines() if one.startswith(f"{outcome}: ")]
    assert named == [*(f"{outcome}: {many}:{n}" for n in range(1, 101)), f"{outcome}: and 3 more, which --json names"]
    reported = [json.loads(one) for one in call(*command, str(many), "--json").out.splitlines()]
    assert [one["document"] for one in reported if one.get("outcome") == outcome] == [
        f"{many}:{n}" for n in range(1, 104)
    ]
