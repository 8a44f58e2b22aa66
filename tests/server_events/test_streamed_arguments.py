"""The journal says how the arguments of a call came: their text, whether their end was seen, whether others cut in."""

from __future__ import annotations

from typing import Any

from tpharness.journal import AgentTurn, Part, Response, Streamed
from tpharness.server_events import Recorder

AT = "2025-01-20T10:00:00Z"


def start(index: int, call: str, args: Any = None) -> dict[str, Any]:
    """Return the start of a call."""
    part = {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": call, "args": args}
    return {"event_kind": "part_start", "index": index, "part": part}


def delta(index: int, args: Any) -> dict[str, Any]:
    """Return a delta of a call's arguments."""
    return {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": "tool_call", "args_delta": args}}


def end(index: int, call: str) -> dict[str, Any]:
    """Return the end of a call's part."""
    return {**start(index, call), "event_kind": "part_end"}


def parts(*events: dict[str, Any], cut: str | None = "user_cancelled") -> tuple[Part, ...]:
    """Return the parts of the one response after these events, cut there or not."""
    recorder = Recorder()
    recorder.begin("assistant", AT)
    for event in events:
        recorder.feed(event)
    assert not recorder.findings
    if cut is not None:
        recorder.interrupt(cut, AT)
    (turn,) = recorder.journal().turns()
    assert isinstance(turn, AgentTurn)
    response = turn.tail.entries[0]
    assert isinstance(response, Response)
    return response.parts


def test_the_text_of_complete_arguments_is_kept_as_it_came() -> None:
    """Parsing loses the spaces and the order of bytes; the end of the response completes the call (R10)."""
    (part,) = parts(
        start(0, "c1"), delta(0, '{"a":1,'), delta(0, '  "a": 2}'), end(0, "c1"), {"event_kind": "agent_run_result"}
    )
    assert part.complete
    assert part.fields["args"] == {"a": 2}
    assert (part.raw, part.streamed) == ('{"a":1,  "a": 2}', Streamed(ended=True))


def test_half_arguments_have_not_ended() -> None:
    """What came is there, and that it is not all."""
    (part,) = parts(start(0, "c1", '{"ci'), delta(0, 'ty": '))
    assert not part.complete
    assert (part.raw, part.streamed) == ('{"city": ', Streamed())


def test_a_call_that_ended_before_its_response_is_told_from_a_half_one() -> None:
    """Only the end of the response makes a call complete (R10), but the model had finished writing the first."""
    first, second = parts(start(0, "c1", "{}"), end(0, "c1"), start(1, "c2", '{"b'))
    assert not first.complete
    assert (first.raw, first.streamed) == ("{}", Streamed(ended=True))
    assert (second.raw, second.streamed) == ('{"b', Streamed())


def test_arguments_that_interleave_are_marked_and_have_not_ended() -> None:
    """Pydantic AI ends the first call early and goes on with it: that end was none."""
    first, second = parts(start(0, "c1", '{"a'), end(0, "c1"), start(1, "c2", '{"b'), delta(0, '": 1}'))
    assert (first.raw, first.streamed) == ('{"a": 1}', Streamed(interleaved=True))
    assert (second.raw, second.streamed) == ('{"b', Streamed())


def test_half_arguments_that_came_as_a_value_stay() -> None:
    """A provider that sends parsed arguments has no text; the value is not overwritten by an empty one."""
    (part,) = parts(start(0, "c1", {"a": 1}), delta(0, {"b": 2}))
    assert part.fields["args"] == {"a": 1, "b": 2}
    assert (part.raw, part.streamed) == (None, Streamed())


def test_what_had_come_before_an_error_is_there() -> None:
    """An error that nothing follows is an interruption like any other (R27): open parts are visible."""
    text = {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hel"}}
    (part,) = parts(text, {"event_kind": "error", "error_text": "overloaded"})
    assert part == Part(kind="text", fields={"content": "Hel"}, complete=False)
