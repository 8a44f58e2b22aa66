"""What evolves: the state of a run, and its activities; snapshots replace, patches amend (rules 61 to 64, 69).

In: snapshots and deltas. Out: the values, and findings. A patch that fails leaves its value as it was.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.chunks import owner_name
from tpharness.wires.ag_ui.items import Report
from tpharness.wires.ag_ui.objects import ActivityMessage, given
from tpharness.wires.ag_ui.patch import OPERATIONS, PatchError, apply_patch, malformed_operation

__all__ = ["Activity", "Values", "has_prefix"]

_PREFIX = re.compile(r"[^.:/\-]+[.:/\-].")


def has_prefix(name: str) -> bool:
    """Whether a name begins with that of a vendor or an application, as in `com.example.cart` or `acme:cart`."""
    return _PREFIX.match(name) is not None


class Activity(NamedTuple):
    """An activity message as it stands."""

    kind: str
    content: Any
    owner: str | None


class Values:
    """The state, which outlives a run, and the activities."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.state: Any = {}
        self.activities: dict[str, Activity] = {}

    def snapshot(self, event: r.StateSnapshot) -> None:
        """Replace the state."""
        self.state = event.snapshot

    def delta(self, event: r.StateDelta) -> None:
        """Amend the state."""
        self.state = self._patched(self.state, event.delta, "the state")

    def activity_snapshot(self, event: r.ActivitySnapshot) -> None:
        """Make an activity or replace it; with `replace: false` an activity that there is stays."""
        owner = given(event.subagent_run_id)
        before = self.activities.get(event.message_id)
        if before is not None and event.replace is False:
            if owner != before.owner:
                said = f"the activity {event.message_id!r} is of {owner_name(before.owner)}, not of {owner_name(owner)}"
                self._report(v.ACTIVITY_OWNER, said, got=owner, expected=before.owner)
            return
        self.activities[event.message_id] = Activity(event.activity_type, event.content, owner)

    def activity_delta(self, event: r.ActivityDelta) -> None:
        """Amend an activity."""
        before = self.activities.get(event.message_id)
        if before is None:
            said = f"there is no activity {event.message_id!r}: its snapshot did not come"
            self._report(v.DELTA_WITHOUT_BASELINE, said)
            return
        owner = given(event.subagent_run_id)
        if owner is not None and owner != before.owner:
            said = f"the activity {event.message_id!r} is of {owner_name(before.owner)}, not of {owner!r}"
            self._report(v.OWNER_DIFFERS, said, got=owner, expected=before.owner)
            return
        content = self._patched(before.content, event.patch, f"the activity {event.message_id!r}")
        if not isinstance(content, dict):
            said = f"the patch makes something else than an object of the activity {event.message_id!r}"
            self._report(v.ACTIVITY_NOT_OBJECT, said, got=content)
            content = before.content
        self.activities[event.message_id] = Activity(event.activity_type, content, before.owner)

    def know_activities(self, messages: list[Any]) -> None:
        """Take over the activities of a snapshot of messages."""
        for message in messages:
            if isinstance(message, ActivityMessage):
                owner = given(message.subagent_run_id)
                self.activities[message.id] = Activity(message.activity_type, message.content, owner)

    def _patched(self, value: Any, patch: list[dict[str, Any]], what: str) -> Any:
        kept = []
        for index, operation in enumerate(patch):
            wrong = malformed_operation(operation)
            if wrong is not None:
                said = f"the patch of {what} is malformed in operation {index}: {wrong}"
                self._report(v.MALFORMED, said, decided=("agui.95", "agui.63"))
                return value
            if operation["op"] not in OPERATIONS:
                said = f"RFC 6902 does not have the operation {operation['op']!r}"
                self._report(v.UNKNOWN_VALUE, said, got=operation["op"])
            else:
                kept.append(operation)
        try:
            return apply_patch(value, kept)
        except PatchError as error:
            self._report(v.PATCH_FAILS, f"the patch of {what} does not apply: {error}")
            return value
