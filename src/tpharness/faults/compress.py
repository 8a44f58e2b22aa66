"""A response that a proxy puts into another framing: compressed, or ended well where its application died. Pure.

In: the raw bytes of one HTTP/1.1 response, split anywhere. Out: the same response with `Content-Encoding: gzip` and a
chunked body, each read flushed so that nothing waits in the compressor; a response without a body, or one that is
compressed already, passes unchanged. Or the response up to a byte of its body.
"""

from __future__ import annotations

import re
import zlib

__all__ = ["Compressor", "Cutter"]

_CHUNKED = re.compile(rb"^transfer-encoding:[^\r\n]*chunked", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^content-length:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)
_CODING = re.compile(rb"^transfer-encoding:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)
_ENCODED = re.compile(rb"^content-encoding:", re.IGNORECASE | re.MULTILINE)
_BODILESS = re.compile(rb"HTTP/1\.[01] (?:1\d\d|204|304) ")


class Compressor:
    """Compresses one response."""

    def __init__(self) -> None:
        self._head = b""
        self._passing = False
        self._source = _Body()
        self._zip: zlib._Compress | None = None
        self._ended = False

    def feed(self, data: bytes) -> bytes:
        """Take in bytes; return the bytes to pass on."""
        if self._passing:
            return data
        if self._ended:
            return b""
        out = b""
        if self._zip is None:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return b""
            if _ENCODED.search(head) or _BODILESS.match(head):
                self._passing = True
                return self._head
            self._source.chunked = bool(_CHUNKED.search(head))
            head = _LENGTH.sub(b"", head + b"\r\n")
            coding = b"" if self._source.chunked else b"Transfer-Encoding: chunked\r\n"
            out = head + coding + b"Content-Encoding: gzip\r\n\r\n"
            self._zip = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        body, last = self._source.feed(data)
        if body:
            out += _chunk(self._zip.compress(body) + self._zip.flush(zlib.Z_SYNC_FLUSH))
        if last:
            out += self._finish()
        return out

    def end(self) -> bytes:
        """Take in the end of the connection; return the bytes to pass on. A broken body stays broken."""
        if self._passing or self._ended:
            return b""
        if self._zip is None:
            return self._head
        return b"" if self._source.chunked else self._finish()

    def _finish(self) -> bytes:
        self._ended = True
        return _chunk(self._zip.flush()) + b"0\r\n\r\n" if self._zip is not None else b""


class Cutter:
    """Passes on one response up to a byte of its body.

    With `chunked` its framing ends well there, as a proxy ends it whose application has died; without, the body has no
    framing of its own and ends with its connection.
    """

    def __init__(self, count: int, *, chunked: bool) -> None:
        self._left = count
        self._framed = chunked
        self._head = b""
        self._begun = False
        self._source = _Body()
        self.over = False

    def feed(self, data: bytes) -> bytes:
        """Take in bytes; return the bytes to pass on, with the last chunk if the response ends there."""
        out = b""
        if not self._begun:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return b""
            self._begun = True
            self._source.chunked = bool(_CHUNKED.search(head))
            head = _CODING.sub(b"", _LENGTH.sub(b"", head + b"\r\n"))
            out = head + (b"Transfer-Encoding: chunked\r\n" if self._framed else b"Connection: close\r\n") + b"\r\n"
        body = self._source.feed(data)[0][: self._left]
        self._left -= len(body)
        out += _chunk(body) if self._framed else body
        if not self._left:
            self.over = True
            out += b"0\r\n\r\n" if self._framed else b""
        return out


class _Body:
    """The body of a response, out of its transfer coding."""

    def __init__(self) -> None:
        self.chunked = False
        self._raw = b""  # of the chunked coding, what is not decoded yet

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """Return what is whole of the body so far, and whether its last chunk has come."""
        if not self.chunked:
            return data, False
        self._raw += data
        out = b""
        while True:
            size, mark, rest = self._raw.partition(b"\r\n")
            if not mark:
                return out, False
            length = int(size.partition(b";")[0], 16)
            if not length:
                return out, True
            if len(rest) < length + 2:
                return out, False
            out += rest[:length]
            self._raw = rest[length + 2 :]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
