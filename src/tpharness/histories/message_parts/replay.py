"""A history as the events from which a UI shows it again, with the interruptions derived from it.

Sources: the plan's companion notes ("Replay derivation", HISTORIES 1.4) and the current program (HISTORIES 1.4). Each
event is a map with its name under `event` and the fields of that name; times and session ids are left out.

Under the plan each aborted assistant message and each aborted result gives an `InterruptEvent`, so n aborted results
give n events. `interrupt_findings` checks whether a user sees each interruption once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    CompactionEntry,
    DeveloperMessage,
    ForkSummaryEntry,
    HistoryEvent,
    ImageFilePart,
    ImageURLPart,
    InterruptEntry,
    OtherEntry,
    RetractEntry,
    RewindEntry,
    StreamErrorItem,
    TextPart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    Variant,
    join_text_parts,
)
from tpharness.histories.message_parts.releases import PROGRAMS, Program

__all__ = ["UIEvent", "interrupt_findings", "replay"]

UIEvent = dict[str, Any]

DUPLICATE = Kind("duplicate-interrupt")
MISSING = Kind("missing-interrupt")


def replay(events: Sequence[HistoryEvent], variant: Variant) -> list[UIEvent]:
    """Return the UI's events for a loaded history."""
    program = PROGRAMS.get(variant)
    return list(_plan_events(events) if program is None else _ProgramReplay(program).events(events))


_BEGINS_TURN = ("UserMessageEvent", "AssistantTextStartEvent", "ThinkingStartEvent")


def interrupt_findings(events: Iterable[Mapping[str, Any]], *, interrupted: int = 0) -> list[Finding]:
    """Return what is wrong with the interruptions that a UI shows: two notices in one turn, or too few interruptions.

    A turn begins at a user message, or at a new answer of the model after an interruption. `interrupted` is the number
    of turns that the user interrupted. An event whose `show_notice` is false counts as an interruption but not as a
    notice. `Place.event` is the index of the second notice.
    """
    findings: list[Finding] = []
    notices = interruptions = 0
    for index, event in enumerate(events):
        if event["event"] in _BEGINS_TURN:
            notices = 0
        elif event["event"] == "InterruptEvent":
            interruptions += 1
            notices += event.get("show_notice", True)
            if notices == 2:
                findings.append(DUPLICATE.at(Place(event=index)))
    if interruptions < interrupted:
        findings.append(MISSING.at(Place(), got=interruptions, expected=interrupted))
    return findings


# ------------------------------------------------------------------------------------------------ as planned


def _plan_events(events: Sequence[HistoryEvent]) -> Iterator[UIEvent]:
    previous: HistoryEvent | None = None
    for event in events:
        match event:
            case UserMessage():
                yield _user(event)
            case DeveloperMessage():
                yield _developer(event)
            case AssistantMessage():
                if previous is None or isinstance(previous, UserMessage | ToolResultMessage | DeveloperMessage):
                    yield {"event": "TurnStartEvent"}
                yield from _plan_answer(event)
            case ToolResultMessage():
                yield _result(event)
                if event.status == "aborted":
                    yield {"event": "InterruptEvent"}
            case StreamErrorItem():
                yield {"event": "ErrorEvent", "error_message": event.error}
            case OtherEntry(kind="TaskMetadataItem"):
                yield {"event": "TaskMetadataEvent", "metadata": event.data}
            case _:
                pass  # a system message is not rendered
        previous = event


def _plan_answer(message: AssistantMessage) -> Iterator[UIEvent]:
    thinking = "".join(part.text for part in message.parts if isinstance(part, ThinkingTextPart))
    if thinking:
        yield {"event": "ThinkingEvent", "content": thinking}
    text = join_text_parts(message.parts)
    if text:
        yield {"event": "AssistantMessageEvent", "content": text}
    for part in message.parts:
        if isinstance(part, ImageFilePart):
            yield {"event": "AssistantImageDeltaEvent", "file_path": part.file_path}
    yield from map(_call, _calls(message))
    if message.stop_reason == "aborted":
        yield {"event": "InterruptEvent"}
    facts = {"response_id": message.response_id, "usage": message.usage, "stop_reason": message.stop_reason}
    if message.usage is not None:  # decision 5: it is rebuilt, because it is not stored
        yield {"event": "ResponseMetadataEvent", **{name: value for name, value in facts.items() if value is not None}}


# ------------------------------------------------------------------------------------------------ as it is


_BEFORE_A_STEP = (
    UserMessage,
    ToolResultMessage,
    DeveloperMessage,
    InterruptEntry,
    RetractEntry,
    CompactionEntry,
    RewindEntry,
)
_ENTRIES_BEFORE_A_STEP = ("CacheHitRateEntry", "FallbackModelConfigWarnEntry", "SideQuestionEntry")
_ENTRY_EVENTS = {
    "CacheHitRateEntry": "CacheHitRateEvent",
    "FallbackModelConfigWarnEntry": "FallbackModelConfigWarnEvent",
    "AwaySummaryEntry": "AwaySummaryEvent",
    "SideQuestionEntry": "SideQuestionEvent",
    "PromptSuggestionEntry": "PromptSuggestionReadyEvent",
}
"""Entries that give one event with their own fields; other entries give no event."""


class _ProgramReplay:
    """Replays a history; a call waits for its result, and the end of a task for the next event."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._waiting: dict[str, UIEvent] = {}
        self._stepped = False
        self._to_finish: str | None = None
        """The text of the last answer of a task whose end event has not been sent."""
        self._interrupted = False

    def events(self, history: Sequence[HistoryEvent]) -> Iterator[UIEvent]:
        """Yield the UI's events in order."""
        if history or self._program.starts_when_empty:
            yield {"event": "TaskStartEvent"}
        previous: HistoryEvent | None = None
        for index, event in enumerate(history):
            if not isinstance(event, ToolResultMessage):
                yield from self._flush_calls()
            if isinstance(event, UserMessage) and event.source != "task_completion":
                if self._stepped:
                    yield from self._finish()
                    yield {"event": "TaskStartEvent"}
                if self._program.finishes_with_metadata:
                    self._interrupted = False
            if isinstance(event, AssistantMessage) and _begins_step(previous):
                yield {"event": "StepStartEvent"}
            following = history[index + 1] if index + 1 < len(history) else None
            yield from self._one(event, last=not isinstance(following, ToolResultMessage))
            previous = event
        yield from self._flush_calls()
        yield from self._finish()

    def _one(self, event: HistoryEvent, *, last: bool) -> Iterator[UIEvent]:
        match event:
            case UserMessage(source="bash_mode"):
                yield from _bash(join_text_parts(event.parts))
            case UserMessage():
                yield {**_user(event), **(_told_by(event) if self._program.tells_source else {})}
            case DeveloperMessage():
                item = {name: value for name, value in msgspec.to_builtins(event).items() if value is not None}
                yield {
                    "event": "DeveloperMessageEvent",
                    "item": {**item, "parts": [_present(p) for p in item["parts"]]},
                }
            case AssistantMessage():
                yield from self._answer(event)
            case ToolResultMessage():
                call = self._waiting.pop(event.call_id, None)
                if call is not None:
                    yield call
                yield {**_result(event), "is_last_in_step": last}
            case InterruptEntry():
                self._interrupted = True
                yield {"event": "InterruptEvent", "show_notice": event.show_notice}
            case CompactionEntry():
                yield {"event": "CompactionStartEvent", "reason": "threshold"}
                kept = {"kept_from_index": event.first_kept_index, "summary": event.summary}
                yield {"event": "CompactionEndEvent", "reason": "threshold", "aborted": False, **kept}
            case RewindEntry():
                fields = ("checkpoint_id", "note", "rationale", "original_user_message")
                yield {"event": "RewindEvent", **{name: getattr(event, name) for name in fields}}
            case ForkSummaryEntry():
                count = event.source_message_count
                yield {"event": "ForkSummaryEvent", "summary": event.summary, "source_message_count": count}
            case OtherEntry():
                yield from self._entry(event)
            case _:
                pass  # failed model calls and retracted messages are not shown

    def _entry(self, entry: OtherEntry) -> Iterator[UIEvent]:
        data = {name: value for name, value in entry.data.items() if name not in ("created_at", "request_id")}
        if entry.kind == "TaskMetadataItem":
            partial = bool(data.get("is_partial"))
            if data.get("background_task_id") is not None and self._program.finishes_with_metadata:
                yield {"event": "TaskMetadataEvent", "metadata": data}
                return
            yield {"event": "TaskMetadataEvent", "metadata": data, "is_partial": partial}
            if self._program.finishes_with_metadata and not partial:
                yield from self._finish()
        elif entry.kind == "TaskFileChangeSummaryEntry":
            yield {"event": "TaskFileChangeSummaryEvent", "summary": data}
        elif entry.kind in _ENTRY_EVENTS:
            if entry.kind == "AwaySummaryEntry" and self._stepped:
                yield from self._finish()
            yield {"event": _ENTRY_EVENTS[entry.kind], **data}

    def _answer(self, message: AssistantMessage) -> Iterator[UIEvent]:
        self._stepped = True
        self._to_finish = join_text_parts(message.parts)
        yield from _stream_events(message)
        for call in _calls(message):
            self._waiting[call.call_id] = _call(call)
        if message.stop_reason == "aborted":
            self._interrupted = True
            yield {"event": "InterruptEvent", "show_notice": True}
        if message.usage is not None and message.stop_reason != "error":
            yield {"event": "UsageEvent", "usage": message.usage}

    def _flush_calls(self) -> Iterator[UIEvent]:
        yield from self._waiting.values()
        self._waiting = {}

    def _finish(self) -> Iterator[UIEvent]:
        if self._to_finish is None:
            return
        if not self._interrupted:
            yield {"event": "TaskFinishEvent", "task_result": self._to_finish}
        self._to_finish, self._interrupted = None, False


def _begins_step(previous: HistoryEvent | None) -> bool:
    """Whether an assistant message after this event begins a step."""
    if isinstance(previous, OtherEntry):
        return previous.kind in _ENTRIES_BEFORE_A_STEP
    return previous is None or isinstance(previous, _BEFORE_A_STEP)


_STREAMS: Mapping[type, str] = {ThinkingTextPart: "Thinking", TextPart: "AssistantText"}


def _stream_events(message: AssistantMessage) -> Iterator[UIEvent]:
    """Yield the thoughts and texts of a message as a stream: start, deltas, end."""
    open_kind = ""
    thought = False  # whether the open thinking has content
    for part in message.parts:
        kind = _STREAMS.get(type(part), "")
        if open_kind and kind != open_kind and (kind or open_kind == "Thinking"):
            yield {"event": f"{open_kind}EndEvent"}
            open_kind, thought = "", False
        if not isinstance(part, ThinkingTextPart | TextPart):
            continue
        if not open_kind:
            open_kind = kind
            yield {"event": f"{kind}StartEvent"}
        if part.text and thought:
            yield {"event": "ThinkingDeltaEvent", "content": "  \n  \n"}
        if part.text:
            yield {"event": f"{kind}DeltaEvent", "content": part.text}
        thought = thought or (kind == "Thinking" and part.text != "")
    if open_kind:
        yield {"event": f"{open_kind}EndEvent"}


# ------------------------------------------------------------------------------------------------ both


def _user(message: UserMessage) -> UIEvent:
    images = [
        {name: value for name, value in msgspec.to_builtins(part).items() if value is not None}
        for part in message.parts
        if isinstance(part, ImageURLPart | ImageFilePart)
    ]
    event: UIEvent = {"event": "UserMessageEvent", "content": join_text_parts(message.parts)}
    return {**event, "images": images} if images else event


def _present(fields: Any) -> Any:
    return {name: value for name, value in fields.items() if value is not None}


def _told_by(message: UserMessage) -> UIEvent:
    """Return who speaks in the user's place, where it is not the user."""
    facts = {name: getattr(message, name) for name in ("source", "peer_message", "shell_tasks", "task_response")}
    return {name: value for name, value in facts.items() if value is not None}


def _bash(text: str) -> Iterator[UIEvent]:
    """Yield the events of a command that the user ran: the message has it and its output in tags."""
    command, output = _tag(text, "bash-input"), _tag(text, "bash-stdout")
    if command:
        yield {"event": "UserMessageEvent", "content": f"!{command}"}
        yield {"event": "BashCommandStartEvent", "command": command}
    if output and output != "(no output)":
        yield {"event": "BashCommandOutputDeltaEvent", "content": output}
    yield {"event": "BashCommandEndEvent", "cancelled": "(command cancelled)" in output}


def _tag(text: str, name: str) -> str:
    _, found, rest = text.partition(f"<{name}>")
    inside, ended, _ = rest.partition(f"</{name}>")
    return inside if found and ended else ""


def _developer(message: DeveloperMessage) -> UIEvent:
    return {"event": "DeveloperMessageEvent", "content": join_text_parts(message.parts)}


def _calls(message: AssistantMessage) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def _call(part: ToolCallPart) -> UIEvent:
    return {
        "event": "ToolCallEvent",
        "tool_call_id": part.call_id,
        "tool_name": part.tool_name,
        "arguments": part.arguments_json,
    }


def _result(message: ToolResultMessage) -> UIEvent:
    """Return the event of a result; the UI has only the statuses success and error."""
    return {
        "event": "ToolResultEvent",
        "tool_call_id": message.call_id,
        "tool_name": message.tool_name,
        "result": message.output_text,
        "status": "success" if message.status == "success" else "error",
    }
