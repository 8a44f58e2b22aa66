"""The phase of a run in which an interruption falls, derived from the journal alone. Pure.

A phase is what the model or the tools were doing at that time. Some places have no phase: between two parts of a
response, after the answer, and in a turn that another agent handed over to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tpharness.journal import AgentTurn, Entry, Interrupted, Journal, Part, Prompt, Response, Return

__all__ = ["Phase", "phase_of"]


class Phase(Enum):
    """A phase of a run; the value is its name in JSON, `title` its name in tables."""

    BEFORE_FIRST_DELTA = "before-first-delta"
    MID_TEXT = "mid-text"
    MID_THINKING = "mid-thinking"
    MID_ARGUMENTS = "mid-arguments"
    TOOL_RUNNING = "tool-running"
    SOME_TOOLS_DONE = "some-tools-done"
    BETWEEN_STEPS = "between-steps"
    SECOND_STEP_TEXT = "second-step-text"
    SECOND_STEP_ARGUMENTS = "second-step-arguments"
    MODEL_ERROR = "model-error"

    @property
    def title(self) -> str:
        """The name of the phase in tables."""
        return _TITLES[self]


_TITLES = {
    Phase.BEFORE_FIRST_DELTA: "before first delta",
    Phase.MID_TEXT: "mid text",
    Phase.MID_THINKING: "mid thinking",
    Phase.MID_ARGUMENTS: "mid arguments",
    Phase.TOOL_RUNNING: "tool running",
    Phase.SOME_TOOLS_DONE: "k of n tools done",
    Phase.BETWEEN_STEPS: "between steps",
    Phase.SECOND_STEP_TEXT: "step 2 mid text",
    Phase.SECOND_STEP_ARGUMENTS: "step 2 mid args",
    Phase.MODEL_ERROR: "model error",
}
_PHASE_OF_KIND: Mapping[str, Phase] = {
    "text": Phase.MID_TEXT,
    "thinking": Phase.MID_THINKING,
    "tool-call": Phase.MID_ARGUMENTS,
}
_SECOND_STEP = {Phase.MID_TEXT: Phase.SECOND_STEP_TEXT, Phase.MID_ARGUMENTS: Phase.SECOND_STEP_ARGUMENTS}


def phase_of(journal: Journal) -> Phase | None:
    """Return the phase in which the last turn of a journal was cut; take a journal with `partial` parts.

    Also None if an earlier turn was cut too, because nobody could say which of the two lost what, and for reasons
    other than the user and a failed model call.
    """
    *earlier, last = (None, *journal.turns())
    if not isinstance(last, AgentTurn) or any(map(_cut, earlier)) or not isinstance(last.end, Interrupted):
        return None
    if last.end.reason not in ("user_cancelled", "error"):
        return None
    return _phase(last, failed=last.end.reason == "error")


def _cut(turn: object) -> bool:
    return isinstance(turn, AgentTurn) and isinstance(turn.end, Interrupted)


def _phase(turn: AgentTurn, *, failed: bool) -> Phase | None:
    entries: list[Entry] = [entry for segment in (*turn.segments, turn.tail) for entry in segment.entries]
    responses = [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, Response)]
    begin, response = responses[-1] if responses else (0, None)
    if any(isinstance(entry, Prompt) for entry in entries[begin:]):
        return None
    if response is None:
        return Phase.MODEL_ERROR if failed else Phase.BEFORE_FIRST_DELTA
    if not response.finished:
        return Phase.MODEL_ERROR if failed else _in_response(response, first=len(responses) == 1)
    calls = len(response.calls())
    done = sum(isinstance(entry, Return) for entry in entries[begin:])
    if failed:
        return Phase.MODEL_ERROR if response.failed is not None or (calls and done == calls) else None
    if not calls:
        return None
    if not done:
        return Phase.TOOL_RUNNING
    return Phase.SOME_TOOLS_DONE if done < calls else Phase.BETWEEN_STEPS


def _in_response(response: Response, *, first: bool) -> Phase | None:
    if not any(map(_has_content, response.parts)):
        return Phase.BEFORE_FIRST_DELTA if first else Phase.BETWEEN_STEPS
    part = response.parts[-1]
    if part.complete or not _has_content(part) or (part.streamed is not None and part.streamed.ended):
        return None  # R10: a call whose end was seen is complete only with its response, but no longer streams
    phase = _PHASE_OF_KIND.get(part.kind)
    return phase if first or phase is None else _SECOND_STEP.get(phase)


def _has_content(part: Part) -> bool:
    """Whether anything of a part has arrived; a call has at least its tool."""
    return part.complete or part.kind not in ("text", "thinking") or bool(part.fields.get("content"))
