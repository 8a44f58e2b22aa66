"""Ending a connection in the ways in which an answer fails."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

__all__ = ["delivered", "reset"]

_POLL = 0.001  # seconds between two looks at what a connection has not delivered yet
_LINGER_NOT = struct.pack("ii", 1, 0)


async def delivered(transport: asyncio.WriteTransport, seconds: float) -> None:
    """Wait until the other side has acknowledged all that was written: what is still on its way is lost with RST."""
    connection = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, ValueError, TimeoutError):  # not every system tells
        async with asyncio.timeout(seconds):
            while transport.get_write_buffer_size() or _unsent(connection.fileno()):  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(_POLL)


def _unsent(descriptor: int) -> bool:
    """Whether the system holds bytes that were not acknowledged; False on Windows, which does not say it."""
    try:
        from fcntl import ioctl  # noqa: PLC0415  # not on every platform
        from termios import TIOCOUTQ  # noqa: PLC0415
    except ImportError:
        return False
    return any(ioctl(descriptor, TIOCOUTQ, bytes(4)))


def reset(transport: asyncio.WriteTransport) -> None:
    """Close with RST."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    transport.abort()
