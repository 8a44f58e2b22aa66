"""Documents on the edge of the rules: unknown fields of any shape, deep values, times in other notations."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from tests.places import places, replace_at

from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.history import check_history, model_history
from tpharness.protocol.jcs import CanonicalError, jcs
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread

T = "2025-01-20T10:00:0{}Z"


def called(*ids: str, args: Any = None) -> dict[str, Any]:
    """Return a response with these calls."""
    parts = [{"part_kind": "tool-call", "tool_name": "f", "tool_call_id": i, "args": args} for i in ids]
    return {"message_type": "response", "timestamp": T.format(2), "agent_id": "a", "parts": parts}


def result(call: str, content: Any = 1, **more: Any) -> dict[str, Any]:
    """Return a return."""
    return {
        "part_kind": "tool-return",
        "tool_name": "f",
        "tool_call_id": call,
        "status": "success",
        "content": content,
        **more,
    }


def returned(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a request with these parts."""
    return {"message_type": "request", "timestamp": T.format(3), "agent_id": "a", "parts": list(parts)}


def prompt(text: str) -> dict[str, Any]:
    """Return a user prompt."""
    return {"part_kind": "user-prompt", "content": text}


def thread(*messages: dict[str, Any], version: str = "0.0.4", **turn: Any) -> dict[str, Any]:
    """Return a valid thread: a user turn, and a complete agent turn with these messages."""
    done = {"turn_type": "agent", "agent_id": "a", "started_at": T.format(1), "completed_at": T.format(9)}
    if version == "0.0.4":
        done["completion_status"] = "complete"
    return {
        "version": version,
        "thread_id": "t",
        "created_at": T.format(0),
        "updated_at": T.format(9),
        "agents": {"a": {"agent_id": "a", "agent_name": "Ann", "created_at": T.format(0)}},
        "turns": [
            {"turn_type": "user", "submitted_at": T.format(0), "parts": [prompt("Hi")]},
            {**done, "messages": list(messages), **turn},
        ],
    }


def codes(document: Any) -> list[str]:
    """Return the codes of what is wrong."""
    return [finding.code for finding in check_thread(document)]


def crowded(version: str) -> dict[str, Any]:
    """Return a thread with a part of every kind, and fields where no version has any."""
    event = {"message_type": "system", "timestamp": T.format(2), "event_type": "data-app-x", "event_data": {"n": 1}}
    thinking = {"part_kind": "thinking", "content": "hm", "provider_name": "p"}
    retry = {"part_kind": "retry-prompt", "content": "no", "tool_name": "f", "tool_call_id": "c2"}
    reference = result("c1", content_ref={"uri": "s3://b/k", "hash": "ab" * 32})
    del reference["content"]
    document = thread(
        {**event, "source_agent": "a", "target_agents": ["a"], "parts": None, "agent_id": None, "tool_call_id": None},
        called("c1", "c2", args={"city": "Paris"}),
        returned(result("c1") if version == "2.0.0" else reference, retry),
        {**called(), "parts": [thinking, {"part_kind": "text", "content": "x"}]},
        version=version,
        parts=None,
        interruption=None,
        total_usage={"input_tokens": 1},
    )
    document["turns"][0].update(client_metadata={"ui:mode": 1}, messages=None, agent_id=None, completion_status=None)
    document["relationships"] = {"links": [{"thread_id": "x", "relation": "referenced"}]}
    return document


ANYTHING: list[Any] = [
    None,
    True,
    7,
    "x",
    [],
    [1],
    [{}],
    {},
    {"a": 1},
    {"part_kind": "tool-return"},
    [["x"]],
    2**70,
    "\ud800",
]


@pytest.mark.parametrize("version", ["2.0.0", "0.0.3", "0.0.4"])
def test_no_value_at_any_place_makes_the_rules_raise(version: str) -> None:
    """R7: a field may hold anything where its version knows no such field, and what is wrong is a finding."""
    document = crowded(version)
    for path in places(document):
        for value in ANYTHING:
            odd = replace_at(document, path, value)
            check_thread(odd, observations=True)


def test_fields_of_a_later_version_are_unknown_fields_of_an_earlier_one() -> None:
    """R7: 2.0.0 has no content_ref, so any value of that name is preserved and not judged."""
    document = thread(called("c1"), returned(result("c1", content_ref={"uri": 5})), version="2.0.0")
    assert codes(document) == []


def test_a_complete_turn_has_an_end() -> None:
    """R19, R37: null is absent, and a complete turn has completed_at."""
    found = check_thread(thread(completed_at=None))
    assert [(f.code, f.place.pointer) for f in found] == [("complete-turn-without-end", "/turns/1/completed_at")]


def test_a_return_without_content_and_without_reference_is_wrong() -> None:
    """R6, R37: a reference that is null is no reference; content that is null is what the tool returned."""
    nothing = result("c1", content_ref=None)
    del nothing["content"]
    assert codes(thread(called("c1"), returned(nothing))) == ["return-without-content"]
    assert codes(thread(called("c1"), returned(result("c1", None)))) == []


@pytest.mark.parametrize(
    ("submitted", "advice"),
    [
        ("2025-01-20t10:00:00Z", []),
        *(
            (form, ["timestamp-of-another-form"])
            for form in (
                *("2025-01-20 10:00:00Z", "2025-01-20T09:00:00,5-01:00", "2025-01-20T10:00Z", "2025-020T10:00:00Z"),
                *("2025-W04-1T10:00:00Z", "2025-W04-1T10:00Z", "2025-01-20T11:00:00+01", "2025-01-20T11:00:00+0100"),
            )
        ),
    ],
)
def test_times_are_compared_as_moments_whatever_their_notation(submitted: str, advice: list[str]) -> None:
    """R4, R47: a turn that was submitted before the next one started does not overlap it."""
    document = thread()
    document["turns"][0]["submitted_at"] = submitted
    assert codes(document) == advice
    document["turns"][1]["started_at"] = "2025-01-20T09:59:59Z"
    assert codes(document) == ["turns-overlap", *advice]


def test_a_run_that_a_tool_calls_lies_within_the_turn_of_its_caller() -> None:
    """R29: a turn of another agent that ends within the turn before it does not overlap it; the next waits for both."""
    document = thread()
    caller = document["turns"][1]
    nested = {**caller, "agent_id": "b", "started_at": caller["started_at"], "messages": []}
    document["agents"]["b"] = {**next(iter(document["agents"].values())), "agent_id": "b"}
    document["turns"].append(nested)
    assert "turns-overlap" not in codes(document)
    nested["agent_id"] = caller["agent_id"]
    assert "turns-overlap" in codes(document)
    nested["agent_id"] = "b"
    document["turns"].append({**caller, "started_at": caller["started_at"], "completed_at": "2025-01-20T11:00:00Z"})
    assert "turns-overlap" in codes(document)


def test_a_return_in_a_user_turn_answers_a_call_too() -> None:
    """R23, R30: no orphan return in any turn, and a later turn may answer."""
    orphan = thread()
    orphan["turns"][0]["parts"] = [result("c9")]
    assert [(f.code, f.place.pointer) for f in check_thread(orphan)] == [("return-without-call", "/turns/0/parts/0")]
    later = thread(called("c1"))
    later["turns"].append({"turn_type": "user", "submitted_at": T.format(9), "parts": [result("c1"), prompt("Go")]})
    assert codes(later) == []
    history = model_history(later)
    assert [m["kind"] for m in history.messages] == ["request", "response", "request", "request"]
    assert check_history(history.messages) == []


def test_a_repeat_of_the_user_s_input_is_found_behind_an_event() -> None:
    """R9: the first request counts, whatever happened before it."""
    event = {"message_type": "system", "timestamp": T.format(1), "event_type": "data-app-x", "event_data": None}
    assert codes(thread(event, returned(prompt("Hi")))) == ["user-input-repeated"]
    assert codes(thread(event, returned(prompt("Another")))) == []


@pytest.mark.parametrize("field", ["client_metadata", "metadata", "vendor_metadata"])
def test_null_metadata_is_no_metadata(field: str) -> None:
    """R37: an optional field that is null is the same as one that is absent, and a null inside it is data."""
    image = {"kind": "image-url", "url": "https://x", "identifier": "i"}

    def with_value(**value: Any) -> str:
        document = thread(called("c1"), returned(result("c1", **(value if field == "metadata" else {}))))
        user = document["turns"][0]
        user["parts"].append({"part_kind": "user-prompt", "content": [{**image, **value}]})
        if field == "client_metadata":
            user.update(value)
        return thread_hash(document)

    assert with_value(**{field: None}) == with_value()
    assert with_value(**{field: {"ui:x": None}}) != with_value(**{field: {}})


@pytest.mark.parametrize("same", [same_exact, same_content])
def test_true_is_not_one(same: Any) -> None:
    """R39: what Python calls equal and JSON does not is a difference in either comparison."""
    yes, one = (thread(called("c1"), returned(result("c1", value))) for value in (True, 1))
    assert not same(yes, one)
    assert same(one, thread(called("c1"), returned(result("c1", 1.0))))


def nested(depth: int, leaf: Any = 1) -> Any:
    """Return objects and lists inside one another."""
    for level in range(depth):
        leaf = {"a": leaf} if level % 2 else [leaf]
    return leaf


@pytest.mark.parametrize("depth", [100, 253, 255, 480])
def test_what_is_read_can_be_hashed_and_compared(depth: int) -> None:
    """R37: as deep as the parser reads, there are canonical bytes: the text without spaces."""
    document = thread(called("c1", args=nested(depth)))
    parsed = parse_json(json.dumps(document).encode())
    assert parsed.ok
    assert jcs(nested(depth)) == json.dumps(nested(depth), separators=(",", ":")).encode()
    assert same_exact(parsed.value, document)
    assert not same_exact(parsed.value, thread(called("c1", args=nested(depth, 2))))


def test_deep_objects_with_odd_keys_are_written_like_shallow_ones() -> None:
    """RFC 8785: keys beyond the BMP, numbers and literals are in order at any depth."""
    odd: dict[str, Any] = {"\ufb33": 1.0, "😀": [None, True, -0.0, 1e21], "e": {"\r": "€", "": []}}
    assert jcs(nested(300, odd)).count(rfc8785.dumps(odd)) == 1


def test_a_value_nested_too_deep_is_named_wherever_it_is_met() -> None:
    """R38: the refusal does not depend on how much of the stack is in use."""

    def deeper(calls: int) -> None:
        if calls:
            deeper(calls - 1)
        else:
            jcs(nested(5000))

    with pytest.raises(CanonicalError, match="nested too deeply"):
        deeper(300)


@pytest.mark.parametrize("end", [b"", b'"', b"\\", b'\\"\\'])
def test_depth_is_found_without_looking_at_a_text_again_and_again(end: bytes) -> None:
    """A text of many escapes that never ends takes as long as its bytes, not as their square."""
    data = b"[" * 600 + b'"' + b'\\"' * 500_000 + end
    assert [finding.code for finding in parse_json(data).findings] == ["json-invalid"]


def test_brackets_in_texts_are_not_nesting() -> None:
    """Only brackets outside texts nest."""
    assert parse_json(json.dumps(["[" * 2000, '"[' * 2000, "\\", "]"]).encode()).findings == ()


def test_a_duplicate_key_is_named_by_its_place() -> None:
    """R12: the last one counts, and the pointer leads to it; an overwritten object has no place of its own."""
    parsed = parse_json(b'{"a": [{"b/c": 1, "b/c": 2}], "d": {"x": 1, "x": 2}, "d": 3}', file="f")
    assert parsed.value == {"a": [{"b/c": 2}], "d": 3}
    assert [(f.code, f.place.pointer) for f in parsed.findings] == [
        ("json-duplicate-key", "/a/0/b~1c"),
        ("json-duplicate-key", None),
        ("json-duplicate-key", "/d"),
    ]


def test_returns_may_come_in_several_requests_but_not_after_anything_else() -> None:
    """Invariant 7: all returns stand directly behind their calls."""

    def request(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "request", "parts": list(parts)}

    asked = [request(prompt("Hi")), {"kind": "response", "parts": called("a", "b")["parts"]}]
    split = [*asked, request(result("a")), request(result("b"))]
    assert check_history(split) == []
    assert [f.code for f in check_history(split[:3])] == ["history-call-unanswered"]
    late = [*asked, request(result("a"), prompt("Go on")), request(result("b"))]
    assert [f.code for f in check_history(late)] == ["history-call-unanswered", "history-orphan-return"]
    twice = [*split, request(result("b"))]
    assert [f.code for f in check_history(twice)] == ["history-orphan-return"]
