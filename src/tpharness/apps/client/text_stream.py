"""A stream of plain text, as `TextStreamChatTransport` of the AI SDK reads it: the whole body is one text.

In: bytes of the body, and that it has ended in order. Out: the chunks of a UI message stream that `ai` 7.0.173 makes of
them (`transformTextToUiMessageStream`). Such a stream says nothing of tools, of errors, or of how its run ended.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

__all__ = ["TEXT_TYPES", "TextStream"]

TEXT_TYPES = frozenset({"text/plain", "application/octet-stream", ""})
"""What such an answer calls itself. The transport reads any; a page or a JSON object is not meant to be one."""

_TEXT = "text-1"


class TextStream:
    """One answer: `feed` for each read, `close` where the body ended in order."""

    content_types = TEXT_TYPES

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = False

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the chunks that a read comes to."""
        yield from self._begin()
        text = self._decoder.decode(data)
        if text:
            yield {"type": "text-delta", "id": _TEXT, "delta": text}

    def close(self) -> Iterator[dict[str, Any]]:
        """Yield the chunks that end the message."""
        yield from self._begin()
        rest = self._decoder.decode(b"", final=True)
        if rest:
            yield {"type": "text-delta", "id": _TEXT, "delta": rest}
        yield from ({"type": "text-end", "id": _TEXT}, {"type": "finish-step"}, {"type": "finish"})

    def _begin(self) -> Iterator[dict[str, Any]]:
        if not self._begun:
            self._begun = True
            yield from ({"type": "start"}, {"type": "start-step"}, {"type": "text-start", "id": _TEXT})
