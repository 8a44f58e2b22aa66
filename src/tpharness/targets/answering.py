"""What the reference says of a thread when it is asked: hash, other versions, messages for a model, imports.

In: a request as control.schema.json has it. Out: the answer. The messages of Pydantic AI are read by the room of the
histories; without it the reference does not declare `import`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.history import model_history
from tpharness.protocol.migrate import convert
from tpharness.rooms import histories_room
from tpharness.targets.contract import QUESTIONS

__all__ = ["answer_question", "own_questions"]


def own_questions() -> tuple[str, ...]:
    """Return what the reference answers."""
    rooms = find_spec("tpharness.histories") is not None
    return tuple(question for question in QUESTIONS if rooms or question != "import")


def answer_question(question: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to one of `QUESTIONS`. TpharnessError for a thread or messages of which there is none."""
    return _ANSWERS[question](request)


def _hash(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"hash": thread_hash(request["thread"])}


def _migrate(request: Mapping[str, Any]) -> dict[str, Any]:
    made = convert(request["thread"], request["to"])
    return {"thread": made.thread, "dropped": [loss.pointer for loss in made.dropped]}


def _history(request: Mapping[str, Any]) -> dict[str, Any]:
    made = model_history(
        request["thread"],
        viewing_agent=request.get("viewing_agent"),
        system_prompt=request.get("system_prompt"),
        supply_returns=request.get("returns"),
    )
    return {"messages": made.messages}


def _import(request: Mapping[str, Any]) -> dict[str, Any]:
    room = histories_room()
    if room is None:
        raise LookupError("the room of the histories was removed, and it reads messages")
    facts = {name: request[name] for name in ("thread_id", "agent_id", "at")}
    return {"thread": room.thread_of_messages(request["messages"], **facts).thread}


_ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "hash": _hash,
    "migrate": _migrate,
    "history": _history,
    "import": _import,
}
