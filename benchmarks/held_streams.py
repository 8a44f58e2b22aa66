"""Memory of a stream that the reference server holds, beside that of a bare Starlette endpoint on the same uvicorn.

Each server is a process of its own on loopback, and this process opens the streams: one POST each, which is answered
with the same piece of text, and then waits. What is compared is how much the resident memory of each server has grown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.table import at_most, report, shown

__all__ = ["held_ratio"]

STREAMS = 10_000
_AT_ONCE = 64
_SPARE = 1_000
_AT = "2025-01-20T10:00:0"
_LAST = b"a time"
_REQUEST = {
    "created_at": f"{_AT}0Z",
    "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": f"{_AT}0Z"}},
    "user": [
        {
            "turn_type": "user",
            "submitted_at": f"{_AT}0Z",
            "parts": [{"part_kind": "user-prompt", "content": "Tell me a story."}],
        }
    ],
    "run": {
        "turn_type": "agent",
        "agent_id": "a",
        "started_at": f"{_AT}1Z",
        "events": [
            {
                "event_kind": "part_start",
                "index": 0,
                "part": {"part_kind": "text", "content": "Once "},
                "at": f"{_AT}2Z",
            },
            {
                "event_kind": "part_delta",
                "index": 0,
                "delta": {"part_delta_kind": "text", "content_delta": "upon a time"},
                "at": f"{_AT}3Z",
            },
        ],
    },
    "hold": {"at": f"{_AT}4Z"},
}


def bare() -> None:
    """Be the bare server: each POST is answered with one piece, and is then held; its port is the first line."""
    import socket  # noqa: PLC0415  # only this process

    import uvicorn  # noqa: PLC0415
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import StreamingResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    piece = b'data: {"type":"text-delta","id":"t","delta":"Once upon a time"}\n\n'

    async def held(request: Request) -> StreamingResponse:
        await request.json()

        async def body() -> AsyncIterator[bytes]:
            yield piece
            await asyncio.Event().wait()

        return StreamingResponse(body(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/threads/{thread}/runs", held, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, http="httptools", loop="uvloop", log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


_SERVERS = {
    "serve": ("-m", "tpharness", "serve", "--port", "0", "--heartbeat", "3600"),
    "bare": ("-m", "benchmarks.held_streams", "--bare"),
}


@contextmanager
def _server(name: str) -> Iterator[tuple[int, int]]:
    """Run a server in a process of its own; give its port and its process."""
    command = [sys.executable, *_SERVERS[name]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        if process.stdout is None:
            raise RuntimeError("no pipe")
        try:
            line = process.stdout.readline()
            while "http://127.0.0.1:" not in line:
                if not line:
                    raise RuntimeError(f"{name} has ended")
                line = process.stdout.readline()
            yield int(line.partition("http://127.0.0.1:")[2].split()[0].strip("/")), process.pid
        finally:
            process.kill()


def _resident(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


async def _open(port: int, number: int, gate: asyncio.Semaphore) -> asyncio.StreamWriter:
    """Open a stream, and read until it waits."""
    body = json.dumps(_REQUEST).encode()
    head = (
        f"POST /threads/t{number}/runs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    async with gate:
        reading, writing = await asyncio.open_connection("127.0.0.1", port)
        writing.write(head.encode() + body)
        seen = b""
        while _LAST not in seen:
            got = await reading.read(65_536)
            if not got:
                raise RuntimeError(f"stream {number} is not held: {seen[:300]!r}")
            seen += got
        return writing


async def _grown(port: int, process: int, count: int) -> float:
    """Open one stream, whose code is then loaded, and so many others; return the bytes that each of these has taken."""
    gate = asyncio.Semaphore(_AT_ONCE)
    held = [await _open(port, 0, gate)]
    before = _resident(process)
    held += await asyncio.gather(*(_open(port, 1 + number, gate) for number in range(count)))
    each = (_resident(process) - before) / count
    for one in held:
        one.transport.abort()
    return each


def measure(name: str, count: int) -> float:
    """Return the bytes of memory that a held stream takes in one of the servers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _SPARE
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"this process may open {hard} files at most, {wanted} are needed: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with _server(name) as (port, process):
        return asyncio.run(_grown(port, process, count))


def held_ratio(count: int) -> float:
    """Return the memory of a held stream by that of a bare one."""
    return measure("serve", count) / measure("bare", count)


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bare", action="store_true", help="be the bare server")
    options.add_argument("--streams", type=int, default=STREAMS, help=f"streams that are held ({STREAMS})")
    args = options.parse_args()
    if args.bare:
        bare()
        return 0
    ours, peer = measure("serve", args.streams), measure("bare", args.streams)
    return report(
        [
            shown(f"{args.streams} held by tpharness serve, each", ours / 1024, "KiB"),
            shown(f"{args.streams} held by a bare endpoint, each", peer / 1024, "KiB"),
            at_most("tpharness serve / a bare endpoint", ours / peer, 1.3),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
