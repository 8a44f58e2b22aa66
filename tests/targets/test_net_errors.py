"""Whether a server that broke an answer off is gone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from tpharness.targets.endpoint import Endpoint
from tpharness.targets.net_errors import is_gone
from tpharness.targets.remote import Patience

OnConnection = Callable[[socket.socket], None]


def stop_listening(listener: socket.socket) -> None:
    """Close the listening socket and with it the connection that was just made, as the end of a process does."""
    asyncio.get_running_loop().remove_reader(listener)
    listener.close()


def hang_up(listener: socket.socket) -> None:
    """Accept the connection and close it, as a living server does when no request comes."""
    listener.accept()[0].close()


def do_nothing(listener: socket.socket) -> None:
    """Leave the connection to the system, as a server does that is busy with another one."""
    asyncio.get_running_loop().remove_reader(listener)


async def look(on_connection: OnConnection, patience: Patience) -> bool:
    """Return what is said of a socket that is listened on until `on_connection` decides otherwise."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint(base=f"http://127.0.0.1:{listener.getsockname()[1]}")
        asyncio.get_running_loop().add_reader(listener, on_connection, listener)
        return await is_gone(endpoint, patience)


@pytest.mark.parametrize(
    ("on_connection", "patience", "gone"),
    [
        (stop_listening, Patience(), True),
        (hang_up, Patience(), False),
        (do_nothing, Patience(connect=0.01), False),
    ],
)
def test_a_server_that_still_takes_a_connection_may_be_ending(
    on_connection: OnConnection, patience: Patience, gone: bool
) -> None:
    """The system closes the connections of a process before the socket on which it listens."""
    assert asyncio.run(look(on_connection, patience)) is gone
