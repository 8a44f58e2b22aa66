"""The log of one run while it is expanded: its server events with their times, labels and calls."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.scenario.fields import Fields
from tpharness.scenario.position import Position
from tpharness.scenario.problems import BAD_VALUE, DUPLICATE_LABEL, UNKNOWN_CALL, Problems, suggest_name
from tpharness.scenario.script_clock import ScriptClock

__all__ = ["RESERVED_LABELS", "EventLog", "LoggedCall"]

RESERVED_LABELS = ("start", "end")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_PLACED_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.start|\.mid)?\Z")


@dataclass(slots=True, kw_only=True)
class LoggedCall:
    """One tool call of the thread. `args` is the text that the model wrote, None if it wrote none."""

    tool_name: str
    args: str | None
    started: bool = False

    @property
    def args_valid(self) -> bool:
        """Whether the arguments are valid JSON or absent."""
        try:
            json.loads(self.args or "{}")
        except (ValueError, RecursionError):
            return False
        return True


@dataclass(slots=True, kw_only=True)
class EventLog:
    """The events of a run so far. `calls` has the thread's latest call with each id, None where the id is missing."""

    problems: Problems
    script_clock: ScriptClock
    calls: dict[str | None, LoggedCall]
    events: list[dict[str, Any]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def emit(self, kind: str, **facts: Any) -> dict[str, Any]:
        """Append one event; facts that are None are omitted."""
        event = {
            "event_kind": kind,
            **{k: v for k, v in facts.items() if v is not None},
            "at": self.script_clock.next(),
        }
        self.events.append(event)
        return event

    def set_step_label(self, fields: Fields, since: int) -> None:
        """Set the label of a step or part, if it has one, after its last event; `.start` and `.mid` are set too."""
        name = fields.text("label")
        if name is None:
            return
        if not _LABEL.match(name) or name in RESERVED_LABELS:
            fields.report_bad("label", f"letters, digits, - and _, and not {' or '.join(RESERVED_LABELS)}")
            return
        deltas = [i for i in range(since, len(self.events)) if self.events[i]["event_kind"] == "part_delta"]
        span = deltas or list(range(since, len(self.events)))
        if not span:
            fields.report_bad("label", "absent: this expands to no event")
            return
        position = fields.value_position("label")
        if self.set_label(name, len(self.events), position):
            self.labels[f"{name}.start"] = since + 1
            self.labels[f"{name}.mid"] = span[(len(span) - 1) // 2] + 1

    def set_label(self, name: str, count: int, position: Position) -> bool:
        """Set a label after `count` events. Return False if the name is wrong or used already."""
        if not _PLACED_LABEL.match(name) or name in RESERVED_LABELS:
            self.problems.add(BAD_VALUE, position, "a label is letters, digits, - and _", got=name)
        elif name in self.labels:
            self.problems.add(DUPLICATE_LABEL, position, f"the label {name!r} stands twice in this run")
        else:
            self.labels[name] = count
            return True
        return False

    def add_call(self, part: Mapping[str, Any]) -> None:
        """Remember a call, so that later steps and runs can return its result."""
        call_id, name, args = part.get("tool_call_id"), part.get("tool_name"), part.get("args")
        if isinstance(call_id, str | None) and isinstance(name, str):
            text = args if args is None or isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            self.calls[call_id] = LoggedCall(tool_name=name, args=text)

    def require_call(
        self, call_id: str, position: Position, known: Collection[str | None], *, noun: str = "call"
    ) -> None:
        """Report an id that no known call has, unless a call without its id, which is reported itself, may be meant."""
        if call_id in known or None in known:
            return
        ids = [one for one in known if one is not None]
        message = f"no {noun} has the id {call_id!r}{suggest_name(call_id, ids)}"
        self.problems.add(UNKNOWN_CALL, position, message, expected=", ".join(ids) or None)
