"""The server's side: model events, their fold into a journal, and the chunks a server sends for them."""

from tpharness.server_events.encoder import Chunks, Encoder
from tpharness.server_events.events import EventKind, event_kind, event_time, shift
from tpharness.server_events.open_calls import OpenCalls
from tpharness.server_events.recorder import Recorder
from tpharness.server_events.states import RunState

__all__ = ["Chunks", "Encoder", "EventKind", "OpenCalls", "Recorder", "RunState", "event_kind", "event_time", "shift"]
