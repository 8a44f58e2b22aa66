"""Reading AWS's event streams, from their documentation: nothing of it is shared with what writes them."""

from __future__ import annotations

import zlib

__all__ = ["stream_messages"]


def stream_messages(data: bytes) -> list[tuple[dict[str, str], bytes]]:
    """Return headers and payload of each message. ValueError for a wrong checksum and for half a message."""
    found = []
    while data:
        total = int.from_bytes(data[:4], "big")
        message, data = data[:total], data[total:]
        if len(message) < max(total, 16):
            raise ValueError("half a message")
        for end in (8, total - 4):
            if zlib.crc32(message[:end]) != int.from_bytes(message[end : end + 4], "big"):
                raise ValueError("a wrong checksum")
        until = 12 + int.from_bytes(message[4:8], "big")
        found.append((_headers(message[12:until]), message[until:-4]))
    return found


def _headers(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    while data:
        name, data = data[1 : 1 + data[0]], data[1 + data[0] :]
        if data[0] != 7:
            raise ValueError("a header that is no text")
        size = int.from_bytes(data[1:3], "big")
        found[name.decode()], data = data[3 : 3 + size].decode(), data[3 + size :]
    return found
