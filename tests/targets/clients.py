"""A client for the tests of network targets: streams fetched from a raw socket, byte for byte.

`ContractClient` speaks the client's half of the control contract on a `RawServer`, the embedded reference folding what
was read by hand. What it declares and what it keeps are separate, so that a test can break one promise at a time.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.targets.servers import Connection, Request

from tpharness.dialects import ThreadHeader
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Script, StreamEnd
from tpharness.targets.forms import packets_from, run_from, threads_json, user_from
from tpharness.targets.reference import ReferenceClient

CLIENT = {
    "contract": "1.0",
    "name": "by-hand",
    "version": "0.1",
    "roles": ["client"],
    "versions": ["2.0.0", "0.0.3", "0.0.4"],
    "carriers": True,
    "limits": True,
    "resume": True,
    "integrity": True,
    "detects": ["user_cancelled", "timeout", "network_failure"],
    "readings": {},
}
"""Everything there is to declare."""

STOP = b"\n: tp stop\n"


@dataclass
class Fetched:
    """One response: its head, its body without the transfer coding, and how it ended."""

    head: bytes
    body: bytes
    reason: str | None


@dataclass
class ContractClient:
    """The client's half of the contract, for a `RawServer`; `breaks` are promises that it does not keep.

    `late` is how many seconds of its limits go by before it listens, as on a machine that is busy. `stalls` is how many
    streams that fall silent it does not get to reading until their limit is over. `slow` is how many seconds it takes
    before each stream.
    """

    declares: dict[str, Any] = field(default_factory=lambda: dict(CLIENT))
    breaks: frozenset[str] = frozenset()
    fetched: list[Fetched] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    late: float = 0.0
    stalls: int = 0
    slow: float = 0.0
    kept_open: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        match request.method, request.path:
            case "GET", "/capabilities":
                await connection.json(self.declares)
            case "POST", "/receive":
                self.cases.append(request.value)
                await connection.json({"threads": await self.receive(request.value)})
                while self.kept_open:
                    reader, writer = self.kept_open.pop()
                    try:
                        await reader.read()
                    finally:
                        writer.transport.abort()
            case "POST", "/adopt" if "adopt" not in self.breaks:
                await connection.json({"threads": request.value["threads"]})
            case "POST", "/resolve":
                await connection.json(self.resolve(**request.value))
            case _:
                await connection.json({"error": {"message": "no such path"}}, "404 Not Found")

    async def receive(self, case: dict[str, Any]) -> dict[str, Any]:
        """Receive a case."""
        session = ReferenceClient(read_script(case))
        for turn in case["turns"]:
            if turn["turn_type"] == "user":
                session.user(user_from(turn))
                continue
            session.begin(turn["agent_id"], turn["begun_at"])
            for packet in packets_from(turn.get("packets", ())):
                session.feed(packet.data, packet.at)
            seen = None
            await asyncio.sleep(self.slow)
            if "url" in turn and "fetch" not in self.breaks:
                seen = await self.read(turn, session)
            if "silence" in self.breaks:
                await asyncio.sleep(3600)
            session.close(StreamEnd(reason=turn["end"].get("reason") or seen, at=turn["end"]["at"]))
        return threads_json({Version(v): session.threads()[Version(v)] for v in case["versions"]})

    def resolve(self, content_ref: dict[str, Any], data_base64: str) -> dict[str, str]:
        """Give out what a reference names; what is not broken is compared."""
        data = base64.b64decode(data_base64)
        algorithm, _, digest = content_ref["hash"].rpartition(":")
        right = {
            "hash": digest == hashlib.sha256(data).hexdigest(),
            "algorithm": algorithm == "sha256" or (not algorithm and "bare" not in self.breaks),
            "size": content_ref.get("size_bytes", len(data)) == len(data),
        }
        wrong = [name for name, kept in right.items() if not kept and name not in self.breaks]
        given = base64.b64encode(data.strip() if "bytes" in self.breaks else data).decode()
        return {"refused": f"another {wrong[0]}"} if wrong else {"data_base64": given}

    async def read(self, turn: dict[str, Any], session: ReferenceClient) -> str | None:
        """Fetch a stream; return what was seen of its end."""
        last = ""
        seen: set[bytes] = set()
        while True:
            got = await self.fetch(turn, last)
            body = self.unseen(got.body, seen)
            if got.reason == "network_failure" and "resume" not in self.breaks and b"id: " in body:
                body = body[: body.rindex(b"\n\n") + 2] if b"\n\n" in body else b""
                named = body.rpartition(b"id: ")[2].partition(b"\n")[0].decode()
            else:
                named = ""
            session.feed(body, turn["begun_at"])
            if not named:
                if got.reason == "network_failure" and "network_failure" in self.breaks:
                    session.feed(b'data: {"type":"finish"}\n\ndata: [DONE]\n\n', turn["begun_at"])
                    return None
                return got.reason
            last = named

    def unseen(self, body: bytes, seen: set[bytes]) -> bytes:
        """Leave out frames with an id that came on an earlier connection (R31)."""
        kept, came = [], set()
        for frame in re.split(rb"(?<=\n\n)", body):
            name = frame.partition(b"\n")[0] if frame.startswith(b"id: ") and frame.endswith(b"\n\n") else b""
            counts = bool(name) and b"\0" not in name  # an id with a null character is none
            if not counts or name not in seen or "seen" in self.breaks:
                kept.append(frame)
            came.add(name)
        seen |= came
        return b"".join(kept)

    async def fetch(self, turn: dict[str, Any], last: str) -> Fetched:
        """Make one request."""
        url = urlsplit(turn["url"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        named = f"Last-Event-ID: {last}\r\n" if last and "name" not in self.breaks else ""
        writer.write(f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\n{named}\r\n".encode())
        seconds = None if "timeout" in self.breaks else turn.get("limits", {}).get("stream_seconds")
        if seconds is not None:
            seconds = seconds / 10 if "patience" in self.breaks else max(0.0, seconds - self.late)
        data, reason = b"", "network_failure"
        reads = []
        try:
            if seconds is not None and self.stalls:
                self.stalls -= 1
                await asyncio.sleep(3 * seconds)
                raise TimeoutError  # noqa: TRY301  # what a timer says that is looked at before the socket
            if "read" in self.breaks:
                await asyncio.sleep(3600)
            deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
            while True:
                async with asyncio.timeout(seconds) if "heartbeat" not in self.breaks else asyncio.timeout_at(deadline):
                    piece = await reader.read(1 << 16)
                if not piece:
                    break
                data += piece
                reads.append(piece)
                if "leave" in self.breaks and b"\r\n\r\n" in data:
                    data = data[: data.index(b"\r\n\r\n") + 4]
                    break
                if STOP in data and "user_cancelled" not in self.breaks:
                    reason = "user_cancelled"
                    break
        except TimeoutError:
            reason = "timeout"
        except ConnectionError:
            pass
        finally:
            if reason == "user_cancelled" and "close" in self.breaks:
                self.kept_open.append((reader, writer))
            else:
                writer.transport.abort()
        head, _, rest = data.partition(b"\r\n\r\n")
        body, whole = dechunked(rest) if b"chunked" in head else (rest, True)
        if "characters" in self.breaks:  # each read holds whole chunks, as it was sent
            reads[0] = reads[0].partition(b"\r\n\r\n")[2]
            body = b"".join(dechunked(read)[0].decode("utf-8", "replace").encode() for read in reads)
        got = Fetched(head=head, body=body.partition(STOP)[0], reason=None if whole else reason)
        self.fetched.append(got)
        return got


def read_script(value: Mapping[str, Any]) -> Script:
    """Read a `header`, and the turns of a `serveRequest`; the streams of a `receiveRequest` are left aside."""
    turns = tuple(
        user_from(turn) if turn["turn_type"] == "user" else run_from(turn)
        for turn in value.get("turns", ())
        if turn["turn_type"] == "user" or "events" in turn
    )
    header = ThreadHeader(thread_id=value["thread_id"], created_at=value["created_at"], agents=value["agents"])
    versions = tuple(Version(version) for version in value["versions"])
    return Script(header=header, turns=turns, versions=versions, carriers=value.get("carriers", False))


def dechunked(data: bytes) -> tuple[bytes, bool]:
    """Take the chunked coding off; the second value says whether the last chunk came."""
    out = b""
    while data:
        size, mark, rest = data.partition(b"\r\n")
        if not mark:
            break
        length = int(size, 16)
        if not length:
            return out, True
        out += rest[:length]
        data = rest[length + 2 :]
    return out, False
