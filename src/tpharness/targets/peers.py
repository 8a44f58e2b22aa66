"""`peer:NAME`: targets that tpharness starts itself, on a free port, and ends with the run.

In: a name: `serve`, or one that `tpharness.toml` in this folder or one above has; behind an `@`, a release. Out: the
same targets as `http://…`, with a process behind them.

    [peers.mine]
    command = ["node", "server.mjs", "--port", "{port}", "--data", "{folder}"]
    base = "/tp"                   # where the paths of the contract begin, nothing by default
    env = {NODE_ENV = "test"}      # added to the environment
    start_seconds = 20             # how long it may take until it listens

`{port}` is a free port, `{folder}` an empty folder that is there for the run, also over a restart, `{release}` what
stands behind the `@` of `peer:mine@RELEASE`. The command runs in the folder of the file, and no shell does.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tpharness.errors import UsageError, did_you_mean
from tpharness.findings import quote, shorten
from tpharness.project_file import PROJECT_FILE, check_keys, find_project_file, read_project_file
from tpharness.targets.browser import browser_environment
from tpharness.targets.http_client import HttpClient
from tpharness.targets.http_server import HttpServer
from tpharness.targets.node_packages import node_program
from tpharness.targets.python_packages import python_command, released_python
from tpharness.targets.releases import Release, default_release, npm_source, resolve_release
from tpharness.targets.remote import Patience
from tpharness.targets.server_process import ServerProcess
from tpharness.wires.registry import DEFAULT_WIRE, wire_named

__all__ = ["Peer", "PeerClient", "PeerServer", "known_peers", "require_wire", "wire_of_peer"]

_PEERS_FOLDER = Path(__file__).parent.parent / "peers"
_START_SECONDS = 20.0
_KEYS = ("command", "base", "env", "start_seconds")
_RELEASE = "{release}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """How a target is started: a command with `{port}`, run in the folder `cwd`."""

    name: str
    command: tuple[str, ...]
    base: str = ""
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    start_seconds: float = _START_SECONDS
    packages: str = ""
    """The folder of a peer of ours whose npm packages have to be there; `{node}` and `{scripts}` stand for them."""
    shared: tuple[str, ...] = ()
    """Folders of other peers of ours whose scripts lie beside its own."""
    browser: bool = False
    """Whether it drives a browser, which is found or installed before it starts."""
    at_once: int | None = None
    """How many cases it plays at the same time; None for the default of targets over HTTP."""
    wire: str = "vsp"
    """The wire that it speaks, "" for one that declares several."""
    own_packages: bool = False
    """Whether its Python packages are not those of tpharness's extras: they get an environment of their own."""
    module: str = ""
    """The module of a peer of ours in Python; `{python}` stands for the words that run it."""
    release: Release | None = None
    """The release of its framework that was asked for, None for the one that tpharness is tested with."""

    def process(self) -> ServerProcess:
        """Return the process, not started yet."""
        return ServerProcess(
            self.command, name=f"peer:{self.name}", cwd=self.cwd, env=self.env, ready=self.start_seconds
        )


_PYTHON = (sys.executable, "-P", "-m")  # -P: a yaml.py of the current folder is not taken for the library

_STORE = ("--store", "{folder}/threads.db", "--no-sync")
"""`durable` is about the death of the process, which needs no wait for the disk, several milliseconds a commit."""

_OF_AGENT_PAGE = ("ai_sdk", "ai_sdk_browser", "ag_ui")
"""Whose scripts stand behind a page of AG-UI's agent, besides its own."""

_BUILT_IN = (
    Peer(name="serve", command=(*_PYTHON, "tpharness", "serve", "--port", "{port}", *_STORE), wire=""),
    *(
        Peer(name=name, command=(*_PYTHON, module, "--port", "{port}"), module=module)
        for name, module in (
            ("pydantic-ai", "tpharness.peers.pydantic_ai"),
            ("langgraph", "tpharness.peers.langgraph"),
        )
    ),
    *(
        Peer(
            name=name,
            command=(*_PYTHON, module, "--port", "{port}"),
            module=module,
            wire="ag-ui",
            own_packages=True,
            start_seconds=60.0,  # what was just installed is compiled
        )
        for name, module in (
            ("pydantic-ai-ag-ui", "tpharness.peers.pydantic_ai_ag_ui"),
            ("langgraph-ag-ui", "tpharness.peers.langgraph_ag_ui"),
            ("strands-ag-ui", "tpharness.peers.strands_ag_ui"),
        )
    ),
    *(
        Peer(
            name=name,
            command=("{node}", f"{{scripts}}/{script}.mjs", "--port", "{port}", *words),
            packages=packages,
            shared=shared,
            wire=wire,
        )
        for name, script, packages, shared, wire, words in (
            ("ai-sdk-server", "server", "ai_sdk", (), "vsp", ()),
            ("ai-sdk-client", "client", "ai_sdk", (), "vsp", ()),
            ("ag-ui-client", "client", "ag_ui", ("ai_sdk",), "ag-ui", ("--reads", "events")),
            ("ag-ui-client-one-read", "client", "ag_ui", ("ai_sdk",), "ag-ui", ("--reads", "one")),
            ("tanstack-ai-server", "server", "tanstack_ai", ("ai_sdk", "ag_ui"), "ag-ui", ()),
            ("tanstack-ai-client", "client", "tanstack_ai", ("ai_sdk", "ag_ui"), "ag-ui", ()),
        )
    ),
    *(
        Peer(
            name=name,
            command=("{node}", "{scripts}/browser.mjs", "--port", "{port}", *words),
            packages=packages,
            shared=shared,
            wire=wire,
            browser=True,
            start_seconds=60.0,  # a browser starts, on a machine that may be busy
            at_once=4,  # each case has a page of its own to load
        )
        for name, packages, shared, wire, words in (
            ("ai-sdk-browser", "ai_sdk_browser", ("ai_sdk",), "vsp", ()),
            ("ag-ui-browser", "ag_ui_browser", _OF_AGENT_PAGE, "ag-ui", ("--reads", "events")),
            ("ag-ui-browser-one-read", "ag_ui_browser", _OF_AGENT_PAGE, "ag-ui", ("--reads", "one")),
        )
    ),
)


def known_peers(folder: Path | None = None) -> dict[str, Peer]:
    """Return every peer by its name: the reference server, and those of the nearest `tpharness.toml`.

    InputError for a file that cannot be read, UsageError for a file with an invalid peer.
    """
    peers = {peer.name: peer for peer in _BUILT_IN}
    file = find_project_file(folder or Path.cwd())
    if file is not None:
        peers |= {peer.name: peer for peer in _read(file)}
    return peers


def wire_of_peer(spec: str) -> str | None:
    """Return the wire that a peer of ours speaks, by what a user wrote for a target; None for any other target."""
    name = spec.partition(":")[2].partition("@")[0]
    return next((peer.wire for peer in _BUILT_IN if spec.startswith("peer:") and peer.name == name), None)


def require_wire(wire: str, specs: Sequence[str], *, plain: bool = True) -> None:
    """UsageError for a target that does not speak the wire of a run, or another wire in a run that is not `plain`."""
    default, asked = DEFAULT_WIRE, wire_named(wire).name
    wires = {spec: spoken for spec in specs if (spoken := wire_of_peer(spec))}
    for spec, spoken in wires.items():
        if spoken not in (asked, default):
            raise UsageError(f"{spec} speaks {spoken}, and the run is over {asked}", hint=f"add --wire {spoken}")
    if asked != default and (not plain or set(wires.values()) - {asked}):
        raise UsageError(
            f"over {asked} the reference plays both sides, or a peer that speaks it, or a target that declares it;"
            " without histories",
            hint="leave --server, --client and histories away, or --wire",
        )


async def _start(peer: Peer, process: ServerProcess) -> None:
    """Start a peer's process, once, with everything that it needs."""
    if peer.packages and process.pid is None:
        shared = [_PEERS_FOLDER / name for name in peer.shared]
        source = _PEERS_FOLDER / peer.packages
        if peer.release is not None:
            shared.append(source)
            source = await asyncio.to_thread(npm_source, peer.release, _PEERS_FOLDER)
        program = await asyncio.to_thread(node_program, source, shared)
        env = await asyncio.to_thread(browser_environment) if peer.browser else {}
        process.fill({"node": str(program.node), "scripts": str(program.scripts)}, env)
    elif peer.release is not None and process.pid is None:
        python = await asyncio.to_thread(released_python, peer.release.requirements)
        process.replace_command([*python_command(python, peer.module), "--port", str(process.port)])
    await process.start()


class PeerServer(HttpServer):
    """A server over HTTP with its process."""

    def __init__(self, spec: str, *, patience: Patience | None = None) -> None:
        self._peer = _find_peer(spec)
        self._process = self._peer.process()
        super().__init__(f"http://127.0.0.1:{self._process.port}{self._peer.base}", patience=patience)

    async def open(self) -> None:
        """Start the process, once, and read its capabilities."""
        await _start(self._peer, self._process)
        await super().open()

    async def crash(self) -> None:
        """End the process with SIGKILL, and start it again on what it has stored."""
        await self._process.kill()
        await self._process.start()

    async def close(self) -> None:
        """Close the connections, and end the process."""
        await super().close()
        await self._process.stop()


class PeerClient(HttpClient):
    """A client over HTTP with its process."""

    def __init__(self, spec: str, *, patience: Patience | None = None) -> None:
        self._peer = _find_peer(spec)
        self._process = self._peer.process()
        super().__init__(f"http://127.0.0.1:{self._process.port}{self._peer.base}", patience=patience)

    @property
    def at_once(self) -> int:
        """How many cases are played at the same time."""
        return self._peer.at_once or super().at_once

    async def open(self) -> None:
        """Start the process, once, read its capabilities and begin to serve streams."""
        await _start(self._peer, self._process)
        await super().open()

    async def close(self) -> None:
        """Serve no more, and end the process."""
        await super().close()
        await self._process.stop()


def _find_peer(spec: str) -> Peer:
    name, at, release = spec.partition(":")[2].partition("@")
    peers = known_peers()
    if name in peers:
        return _at_release(peers[name], release) if at else _as_tested(peers[name])
    hint = did_you_mean(name, peers, f"peers are {', '.join(peers)}; {PROJECT_FILE} can name more", prefix="peer:")
    raise UsageError(f"there is no peer {quote(name, 40)}", hint=hint)


def _at_release(peer: Peer, text: str) -> Peer:
    """Return a peer at another release; one of `tpharness.toml` says itself what `{release}` is for."""
    if any(_RELEASE in word for word in peer.command):
        if not text or text.startswith("-") or not text.isprintable():
            raise UsageError(f"peer:{peer.name}@{shorten(text, 40)} does not name a release")
        command = tuple(word.replace(_RELEASE, text) for word in peer.command)
        return replace(peer, name=f"{peer.name}@{text}", command=command)
    release = resolve_release(peer.name, text)
    return replace(peer, name=f"{peer.name}@{release.number}", release=release)


def _as_tested(peer: Peer) -> Peer:
    if any(_RELEASE in word for word in peer.command):
        raise UsageError(
            f"peer:{peer.name} needs a release: its command in {PROJECT_FILE} has {_RELEASE}",
            hint=f"write peer:{peer.name}@RELEASE",
        )
    return replace(peer, release=default_release(peer.name)) if peer.own_packages else peer


def _read(file: Path) -> list[Peer]:
    peers = read_project_file(file).get("peers", {})
    if not isinstance(peers, dict) or not all(isinstance(one, dict) for one in peers.values()):
        raise UsageError(f"{file}: peers is not a table of tables", hint="each peer is a table [peers.NAME]")
    return [_peer(name, one, file) for name, one in peers.items()]


def _peer(name: str, table: Mapping[str, Any], file: Path) -> Peer:
    where = f"{file}: [peers.{name}]"
    check_keys(table, _KEYS, where)
    command, base, env = table.get("command"), table.get("base", ""), table.get("env", {})
    seconds = table.get("start_seconds", _START_SECONDS)
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise UsageError(
            f"{where}: command is not a list of strings", hint='command = ["node", "server.mjs", "{port}"]'
        )
    if not any("{port}" in word for word in command):
        raise UsageError(f"{where}: the command does not have {{port}}", hint="the peer has to listen on that port")
    if not isinstance(base, str) or (base and not base.startswith("/")):
        raise UsageError(f"{where}: base is {quote(base)}, which is not a path", hint='base = "/tp"')
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise UsageError(f"{where}: env is not a table of strings", hint='env = {MODE = "test"}')
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 600:
        raise UsageError(f"{where}: start_seconds is {quote(seconds)}, expected a number above 0 and up to 600")
    return Peer(
        name=name, command=tuple(command), base=base.rstrip("/"), cwd=file.parent, env=env, start_seconds=seconds
    )
