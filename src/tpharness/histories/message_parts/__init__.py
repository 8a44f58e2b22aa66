"""A history of messages that consist of parts: the Message + Part plan (document 002), and the program built from it.

In: a journal. Out: the lines of a history file, and from them what a UI shows and what a model is sent. The records are
in `records`, the rules of what is kept in `store`.
"""

from tpharness.histories.message_parts.codec import DecodeResult, decode, dumps, encode, loads
from tpharness.histories.message_parts.dialect import MESSAGE_PARTS, MessageParts
from tpharness.histories.message_parts.load import TOOL_INTERRUPTED_MESSAGE
from tpharness.histories.message_parts.replay import interrupt_findings
from tpharness.histories.message_parts.store import CANCEL_OUTPUT, history_events

__all__ = [
    "CANCEL_OUTPUT",
    "MESSAGE_PARTS",
    "TOOL_INTERRUPTED_MESSAGE",
    "DecodeResult",
    "MessageParts",
    "decode",
    "dumps",
    "encode",
    "history_events",
    "interrupt_findings",
    "loads",
]
