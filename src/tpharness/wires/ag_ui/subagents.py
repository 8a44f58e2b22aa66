"""Subagents and steps: invocations are announced, run and end; steps belong to one owner (rules 19, 54 to 58)."""

from __future__ import annotations

from typing import Any

from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.chunks import owner_name
from tpharness.wires.ag_ui.items import Report
from tpharness.wires.ag_ui.objects import given

__all__ = ["Invocations", "Steps"]


class Invocations:
    """The invocations of subagents in one run."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.begin_run()

    def begin_run(self) -> None:
        """Start a run: no invocation is known."""
        self.active: dict[str, str] = {}
        """What is active: its name by its id."""
        self._ended: set[str] = set()
        self._seen: set[str] = set()

    def note(self, owner: str) -> None:
        """Take over that something is attributed to an invocation, which is legal without its announcement."""
        self._seen.add(owner)

    def start(self, event: r.SubagentStarted) -> None:
        """Announce an invocation."""
        id_ = event.subagent_run_id
        parent = given(event.parent_subagent_run_id)
        if id_ in self.active or id_ in self._ended:
            was = "is active" if id_ in self.active else "has ended in this run"
            self._report(v.SUBAGENT_REUSED, f"the invocation {id_!r} {was}, and is announced again")
            return
        if id_ in self._seen:
            self._report(v.SUBAGENT_LATE, f"the invocation {id_!r} is announced after events that are attributed to it")
        if parent is not None and parent not in self.active and parent not in self._ended:
            said = f"the invocation {id_!r} names the parent {parent!r}, which was not announced"
            self._report(v.SUBAGENT_PARENT, said)
        self.active[id_] = event.name

    def end(self, event: r.SubagentFinished | r.SubagentError) -> None:
        """End an invocation."""
        if self.active.pop(event.subagent_run_id, None) is None:
            was = "has ended" if event.subagent_run_id in self._ended else "was not announced"
            said = f"{event.__struct_config__.tag} is of the invocation {event.subagent_run_id!r}, which {was}"
            self._report(v.SUBAGENT_NOT_ACTIVE, said)
        else:
            self._ended.add(event.subagent_run_id)


class Steps:
    """The steps that are open, by owner and name."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.open: dict[tuple[str | None, str], None] = {}

    def start(self, event: r.StepStarted) -> None:
        """Open a step."""
        key = _key(event)
        if key in self.open:
            self._report(v.STEP_OPENED_TWICE, f"the step {event.step_name!r} of {owner_name(key[0])} is open already")
        self.open[key] = None

    def finish(self, event: r.StepFinished) -> None:
        """Close a step."""
        key = _key(event)
        if key not in self.open:
            other = next((owner for owner, name in self.open if name == event.step_name), event)
            hint = "" if other is event else f"; the one that is open is of {owner_name(other)}"  # type: ignore[arg-type]
            said = f"the step {event.step_name!r} of {owner_name(key[0])} is not open{hint}"
            self._report(v.STEP_NOT_OPEN if other is event else v.OWNER_DIFFERS, said)
        self.open.pop(key, None)


def _key(event: Any) -> tuple[str | None, str]:
    return given(event.subagent_run_id), event.step_name
