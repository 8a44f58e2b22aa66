"""One stream of any application, byte for byte: for recording, not for judging.

In: a URL, a body to post to it (GET without one), and where to break off. Out: the bytes of the response, when each
read came, and how it ended. TargetError for an answer that is not a stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from tpharness.errors import TargetError
from tpharness.findings import shorten

__all__ = ["CapturedStream", "capture", "fetch_json"]

_SILENCE = 60.0
_MOST = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedStream:
    """A response body as received. `end` is None for a plain end, else the reason that a client would record (R27)."""

    data: bytes
    end: str | None
    server: str


async def capture(
    url: str,
    body: Any,
    *,
    headers: Mapping[str, str],
    cut_after: int | None = None,
    cut_at: bytes | None = None,
    silence: float = _SILENCE,
) -> CapturedStream:
    """Read a stream to its end, to a number of bytes, or to the first place of `cut_at`, its last byte included.

    A stream that is cut there ends as if the client had closed the connection: `network_failure` (R27).
    """
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence)
    asked = {"accept": "text/event-stream", "accept-encoding": "identity", **headers}
    data = bytearray()
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request("GET" if body is None else "POST", url, json=body, headers=asked) as response,
        ):
            if response.status != 200 or response.content_type != "text/event-stream":
                said = shorten((await response.text())[:300], 200)
                raise TargetError(
                    f"{url} answers {response.status} with {response.content_type or 'no media type'}: {said}",
                    hint="a stream is 200 with text/event-stream; --body FILE says what is posted",
                )
            server = response.headers.get("server", "")
            while piece := await response.content.readany():
                data += piece
                end = _place(bytes(data), cut_after, cut_at)
                if end is not None:
                    response.close()
                    return CapturedStream(data=bytes(data[:end]), end="network_failure", server=server)
                if len(data) > _MOST:
                    raise TargetError(f"{url} sends more than {_MOST} bytes", hint="cut it with --cut-after")
            return CapturedStream(data=bytes(data), end=None, server=server)
    except TimeoutError:
        if not data:
            raise TargetError(f"{url} sends nothing for {silence:g} s", hint="is this the right address?") from None
        return CapturedStream(data=bytes(data), end="timeout", server="")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if not data:
            raise TargetError(f"{url}: {type(error).__name__}: {error}", hint="is the server there?") from error
        return CapturedStream(data=bytes(data), end="network_failure", server="")


def _place(data: bytes, cut_after: int | None, cut_at: bytes | None) -> int | None:
    """Return after how many bytes the stream is cut, None while it continues."""
    places = []
    if cut_after is not None and len(data) >= cut_after:
        places.append(cut_after)
    if cut_at and (found := data.find(cut_at)) >= 0:
        places.append(found + len(cut_at))
    return min(places) if places else None


async def fetch_json(url: str, headers: Mapping[str, str]) -> Any:
    """Return the JSON at a URL. TargetError for anything else."""
    try:
        async with (
            asyncio.timeout(30),
            aiohttp.ClientSession() as session,
            session.get(url, headers={"accept": "application/json", **headers}) as response,
        ):
            if response.status != 200:
                raise TargetError(f"{url} answers {response.status}", hint="--thread takes the URL of the thread")
            return await response.json(content_type=None)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        raise TargetError(
            f"{url}: {type(error).__name__}: {error}", hint="--thread takes the URL of the thread"
        ) from error
