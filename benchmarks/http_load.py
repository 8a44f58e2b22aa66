"""The HTTP side under load: 5,000 open streams at once, and runs per second beside one shared httpx client.

The server is a raw asyncio protocol in a second process on loopback that answers from bytes made before, so that what
is measured is the client: `tpharness.targets.net` as every target over HTTP uses it, each stream folded to a thread's
journal. httpx does the same work, fold included, in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from statistics import median

import httpx
from benchmarks.table import Row, at_least, at_most, report, shown

from tpharness.targets.endpoint import Endpoint
from tpharness.targets.net import Http
from tpharness.targets.remote import Patience
from tpharness.wires.vsp.assembler import Assembler

STREAMS = 5_000
CHUNKS = 50
AT = "2025-01-20T10:00:00Z"
PATH = "/threads/t/runs"

Read = Callable[[], Awaitable[bytes]]


def chunks() -> list[bytes]:
    """Return a stream of 50 chunks: one step with one text."""
    deltas = [{"type": "text-delta", "id": "t", "delta": f"word{n} "} for n in range(CHUNKS - 7)]
    text = [{"type": "text-start", "id": "t"}, *deltas, {"type": "text-end", "id": "t"}]
    sent = [{"type": "start"}, {"type": "start-step"}, *text, {"type": "finish-step"}, {"type": "finish"}]
    lines = [f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode() for chunk in sent]
    return [*lines, b"data: [DONE]\n\n"]


def fold(reads: list[bytes]) -> int:
    """Fold the reads of one stream; return how many responses its turn has."""
    assembler = Assembler(agent_id="a")
    assembler.begin(AT, agent_id="a")
    for data in reads:
        assembler.feed(data, AT)
    assembler.close(None, AT)
    journal = assembler.journal()
    return len(journal.ended)


# ---------------------------------------------------------------------------------------------------- the server


class Server(asyncio.Protocol):
    """Answers runs at once; those below /hold only in part, until somebody says /go."""

    held: list[asyncio.Transport]

    def __init__(self, held: list[asyncio.Transport]) -> None:
        self.held = held
        pieces = chunks()
        framed = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
        self._head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._first = self._head + framed[0]
        self._rest = b"".join(framed[1:]) + b"0\r\n\r\n"
        self._writes = [self._head + framed[0], *framed[1:-1], framed[-1] + b"0\r\n\r\n"]
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        if b" /go " in head:
            for transport in self.held:
                transport.write(self._rest)
            self._transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            self.held.clear()
        elif b" /hold" in head:
            self.held.append(self._transport)
            self._transport.write(self._first)
        else:
            self._transport.write(b"".join(self._writes))


async def serve() -> None:
    """Listen on a free port, say which, until standard input ends."""
    loop = asyncio.get_running_loop()
    held: list[asyncio.Transport] = []
    server = await loop.create_server(lambda: Server(held), "127.0.0.1", 0, backlog=8192)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def server() -> Iterator[str]:
    """Run the server in a process of its own; give its address."""
    command = [sys.executable, "-m", "benchmarks.http_load", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("no pipes")
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()
            process.wait(timeout=10)


# ---------------------------------------------------------------------------------------------------- open streams


def kib() -> float:
    """Return the resident memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize() / 1024


async def streams(url: str, count: int) -> dict[str, float]:
    """Open so many streams, read their first chunk, let all go on, and read them to the end."""
    async with Http(patience=Patience(total=600.0, silence=60.0)) as http:
        endpoint = Endpoint.parse(f"{url}/hold")
        opened, go = asyncio.Semaphore(0), asyncio.Event()
        gate = asyncio.Semaphore(256)  # as many as the kernel queues for the server

        async def one() -> bool:
            async with gate:
                context = http.stream("POST", endpoint, PATH, {})
                reading = await context.__aenter__()
                got = await reading.read()
            opened.release()
            await go.wait()
            pieces = [got]
            while piece := await reading.read():
                pieces.append(piece)
            await context.__aexit__(None, None, None)
            return b"".join(pieces) == WHOLE

        gc.collect()
        before = kib()
        begun = time.perf_counter()
        tasks = [asyncio.create_task(one()) for _ in range(count)]
        for _ in range(count):
            await opened.acquire()
        seconds = time.perf_counter() - begun
        gc.collect()
        each = (kib() - before) / count
        go.set()
        await http.ask("POST", Endpoint.parse(url), "/go", {})
        whole = sum(await asyncio.gather(*tasks))
    return {"kib": each, "seconds": seconds, "lost": count - whole}


WHOLE = b"".join(chunks())

# ---------------------------------------------------------------------------------------------------- runs per second


async def rate(run: Callable[[], Awaitable[list[bytes]]], concurrent: int, seconds: float) -> float:
    """Return the runs per second of so many workers, each run folded and found whole."""
    done = 0
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    async def worker() -> None:
        nonlocal done
        while loop.time() < end:
            reads = await run()
            if fold(reads) != 1 or sum(map(len, reads)) != len(WHOLE):
                raise SystemExit("a run was lost: the comparison would mean nothing")
            done += 1

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrent)))
    return done / (time.perf_counter() - begun)


@asynccontextmanager
async def ours(url: str) -> AsyncIterator[Callable[[], Awaitable[list[bytes]]]]:
    """Give a run by `tpharness.targets.net`."""
    async with Http() as http:
        endpoint = Endpoint.parse(url)

        async def run() -> list[bytes]:
            reads = []
            async with http.stream("POST", endpoint, PATH, {}) as reading:
                while piece := await reading.read():
                    reads.append(piece)
            return reads

        yield run


@asynccontextmanager
async def theirs(url: str) -> AsyncIterator[Callable[[], Awaitable[list[bytes]]]]:
    """Give a run by one shared httpx client."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:

        async def run() -> list[bytes]:
            async with client.stream("POST", url + PATH, json={}) as response:
                return [piece async for piece in response.aiter_raw()]

        yield run


async def rates(url: str, concurrent: int, seconds: float, repeat: int) -> tuple[float, float]:
    """Return the median rates of both, taken in turn."""
    mine, other = [], []
    async with ours(url) as one, theirs(url) as two:
        for _ in range(repeat):
            mine.append(await rate(one, concurrent, seconds))
            other.append(await rate(two, concurrent, seconds))
    return median(mine), median(other)


def measure(seconds: float, repeat: int, count: int) -> list[Row]:
    """Measure everything."""
    rows = []
    command = [sys.executable, "-m", "benchmarks.http_load", "--streams", str(count)]
    got = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lost, each, took = got["lost"], got["kib"], got["seconds"]
    rows.append(at_most(f"{count} open streams, client memory of each", each, 16, "KiB"))
    rows.append(at_most(f"{count} streams opened in", took, 5, "s"))
    rows.append(Row(name=f"{count} streams, lost", value=str(lost), target="0", passed=lost == 0))
    with server() as url:
        for concurrent, target in ((16, 4), (64, 12)):
            mine, other = asyncio.run(rates(url, concurrent, seconds, repeat))
            rows.append(shown(f"{concurrent} at once, tpharness", mine, "runs/s"))
            rows.append(shown(f"{concurrent} at once, one httpx client", other, "runs/s"))
            rows.append(at_least(f"{concurrent} at once, tpharness / httpx", mine / other, target))
    return rows


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--serve", action="store_true", help="be the server")
    options.add_argument("--streams", type=int, help="open so many streams and print what it took as JSON")
    options.add_argument("--count", type=int, default=STREAMS, help=f"streams to open ({STREAMS})")
    options.add_argument("--seconds", type=float, default=1.5, help="seconds of each measure (1.5)")
    options.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each measure, median counts (3)")
    args = options.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = args.count + 1_000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.stderr.write(f"this process may open {hard} files at most, {wanted} are needed: raise ulimit -Hn\n")
        return 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    if args.serve:
        asyncio.run(serve())
        return 0
    if args.streams:
        with server() as url:
            print(json.dumps(asyncio.run(streams(url, args.streams))))
        return 0
    rows = [shown("processors", str(os.cpu_count())), shown("chunks of a run, fold included", str(CHUNKS))]
    return report([*rows, *measure(args.seconds, args.repeat, args.count)])


if __name__ == "__main__":
    sys.exit(main())
