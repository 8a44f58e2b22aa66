"""What an agent loop can be told to do, and what is refused with the reason, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tpharness.peers.pydantic_ai.framework import PydanticAiFramework
from tpharness.peers.scripted_run import ScriptedRun
from tpharness.targets.remote import CannotPlayError

Event = dict[str, Any]
KINDS = frozenset({"text", "thinking", "tool-call"})


def text(index: int = 0, content: str = "Hi", *, end: bool = True) -> list[Event]:
    """Return a text part."""
    part = {"part_kind": "text", "content": content}
    start = {"event_kind": "part_start", "index": index, "part": part}
    return [start, {"event_kind": "part_end", "index": index, "part": part}] if end else [start]


def call(index: int, call_id: str) -> list[Event]:
    """Return a call without arguments."""
    part = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": call_id, "args": "{}"}
    return [
        {"event_kind": "part_start", "index": index, "part": part},
        {"event_kind": "part_end", "index": index, "part": part},
    ]


def starts(call_id: str, **more: Any) -> Event:
    """Return the start of a tool."""
    return {"event_kind": "function_tool_call", "part": {"tool_call_id": call_id}, **more}


def returns(call_id: str) -> Event:
    """Return the result of a tool."""
    part = {"part_kind": "tool-return", "tool_call_id": call_id, "content": "done"}
    return {"event_kind": "function_tool_result", "part": part}


END = {"event_kind": "model_response_end"}
RESULT = {"event_kind": "agent_run_result"}


def read(*events: Event | list[Event]) -> ScriptedRun:
    """Read events, lists of them flattened."""
    flat = [one for event in events for one in (event if isinstance(event, list) else [event])]
    return ScriptedRun.read(flat, part_kinds=KINDS)


def test_a_cycle_and_an_answer_are_read_with_the_places_of_their_events() -> None:
    """Two answers; the call of the first starts at 3 and returns at 4, the run ends at 8."""
    scripted = read(call(0, "c1"), END, starts("c1"), returns("c1"), text(), END, RESULT)
    first, second = scripted.answers
    assert (first.calls, first.ended_at) == (["c1"], 2)
    assert (first.tools["c1"].started_at, first.tools["c1"].returned_at) == (3, 4)
    assert (second.first, second.calls, scripted.result_at, scripted.count) == (5, [], 8, 9)


def test_what_no_framework_has_to_do_anything_for_is_quiet() -> None:
    """Silence and the notice of a final result happen by themselves."""
    scripted = read({"event_kind": "final_result"}, text(), {"event_kind": "stall", "seconds": 3})
    assert scripted.quiet == {0, 3}
    assert not scripted.answers[0].ended


def test_the_applications_own_events_are_told_beside_the_framework() -> None:
    """An old normative name becomes the new one; a transient event is not kept; fields beside a name are (R34)."""
    scripted = read(
        {"event_kind": "system_event", "event_type": "thread.spawn", "event_data": {"id": 1}},
        {"event_kind": "custom", "name": "data-app-x", "data": 2},
        {"event_kind": "custom", "name": "app-routed", "to_agent": "planner"},
        {"event_kind": "system_event", "event_type": "data-app-y", "event_data": 3, "transient": True},
        {"event_kind": "system_event", "event_type": "meta:z", "event_data": 4},
    )
    assert [(notice.chunk()["type"], notice.data, notice.kept) for notice in scripted.notices.values()] == [
        ("data-tp-thread_spawn", {"id": 1}, True),
        ("data-app-x", 2, True),
        ("data-app-routed", {"to_agent": "planner"}, True),
        ("data-app-y", 3, False),
        ("data-meta:z", 4, True),
    ]


def test_an_error_ends_the_run_and_its_result_says_so() -> None:
    """An error in the middle of a text, and the result with reason error that may follow."""
    scripted = read(text(end=False), {"event_kind": "error", "error_text": "x"}, {**RESULT, "finish_reason": "error"})
    assert (scripted.failed_at, scripted.failure, scripted.quiet) == (1, "x", {2})


REFUSED = {
    "a hand-off": ({"event_kind": "agent_start", "agent_id": "b"},),
    "an answer taken back": (text(), {"event_kind": "response_reset"}),
    "progress": (call(0, "c1"), {"event_kind": "tool_progress", "tool_call_id": "c1", "content": 1}),
    "a source": ({"event_kind": "system_event", "event_type": "source.url", "event_data": {}},),
    "an enqueued message": ({"event_kind": "enqueued_messages"},),
    "a steering prompt": ({"event_kind": "model_request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},),
    "anything after the end": (text(), RESULT, text(1)),
    "anything after an error": (text(), {"event_kind": "error", "error_text": "x"}, text(1)),
    "an error after the last answer": (text(), END, {"event_kind": "error", "error_text": "x"}),
    "a part of another kind": ([{"event_kind": "part_start", "index": 0, "part": {"part_kind": "file"}}],),
    "an index twice": (text(), text()),
    "a delta of nothing": ({"event_kind": "part_delta", "index": 0, "delta": {}},),
    "a call without an id": (call(0, ""),),
    "a call id twice in one answer": (call(0, "c1"), call(1, "c1")),
    "another text at the end": (
        text(end=False),
        {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "Ho"}},
    ),
    "an end with an open part": (text(end=False), END),
    "an end of nothing": (END,),
    "two ends": (text(), END, END),
    "a tool that nobody called": (text(), returns("c1")),
    "a tool before its call is complete": (call(0, "c1"), text(1, end=False), starts("c1")),
    "a tool twice": (call(0, "c1"), starts("c1"), starts("c1")),
    "two returns": (call(0, "c1"), returns("c1"), returns("c1")),
    "arguments that do not fit": (call(0, "c1"), starts("c1", args_valid=False)),
    "the model before the tools are done": (call(0, "c1"), END, text()),
    "the model without a call before": (text(), END, text()),
    "a result with open calls": (call(0, "c1"), END, RESULT),
    "a result with an open part": (text(end=False), RESULT),
    "a result after tools": (call(0, "c1"), returns("c1"), RESULT),
    "a result of nothing": (RESULT,),
    "an answer of nothing": ({"event_kind": "model_request"}, END, RESULT),
    "an unknown event": ({"event_kind": "output_tool_call"},),
}


@pytest.mark.parametrize("events", REFUSED.values(), ids=REFUSED)
def test_what_cannot_happen_is_refused_in_words(events: tuple[Any, ...]) -> None:
    """The message is the reason that the report shows beside not-applicable."""
    with pytest.raises(CannotPlayError) as refused:
        read(*events)
    assert len(str(refused.value)) > 20


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"part_kind": "builtin-tool-return", "tool_call_id": "c1", "content": 1}, "does not name its tool"),
        ({"part_kind": "file", "content": {"kind": "image-url", "url": "https://example.org/a"}}, "by its address"),
    ],
)
def test_pydantic_ai_refuses_parts_that_its_models_do_not_give(part: Event, words: str) -> None:
    """Its native return has the name of its tool, its file has bytes: a script without them was an error of the run."""
    kinds = frozenset({*KINDS, "builtin-tool-return", "file"})
    events = [{"event_kind": kind, "index": 0, "part": part} for kind in ("part_start", "part_end")]
    scripted = ScriptedRun.read([*events, END, RESULT], part_kinds=kinds)
    request: Any = SimpleNamespace(script=SimpleNamespace(abort=False), user=())
    with pytest.raises(CannotPlayError, match=words):
        PydanticAiFramework.refuse(cast("Any", None), scripted, request)
