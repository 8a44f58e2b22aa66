"""What one pass over a thread takes for plain, against the schema and every rule, which are asked here each time."""

from __future__ import annotations

import enum
import json
import math
import random
import uuid
from collections import UserDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from conformance.bad_documents import load_bad_documents, load_good_threads, make_document
from conformance.goldens import GOLDEN
from tests.mutants import ODD_VALUES, mutate_value
from tests.places import places, replace_at

from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.generate.kinds import GENERATORS, FuzzKind
from tpharness.protocol import rules
from tpharness.protocol.plain import LARGE_CONTENT, plain_size
from tpharness.protocol.rules import check, check_thread
from tpharness.protocol.rules.every import find_broken, find_broken_events

_AT = "2020-01-01T00:00:00Z"


def _complete(golden: Any) -> Any:
    """Return a golden thread with what it leaves out: its id, its times, and its agents."""
    found = {golden[path[0]][path[1]]["agent_id"] for path in places(golden) if path[2:] == ("agent_id",)}
    agents = {name: {"agent_id": name, "agent_name": name, "created_at": _AT} for name in sorted(found)}
    return {"thread_id": "t", "created_at": _AT, "updated_at": _AT, "agents": agents} | golden


GOLDENS = [_complete(json.loads(path.read_text("utf-8"))) for path in sorted(GOLDEN.rglob("*.json"))]


class _Word(str):
    __slots__ = ()


class _Choice(enum.Enum):
    SOME = "some"


_OBJECTS = (
    *((), ("a",), {"a"}, b"a", _Word("response"), _Choice.SOME, uuid.UUID(int=0), UserDict(a=1), object()),
    *({1: 2}, {"a": math.nan}, {"a": [math.inf]}, {"a": {"b": 2.0**60}}, [1e20], {"a": "\ud800"}, {"a": 2**53}),
    *("{agent:Ann}: hello", "{agent:a1}: hello", "[Request interrupted by user]", '{"a": 1}', {"INVALID_JSON": "{"}),
    *("incomplete_stream", "data-tp-unknown", "error", "agent.handoff", "data-tp-error", "note", "interrupted"),
    *("2025-01-20T10:00:00", "2025-W04-1T10:00:00Z", "2025-01-20T10:00:00.1234567891Z", "2025-01-20 10:00:00Z"),
    *("2025-01-20T12:00:00+02:00", "1999-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "c1", "c2", 1, 10**9),
)


def _wrong(thread: Any, *, observations: bool) -> list[Any]:
    return find_broken(thread, observations=observations, fits=False, safe=False)


def _hold_to_the_rules(thread: Any) -> bool:
    """Whether a thread is plain, which it must not be if a rule finds something."""
    plain = [plain_size(thread, observations=observations) is not None for observations in (False, True)]
    for observations in (False, True):
        if plain[observations]:
            assert _wrong(thread, observations=observations) == []
    events: list[str] = []
    if plain_size(thread, events=events) is not None:
        assert _wrong(thread, observations=False) == (find_broken_events(thread) if events else [])
    return plain[False]


def _documents() -> Iterator[Any]:
    yield from load_good_threads().values()
    yield from GOLDENS
    for number in range(300):
        made = GENERATORS[FuzzKind.DOCUMENTS](case_source(3, number))
        assert isinstance(made, dict)
        yield made


def test_bad_documents_are_not_plain() -> None:
    """Each rule has one that breaks it alone; what is only observed may be plain."""
    for entry in load_bad_documents():
        document = make_document(entry)
        assert plain_size(document, observations=True) is None, entry["name"]
        assert plain_size(document) is None or not _wrong(document, observations=False), entry["name"]


def test_most_right_threads_are_plain() -> None:
    """Else nothing is won, and the other tests of this file look at nothing."""
    plain = [_hold_to_the_rules(thread) for thread in GOLDENS]
    assert sum(plain) > 0.8 * len(plain)


def test_no_mutant_of_a_thread_is_plain_and_wrong() -> None:
    """What a writer that is nearly right could make of a thread: values replaced, removed, doubled, wrapped, added."""
    plain = 0
    for number, thread in enumerate(_documents()):
        chance = random.Random(number)  # noqa: S311  # a mutant
        for _ in range(12):
            with suppress(ValueError):  # no longer JSON
                plain += _hold_to_the_rules(json.loads(mutate_value(thread, chance)))
    assert plain > 500


def test_no_odd_value_in_any_place_is_plain_and_wrong() -> None:
    """Values of JSON that are legal elsewhere, and objects of Python's that no file has."""
    plain = 0
    for number, thread in enumerate(_documents()):
        chance, where = random.Random(number), places(thread)  # noqa: S311  # a mutant
        for _ in range(12):
            odd = chance.choice((*ODD_VALUES, *_OBJECTS))
            plain += _hold_to_the_rules(replace_at(thread, chance.choice(where), odd))
    assert plain > 500


def test_values_and_messages_of_one_thread_in_each_place_of_another_kind() -> None:
    """Messages and parts that are right by themselves stand in another order, twice, or in another message."""
    plain = 0
    for number, thread in enumerate(_documents()):
        chance, where = random.Random(number), places(thread)  # noqa: S311  # a mutant
        for _ in range(8):
            source, target = chance.choice(where), chance.choice(where)
            moved = thread
            for step in source:
                moved = moved[step]
            plain += _hold_to_the_rules(replace_at(thread, target, moved))
    assert plain > 500


@pytest.mark.parametrize(("length", "plain"), [(LARGE_CONTENT - 3, True), (LARGE_CONTENT - 2, False)])
def test_a_large_content_is_not_plain(length: int, plain: bool) -> None:
    """R6: a text has two quotes more than its characters."""
    thread = load_good_threads()["tool-call"]
    assert thread["turns"][1]["messages"][1]["parts"][0]["part_kind"] == "tool-return"
    content = ("turns", 1, "messages", 1, "parts", 0, "content")
    assert _hold_to_the_rules(replace_at(thread, content, "x" * length)) is plain


_OWN = {"part_kind": "custom:note", "anything": [{"at": "all"}]}
_CALL = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c1", "args": {}}
_RETURN = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c1", "status": "success", "content": 1}


def _with_messages(*turns: list[dict[str, Any]]) -> Any:
    """Return a thread with an agent turn for each list of messages, which follow each other by seconds."""
    thread = load_good_threads()["tool-call"]
    agent = next(iter(thread["agents"]))
    made = []
    for number, messages in enumerate(turns, 1):
        at = f"2025-01-20T10:00:0{number}Z"
        whose = [{"agent_id": agent} if one["message_type"] != "system" else {} for one in messages]
        dated = [{"timestamp": at, **own, **one} for own, one in zip(whose, messages, strict=True)]
        times = {"started_at": at, "completed_at": at, "completion_status": "complete"}
        made.append({"turn_type": "agent", "agent_id": agent, **times, "messages": dated})
    return {**thread, "turns": made}


def _response(*parts: Any) -> dict[str, Any]:
    return {"message_type": "response", "parts": list(parts)}


def _request(*parts: Any) -> dict[str, Any]:
    return {"message_type": "request", "parts": list(parts)}


@pytest.mark.parametrize(
    ("turns", "plain"),
    [
        ([[_response(_OWN, _CALL), _request(_RETURN, _OWN)]], True),
        ([[_response({**_OWN, "anything": 2**53})]], False),
        ([[_response({**_OWN, "anything": math.nan})]], False),
        ([[_response({**_OWN, "part_kind": "own"})]], False),
        ([[_response(_CALL)], [_request(_RETURN)]], True),
        ([[_response(_CALL)], [_response({"part_kind": "text", "content": "on"})]], True),
        ([[_response(_CALL)], [_response({"part_kind": "text", "content": "on"}), _request(_RETURN)]], False),
        ([[_response(_CALL)], [_request(_RETURN), _request(_RETURN)]], False),
        ([[_response(_CALL)], [_response(_CALL)]], False),
        ([[_response(_CALL)], [_request({**_RETURN, "tool_name": "g"})]], False),
        ([[_response({**_CALL, "tool_call_id": name})] for name in ("c0", "c1")] + [[_request(_RETURN)]], True),
    ],
)
def test_custom_parts_and_calls_that_an_earlier_turn_left_open(turns: Any, plain: bool) -> None:
    """R7, R30: the first may hold what JSON can; the others are answered before the turn has a response."""
    assert _hold_to_the_rules(_with_messages(*turns)) is plain


@pytest.mark.parametrize(
    ("name", "data", "codes"),
    [
        ("data-tp-thread_end", {}, []),
        ("data-tp-unknown", {}, ["event-name-reserved"]),
        ("data-tp-thread_spawn", {}, ["spawn-without-thread"]),
        ("data-tp-agent_handoff", {"to": "b", "priority": 1}, ["event-with-orchestration"]),
        ("agent.handoff", {}, ["event-name-of-another-version"]),
    ],
)
def test_of_a_thread_in_doubt_for_its_events_only_their_rules_are_asked(
    monkeypatch: pytest.MonkeyPatch, name: str, data: Any, codes: list[str]
) -> None:
    """Each finding is that of all rules; for what is only observed, all are asked."""
    event = {"message_type": "system", "event_type": name, "event_data": data}
    thread = _with_messages([event, _response({"part_kind": "text", "content": "on"})])
    wanted = _wrong(thread, observations=False)
    assert [finding.code for finding in wanted] == codes
    monkeypatch.setattr(check, "ONE_IN", 10**9)
    monkeypatch.setattr(rules.every, "find_broken", lambda *_, **__: pytest.fail("every rule is asked"))
    assert check_thread(thread) == wanted
    assert plain_size(thread, observations=True, events=None) is None


def test_a_plain_thread_that_a_rule_objects_to_is_a_mistake_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in a thousand is judged by every rule although it is plain, so that a lie is found out."""
    wrong = make_document(next(entry for entry in load_bad_documents() if entry["name"] == "return-without-call"))
    monkeypatch.setattr(check, "ONE_IN", 1000)
    monkeypatch.setattr(check, "plain_size", lambda *_, **__: 3001)
    assert check_thread(wrong) == []
    monkeypatch.setattr(check, "plain_size", lambda *_, **__: 3000)
    with pytest.raises(RuntimeError, match="a thread of 3000 bytes was seen as one that keeps every rule"):
        check_thread(wrong)
