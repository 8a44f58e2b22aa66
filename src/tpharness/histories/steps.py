"""A turn as an agent's own loop plays it: steps of one response and the results of its calls. Pure.

In: a turn of a journal. Out: its steps, for histories of frameworks that ask the model again when each call has its
result, and never after an answer without calls. What no such loop does is refused, with the history's name. Beside it
is what these histories do alike with their document: its runs, calls in a message of Chat Completions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.histories.langchain import UnsupportedError
from tpharness.journal import AgentTurn, Prompt, Response, Return, UserTurn

__all__ = [
    "LoopStep",
    "add_chat_call",
    "asked_texts",
    "is_answered",
    "runs_of",
    "steps_of",
    "unsupported",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStep:
    """One response, and by the ids of its calls what they have returned so far, in the order in which it came."""

    response: Response
    returns: dict[str, Return] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of its calls, once it has ended."""
        return tuple(dict.fromkeys(self.response.calls())) if self.response.finished else ()

    @property
    def done(self) -> bool:
        """Whether it has ended, and each of its calls has its result."""
        return self.response.finished and set(self.calls) == set(self.returns)


def steps_of(turn: AgentTurn, history: str) -> list[LoopStep]:
    """Return the steps of a run. UnsupportedError for what no agent's loop does."""
    steps: list[LoopStep] = []
    for entry in (entry for segment in (*turn.segments, turn.tail) for entry in segment.entries):
        match entry:
            case Response():
                if steps and not (steps[-1].done and steps[-1].calls) and steps[-1].response.finished:
                    why = "the model is asked again before each call has its result, or after its answer"
                    raise unsupported(history, why)
                steps.append(LoopStep(response=entry))
            case Return():
                if not steps or entry.call_id not in steps[-1].calls or entry.call_id in steps[-1].returns:
                    raise unsupported(history, f"the result of {entry.call_id!r} does not answer the last response")
                steps[-1].returns[entry.call_id] = entry
            case Prompt():
                raise unsupported(history, "words of the user inside of a run were not played")
    return steps


def runs_of(items: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return what is kept of each run, of items of a Responses API: one for each message of the user."""
    runs: list[list[dict[str, Any]]] = [[]]
    for item in items:
        if item.get("role") == "user":
            runs.append([])
        else:
            runs[-1].append(item)
    return runs if runs[0] else runs[1:]


def add_chat_call(messages: list[dict[str, Any]], call_id: str, name: str, arguments: str) -> None:
    """Add a call to the last message of Chat Completions if it is the assistant's, else in one of its own."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    function = {"name": name, "arguments": arguments}
    messages[-1].setdefault("tool_calls", []).append({"id": call_id, "type": "function", "function": function})


def is_answered(steps: Sequence[LoopStep]) -> bool:
    """Whether a run has come to an answer that calls nothing, which ends it."""
    return bool(steps) and steps[-1].done and not steps[-1].calls


def asked_texts(turn: UserTurn, history: str) -> Iterator[str]:
    """Yield what the user has said. UnsupportedError for files."""
    for part in turn.parts:
        content = part.get("content")
        if not isinstance(content, str):
            raise unsupported(history, "what a user sends with files was not played")
        yield content


def unsupported(history: str, why: str) -> UnsupportedError:
    """Return the error for a conversation that a history cannot hold."""
    return UnsupportedError(f"{history}: {why}", hint="compare conversations without that")
