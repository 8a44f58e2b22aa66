"""Whether a stream still says something new: heartbeats only keep the connection open.

In: the reads of one stream, each with its time in seconds. Out: for how long the stream has said nothing new. New is an
event with data, or a part of one, and a mark; comments and `ping` events are not, and nothing is after `[DONE]`. Pure.
"""

from __future__ import annotations

import re

__all__ = ["News"]

_BLANK_LINE = re.compile(rb"(?:\r\n|\r|\n){2}")
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_SAYS = re.compile(rb"(?:^|[\r\n])(?:data|: tp [0-9])")
_PING = re.compile(rb"(?:^|[\r\n])event: ?ping(?:[\r\n]|$)")
_DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\](?:[\r\n]|$)")
_HEAD, _TAIL = 256, 3
"""What is kept of an event that is not whole: how it begins says what it is, its last bytes whether it has ended."""


class News:
    """One stream. `ended` is true after `[DONE]`."""

    def __init__(self, now: float) -> None:
        self.ended = False
        self._last = now
        self._rest = b""

    def quiet(self, piece: bytes, now: float) -> float:
        """Take the next read; return for how many seconds nothing new has come."""
        data = self._rest + piece
        if b"ping" in data or b"[DONE]" in data:
            *whole, rest = _BLANK_LINE.split(data)
        else:  # nothing depends on where an event ends; streams of 64 MiB come by here
            cut = max((data.rfind(end) + len(end) for end in _ENDS if end in data), default=0)
            whole, rest = [data[:cut]], data[cut:]
        if not self.ended and any(map(_is_news, [*whole, rest])):
            self._last = now
        self.ended = self.ended or any(b"[DONE]" in event and _DONE.search(event) for event in whole)
        self._rest = rest if len(rest) <= _HEAD + _TAIL else rest[:_HEAD] + rest[-_TAIL:]
        return now - self._last


def _is_news(event: bytes) -> bool:
    return bool(_SAYS.search(event)) and not (b"ping" in event and _PING.search(event))
