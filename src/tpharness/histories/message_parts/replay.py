"""A history as the events from which a UI shows it again. An interruption is derived here; nothing else tells it.

Sources: the plan's companion notes ("Replay derivation", HISTORIES 1.4) and the current program (HISTORIES 1.4). Each
event is a map with `event`, its name, and the fields that its name has; times and session ids are left out.

Under the plan each aborted assistant message and each aborted result gives an `InterruptEvent`, so n aborted results
give n of them. `interrupt_findings` says of any replay whether a user would see one interruption for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    DeveloperMessage,
    HistoryEvent,
    ImageFilePart,
    ImageURLPart,
    InterruptEntry,
    OtherEntry,
    RetractEntry,
    StreamErrorItem,
    TextPart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    Variant,
    join_text_parts,
)

__all__ = ["UIEvent", "interrupt_findings", "replay"]

UIEvent = dict[str, Any]

DUPLICATE = Kind("duplicate-interrupt")
MISSING = Kind("missing-interrupt")


def replay(events: Sequence[HistoryEvent], variant: Variant) -> list[UIEvent]:
    """Return the UI's events for a history as it was loaded."""
    return list(_plan(events) if variant == "plan" else _Current().shown(events))


_BEGINS_AGAIN = ("UserMessageEvent", "AssistantTextStartEvent", "ThinkingStartEvent")


def interrupt_findings(shown: Iterable[Mapping[str, Any]], *, interrupted: int = 0) -> list[Finding]:
    """Return what is wrong with the interruptions that a UI is shown: two notices in one turn, or too few of them.

    A turn is what follows a user message, or what the model says after it was interrupted and asked again.
    `interrupted` is how many turns the user did interrupt. An event whose `show_notice` is false shows nothing, but
    does tell. `Place.event` is the index of the second notice.
    """
    findings: list[Finding] = []
    notices = told = 0
    for index, event in enumerate(shown):
        if event["event"] in _BEGINS_AGAIN:
            notices = 0
        elif event["event"] == "InterruptEvent":
            told += 1
            notices += event.get("show_notice", True)
            if notices == 2:
                findings.append(DUPLICATE.at(Place(event=index)))
    if told < interrupted:
        findings.append(MISSING.at(Place(), got=told, expected=interrupted))
    return findings


# ------------------------------------------------------------------------------------------------ as planned


def _plan(events: Sequence[HistoryEvent]) -> Iterator[UIEvent]:
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


# ------------------------------------------------------------------------------------------------ as it is


_BEFORE_A_STEP = (UserMessage, ToolResultMessage, DeveloperMessage, InterruptEntry, RetractEntry)
_BEFORE_A_STEP_TOO = (
    "CacheHitRateEntry",
    "FallbackModelConfigWarnEntry",
    "SideQuestionEntry",
    "CompactionEntry",
    "RewindEntry",
)
_SHOWN = {
    "TaskMetadataItem": "TaskMetadataEvent",
    "TaskFileChangeSummaryEntry": "TaskFileChangeSummaryEvent",
    "CacheHitRateEntry": "CacheHitRateEvent",
    "FallbackModelConfigWarnEntry": "FallbackModelConfigWarnEvent",
    "AwaySummaryEntry": "AwaySummaryEvent",
    "SideQuestionEntry": "SideQuestionEvent",
    "PromptSuggestionEntry": "PromptSuggestionReadyEvent",
}
"""Entries that are shown by one event with their own fields. Others of another program's making show nothing here."""


class _Current:
    """Shows a history; calls wait for their result, the end of a task for what follows it."""

    def __init__(self) -> None:
        self._waiting: dict[str, UIEvent] = {}
        self._stepped = False
        self._to_finish: str | None = None
        """The text of the last answer of a task whose end has not been shown."""
        self._interrupted = False

    def shown(self, events: Sequence[HistoryEvent]) -> Iterator[UIEvent]:
        """Yield what is shown, in order; nothing for an empty history."""
        if events:
            yield {"event": "TaskStartEvent"}
        previous: HistoryEvent | None = None
        for index, event in enumerate(events):
            if not isinstance(event, ToolResultMessage):
                yield from self._flush_calls()
            if isinstance(event, UserMessage):
                if self._stepped:
                    yield from self._finish()
                    yield {"event": "TaskStartEvent"}
                self._interrupted = False
            if isinstance(event, AssistantMessage) and _steps(previous):
                yield {"event": "StepStartEvent"}
            following = events[index + 1] if index + 1 < len(events) else None
            yield from self._one(event, last=not isinstance(following, ToolResultMessage))
            previous = event
        yield from self._flush_calls()
        yield from self._finish()

    def _one(self, event: HistoryEvent, *, last: bool) -> Iterator[UIEvent]:
        match event:
            case UserMessage():
                yield _user(event)
            case DeveloperMessage():
                yield _developer(event)
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
            case OtherEntry() if event.kind in _SHOWN:
                if event.kind == "AwaySummaryEntry":
                    yield from self._finish()
                yield {"event": _SHOWN[event.kind], **event.data}
                if event.kind == "TaskMetadataItem":
                    yield from self._finish()
            case _:
                pass  # a failed model call is not shown, nor is a message that was taken back

    def _answer(self, message: AssistantMessage) -> Iterator[UIEvent]:
        self._stepped = True
        self._to_finish = join_text_parts(message.parts)
        yield from _streamed(message)
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


def _steps(previous: HistoryEvent | None) -> bool:
    """Whether an assistant message after this event begins a step."""
    if isinstance(previous, OtherEntry):
        return previous.kind in _BEFORE_A_STEP_TOO
    return previous is None or isinstance(previous, _BEFORE_A_STEP)


_STREAMS: Mapping[type, str] = {ThinkingTextPart: "Thinking", TextPart: "AssistantText"}


def _streamed(message: AssistantMessage) -> Iterator[UIEvent]:
    """Yield the thoughts and texts of a message as the stream that they once were: start, deltas, end."""
    open_kind = ""
    thought = False  # whether the thinking that is open has said something
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
    shown: UIEvent = {"event": "UserMessageEvent", "content": join_text_parts(message.parts)}
    return {**shown, "images": images} if images else shown


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
    """Return a result as it is shown; the UI knows no status but success and error."""
    return {
        "event": "ToolResultEvent",
        "tool_call_id": message.call_id,
        "tool_name": message.tool_name,
        "result": message.output_text,
        "status": "success" if message.status == "success" else "error",
    }
