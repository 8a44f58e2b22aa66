"""A journal as the history that is stored.

Sources: document 002 (`plan`), HISTORIES 1.2 and 1.3 (`current`). An event is appended when it is complete: an
assistant message when its model call has ended, a tool result when its tool has. Deltas and starts of calls are never
kept.

Only an interruption by the user (`user_cancelled`) gives `aborted`. What the two variants keep of it:

| when | `plan` | `current` |
|---|---|---|
| before the first delta | assistant message without parts, aborted | interrupt entry |
| in a response | its thoughts and texts, aborted | its text, stripped, aborted; an interrupt entry if there is none |
| in the arguments of a call | the same, without the call | the same, without the call |
| while tools run | results that arrived, `aborted` ones for the others | the same, and an interrupt entry |
| after the last result | assistant message without parts, aborted | interrupt entry |
| after a response without calls | its stop reason becomes aborted | nothing: the task has ended with its metadata |

`2.32` differs in a response: its text is the prompt that continues a failed call, said by the user, before an interrupt
entry. All of this was measured with the program's own agent (`oracle_klaude_agent`).

Choices where the sources leave a gap:

- `plan`, thinking only: the thought is kept, as it is before text;
- `plan`, tools running: the stop reason of the response stays `tool_use`. The call of the model had ended, and an
  aborted one would add an interruption to that of each aborted result;
- calls of a response that had not ended are dropped, even if their arguments look complete;
- aborted results are in the order of the calls, after the results that arrived;
- `current`: `show_notice` is whether anything of the turn was visible: a text, even of white space, or a call;
- at a time limit (`timeout`) the running tools get the error result of a tool's own time limit;
- a failure (`timeout`, `error`, `network_failure`, `safety_halt`) while no tool runs is a failed model call: a stream
  error, and in the program the prompt with which it asks the model again;
- at a reason of an application's own, and at any other failure while tools run, the program ends: nothing more is
  written, and calls stay without results;
- a response that ended without calls and without words, such as a thought alone, is kept; the program then asks the
  model again, up to three times, with a user message of its own that does not begin a turn;
- the program's `Bash` tells in its aborted result for how long the command ran, and its output so far: the latest
  preliminary output of the call, a text or `{"stdout", "stderr"}`. One that has not begun, as after another one that
  runs, has the words of any tool, and so has one of a stream alone, where nobody says that it began;
- a task that ends, or that the user interrupts after the model has reported token counts, is followed by its metadata:
  token counts, model, and the number of model calls that reported token counts, or under the plan of all;
- the events `app-developer`, `app-retract` and `app-system` carry what a model's stream does not contain: a developer
  message (data: its text, or text, position and fields for the UI, which only the plan keeps), the retraction of the
  last user message, and a system message. Only the plan stores that one, and system prompts among the user's words: the
  program makes its instructions anew for each call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec.structs import replace

from tpharness.facts import parse_tool_args
from tpharness.histories.message_parts.answers import MOST_WORDLESS, is_answer, is_wordless, task_has_ended
from tpharness.histories.message_parts.convert_parts import assistant_parts, response_text, result_content, user_parts
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    DeveloperMessage,
    HistoryEvent,
    InterruptEntry,
    OtherEntry,
    RetractEntry,
    StopReason,
    StreamErrorItem,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolResultMessage,
    ToolStatus,
    UserMessage,
    Variant,
    join_text_parts,
)
from tpharness.histories.message_parts.releases import (
    CONTINUATION_FRAME,
    CONTINUATION_REMINDER,
    EMPTY_RESPONSE_PROMPT,
    PROGRAMS,
)
from tpharness.journal import (
    AgentTurn,
    Completed,
    Entry,
    Event,
    Interrupted,
    Journal,
    Prompt,
    Response,
    Return,
    UserTurn,
)
from tpharness.protocol.versions import ERROR_EVENT

__all__ = ["CANCEL_OUTPUT", "count_user_cuts", "history_events"]

CANCEL_OUTPUT = "[Request interrupted by user for tool use]"
"""The result text of a tool that the user interrupted."""

_USER = "user_cancelled"
_FAILED_CALL = ("timeout", "error", "network_failure", "safety_halt")
_STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "error",
    "error": "error",
}
_DEVELOPER = "data-app-developer"
_RETRACT = "data-app-retract"
_SYSTEM = "data-app-system"


def count_user_cuts(journal: Journal, variant: Variant) -> int:
    """Return how many turns the user interrupted: in the program a task that has ended is not one of them."""
    return sum(
        isinstance(turn, AgentTurn)
        and isinstance(turn.end, Interrupted)
        and turn.end.reason == _USER
        and (variant == "plan" or not task_has_ended(turn))
        for turn in journal.turns()
    )


def history_events(journal: Journal, variant: Variant) -> list[HistoryEvent]:
    """Return the history's events in order; of a running turn those appended so far."""
    events: list[HistoryEvent] = []
    for turn in journal.turns():
        if isinstance(turn, UserTurn):
            events += _prompts(turn.parts, turn.at, plan=variant == "plan")
        else:
            _TurnWriter(turn, variant, events).write()
    return events


class _TurnWriter:
    """Appends one agent turn to a history."""

    def __init__(self, turn: AgentTurn, variant: Variant, events: list[HistoryEvent]) -> None:
        self._turn = turn
        self._plan = variant == "plan"
        program = PROGRAMS.get(variant)
        self._retracts = program is not None and program.retracts
        self._keeps_half_answers = program is None or program.keeps_half_answers
        self._events = events
        self._visible = False
        """Whether anything of this turn was visible."""
        self._failed = False
        """Whether the last model call failed."""
        self._last: Entry | None = None
        """The last response, return or prompt."""
        self._last_message: int | None = None
        """The index of the assistant message of `_last`, if `_last` is a response that was kept."""
        self._wordless = 0
        """How many responses in a row ended without calls and without words."""

    def write(self) -> None:
        for entry in self._entries():
            match entry:
                case Response():
                    self._add_response(entry)
                case Return() if self._is_answer_to_a_cut_call(entry):
                    continue
                case Return():
                    self._add_result(entry)
                case Prompt():
                    self._events += _prompts(entry.parts, entry.at, plan=self._plan)
                case Event():
                    self._add_event(entry)
                    continue
            self._last = entry
        ended = not self._plan and task_has_ended(self._turn)
        if isinstance(self._turn.end, Interrupted) and not ended:
            self._interrupt(self._turn.end)
        self._add_metadata(ended=ended)

    def _add_metadata(self, *, ended: bool) -> None:
        turn, end = self._turn, self._turn.end
        calls = [entry for entry in self._entries() if isinstance(entry, Response)]
        interrupted = isinstance(end, Interrupted) and end.reason == _USER and not ended
        if end is None or not (turn.usage if interrupted else ended or (calls and isinstance(end, Completed))):
            return
        counted = [call for call in calls if self._plan or call.facts.get("usage")]
        named = list(reversed(counted)) if counted else calls
        model = next((name for call in named if (name := call.facts.get("model_name"))), "")
        agent = {"model_name": model, ("turn_count" if self._plan else "step_count"): len(counted)}
        data: dict[str, Any] = {"main_agent": {**({"usage": dict(turn.usage)} if turn.usage else {}), **agent}}
        data["sub_agent_task_metadata"] = []
        if not self._plan:
            data["is_partial"] = interrupted
        self._events.append(OtherEntry(kind="TaskMetadataItem", data={**data, "created_at": end.at}))

    def _entries(self) -> Iterator[Entry]:
        for segment in self._turn.segments:
            yield from segment.entries
        yield from self._turn.tail.entries

    # -------------------------------------------------------------------------------------------- entries

    def _add_response(self, response: Response) -> None:
        self._failed = False
        self._last_message = None
        if not response.finished or response.failed is not None:
            return
        facts = response.facts
        parts = assistant_parts(response.parts, facts.get("model_name"), calls=True)
        self._visible = self._visible or any(isinstance(part, TextPart | ToolCallPart) for part in parts)
        self._last_message = len(self._events)
        self._events.append(
            AssistantMessage(
                created_at=response.at,
                response_id=facts.get("provider_response_id"),
                parts=parts,
                usage=facts.get("usage"),
                stop_reason=_STOP_REASONS.get(str(facts.get("finish_reason"))),
            )
        )
        self._wordless = self._wordless + 1 if is_wordless(response) else 0
        if 0 < self._wordless <= MOST_WORDLESS and not self._plan:
            self._events.append(UserMessage(created_at=response.at, parts=(TextPart(text=EMPTY_RESPONSE_PROMPT),)))

    def _is_answer_to_a_cut_call(self, entry: Return) -> bool:
        """Whether the call is of a response that did not end: the program runs nothing of it, nor refuses its input."""
        calling = [one for one in self._entries() if isinstance(one, Response) and entry.call_id in one.calls()]
        return bool(calling) and not calling[-1].finished

    def _add_result(self, entry: Return) -> None:
        text, images = result_content(entry.fields)
        status: ToolStatus = "success" if entry.fields.get("status") == "success" else "error"
        name = str(entry.fields.get("tool_name") or "")
        self._events.append(
            ToolResultMessage(
                created_at=entry.at,
                call_id=entry.call_id,
                tool_name=name,
                status=status,
                output_text=text,
                parts=images,
            )
        )

    def _add_event(self, event: Event) -> None:
        data = event.data
        if event.name == ERROR_EVENT:
            self._add_model_error(str(data.get("error", "")) if isinstance(data, Mapping) else "", event.at)
        elif event.name == _DEVELOPER:
            self._events.append(_developer(data, event.at, plan=self._plan))
        elif event.name == _SYSTEM and self._plan:
            self._events.append(SystemMessage(created_at=event.at, parts=(TextPart(text=str(data)),)))
        elif event.name == _RETRACT and self._retracts:
            text = _last_user_text(self._events) if data is None else str(data)
            self._events.append(RetractEntry(created_at=event.at, retracted_text=text))

    def _add_model_error(self, error: str, at: str) -> None:
        """Record a failed model call. Its text is not kept; under `current` the retry gets it."""
        self._failed = True
        self._events.append(StreamErrorItem(created_at=at, error=error))
        response = self._last
        if not isinstance(response, Response) or (response.finished and response.failed is None):
            return
        text = response_text(response.failed if response.failed is not None else response.parts)
        self._visible = self._visible or bool(text)
        if text.strip() and not self._plan:
            self._events.append(_continuation(text.strip(), at))

    # -------------------------------------------------------------------------------------------- the interruption

    def _interrupt(self, end: Interrupted) -> None:
        open_calls = list(self._unanswered())
        if end.reason == _USER:
            for call_id, name in open_calls:
                self._stop_tool(call_id, name, "aborted", self._cancelled(call_id, name, end.at), end.at)
            (self._cut_plan if self._plan else self._cut_current)(end.at, running=bool(open_calls))
        elif open_calls:
            for call_id, name in open_calls if end.reason == "timeout" else ():
                text = f"Tool {name} execution error: TimeoutError the run took too long"
                self._stop_tool(call_id, name, "error", text, end.at)
        elif end.reason in _FAILED_CALL and not self._failed and not is_answer(self._last):
            self._add_model_error(end.reason, end.at)

    def _cancelled(self, call_id: str, name: str, at: str) -> str:
        """Return the text of an aborted result."""
        if name != "Bash" or self._plan:
            return CANCEL_OUTPUT
        responses = [entry for entry in self._entries() if isinstance(entry, Response) and call_id in entry.calls()]
        (call,) = [part for part in responses[-1].parts if part.call_id == call_id]
        if call.running is None:
            return CANCEL_OUTPUT
        args = parse_tool_args(call.raw) if call.raw else call.fields.get("args")
        command = args.get("command", "") if isinstance(args, Mapping) else ""
        seconds = (datetime.fromisoformat(at) - datetime.fromisoformat(call.running.started_at)).total_seconds()
        output = call.running.output
        streams = output if isinstance(output, Mapping) else {"stdout": output}
        said = [f"Interrupted by user after {seconds:.2f} seconds running: {command}"]
        for stream in ("stdout", "stderr"):
            text = streams.get(stream)
            if isinstance(text, str) and text.rstrip("\n"):
                said.append(f"[{stream} before interrupt]\n" + text.rstrip("\n"))
        return "\n".join(said)

    def _cut_plan(self, at: str, *, running: bool) -> None:
        response = self._open_response()
        if response is not None:
            parts = assistant_parts(response.parts, response.facts.get("model_name"), calls=False)
            self._events.append(AssistantMessage(created_at=at, parts=parts, stop_reason="aborted"))
        elif running:
            return  # the aborted results show it
        elif self._last_message is not None and isinstance(self._last, Response):
            ended = self._events[self._last_message]
            if isinstance(ended, AssistantMessage):  # "even if the provider did not report it"
                self._events[self._last_message] = replace(ended, stop_reason="aborted")
        else:
            self._events.append(AssistantMessage(created_at=at, parts=(), stop_reason="aborted"))

    def _cut_current(self, at: str, *, running: bool) -> None:
        response = self._open_response()
        visible = self._visible or running
        if response is not None:
            text = response_text(response.parts)
            if text.strip() and not self._keeps_half_answers:
                self._events.append(_continuation(text.strip(), at))
            elif text.strip():
                parts = (TextPart(text=text.strip()),)
                self._events.append(AssistantMessage(created_at=at, parts=parts, stop_reason="aborted"))
                return
            visible = visible or bool(text) or any(part.kind == "tool-call" for part in response.parts)
        self._events.append(InterruptEntry(created_at=at, show_notice=visible))

    def _open_response(self) -> Response | None:
        last = self._last
        return last if isinstance(last, Response) and not last.finished and last.failed is None else None

    def _unanswered(self) -> Iterator[tuple[str, str]]:
        """Yield id and tool of each call of an ended response that has no return, in order of the calls."""
        tail = self._turn.tail
        returned = {entry.call_key for entry in tail.entries if isinstance(entry, Return)}
        for key, (index, order) in sorted(tail.calls.items(), key=lambda item: item[1]):
            response = tail.entries[index]
            if key in returned or not isinstance(response, Response) or not response.finished:
                continue
            calls = [part for part in response.parts if part.complete and part.call_id is not None]
            yield str(calls[order].call_id), str(calls[order].fields.get("tool_name") or "")

    def _stop_tool(self, call_id: str, name: str, status: Literal["aborted", "error"], text: str, at: str) -> None:
        result = ToolResultMessage(created_at=at, call_id=call_id, tool_name=name, status=status, output_text=text)
        self._events.append(result)


# ------------------------------------------------------------------------------------------------ inside


def _prompts(prompts: Sequence[Mapping[str, Any]], at: str, *, plan: bool) -> Iterator[HistoryEvent]:
    said = [prompt for prompt in prompts if prompt.get("part_kind") != "system-prompt"]
    for prompt in prompts if plan else ():
        if prompt.get("part_kind") == "system-prompt":
            yield SystemMessage(created_at=at, parts=(TextPart(text=str(prompt.get("content") or "")),))
    if said or not prompts:
        yield UserMessage(created_at=at, parts=user_parts(said))


def _developer(data: Any, at: str, *, plan: bool) -> DeveloperMessage:
    content = data if isinstance(data, Mapping) else {"text": data}
    parts = (TextPart(text=str(content.get("text") or "")),)
    if plan:  # the plan has only one position
        fields = {name: value for name, value in content.items() if name not in ("text", "position")}
        return DeveloperMessage(created_at=at, parts=parts, ui_fields=fields or None)
    position: Literal["append", "prepend"] = "prepend" if content.get("position") == "prepend" else "append"
    return DeveloperMessage(created_at=at, parts=parts, attachment_position=position)


def _last_user_text(events: list[HistoryEvent]) -> str:
    return next((join_text_parts(e.parts) for e in reversed(events) if isinstance(e, UserMessage)), "")


def _continuation(text: str, at: str) -> UserMessage:
    """Return the prompt with which the program asks the model to go on with half an answer."""
    start, end = CONTINUATION_FRAME
    return UserMessage(created_at=at, parts=(TextPart(text=f"{start}{text}{end}{CONTINUATION_REMINDER}"),))
