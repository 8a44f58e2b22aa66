"""The server's side: model events, and their fold into a journal. `wires` has what is sent for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.server_events.events import EventKind, approvals_of, event_kind, event_time, shift
    from tpharness.server_events.guide import record_events
    from tpharness.server_events.open_calls import OpenCalls
    from tpharness.server_events.open_texts import OpenTexts
    from tpharness.server_events.recorder import Recorder
    from tpharness.server_events.states import RunState

__all__ = [
    "EventKind",
    "OpenCalls",
    "OpenTexts",
    "Recorder",
    "RunState",
    "approvals_of",
    "event_kind",
    "event_time",
    "record_events",
    "shift",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.server_events.events": (
            "EventKind",
            "approvals_of",
            "event_kind",
            "event_time",
            "shift",
        ),
        "tpharness.server_events.guide": ("record_events",),
        "tpharness.server_events.open_calls": ("OpenCalls",),
        "tpharness.server_events.open_texts": ("OpenTexts",),
        "tpharness.server_events.recorder": ("Recorder",),
        "tpharness.server_events.states": ("RunState",),
    },
)
