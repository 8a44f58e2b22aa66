"""The lines of a thread log: which kinds there are, and what each has to have.

In: a JSON value. Out: lines, and what does not fit. `conformance/schemas/thread-log-line.schema.json` says the same for
any language; a test holds the two to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard
from uuid import UUID

__all__ = ["BLUEPRINT", "HALTED", "KINDS", "NAME", "VERSION", "Line", "agents_of", "is_line", "lines_of", "misfits"]

NAME = "thread-log"
VERSION = "0.0.7"
BLUEPRINT = "thread-blueprint"
HALTED = "Execution halted by user"
"""The text of the error that a client stores of a run that its user stopped."""

Line: TypeAlias = Mapping[str, Any]

_AGENT = ("data/agentId", "data/agentName", "data/messageId")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "data-user-turn-start": (),
    "data-user-message": ("data/content",),
    "data-user-turn-end": (),
    "data-agent-start": _AGENT,
    "data-agent-finish": _AGENT,
    "text-complete": ("id", "content"),
    "reasoning-complete": ("id", "content"),
    "tool-input-available": ("toolCallId", "toolName"),
    "tool-output-available": ("toolCallId", "toolName"),
    "tool-error": ("toolCallId", "error"),
    "tool-approval-request": ("toolCallId", "approvalId"),
    "data-tool-approval-response": ("toolCallId",),
    "tool-output-denied": ("toolCallId",),
    "start-step": (),
    "finish-step": (),
    "chimera-app-usage": ("messageId",),
    "data-app-chimera": ("data/source",),
    "error": (),
}
"""Every kind of line but the first, with the fields of it that have to be texts."""
_PRESENT: Mapping[str, tuple[str, ...]] = {
    "tool-input-available": ("input",),
    "tool-output-available": ("output",),
    "data-app-chimera": ("data/payload",),
}
"""The fields that have to be there, whatever they hold."""
_IDENT = re.compile(r"[A-Za-z0-9_-]+")
_SPACES = ("default", "reference")


def lines_of(value: Any) -> list[Any] | None:
    """Return the lines of a log: a list of them, or what a client posts, which has it as `thread_protocol`."""
    posted = value.get("thread_protocol") if isinstance(value, Mapping) else value
    return posted if isinstance(posted, list) else None


def is_line(value: Any) -> TypeGuard[Line]:
    """Whether a value is a line at all: an object that says its kind."""
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def agents_of(blueprint: Line) -> list[Mapping[str, Any]]:
    """Return the agents that the first line has in place; a reference to another one has no name."""
    space = (blueprint.get("blueprint") or {}).get("space") if isinstance(blueprint.get("blueprint"), Mapping) else None
    agents = space.get("agents") if isinstance(space, Mapping) else None
    listed = agents if isinstance(agents, list) else []
    return [agent for agent in listed if isinstance(agent, Mapping) and isinstance(agent.get("id"), str)]


def misfits(line: Line) -> Iterator[tuple[str, str]]:
    """Yield what a line does not have as its kind needs it: the JSON pointer of the field, and what it has to be.

    A kind that is not known needs nothing.
    """
    kind = line["type"]
    if kind == BLUEPRINT:
        yield from _blueprint_misfits(line)
        return
    for path in _TEXTS.get(kind, ()):
        if not isinstance(_at(line, path), str):
            yield f"/{path}", "a text"
    for path in _PRESENT.get(kind, ()):
        if _at(line, path) is _NOTHING:
            yield f"/{path}", "there"
    if kind == "data-tool-approval-response" and not isinstance(line.get("approved"), bool):
        yield "/approved", "true or false"


def _blueprint_misfits(line: Line) -> Iterator[tuple[str, str]]:
    if "threadId" in line and not _is_uuid(line["threadId"]):
        yield "/threadId", "a UUID"
    space = _at(line, "blueprint/space")
    if not isinstance(space, Mapping):
        yield "/blueprint/space", "an object"
        return
    if space.get("type") not in _SPACES:
        yield "/blueprint/space/type", f"one of {', '.join(_SPACES)}"
    elif space["type"] == "reference" and not isinstance(space.get("className"), str):
        yield "/blueprint/space/className", "a text"
    agents = space.get("agents")
    if not isinstance(agents, list):
        yield "/blueprint/space/agents", "a list"
        return
    for index, agent in enumerate(agents):
        yield from ((f"/blueprint/space/agents/{index}{at}", what) for at, what in _agent_misfits(agent))


def _agent_misfits(agent: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(agent, Mapping):
        yield "", "an object"
    elif agent.get("type") == "reference":
        if not isinstance(agent.get("agentUuid"), str):
            yield "/agentUuid", "a text"
    elif agent.get("type") != "inline":
        yield "/type", "one of inline, reference"
    else:
        ident = agent.get("id")
        if not isinstance(ident, str) or _IDENT.fullmatch(ident) is None:
            yield "/id", "letters, digits, _ and -"
        for name in ("name", "description", "basePrompt"):
            if not isinstance(agent.get(name), str):
                yield f"/{name}", "a text"


_NOTHING = object()


def _at(line: Line, path: str) -> Any:
    value: Any = line
    for name in path.split("/"):
        value = value.get(name, _NOTHING) if isinstance(value, Mapping) else _NOTHING
    return value


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(UUID(value))
    except ValueError:
        return False


KINDS = (BLUEPRINT, *_TEXTS)
"""Every kind of line that is known."""
