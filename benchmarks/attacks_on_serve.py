"""The attacks of `attacks` on `tpharness serve`: its store, its connections, its door."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.attacks_parts import Done, Place, Seen

__all__ = [
    "damaged_content",
    "hosts_and_askers",
    "memory_before_the_token",
    "power",
    "store_by_a_link",
    "stores",
]

AT = "2025-01-20T10:00:0{}Z"
LARGE = "x" * 150_000
DIGEST = hashlib.sha256(LARGE.encode()).hexdigest()
STREAM = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"type":"start"}\n\n'
SYNCED = """
import os, stat
real = os.fsync
def fsync(file):
    real(file)
    if stat.S_ISDIR(os.fstat(file).st_mode):
        with open(os.environ["SYNCED"], "a") as names:
            names.write(os.readlink("/proc/self/fd/%d" % file) + "\\n")
os.fsync = fsync
"""
"""Python reads it at its start: it notes which folders are synced."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Return the status and the body of an answer; 0 if there is none."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(self.address + path, method=method, data=data, headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310  # our own
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return 0, str(error).encode()

    def most_memory(self) -> int:
        """Return the most memory that it had, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024


@contextlib.contextmanager
def serving(
    place: Place, *words: str, early: Path | None = None, env: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Served]:
    """Start a server; it is killed in the end."""
    process = place.start("serve", "--port", "0", *words, early=early, env=env)
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(line + process.stdout.read())
        yield Served(process, found[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def refused(place: Place, store: str) -> Done:
    """Return what `serve` says of a store; no code if it serves."""
    try:
        with serving(place, "--store", store):
            return Done(None, "it serves")
    except RuntimeError as error:
        return Done(2, str(error))


def run_of(content: str) -> dict[str, Any]:
    """Return a run with a call, what it returns, and a text."""
    call = {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": "c1", "args": {}}
    back = {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": "c1", "content": content}
    events = [
        {"event_kind": "part_start", "index": 0, "part": call, "at": AT.format(2)},
        {"event_kind": "model_response_end", "at": AT.format(2)},
        {"event_kind": "function_tool_result", "part": back, "at": AT.format(3)},
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "x"}, "at": AT.format(4)},
        {"event_kind": "model_response_end", "at": AT.format(4)},
        {"event_kind": "agent_run_result", "at": AT.format(5)},
    ]
    return {
        "created_at": AT.format(0),
        "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": AT.format(0)}},
        "user": [],
        "run": {"turn_type": "agent", "agent_id": "a", "started_at": AT.format(1), "events": events},
    }


def power(place: Place) -> Iterator[Seen]:
    """Row 5: which folders are synced when a large content is stored."""
    place.write("early/sitecustomize.py", SYNCED)
    names = place.folder / "synced"
    with serving(place, "--store", "s.db", early=place.folder / "early", env={"SYNCED": str(names)}) as server:
        server.ask("POST", "/threads/t/runs", run_of(LARGE))
    synced = set(names.read_text("utf-8").split()) if names.exists() else set()
    wanted = {str(place.folder), str(place.folder / "s.db.content")}
    known = ", ".join(sorted(Path(name).name for name in synced)) or "none"
    yield Seen(f"a large content: folders that are synced: {known}", held=wanted <= {*synced})


def memory_before_the_token(place: Place) -> Iterator[Seen]:
    """Row 6: many header lines, a long one, and connections with half a request."""
    for what, begin, piece, times in (
        ("70 MB of header lines", b"", b"X-A: b\r\n" * 8_192, 1_100),
        ("a header line of 56 MB", b"X-A: ", b"b" * 65_536, 880),
    ):
        with serving(place, "--token", "s3cret") as server:
            before = server.most_memory()
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            with sock, contextlib.suppress(OSError):
                sock.sendall(b"GET /capabilities HTTP/1.1\r\nHost: localhost\r\n" + begin)
                for _ in range(times):
                    sock.sendall(piece)
            more = server.most_memory() - before
        yield Seen(f"{what}, no token: {more} MiB more", held=more < 20)
    with serving(place) as server, contextlib.ExitStack() as opened:
        for _ in range(128):
            sock = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            sock.sendall(b"GET /capa")
        status, _ = server.ask("GET", "/capabilities")
        yield Seen(f"128 half requests, then another: {status or 'no answer'}", held=status == 200)


def damaged_content(place: Place) -> Iterator[Seen]:
    """Row 7: a stored content is overwritten, and sent again."""
    with serving(place, "--store", "s.db") as server:
        server.ask("POST", "/threads/t/runs", run_of(LARGE))
        (stored,) = [path for path in (place.folder / "s.db.content").rglob("*") if path.is_file()]
        stored.write_bytes(b"damaged")
        again, _ = server.ask("POST", "/threads/u/runs", run_of(LARGE))
        status, content = server.ask("GET", f"/content/{DIGEST}")
    whole = LARGE.encode() in content
    yield Seen(f"sent again: {again}; read: {status}", held=again != 200 or (status == 200 and whole))


def store_by_a_link(place: Place) -> Iterator[Seen]:
    """Row 8: a store that is opened through a link."""
    with serving(place, "--store", "real.db") as server:
        server.ask("POST", "/threads/t/runs", run_of(LARGE))
    (place.folder / "link.db").symlink_to("real.db")
    with serving(place, "--store", "link.db") as server:
        found = server.ask("GET", "/threads/t")[0], server.ask("GET", f"/content/{DIGEST}")[0]
    yield Seen("by a link: thread {}, its content {}".format(*found), held=found == (200, 200))


def stores(place: Place) -> Iterator[Seen]:
    """Row 11: stores that are none, what is deleted, a file that is not ours, a log that is lost."""
    for store in ("", "."):
        done = refused(place, store)
        yield Seen(f"--store {store!r}: {done.lines()[0][:90]}", held=done.code == 2 and "Traceback" not in done.text)
    try:
        with serving(place, "--store", ":memory:") as server:
            durable = json.loads(server.ask("GET", "/capabilities")[1]).get("durable")
        yield Seen(f"--store :memory: says durable: {durable}", held=durable is not True)
    except RuntimeError as error:
        yield Seen(f"--store :memory: {str(error).strip()[:90]}", held="Traceback" not in str(error))
    with serving(place, "--store", "s.db") as server:
        server.ask("POST", "/threads/t/runs", run_of(LARGE))
        server.ask("DELETE", "/threads/t")
        status, _ = server.ask("GET", f"/content/{DIGEST}")
        yield Seen(f"a content after its thread was deleted: {status}", held=status in (404, 410))
    with contextlib.closing(sqlite3.connect(place.folder / "s.db")) as file:
        file.execute("create trigger x after insert on entries begin delete from entries; end")
        file.commit()
    done = refused(place, "s.db")
    yield Seen(f"a trigger in the file: {done.lines()[0][:90]}", held=done.code == 2 and "Traceback" not in done.text)
    with contextlib.closing(sqlite3.connect(place.folder / "mine.db")) as file:
        file.execute("create table mine(x)")
        file.commit()
    before = (place.folder / "mine.db").read_bytes()
    done = refused(place, "mine.db")
    same = before == (place.folder / "mine.db").read_bytes()
    kept = "kept" if same else "changed"
    yield Seen(f"a file of somebody else, {kept}: {done.lines()[0][:90]}", held=done.code == 2 and same)
    with serving(place, "--store", "w.db") as server:
        server.ask("POST", "/threads/t/runs", run_of("small"))
        (place.folder / "w.db-wal").unlink()
        status, _ = server.ask("POST", "/threads/u/runs", run_of("small"))
        yield Seen(f"a run after the log was removed: {status}", held=status != 200)


def hosts_and_askers(place: Place) -> Iterator[Seen]:
    """Row 12: names of hosts, and a stream that is read on after its asker has left."""
    port_of_names = (
        ("none", b"", 400),
        ("two", b"Host: 127.0.0.1\r\nHost: evil.example\r\n", 400),
        ("with a path", b"Host: 127.0.0.1/evil.example\r\n", 400),
        ("with a user", b"Host: evil.example@127.0.0.1\r\n", 400),
        ("the right one", b"Host: 127.0.0.1\r\n", 200),
    )
    with serving(place) as server:
        for name, lines, wanted in port_of_names:
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
                sock.sendall(b"GET /capabilities HTTP/1.1\r\n" + lines + b"Connection: close\r\n\r\n")
                status = int(sock.recv(100).split()[1])
            yield Seen(f"Host, {name}: {status}", held=status == wanted)
        left = _seconds_until_left(server)
        seen = "it is still read after 10 s" if left is None else f"it is left after {left:.1f} s"
        yield Seen(f"a stream whose asker has gone: {seen}", held=left is not None)


def _seconds_until_left(server: Served) -> float | None:
    """Have the server read a stream that beats, close the request; return after how long it leaves the stream."""
    listener = socket.create_server(("127.0.0.1", 0))
    opened, closed = threading.Event(), threading.Event()

    def beat() -> None:
        stream, _ = listener.accept()
        with stream, contextlib.suppress(OSError):
            stream.recv(65_536)
            stream.sendall(STREAM)
            opened.set()
            while not closed.wait(0.05):
                stream.sendall(b": beat\n\n")
        closed.set()

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/s"
    turn = {"turn_type": "agent", "agent_id": "a", "begun_at": AT.format(1), "url": url, "end": {"at": AT.format(8)}}
    agents, versions = run_of("")["agents"], ["0.0.4"]
    case = {"thread_id": "t", "created_at": AT.format(0), "agents": agents, "versions": versions, "turns": [turn]}
    data = json.dumps(case).encode()
    head = f"POST /receive HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    with listener, socket.create_connection(("127.0.0.1", server.port), timeout=30) as asker:
        asker.sendall(head.encode() + b"\r\n\r\n" + data)
        if not opened.wait(20):
            raise RuntimeError(f"the stream was not asked for: {asker.recv(500)!r}")
        asker.close()
        begun = time.monotonic()
        left = closed.wait(10)
        took = time.monotonic() - begun
        closed.set()
        beating.join(5)
    return took if left else None
