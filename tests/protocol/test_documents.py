"""Threads as documents: parsing, rules, canonical form, comparison, diff, migration, history."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tpharness.errors import UsageError
from tpharness.protocol.canonical import canonical_thread, canonical_time, thread_hash
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.diff import diff
from tpharness.protocol.history import check_history, model_history, pending_calls
from tpharness.protocol.migrate import convert
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version


def call(call_id: str, tool: str = "get_weather", **args: Any) -> dict[str, Any]:
    """Return a tool-call part."""
    return {"part_kind": "tool-call", "tool_name": tool, "tool_call_id": call_id, "args": args}


def answer(call_id: str, content: Any = 1, tool: str = "get_weather", status: str = "success") -> dict[str, Any]:
    """Return a tool-return part."""
    return {
        "part_kind": "tool-return",
        "tool_name": tool,
        "tool_call_id": call_id,
        "status": status,
        "content": content,
    }


def message(kind: str, second: int, *parts: dict[str, Any], agent: str = "a") -> dict[str, Any]:
    """Return a request or a response at a second of the turn."""
    return {"message_type": kind, "timestamp": at(second), "agent_id": agent, "parts": list(parts)}


def event(name: str, second: int, data: Any = None) -> dict[str, Any]:
    """Return a system message."""
    return {"message_type": "system", "timestamp": at(second), "event_type": name, "event_data": data}


def at(second: int) -> str:
    """Return a time in the thread's minute."""
    return f"2025-01-20T10:00:{second:02d}Z"


def text(content: str) -> dict[str, Any]:
    """Return a text part."""
    return {"part_kind": "text", "content": content}


def thread(*messages: dict[str, Any], version: str = "0.0.4", cut: str = "", **changes: Any) -> dict[str, Any]:
    """Return a thread of one user turn and one agent turn with these messages."""
    turn: dict[str, Any] = {"turn_type": "agent", "agent_id": "a", "started_at": at(1), "messages": list(messages)}
    if cut:
        turn |= {"completion_status": "interrupted", "interruption": {"reason": cut, "interrupted_at": at(50)}}
    else:
        turn["completed_at"] = at(50)
        if version == "0.0.4":
            turn["completion_status"] = "complete"
    user = {"turn_type": "user", "submitted_at": at(0), "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    return {
        "version": version,
        "thread_id": "t",
        "created_at": at(0),
        "updated_at": at(50),
        "agents": {k: {"agent_id": k, "agent_name": n, "created_at": at(0)} for k, n in (("a", "Ann"), ("b", "Bob"))},
        "turns": [user, {**turn, **changes}],
    }


CYCLE = (message("response", 2, text("hm"), call("c1")), message("request", 3, answer("c1")))


def codes(document: Any) -> set[str]:
    """Return the codes of everything that is wrong with a document."""
    return {finding.code for finding in check_thread(document, observations=True)} - {"agent-id-not-uuid"}


def at_turn(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the document with its agent turn changed."""
    document["turns"][1].update(changes)
    return document


def without(document: dict[str, Any], *path: Any) -> dict[str, Any]:
    """Return the document without one field."""
    holder: Any = document
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return document


GOOD = {
    "complete": thread(*CYCLE, message("response", 4, text("done"))),
    "interrupted": thread(*CYCLE, cut="user_cancelled"),
    "pending": thread(message("response", 2, call("c1"))),
    "event alone": thread(event("data-tp-error", 2, {"error": "no model"}), cut="error"),
    "old": thread(*CYCLE, version="2.0.0"),
    "returns in order": thread(
        message("response", 2, call("c1"), call("c2")), message("request", 3, answer("c1"), answer("c2"))
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_threads_have_no_findings(name: str) -> None:
    """A thread that keeps the rules is not complained about."""
    assert codes(GOOD[name]) == set()


RETURN_REF = {k: v for k, v in answer("c1").items() if k != "content"}
BAD = {
    "thread-version-unknown": {**thread(), "version": "9.9"},
    "thread-schema": without(thread(*CYCLE), "thread_id"),
    "completion-status-unknown": without(thread(*CYCLE), "turns", 1, "completion_status"),
    "agent-unknown": thread(message("response", 2, text("x"), agent="nobody")),
    "agent-key-differs": {**thread(), "agents": {"a": {"agent_id": "z", "agent_name": "Z", "created_at": at(0)}}},
    "event-agent-unknown": thread({**event("data-app-x", 2), "source_agent": "nobody"}),
    "timestamp-invalid": thread({**message("response", 2, text("x")), "timestamp": "2025-13-40T10:00:02Z"}),
    "updated-before-created": {**thread(), "updated_at": "2025-01-20T09:59:59.9Z"},
    "turns-overlap": at_turn(thread(), started_at="2025-01-20T09:00:00Z"),
    "message-out-of-order": thread(message("response", 9, text("x")), message("response", 3, text("y"))),
    "message-outside-turn": thread(message("response", 55, text("x"))),
    "return-without-call": thread(message("request", 2, answer("c9"))),
    "call-answered-twice": thread(*CYCLE, message("request", 4, answer("c1"))),
    "return-of-another-tool": thread(message("response", 2, call("c1")), message("request", 3, answer("c1", tool="b"))),
    "returns-out-of-order": thread(
        message("response", 2, call("c1"), call("c2")), message("request", 3, answer("c2"), answer("c1"))
    ),
    "call-id-in-use": thread(message("response", 2, call("c1"), call("c1"))),
    "cycle-incomplete": thread(
        message("response", 2, call("c1"), call("c2")), message("request", 3, answer("c1")), cut="timeout"
    ),
    "interrupted-turn-empty": thread(event("data-app-x", 2), cut="timeout"),
    "message-empty": thread(message("response", 2)),
    "system-prompt-stored": thread(message("request", 2, {"part_kind": "system-prompt", "content": "You are"})),
    "user-input-repeated": thread(message("request", 2, {"part_kind": "user-prompt", "content": "Hi"})),
    "content-and-reference": thread(
        message("response", 2, call("c1")), message("request", 3, {**answer("c1"), "content_ref": {"uri": "s3://b/k"}})
    ),
    "reference-hash-malformed": thread(
        message("response", 2, call("c1")),
        message("request", 3, {**RETURN_REF, "content_ref": {"uri": "s3://b/k", "hash": "md5:1"}}),
    ),
    "reference-scheme-unusual": thread(
        message("response", 2, call("c1")), message("request", 3, {**RETURN_REF, "content_ref": {"uri": "file:/x"}})
    ),
    "return-large": thread(message("response", 2, call("c1")), message("request", 3, answer("c1", "x" * 200_000))),
    "client-metadata-key": {**thread(), "turns": [{**thread()["turns"][0], "client_metadata": {"mode": 1}}]},
    "link-not-uuid": {**thread(), "relationships": {"links": [{"thread_id": "x", "relation": "referenced"}]}},
    "event-name-of-another-version": thread(event("agent.handoff", 2)),
    "namespace-unknown": thread(event("something.else", 2)),
    "interrupted-before-0.0.4": thread(*CYCLE, version="0.0.3", completion_status="interrupted"),
    "value-not-interoperable": thread(message("response", 2, call("c1", n=2**53))),
}


@pytest.mark.parametrize("code", BAD)
def test_each_rule_finds_what_it_is_for(code: str) -> None:
    """A thread that breaks one rule is found out by that rule."""
    assert code in codes(BAD[code])


@pytest.mark.parametrize(
    "value", [None, 7, "x", [], {}, {"version": "0.0.4"}, {"version": "0.0.4", "turns": [3]}, {"turns": {}}]
)
def test_any_json_value_is_judged_and_none_crashes(value: Any) -> None:
    """What is not a thread is a finding."""
    assert check_thread(value)


def test_findings_name_the_place_by_json_pointer() -> None:
    """A finding inside a part points at the part."""
    found = check_thread(BAD["return-without-call"])
    assert [f.place.pointer for f in found] == ["/turns/1/messages/0/parts/0"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "json-invalid"),
        (b"", "json-invalid"),
        (b'{"a": 1, "a": 2}', "json-duplicate-key"),
        (b'{"a": 9007199254740993}', "json-not-interoperable"),
        (b'{"a": NaN}', "json-not-interoperable"),
        (b'{"a": "\\ud83d"}', "json-not-interoperable"),
        (b'{"a": "\xff"}', "json-not-utf8"),
        (b"\xef\xbb\xbf{}", "json-bom"),
        (b"[" * 10_000 + b"]" * 10_000, "json-too-deep"),
        (b'{"a": ' * 10_000 + b"1" + b"}" * 10_000, "json-too-deep"),
        (b"9" * 5_000, "json-not-interoperable"),
    ],
)
def test_bad_bytes_are_findings_with_a_place(data: bytes, code: str) -> None:
    """Whatever the bytes are, the parser says what is wrong and does not raise."""
    assert code in [finding.code for finding in parse_json(data, file="f").findings]


def test_too_large_input_is_refused_without_being_parsed() -> None:
    """A document over the limit is a finding."""
    assert [f.code for f in parse_json(b"[1,2,3]", max_size=4).findings] == ["json-too-large"]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("2025-01-20T10:00:00Z", "2025-01-20T10:00:00Z"),
        ("2025-01-20T10:00:00.000Z", "2025-01-20T10:00:00Z"),
        ("2025-01-20T10:00:00.1200Z", "2025-01-20T10:00:00.12Z"),
        ("2025-01-20T12:00:00+02:00", "2025-01-20T10:00:00Z"),
        ("2025-01-19T23:30:00.5-10:30", "2025-01-20T10:00:00.5Z"),
        ("2025-01-20t10:00:00z", "2025-01-20T10:00:00Z"),
        ("2025-01-20T10:00:00.123456789Z", "2025-01-20T10:00:00.123456789Z"),
        ("no time", "no time"),
    ],
)
def test_times_have_one_canonical_form(given: str, canonical: str) -> None:
    """R37: UTC with Z, the fraction without trailing zeros."""
    assert canonical_time(given) == canonical


def test_what_does_not_count_does_not_change_the_hash() -> None:
    """R37: root fields, telemetry, metadata, nulls, key order and notation of times are not part of the hash."""
    one = thread(*CYCLE, message("response", 4, text("done")))
    other = copy.deepcopy(one)
    other["title"] = "another"
    other["turns"][1]["messages"].insert(0, event("data-sys-latency", 2, {"ms": 3}))
    other["turns"][1]["messages"].append(event("meta:retry", 5))
    other["turns"][1]["total_usage"] = None
    other["turns"][1]["messages"][1]["timestamp"] = "2025-01-20T11:00:02.0+01:00"
    other["turns"][1] = dict(reversed(other["turns"][1].items()))
    assert thread_hash(one) == thread_hash(other)


def test_what_counts_changes_the_hash() -> None:
    """R7, R37: application events, unknown fields and nulls that are data are part of the hash."""
    base = thread(*CYCLE)
    variants = [
        thread(*CYCLE, event("data-app-x", 4)),
        thread(*CYCLE, flavour="odd"),
        thread(CYCLE[0], message("request", 3, answer("c1", None))),
    ]
    hashes = {thread_hash(t) for t in (base, *variants)}
    assert len(hashes) == 4


def test_null_is_absent_for_optional_fields() -> None:
    """R37: a null model name is not a model name."""
    with_null = thread({**message("response", 2, text("x")), "model_name": None})
    assert canonical_thread(with_null) == canonical_thread(thread(message("response", 2, text("x"))))


def test_bare_hash_is_canonicalised() -> None:
    """R6: 64 hexadecimal digits become sha256: and the digits."""
    digits = "ab" * 32
    made = [
        thread(
            message("response", 2, call("c1")),
            message("request", 3, {**RETURN_REF, "content_ref": {"uri": "s3://b", "hash": h}}),
        )
        for h in (digits, f"sha256:{digits}", digits.upper())
    ]
    assert len({thread_hash(t) for t in made}) == 1


def test_content_comparison_masks_generated_facts_and_no_others() -> None:
    """R39: ids, times, models and failure texts are masked; content, order and kinds are not."""
    one = thread(
        message("response", 2, call("c1", city="Paris")), message("request", 3, answer("c1", "E1", status="error"))
    )
    other = thread(
        message("response", 7, call("x9", city="Paris")),
        message("request", 8, answer("x9", "E2", status="validation_error")),
    )
    assert same_content(one, other)
    assert not same_exact(one, other)
    wrong = thread(
        message("response", 2, call("c1", city="Rome")), message("request", 3, answer("c1", "E1", status="error"))
    )
    assert not same_content(one, wrong)


def test_diff_says_turn_message_part_and_character() -> None:
    """A difference in a text names its place in words."""
    one, other = (
        thread(message("response", 2, text("Hello world"))),
        thread(message("response", 2, text("Hello there"))),
    )
    found = diff(one, other, names=("server", "client"))
    assert [d.pointer for d in found] == ["/turns/1/messages/0/parts/0/content"]
    assert "the second turn" in found[0].text
    assert "differs at character 6" in found[0].text


def test_diff_tells_a_missing_message_once() -> None:
    """A message that one side lacks is one difference, with the ruling that decides: R21 and R23 are about cuts."""
    one, other = thread(*CYCLE, message("response", 4, text("x"))), thread(message("response", 4, text("x")))
    assert [found.cites for found in diff(one, other)] == ["R40", "R22"]
    for each in (one, other):
        each["turns"][1]["completion_status"] = "interrupted"
    assert [found.cites for found in diff(one, other)] == ["R20, R21", "R23"]


def test_upgrade_then_downgrade_is_the_identity() -> None:
    """R1: both ways through all versions."""
    old = thread(*CYCLE, event("agent.handoff", 4, {"to": "b"}), version="2.0.0")
    new = convert(old, Version.V0_0_4)
    assert [v.value for v in new.steps] == ["2.0.0", "0.0.3", "0.0.4"]
    assert new.thread["turns"][1]["completion_status"] == "complete"
    assert new.thread["turns"][1]["messages"][2]["event_type"] == "data-tp-agent_handoff"
    assert convert(new.thread, Version.V2_0_0).thread == old
    assert codes(new.thread) == set()


def test_downgrade_drops_interrupted_turns_and_says_so() -> None:
    """R1, R18: what 0.0.3 cannot say is reported."""
    result = convert(GOOD["interrupted"], Version.V0_0_3)
    assert [turn["turn_type"] for turn in result.thread["turns"]] == ["user"]
    assert [(d.pointer, "user_cancelled" in d.what) for d in result.dropped] == [("/turns/1", True)]


def test_converting_an_unknown_version_is_a_usage_error() -> None:
    """The error names the versions that are known."""
    for version, shown in (("1.0", "'1.0'"), (None, "null"), ({}, "{}")):
        with pytest.raises(UsageError, match=f"unknown version {shown}"):
            convert({"version": version, "turns": []}, Version.V0_0_4)


def test_history_prefixes_other_agents_and_supplies_the_prompt() -> None:
    """2.0.0: texts of other agents carry their names, system messages stay out, the prompt is the caller's (R8)."""
    document = thread(
        message("response", 2, text("mine")), message("response", 3, text("theirs"), agent="b"), event("x", 4)
    )
    history = model_history(document, viewing_agent="a", system_prompt="You are Ann.")
    assert [m["kind"] for m in history.messages] == ["request", "request", "response", "response"]
    assert history.messages[0]["parts"] == [{"part_kind": "system-prompt", "content": "You are Ann."}]
    assert [m["parts"][0]["content"] for m in history.messages[2:]] == ["mine", "{agent:Bob}: theirs"]
    assert [left.what for left in history.left_out] == ["x"]


def test_history_never_sends_a_call_unanswered() -> None:
    """R46: the calls are left out, or the caller supplies returns."""
    document = thread(message("response", 2, text("t"), call("c1"), call("c2")), message("request", 3, answer("c1")))
    left_out = model_history(document)
    assert [p["part_kind"] for p in left_out.messages[-1]["parts"]] == ["text"]
    assert check_history(left_out.messages) == []
    assert [c.tool_call_id for c in pending_calls(document)] == ["c2"]
    supplied = model_history(document, supply_returns={"c2": "not run"})
    assert [p["tool_call_id"] for p in supplied.messages[-1]["parts"]] == ["c1", "c2"]
    assert check_history(supplied.messages) == []


def test_the_history_check_bites() -> None:
    """Unanswered calls, orphan returns, empty messages and a leading response are what model APIs reject."""
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    calls = {"kind": "response", "parts": [call("c1")]}
    returns = {"kind": "request", "parts": [answer("c1")]}
    empty: dict[str, Any] = {"kind": "request", "parts": []}
    assert check_history([request, calls, returns]) == []
    assert [f.code for f in check_history([request, calls])] == ["history-call-unanswered"]
    assert [f.code for f in check_history([request, returns])] == ["history-orphan-return"]
    assert [f.code for f in check_history([request, empty])] == ["history-empty-message"]
    assert "history-starts-with-response" in [f.code for f in check_history([calls, returns])]
