"""Strangers: pages of other hosts, names that were bound to this machine's address, and streams of other machines."""

from __future__ import annotations

import pytest
from tests.reference_app.peer import Serve, say
from tests.reference_app.test_receive import case

from tpharness.reference_app import Settings

pytestmark = pytest.mark.asyncio

OPEN, NAMED = Settings(), Settings(allow_host=("box.example",))
LOCKED = Settings(token="s3cret")  # noqa: S106
KEY = {"authorization": "Bearer s3cret"}


@pytest.mark.parametrize(
    ("settings", "headers", "status"),
    [
        (OPEN, {}, 200),
        (OPEN, {"host": "localhost:8765"}, 200),
        (OPEN, {"host": "LOCALHOST"}, 200),
        (OPEN, {"host": "[::1]:8765"}, 200),
        (OPEN, {"host": "rebound.example:8765"}, 403),
        (OPEN, {"host": "127.0.0.1.rebound.example"}, 403),
        (OPEN, {"host": "localhost.rebound.example"}, 403),
        (OPEN, {"host": "[::1"}, 400),
        (OPEN, {"host": "user@127.0.0.1"}, 400),
        (OPEN, {"host": "rebound.example@127.0.0.1"}, 400),
        (OPEN, {"host": "127.0.0.1@rebound.example"}, 400),
        (OPEN, {"host": "127.0.0.1/rebound.example"}, 400),
        (OPEN, {"host": "127.0.0.1, rebound.example"}, 400),
        (LOCKED, {"host": "user@box.example", **KEY}, 400),
        (NAMED, {"host": "box.example:8765"}, 200),
        (NAMED, {"host": "other.example"}, 403),
        (LOCKED, {"host": "box.example", **KEY}, 200),
        (LOCKED, {"host": "box.example"}, 401),
        (OPEN, {"origin": "http://localhost:3000"}, 200),
        (OPEN, {"origin": "https://page.example"}, 403),
        (OPEN, {"origin": "null"}, 403),
        (OPEN, {"origin": "http://page.example@localhost"}, 403),
        (OPEN, {"origin": ""}, 403),
        (NAMED, {"origin": "https://box.example"}, 200),
        (LOCKED, {"origin": "https://page.example", **KEY}, 403),
    ],
    ids=str,
)
async def test_who_may_ask(serve: Serve, settings: Settings, headers: dict[str, str], status: int) -> None:
    """Names of this machine and those named at the start; a token stands for the name, but not for the page."""
    async with serve(settings) as peer:
        got, told = await peer.answer("GET", "/capabilities", headers=headers)
        assert got == status
        if status == 403:
            assert "--allow-host" in told["error"]["hint"]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"Host: localhost", 200),
        (b"", 400),
        (b"Host:", 400),
        (b"Host: localhost\r\nHost: localhost", 400),
        (b"Host: localhost\r\nhost: rebound.example", 400),
        (b"Host: rebound.example\r\nHost: localhost", 400),
    ],
    ids=str,
)
async def test_a_request_names_one_host(serve: Serve, lines: bytes, status: int) -> None:
    """Of two, somebody between could have looked at the other."""
    async with serve(OPEN) as peer:
        answer = await say(peer, b"GET /capabilities HTTP/1.1\r\nConnection: close\r\n" + lines + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("allowed", [(), ("streams.example:81",), ("other.example",)])
@pytest.mark.parametrize(
    "url", ["http://streams.example/s", "https://10.0.0.1/s", "http://127.0.0.1.streams.example/s"]
)
async def test_streams_are_received_from_hosts_that_were_named(
    serve: Serve, allowed: tuple[str, ...], url: str
) -> None:
    """422 with the place and the option; nothing is fetched."""
    async with serve(Settings(receive_from=allowed)) as peer:
        status, told = await peer.answer("POST", "/receive", case(url))
        assert (status, told["error"]["message"].split(":")[0]) == (422, "/turns/1/url")
        assert "--receive-from" in told["error"]["hint"]
