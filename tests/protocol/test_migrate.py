"""Converting gives a valid thread, reports what the version cannot say, and converting back restores the rest."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.errors import ThreadError
from tpharness.explore.generate.source import Source, flag, one_of
from tpharness.explore.generate.values import json_value
from tpharness.explore.strategies import documents, generated
from tpharness.findings import Level
from tpharness.folding import fold
from tpharness.protocol.losses import Loss
from tpharness.protocol.migrate import convert
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir

AT = "2025-01-20T10:00:{:02d}Z"
HI: dict[str, Any] = {"part_kind": "user-prompt", "content": "Hi"}
REFERENCE: dict[str, Any] = {"uri": "https://example.org/1", "size_bytes": 5}
CALL: dict[str, Any] = {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "c1", "args": {}}
RETURN: dict[str, Any] = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c1", "status": "success"}


def user(second: int, **more: Any) -> dict[str, Any]:
    """Return a user turn."""
    return {"turn_type": "user", "submitted_at": AT.format(second), "parts": [HI], **more}


def agent(second: int, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an agent turn: each part is a message of its own, a request if it is a return or a prompt."""
    messages = [
        {
            "message_type": "request" if part["part_kind"] in ("tool-return", "user-prompt") else "response",
            "timestamp": AT.format(second),
            "agent_id": "a",
            "parts": [part],
        }
        for part in parts
    ]
    return {
        "turn_type": "agent",
        "agent_id": "a",
        "started_at": AT.format(second),
        "completed_at": AT.format(second),
        "messages": messages,
        **more,
    }


def thread(version: str, *turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a thread."""
    agents = {"a": {"agent_id": "a", "agent_name": "Ann", "created_at": AT.format(0)}}
    times = {"created_at": AT.format(0), "updated_at": AT.format(59)}
    return {"version": version, "thread_id": "t", **times, "agents": agents, "turns": list(turns), **more}


def wrong(document: Any) -> list[str]:
    """Return the findings at MUST."""
    return [finding.line() for finding in check_thread(document) if finding.level is Level.MUST]


def places(losses: tuple[Loss, ...]) -> list[str]:
    """Return where something was lost."""
    return [loss.pointer for loss in losses]


TEXT = {"part_kind": "text", "content": "x"}
INTERRUPTED: dict[str, Any] = {
    "completion_status": "interrupted",
    "completed_at": None,
    "interruption": {"reason": "timeout", "interrupted_at": AT.format(3)},
}


def test_a_reference_becomes_the_content_where_there_are_no_references() -> None:
    """R6: 2.0.0 requires a content; the reference stands there, is reported, and comes back whole."""
    given_thread = thread("0.0.3", user(1), agent(2, CALL, {**RETURN, "content_ref": REFERENCE}, TEXT))
    made = convert(given_thread, Version.V2_0_0)
    assert wrong(made.thread) == []
    assert made.thread["turns"][1]["messages"][1]["parts"][0]["content"] == REFERENCE
    assert places(made.unsaid) == ["/turns/1/messages/1/parts/0/content_ref"]
    assert "c1" in made.unsaid[0].what
    assert convert(made.thread, Version.V0_0_3).thread == given_thread


def test_what_only_newer_versions_define_is_reported_and_kept() -> None:
    """R7: client metadata and links are unknown fields in 2.0.0; nothing of them is lost."""
    links = {"links": [{"thread_id": "00000000-0000-4000-8000-000000000000", "relation": "referenced"}]}
    given_thread = thread("0.0.3", user(1, client_metadata={"ui:mode": 1}), agent(2, TEXT), relationships=links)
    made = convert(given_thread, Version.V2_0_0)
    assert places(made.unsaid) == ["/relationships/links", "/turns/0/client_metadata"]
    assert made.dropped == ()
    assert convert(made.thread, Version.V0_0_3).thread == given_thread


def test_the_users_words_do_not_stand_twice_after_a_turn_was_dropped() -> None:
    """R9: a turn may begin with the words of an earlier user turn, unless it follows it directly."""
    cut, repeating = agent(2, TEXT, **INTERRUPTED), agent(4, HI, TEXT, completion_status="complete")
    given_thread = thread("0.0.4", user(1), cut, repeating)
    assert wrong(given_thread) == []
    made = convert(given_thread, Version.V0_0_3)
    assert wrong(made.thread) == []
    assert [turn["turn_type"] for turn in made.thread["turns"]] == ["user", "agent"]
    assert [m["message_type"] for m in made.thread["turns"][1]["messages"]] == ["response"]
    assert places(made.dropped) == ["/turns/1", "/turns/2"]
    assert given_thread["turns"][2]["messages"][0]["parts"] == [HI]  # the input is as it was


@pytest.mark.parametrize("field", ["completed_at", "messages", "agent_id"])
@pytest.mark.parametrize("to", Version)
def test_a_malformed_turn_is_refused(field: str, to: Version) -> None:
    """A turn without a required field is not completed by guessing."""
    turn = agent(2, TEXT, interruption={"reason": "timeout", "interrupted_at": AT.format(3)})
    del turn[field]
    with pytest.raises(ThreadError, match=r"not a valid 0\.0\.3 thread") as refused:
        convert(thread("0.0.3", user(1), turn), to)
    assert all((f.place.pointer or "").startswith("/turns/1") for f in refused.value.findings)


def test_unknown_fields_with_the_names_of_the_newer_version_are_dropped_and_reported() -> None:
    """A complete turn with an `interruption`, as an unknown field of 0.0.3, would be neither in 0.0.4."""
    old = thread(
        "2.0.0",
        user(1, client_metadata=5),
        agent(2, CALL, {**RETURN, "content": "x", "content_ref": "y"}, TEXT, interruption="x", completion_status="?"),
        relationships=[],
    )
    assert wrong(old) == []
    made = convert(old, Version.V0_0_4)
    assert wrong(made.thread) == []
    assert places(made.dropped) == [
        "/relationships",
        "/turns/0/client_metadata",
        "/turns/1/messages/1/parts/0/content_ref",
        "/turns/1/completion_status",
        "/turns/1/interruption",
    ]
    assert made.thread["turns"][1]["completion_status"] == "complete"


def test_an_event_with_the_name_of_the_other_version_is_reported() -> None:
    """R1: after the upgrade nobody can tell which of the two was normative, so the way back renames both."""
    event = {"message_type": "system", "timestamp": AT.format(2), "event_type": "data-tp-error", "event_data": {}}
    made = convert(thread("0.0.3", user(1), {**agent(2), "messages": [event]}), Version.V0_0_4)
    assert places(made.unsaid) == ["/turns/1/messages/0/event_type"]


def test_a_thread_that_has_no_valid_form_in_the_version_is_refused() -> None:
    """A call of the first turn, answered in an interrupted one; without that, its id is still in use."""
    cut = agent(
        4, {**RETURN, "content": 1}, **(INTERRUPTED | {"interruption": {"reason": "x", "interrupted_at": AT.format(4)}})
    )
    again = agent(6, CALL, {**RETURN, "content": 2}, completion_status="complete")
    given_thread = thread("0.0.4", user(1), agent(2, CALL, completion_status="complete"), user(3), cut, user(5), again)
    assert wrong(given_thread) == []
    with pytest.raises(ThreadError, match=r"no valid 0\.0\.3 thread") as refused:
        convert(given_thread, Version.V0_0_3)
    assert [finding.code for finding in refused.value.findings] == ["call-id-in-use"]


# ------------------------------------------------------------------------------------------------ any valid thread

OF_TURNS = ("client_metadata", "completion_status", "interruption")


def odd(source: Source, made: dict[str, Any]) -> dict[str, Any]:
    """Return a valid thread with unknown fields that other versions define, repeated prompts and normative events."""
    made = copy.deepcopy(made)
    if flag(source, 3):
        made["relationships"] = json_value(source)
    for turn in made["turns"]:
        if flag(source, 3):
            turn.setdefault(one_of(source, OF_TURNS), json_value(source))
        for message in turn.get("messages", ()):
            if message["message_type"] == "system" and flag(source, 2):
                message["event_type"] = one_of(source, ("error", "data-tp-error", "agent.handoff"))
            for part in message.get("parts", ()):
                if part["part_kind"] == "tool-return" and flag(source, 3):
                    part.setdefault("content_ref", one_of(source, (REFERENCE, part.get("content"), 5, {})))
    last = made["turns"][-1]
    if last.get("completion_status") == "interrupted" and flag(source, 2):
        asked = copy.deepcopy(made["turns"][-2]["parts"])
        end = last["interruption"]["interrupted_at"]
        said = {"message_type": "request", "timestamp": end, "agent_id": "a", "parts": asked}
        times = {"started_at": end, "completed_at": end, "completion_status": "complete"}
        made["turns"].append({"turn_type": "agent", "agent_id": "a", **times, "messages": [said]})
    return made


@st.composite
def odd_documents(draw: Any) -> dict[str, Any]:
    """Valid threads that other versions may understand in another way."""
    base = draw(documents())
    made: dict[str, Any] = draw(generated(lambda source: odd(source, base)))
    return made


def without(document: dict[str, Any], losses: tuple[Loss, ...]) -> Any:
    """Return a document without the places that were reported; a turn that was dropped, or lost a message, is {}."""
    document = copy.deepcopy(document)
    for loss in losses:
        *path, name = loss.pointer.split("/")[1:]
        holder: Any = document
        for step in path:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        if isinstance(holder, list):
            holder[int(name)] = {}
        else:
            holder.pop(name, None)
            if name == "content_ref":  # the reference stood in for the content
                holder.pop("content", None)
    return document


@settings(max_examples=60)
@given(odd_documents(), st.sampled_from(list(Version)))
def test_any_valid_thread_is_valid_in_any_version_and_comes_back(given_thread: dict[str, Any], to: Version) -> None:
    """Converted, it keeps the rules of the version; converted back, it has everything that was not reported."""
    if wrong(given_thread):
        return
    made = convert(given_thread, to)
    assert wrong(made.thread) == []
    assert made.thread["version"] == to.value
    losses = made.dropped + made.unsaid
    dropped = {int(p.split("/")[2]) for p in places(made.dropped) if p.count("/") == 2 and p.startswith("/turns/")}
    gone = sorted(i for i in dropped if given_thread["turns"][i].get("completion_status") == "interrupted")
    back = convert(made.thread, Version(given_thread["version"])).thread
    for index in gone:
        back["turns"].insert(index, {})
    assert without(back, losses) == without(given_thread, losses)
    if not losses:
        assert back == given_thread


GOLDENS = sorted((conformance_dir() / "golden").rglob("*.json"))


@pytest.mark.parametrize("theme", sorted({path.relative_to(conformance_dir() / "golden").parts[0] for path in GOLDENS}))
def test_the_golden_threads_are_valid_in_every_version(theme: str) -> None:
    """Threads of every scenario, with a registry: each is converted, or has a finding of its own."""
    header = thread("0.0.4")
    for path in GOLDENS:
        if theme not in path.parts:
            continue
        golden: dict[str, Any] = {**header, **json.loads(path.read_bytes())}
        names = {m.get("agent_id") for turn in golden["turns"] for m in turn.get("messages", ())}
        names |= {turn.get("agent_id") for turn in golden["turns"]}
        registry = {n: {"agent_id": n, "agent_name": n, "created_at": AT.format(0)} for n in names if n is not None}
        golden["agents"] = registry
        for to in Version if not wrong(golden) else ():
            assert wrong(convert(golden, to).thread) == [], (Path(path).stem, to)


def test_a_loss_names_the_version_that_was_asked_for() -> None:
    """0.0.3, through which the way leads, cannot say it either, and nobody has asked for it."""
    cut = {"completion_status": "interrupted", "interruption": {"reason": "timeout", "interrupted_at": AT.format(4)}}
    thread = fold("Hi", version="0.0.4").thread
    turn = {**agent(2, {"part_kind": "text", "content": "x"}), **cut}
    for name in ("2.0.0", "0.0.3"):
        (loss,) = convert({**thread, "turns": [user(1), turn]}, name, check=False).dropped
        assert loss.why == f"{name} has complete turns only (R18)"
