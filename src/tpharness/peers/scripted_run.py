"""A script as a framework plays it: what its model answers, what its tools return, how it fails or ends.

In: the events of one run. Out: a `ScriptedRun`; CannotPlayError for what a framework's agent loop cannot play, such as
a second agent in the same stream, or a model that continues while a tool has not returned. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.protocol.versions import NORMATIVE_PREFIX
from tpharness.server_events.returns import custom_data, custom_name, event_name, outcome_of
from tpharness.targets.remote import CannotPlayError

__all__ = ["Answer", "AppEvent", "ScriptedRun", "ToolRun"]

_PARTS = ("part_start", "part_delta", "part_end")
_QUIET = ("final_result", "stall", "deferred_tool_requests", "deferred_tool_results")
_NEVER = {
    "agent_start": "a hand-off to another agent inside one stream",
    "response_reset": "a model's answer that is retracted",
    "tool_progress": "output of a tool before its result",
    "enqueued_messages": "a message that is inserted during the run",
}
_TEXT = ("text", "thinking")


@dataclass(slots=True, kw_only=True)
class Answer:
    """One answer of the model: the events it consists of with their places, and the facts reported with them.

    `ended` says whether it came to its end. `calls` are the ids of its calls that the application has to answer.
    """

    first: int
    events: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    request: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)
    ended_at: int | None = None
    ended: bool = False
    calls: list[str] = field(default_factory=list)
    tools: dict[str, ToolRun] = field(default_factory=dict)

    def parts(self) -> dict[Any, dict[str, Any]]:
        """Return each part by its index, as far as it came: text and arguments put together from their deltas."""
        built: dict[Any, dict[str, Any]] = {}
        for _, event in self.events:
            index = event.get("index")
            if event["event_kind"] == "part_start":
                built[index] = dict(event["part"])
            elif event["event_kind"] == "part_delta":
                _grow(built[index], event["delta"])
        return built


@dataclass(slots=True, kw_only=True)
class ToolRun:
    """One call as it is carried out: when it starts, when it returns and what; None for what does not happen."""

    started_at: int | None = None
    returned_at: int | None = None
    part: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEvent:
    """A system event of the application: its chunk on the wire and its event in the thread."""

    name: str
    data: Any
    transient: bool = False
    source_agent: str | None = None
    target_agents: tuple[str, ...] | None = None

    @property
    def kept(self) -> bool:
        """Whether it is kept in the thread: a transient event is kept only if it is normative (R34)."""
        return not self.transient or self.name.startswith(NORMATIVE_PREFIX)

    def chunk(self) -> dict[str, Any]:
        """Return the chunk that the application sends to its client."""
        name = f"data-{self.name}" if self.name.startswith("meta:") else self.name
        return {"type": name, "data": self.data, **({"transient": True} if self.transient else {})}


@dataclass(slots=True, kw_only=True)
class ScriptedRun:
    """What happens in one run, in order.

    `quiet` are the places of events that no framework has to do anything for, `notices` those of the application.
    `failed_at` is the place of an error that ends it, `result_at` of its regular end.
    """

    count: int
    quiet: set[int] = field(default_factory=set)
    notices: dict[int, AppEvent] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    failed_at: int | None = None
    failure: str = ""
    result_at: int | None = None
    result: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, events: Sequence[Mapping[str, Any]], *, part_kinds: frozenset[str]) -> ScriptedRun:
        """Read the events of a run; `part_kinds` are those that the framework's model can answer with."""
        scripted = cls(count=len(events))
        reader = _Reader(scripted, part_kinds)
        for index, event in enumerate(events):
            reader.take(index, event)
        reader.close()
        return scripted


class _Reader:
    """Reads events one after the other, and refuses what does not fit an agent loop."""

    def __init__(self, scripted: ScriptedRun, part_kinds: frozenset[str]) -> None:
        self._scripted = scripted
        self._kinds = part_kinds
        self._answer: Answer | None = None
        self._open: set[Any] = set()

    def take(self, index: int, event: Mapping[str, Any]) -> None:
        kind = str(event.get("event_kind"))
        scripted = self._scripted
        over = scripted.result_at is not None or scripted.failed_at is not None
        if kind in _QUIET:
            scripted.quiet.add(index)
        elif kind in _NEVER:
            raise CannotPlayError(f"{_NEVER[kind]} ({kind}) cannot be played by an agent loop")
        elif over:
            self._after_end(index, kind, event)
        elif kind in ("system_event", "custom"):
            scripted.notices[index] = _notice(event)
        elif kind in _PARTS:
            self._part(index, kind, event)
        elif kind == "model_request":
            if event.get("parts"):
                raise CannotPlayError("a prompt that is inserted during the run (model_request with parts)")
            self._begin(index).request = event
        elif kind == "model_response_end":
            self._end(index, event)
        elif kind in ("function_tool_call", "function_tool_result"):
            self._tool(index, kind, event)
        elif kind == "error":
            self._fail(index, event)
        elif kind == "agent_run_result":
            self._finish(index, event)
        else:
            raise CannotPlayError(f"{kind} is not an event of an agent loop")

    def _after_end(self, index: int, kind: str, event: Mapping[str, Any]) -> None:
        """Accept the result that follows an error, and nothing else after the end of the run."""
        if self._scripted.result_at is not None:
            raise CannotPlayError(f"{kind} after the end of the run")
        if kind != "agent_run_result" or event.get("finish_reason") != "error":
            raise CannotPlayError("an error is the end of a run here")
        self._scripted.quiet.add(index)

    def _fail(self, index: int, event: Mapping[str, Any]) -> None:
        if self._answer is not None and self._answer.ended and not self._answer.calls:
            raise CannotPlayError("an error between the end of the last answer and the end of the run")
        self._scripted.failed_at = index
        self._scripted.failure = str(event.get("error_text") or "error")

    def _finish(self, index: int, event: Mapping[str, Any]) -> None:
        if any(self._open_calls()):
            raise CannotPlayError("a run that ends regularly while calls have no return")
        if self._open:
            raise CannotPlayError("a run that ends regularly while a part is open")
        if self._answer is not None:
            self._answer.ended = True
        self._scripted.result_at, self._scripted.result = index, event

    def close(self) -> None:
        """Refuse a run without an answer, and empty answers that are followed by something."""
        scripted = self._scripted
        for number, answer in enumerate(scripted.answers):
            last = number == len(scripted.answers) - 1
            if not any(event["event_kind"] in _PARTS for _, event in answer.events) and not (
                last and scripted.result_at is None
            ):
                raise CannotPlayError("an answer of the model without content")
            if last and scripted.result_at is not None and answer.calls:
                raise CannotPlayError("a run that ends with a call: the model is asked again after its tools")
        if not scripted.answers and scripted.result_at is not None:
            raise CannotPlayError("a run that ends without any answer of the model")

    # ------------------------------------------------------------------------------------------------ inside

    def _open_calls(self) -> list[str]:
        answer = self._answer or (self._scripted.answers[-1] if self._scripted.answers else None)
        if answer is None:
            return []
        return [c for c in answer.calls if c not in answer.tools or answer.tools[c].returned_at is None]

    def _begin(self, index: int) -> Answer:
        scripted = self._scripted
        if scripted.answers:
            before = scripted.answers[-1]
            if not before.calls:
                raise CannotPlayError("a model that is asked again though it has called no tool")
            if self._open_calls():
                raise CannotPlayError("a model that is asked again before every tool has returned")
        self._answer = Answer(first=index)
        self._open = set()
        scripted.answers.append(self._answer)
        return self._answer

    def _part(self, index: int, kind: str, event: Mapping[str, Any]) -> None:
        answer = self._answer
        if answer is None or answer.ended:
            answer = self._begin(index)
        at = event.get("index")
        known = [e.get("index") for _, e in answer.events if e["event_kind"] == "part_start"]
        if kind == "part_start":
            self._check_start(answer, event, known)
        elif at not in self._open:
            raise CannotPlayError(f"{kind} for a part that is not open")
        answer.events.append((index, event))
        if kind == "part_end":
            self._open.discard(at)
            whole = answer.parts()[at]
            for name in ("content", "args", "tool_call_id", "tool_name"):
                value = event["part"].get(name, whole.get(name))
                if whole.get("part_kind") in (*_TEXT, "tool-call") and value != whole.get(name):
                    raise CannotPlayError(f"a part that ends with another {name} than was streamed")
            if whole["part_kind"] == "tool-call":
                answer.calls.append(str(whole["tool_call_id"]))

    def _check_start(self, answer: Answer, event: Mapping[str, Any], known: Sequence[Any]) -> None:
        part = event["part"]
        kind = part.get("part_kind")
        if kind not in self._kinds:
            raise CannotPlayError(f"a part of kind {kind} in an answer of the model")
        if event.get("index") in known:
            raise CannotPlayError("two parts of one answer with the same index")
        if kind == "tool-call":
            call = str(part.get("tool_call_id") or "")
            others = [p.get("tool_call_id") for p in answer.parts().values() if p.get("part_kind") == "tool-call"]
            if not call or call in others or not part.get("tool_name"):
                raise CannotPlayError("a call without an id and a name of its own")
        self._open.add(event.get("index"))

    def _end(self, index: int, event: Mapping[str, Any]) -> None:
        answer = self._answer
        if answer is None or answer.ended:
            raise CannotPlayError("the end of an answer that has not begun")
        if self._open:
            raise CannotPlayError("an answer that ends while a part of it is open")
        answer.end, answer.ended, answer.ended_at = event, True, index

    def _tool(self, index: int, kind: str, event: Mapping[str, Any]) -> None:
        answer = self._answer
        part = event.get("part") or {}
        call = str(part.get("tool_call_id") or "")
        if answer is None or call not in answer.calls:
            raise CannotPlayError(f"{kind} for a call that the model has not just made")
        answer.ended = True
        if self._open:
            raise CannotPlayError("a tool that runs while its call's answer is still streaming")
        run = answer.tools.setdefault(call, ToolRun())
        if kind == "function_tool_call":
            if run.started_at is not None:
                raise CannotPlayError("a call that is carried out twice")
            if event.get("args_valid") is False:
                raise CannotPlayError("arguments that do not fit their tool: the tools here take any")
            run.started_at = index
        elif run.returned_at is not None:
            raise CannotPlayError("a second return for one call")
        else:
            run.returned_at, run.part = index, {**part, "outcome": outcome_of(part)}  # R62


def _notice(event: Mapping[str, Any]) -> AppEvent:
    """Read a system event. CannotPlayError for one that is a part of an answer, which only a model says."""
    custom = event["event_kind"] == "custom"
    name = event_name(custom_name(event) if custom else event["event_type"])
    if name.startswith("source.") or (custom and not custom_name(event)):
        raise CannotPlayError(f"an event {name} of the model in the middle of its answer")
    flags = {} if custom else event  # those of a custom event are fields of its own (R34)
    targets = flags.get("target_agents")
    return AppEvent(
        name=name,
        data=custom_data(event) if custom else event.get("event_data"),
        transient=bool(flags.get("transient")),
        source_agent=flags.get("source_agent"),
        target_agents=tuple(targets) if targets is not None else None,
    )


def _grow(part: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, more in (("content", "content_delta"), ("args", "args_delta"), ("signature", "signature_delta")):
        added = delta.get(more)
        if added is None:
            continue
        held = part.get(name)
        part[name] = added if held is None or not isinstance(held, str) else held + str(added)
