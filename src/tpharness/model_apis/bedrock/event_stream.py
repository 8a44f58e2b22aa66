"""Messages of AWS's event streams (application/vnd.amazon.eventstream): headers, all of them texts, and a payload.

Total length, length of the headers, CRC-32 of these eight bytes; headers; payload; CRC-32 of all before it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from zlib import crc32

__all__ = ["stream_message"]

_TEXT = 7  # the type of a header
_FRAME = 16  # bytes of a message without headers and payload


def stream_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message of a stream."""
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack(">II", _FRAME + len(head) + len(payload), len(head))
    message = b"".join((lengths, struct.pack(">I", crc32(lengths)), head, payload))
    return message + struct.pack(">I", crc32(message))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", _TEXT, len(value)) + value
