"""What the loop of an agent can play that waits for nobody between its last answer and its end.

In: a script. CannotPlayError says what in it such a loop cannot play, with messages that hold text, calls and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as package_version
from typing import Any

from tpharness.peers.scripted_run import ScriptedRun
from tpharness.targets.contract import Capabilities
from tpharness.targets.remote import CannotPlayError

__all__ = ["loop_capabilities", "prompt_content", "refuse_for_a_loop"]

_REASONS = (None, "stop", "length", "content_filter", "tool_call", "error")


def loop_capabilities(name: str, package: str) -> Capabilities:
    """Return what a loop can do whose stream has no carriers and no ids to resume by; its version is the package's."""
    return Capabilities(
        name=name,
        implementation_version=package_version(package),
        carriers=False,
        marks=True,
        cancel=True,
        disconnect=("stop",),
    )


def refuse_for_a_loop(scripted: ScriptedRun) -> None:
    """Raise CannotPlayError for reasons, ends and results that neither the loop nor its messages can have."""
    for facts in (scripted.result, *(answer.end for answer in scripted.answers)):
        if facts.get("finish_reason") not in _REASONS:
            raise CannotPlayError(f"the finish reason {facts['finish_reason']}")
    last = scripted.answers[-1] if scripted.answers else None
    if last is not None and last.ended_at == scripted.count - 1 and not last.calls:
        raise CannotPlayError("a cut between the end of the last answer and the end of the run")
    said = last.events[-1][0] if last is not None and last.events else scripted.count
    if last is not None and not last.calls and any(index > said for index in scripted.notices):
        raise CannotPlayError("an event between the end of the last answer and the end of the run")
    for run in (run for answer in scripted.answers for run in answer.tools.values()):
        kind, outcome = run.part.get("part_kind"), run.part.get("outcome") or "success"
        if run.returned_at is not None and (kind != "tool-return" or outcome not in ("success", "failed")):
            raise CannotPlayError(f"a return of kind {kind} with outcome {outcome}")
        if run.part.get("metadata") is not None or run.part.get("content_ref") is not None:
            raise CannotPlayError("metadata or a reference beside a return")


def prompt_content(parts: Sequence[Any]) -> list[str | dict[str, Any]]:
    """Return the prompts of user turns as the texts of a message; CannotPlayError for any that are not text."""
    content: list[str | dict[str, Any]] = []
    for part in parts:
        if part["part_kind"] == "system-prompt":
            continue
        if part["part_kind"] != "user-prompt":
            raise CannotPlayError(f"a user turn with a part of kind {part['part_kind']}")
        for item in part["content"] if isinstance(part["content"], list) else [part["content"]]:
            if not isinstance(item, str):
                raise CannotPlayError("a user prompt that is not text")
            content.append({"type": "text", "text": item})
    return content
