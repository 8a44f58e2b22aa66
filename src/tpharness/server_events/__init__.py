"""The server's side: model events, and their fold into a journal. `wires` has what is sent for them."""

from tpharness.server_events.events import EventKind, event_kind, event_time, shift
from tpharness.server_events.open_calls import OpenCalls
from tpharness.server_events.recorder import Recorder
from tpharness.server_events.states import RunState

__all__ = ["EventKind", "OpenCalls", "Recorder", "RunState", "event_kind", "event_time", "shift"]
