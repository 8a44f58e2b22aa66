"""Closing a listener leaves no connection open, at whatever moment it comes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import warnings

import pytest

from tpharness.targets.listener import Listener


@pytest.mark.parametrize("turns", range(10))
def test_a_connection_is_closed_however_far_it_has_come(turns: int) -> None:
    """From the queue of the system to the task that serves it."""
    served = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(writer)
        try:
            await reader.read()
        finally:
            writer.close()

    async def close_early() -> socket.socket:
        listener = Listener(serve)
        await listener.start()
        client = socket.create_connection(listener.address, timeout=5)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.close()
        return client

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with asyncio.run(close_early()) as client, contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""
        gc.collect()
    assert [str(warning.message) for warning in heard] == []
    assert all(writer.is_closing() for writer in served)


def test_a_listener_has_an_address_while_it_listens() -> None:
    """Before, it is an error to ask for it; closing twice is none."""

    async def close_twice() -> None:
        listener = Listener(lambda _reader, _writer: asyncio.sleep(0))
        with pytest.raises(RuntimeError, match="while it listens"):
            _ = listener.address
        await listener.start()
        assert listener.address[0] == "127.0.0.1"
        await listener.close()
        await listener.close()

    asyncio.run(close_twice())
