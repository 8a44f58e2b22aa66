"""Journal → the events of the LangChain CLI design, in the order in which its reducer would have received them.

The journal has complete texts where a stream has deltas, which fill a buffer in the same way. Left out is what the
design has no event for: thinking, files, calls that the provider executes itself, system events, usage. It is a CLI, so
only the texts of what users submit are used.

A ToolEvent comes when the model has finished writing a call: its end was seen, the response is finished, or the next
call has begun. A MessageEvent comes at the end of each finished response. Every end of a turn other than completion is
an interruption; the design handles all of them in one place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tpharness.facts import parse_tool_args
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Prompt, Response, Return

__all__ = [
    "CliEvent",
    "HumanInput",
    "MessageEvent",
    "RunInterrupt",
    "RunStart",
    "TextDelta",
    "ToolEvent",
    "ToolInputDelta",
    "ToolNodeDone",
    "cli_events",
    "json_text",
]


@dataclass(frozen=True, slots=True)
class HumanInput:
    """The user submitted a text."""

    text: str


@dataclass(frozen=True, slots=True)
class RunStart:
    """The agent is run on the state."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """`text_delta`: a piece of the model's reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """`tool_input_delta`: a piece of a call's arguments. The design's own event does not say of which call."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """The model has finished writing a call; `args` is the parsed value, or the text if it is not JSON (R12)."""

    call_id: str
    name: str
    args: Any


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """The model has finished its reply."""


@dataclass(frozen=True, slots=True)
class ToolNodeDone:
    """A tool has returned or failed."""

    call_id: str
    text: str
    status: Literal["success", "error"]


@dataclass(frozen=True, slots=True)
class RunInterrupt:
    """The run was interrupted."""


CliEvent: TypeAlias = (
    HumanInput | RunStart | TextDelta | ToolInputDelta | ToolEvent | MessageEvent | ToolNodeDone | RunInterrupt
)


def cli_events(journal: Journal) -> Iterator[CliEvent]:
    """Yield the events that lead to the journal; what the buffers held needs a journal with `partial` parts."""
    for turn in journal.turns():
        if not isinstance(turn, AgentTurn):
            yield HumanInput(_prompt_text(turn.parts))
            continue
        yield RunStart()
        for segment in (*turn.segments, turn.tail):
            for entry in segment.entries:
                match entry:
                    case Response():
                        yield from _response_events(entry)
                    case Return():
                        yield _tool_result(entry)
                    case Prompt():
                        yield HumanInput(_prompt_text(entry.parts))
        if isinstance(turn.end, Interrupted):
            yield RunInterrupt()


def json_text(value: Any) -> str:
    """Return a text as it is and any other value as JSON, as LangChain's ToolNode writes what tools return."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _response_events(response: Response) -> Iterator[CliEvent]:
    calls = [part for part in response.parts if part.call_id is not None]
    mixed = any(part.streamed is not None and part.streamed.interleaved for part in calls)
    finished: list[ToolEvent] = []
    for part in response.parts:
        if part.kind == "text" and part.fields.get("content"):
            yield TextDelta(part.fields["content"])
        if part.call_id is None:
            continue
        text = _streamed_text(part)
        if text:
            yield ToolInputDelta(part.call_id, text)
        ended = part.complete or (part.streamed is not None and part.streamed.ended)
        if ended or (part is not calls[-1] and not mixed):
            args = part.fields.get("args") if part.complete else parse_tool_args(text) if text else {}
            event = ToolEvent(part.call_id, str(part.fields.get("tool_name", "")), args)
            if mixed:
                finished.append(event)  # GAP-6: no call was finished before the deltas of another came
            else:
                yield event
    yield from finished
    if response.finished:
        yield MessageEvent()


def _streamed_text(part: Part) -> str:
    """Return the arguments as they were streamed, or the JSON of those that came as a value."""
    if part.raw:
        return part.raw
    args = part.fields.get("args")
    return "" if args in (None, "", {}) else json_text(args)


def _tool_result(entry: Return) -> ToolNodeDone:
    fields = entry.fields
    content = fields["content_ref"] if "content_ref" in fields else fields.get("content")
    # A retry prompt has no status, which means an error (R22).
    return ToolNodeDone(entry.call_id, json_text(content), "success" if fields.get("status") == "success" else "error")


def _prompt_text(parts: Sequence[Mapping[str, Any]]) -> str:
    texts: list[str] = []
    for part in parts:
        content = part.get("content")
        items = content if isinstance(content, Sequence) and not isinstance(content, str) else [content]
        texts += [item for item in items if isinstance(item, str)]
    return "\n".join(texts)
