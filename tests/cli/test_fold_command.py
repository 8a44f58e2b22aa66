"""`tpharness fold` writes threads that `tpharness check` accepts, with everything that the events say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SPAWN = {"spawned_thread_id": "t-2", "timestamp": "2025-01-20T11:00:05+01:00"}
TEXT = [
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "Hi"},
    {"type": "text-end", "id": "1"},
]
END = "2025-01-20T10:00:09Z"


def stream(folder: Path, *chunks: dict[str, Any]) -> str:
    """Write a stream; return its path."""
    file = folder / "stream.sse"
    file.write_text("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n", "utf-8")
    return str(file)


def events(folder: Path, *lines: dict[str, Any]) -> str:
    """Write server events; return the path."""
    file = folder / "events.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return str(file)


def carrier(**facts: Any) -> dict[str, Any]:
    """Return a carrier."""
    return {"type": "data-sys-tp", "data": facts, "transient": True}


def folded(call: Any, *args: str) -> dict[str, Any]:
    """Return the thread that a file is folded into, which the check accepts."""
    called = call("fold", *args)
    thread: dict[str, Any] = json.loads(called.out)
    checked = call("check", "-", stdin=called.out.encode())
    assert checked.code == 0, checked.out
    assert "SHOULD" not in checked.out
    return thread


def messages(thread: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of the last turn."""
    found: list[dict[str, Any]] = thread["turns"][-1]["messages"]
    return found


def test_agents_that_carriers_name_are_in_the_registry(call: Any, tmp_path: Path) -> None:
    """Those that ran, one after the other, and those that an event names; the default name is not."""
    handoff = [
        carrier(agent_id="a"),
        *TEXT,
        carrier(source_agent="a", target_agents=["b", "c"]),
        {"type": "data-tp-agent_handoff", "data": {"from": "a", "to": "b"}},
        carrier(agent_id="b"),
    ]
    thread = folded(call, stream(tmp_path, {"type": "start"}, *handoff, *TEXT, {"type": "finish"}))
    assert [turn["agent_id"] for turn in thread["turns"]] == ["a", "b"]
    assert sorted(thread["agents"]) == ["a", "b", "c"]


def test_a_registry_has_the_agent_that_was_named(call: Any, tmp_path: Path) -> None:
    """Without carriers it is the one of --agent."""
    thread = folded(call, stream(tmp_path, {"type": "start"}, *TEXT, {"type": "finish"}), "--agent", "planner")
    assert list(thread["agents"]) == ["planner"]


@pytest.mark.parametrize("framing", ["data", "value"])
def test_the_time_that_an_event_states_is_its_messages(framing: str, call: Any, tmp_path: Path) -> None:
    """In both framings; what follows did not happen before it."""
    spawn = {"type": "data-tp-thread_spawn", "data": SPAWN}
    if framing == "value":
        spawn = {"type": "data", "name": "data-tp-thread_spawn", "value": SPAWN}
    thread = folded(call, stream(tmp_path, {"type": "start"}, *TEXT, spawn, *TEXT, {"type": "finish"}))
    said = [(message["message_type"], message["timestamp"]) for message in messages(thread)]
    assert ("system", "2025-01-20T10:00:05Z") in said
    assert thread["turns"][0]["completed_at"] == "2025-01-20T10:00:05Z"


def test_an_event_did_not_happen_before_what_came_before_it(call: Any, tmp_path: Path) -> None:
    """A stated time that would change the order of the stream is not believed; a carried one always is."""
    late = {"type": "data-tp-thread_end", "data": {"timestamp": "2020-01-01T00:00:00Z"}}
    spawn = {"type": "data-tp-thread_spawn", "data": SPAWN}
    thread = folded(call, stream(tmp_path, {"type": "start"}, spawn, late, {"type": "finish"}))
    assert [message["timestamp"] for message in messages(thread)] == ["2025-01-20T10:00:05Z"] * 2
    carried = stream(
        tmp_path, {"type": "start"}, carrier(timestamp=END), spawn, carrier(completed_at=END), {"type": "finish"}
    )
    assert messages(folded(call, carried))[0]["timestamp"] == END


@pytest.mark.parametrize(
    "event",
    [
        {"event_kind": "system_event", "event_type": "data-tp-thread_spawn", "event_data": SPAWN},
        {"event_kind": "system_event", "event_type": "thread.spawn", "event_data": SPAWN},
        {"event_kind": "custom", "name": "tp-thread_spawn", **SPAWN},
        {"event_kind": "system_event", "event_type": "data-tp-thread_spawn", "timestamp": END, "event_data": SPAWN},
    ],
)
def test_the_time_that_a_server_event_states_is_its_messages(event: dict[str, Any], call: Any, tmp_path: Path) -> None:
    """A normative event states it in its data."""
    thread = folded(call, events(tmp_path, event, {"event_kind": "agent_run_result"}))
    assert [message["timestamp"] for message in messages(thread)] == ["2025-01-20T10:00:05Z"]
    assert messages(thread)[0]["event_data"] == SPAWN


def test_the_time_of_a_tools_result_is_that_of_its_request(call: Any, tmp_path: Path) -> None:
    """Pydantic AI writes it into the part."""
    called = {"tool_name": "look", "tool_call_id": "c1", "args": {}}
    returned = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c1", "content": 1, "timestamp": END}
    lines: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "tool-call", **called}},
        {"event_kind": "function_tool_call", "part": called},
        {"event_kind": "function_tool_result", "part": returned},
    ]
    thread = folded(call, events(tmp_path, *lines, {"event_kind": "agent_run_result"}))
    assert [message["timestamp"] for message in messages(thread)] == ["1970-01-01T00:00:00Z", END]


def test_the_fields_of_a_custom_event_are_its_data(call: Any, tmp_path: Path) -> None:
    """Pydantic AI writes the fields of the application's class beside its name; the envelope is none of them."""
    envelope = {"event_kind": "custom", "tool_call_id": "c1", "tool_name": "look"}
    lines: list[dict[str, Any]] = [
        {**envelope, "name": "handoff", "to_agent": "b"},
        {**envelope, "name": "progress", "data": {"percent": 50}},
        {**envelope, "event_name": "both", "payload": 5, "of": None},
        {**envelope, "name": "bare"},
    ]
    thread = folded(call, events(tmp_path, *lines, {"event_kind": "agent_run_result"}))
    assert [(message["event_type"], message["event_data"]) for message in messages(thread)] == [
        ("data-handoff", {"to_agent": "b"}),
        ("data-progress", {"percent": 50}),
        ("data-both", {"payload": 5, "of": None}),
        ("data-bare", None),
    ]


@pytest.mark.parametrize("kind", ["sse", "jsonl"])
@pytest.mark.parametrize("written", ['"it broke"', "it broke"])
def test_an_interruption_by_an_error_has_its_text(written: str, kind: str, call: Any, tmp_path: Path) -> None:
    """R27: the text becomes the error's event, at the time of the interruption."""
    if kind == "sse":
        file = stream(tmp_path, {"type": "start"}, *TEXT)
    else:
        file = events(tmp_path, {"event_kind": "model_request"})
    thread = folded(call, file, "--after", "1", "--interrupt", f"error@{END}={written}")
    assert thread["turns"][-1]["interruption"] == {"reason": "error", "interrupted_at": END}
    (message,) = messages(thread)
    assert (message["event_type"], message["event_data"], message["timestamp"]) == (
        "data-tp-error",
        {"error": "it broke"},
        END,
    )


def test_the_text_of_an_error_changes_nothing_after_the_end(call: Any, tmp_path: Path) -> None:
    """R26."""
    whole = stream(tmp_path, {"type": "start"}, *TEXT, {"type": "finish"})
    assert folded(call, whole, "--interrupt", f"error@{END}=late") == folded(call, whole)
    done = events(tmp_path, {"event_kind": "agent_run_result"})
    assert folded(call, done, "--interrupt", f"error@{END}=late") == folded(call, done)


def test_only_an_error_has_a_text(call: Any, tmp_path: Path) -> None:
    """Exit code 2, and what to write."""
    called = call("fold", stream(tmp_path, {"type": "start"}), "--interrupt", "timeout=slow")
    assert called.code == 2
    assert "timeout has no text" in called.err
    assert "error@TIME=TEXT" in called.err


@pytest.mark.parametrize("after", range(8))
def test_a_stream_with_carried_times_is_cut_after_them(after: int, call: Any, tmp_path: Path) -> None:
    """Without a time of its own the cut is where the stream had got to, not when the run began."""
    file = stream(
        tmp_path, {"type": "start"}, carrier(timestamp=END, started_at=END), *TEXT, {"type": "finish-step"}, *TEXT
    )
    folded(call, file, "--after", str(after))


@pytest.mark.parametrize("name", ["nothing.sse", "nothing.jsonl"])
def test_an_empty_file_is_found(call: Any, tmp_path: Path, name: str) -> None:
    """It may be a download that failed, as `check` says of it; a run that was cut may have sent nothing."""
    file = tmp_path / name
    file.write_bytes(b"")
    done = call("fold", str(file))
    assert (done.code, "stream-without-events" in done.err) == (1, True)
    assert json.loads(done.out)["version"] == "0.0.4"
    assert call("fold", str(file), "--interrupt", f"user_cancelled@{END}").code == 0
    assert call("fold", str(file), "--after", "0").code == 0


def test_a_scenario_is_not_a_stream(call: Any, tmp_path: Path) -> None:
    """Its lines are not those of a stream, and each was a finding beside an empty thread."""
    file = tmp_path / "mine.yaml"
    file.write_text("description: Mine\n")
    done = call("fold", str(file))
    assert (done.code, done.out) == (2, "")
    assert f"{file} is a scenario, not a recorded stream\n  `tpharness view {file}` shows" in done.err
    assert "No such file or directory" in call("fold", str(tmp_path / "none.yaml")).err
