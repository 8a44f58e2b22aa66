"""The reference server as a process: a socket, signals, and nothing left behind.

`run_server` blocks. It says where it listens when it really does, ends on SIGINT, SIGTERM or SIGHUP after every run has
ended and every stream with it, and takes a second signal as an order to stop at once. An ignored SIGHUP stays ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import uvicorn

from tpharness.errors import InputError, UsageError
from tpharness.reference_app.app import ReferenceApp
from tpharness.reference_app.connection import protocol_for
from tpharness.reference_app.settings import Settings
from tpharness.targets.endpoint import is_loopback

__all__ = ["run_server"]

_BACKLOG = 8192
_GRACE = 3
_WANTED = 65536
_RESERVED = 256
"""Open files that are not for connections: what was loaded, the store and its contents, streams that are received."""
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Server(uvicorn.Server):
    """uvicorn, with signals handled by us: it would end the process by the signal, and streams would hold it up."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self.on_listening = on_listening
        self.ending = asyncio.Event()

    def end(self, *, at_once: bool = False) -> None:
        """End when all streams have ended, or at once."""
        self.should_exit, self.force_exit = True, at_once
        self.ending.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end, which uvicorn looks for ten times a second, and once a second see to the date."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self.ending.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets=sockets)
        self.on_listening()


def run_server(settings: Settings, *, host: str, port: int, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal comes; `on_listening` gets the URL as soon as connections are taken.

    UsageError for an empty token, and for an address that is not this machine's alone without one; InputError for an
    address that cannot be had, and for a store that cannot be opened.
    """
    if settings.token is not None and not settings.token.strip():
        raise UsageError("the token is empty, which everybody knows", hint="give --token TOKEN, or leave it out")
    if settings.token is None and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and anybody there could use this server",
            hint="give --token TOKEN, or listen on 127.0.0.1",
        )
    settings = replace(settings, max_connections=min(settings.max_connections, _raise_descriptor_limit() - _RESERVED))
    gc.freeze()  # what is loaded stays: the collector looks at none of it again, not even when the process ends
    with _socket(host, port) as listening, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listening, on_listening))


async def _serve(settings: Settings, listening: socket.socket, on_listening: Callable[[str], None]) -> None:
    app = ReferenceApp(settings)
    config = uvicorn.Config(
        app,
        http=protocol_for(settings),  # type: ignore[arg-type]  # it only calls it
        log_level="warning",
        access_log=False,
        lifespan="off",  # ours, so that a store that cannot be opened is reported as such
        ws="none",
        backlog=_BACKLOG,
        server_header=False,
        proxy_headers=False,  # nobody asks from where a request comes
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config, lambda: on_listening(_url(listening)))
    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []

    async def end() -> None:
        await app.stop()
        server.end()

    def on_signal() -> None:
        if ending:
            server.end(at_once=True)
        else:
            ending.append(loop.create_task(end()))

    async def watch_store() -> None:
        lost.append(await app.until_lost())
        await end()

    lost: list[str] = []
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    async with app.alive():
        with contextlib.ExitStack() as handlers:
            for number in heeded:
                handlers.callback(_heed(loop, number, on_signal))
            watching = loop.create_task(watch_store())
            await server.serve(sockets=[listening])
            watching.cancel()
    if lost:
        raise InputError(
            f"{settings.store}: {lost[0]}", hint="put the file back where it was, and start the server again"
        )


def _heed(loop: asyncio.AbstractEventLoop, number: int, on_signal: Callable[[], None]) -> Callable[[], object]:
    """Have a signal call a function in the loop; return what undoes that."""
    try:
        loop.add_signal_handler(number, on_signal)
    except NotImplementedError:  # Windows
        before = signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
        return lambda: signal.signal(number, before)
    return lambda: loop.remove_signal_handler(number)


def _socket(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"cannot listen on {host}: {error.strerror}", hint="give an address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as error:
        listening.close()
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {said}", hint="--port 0 takes one that is free"
        ) from None
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _raise_descriptor_limit() -> int:
    """Raise the limit on open files and return it: each connection is one, and 1,024 is there for old programs."""
    try:
        import resource  # noqa: PLC0415  # not on every platform
    except ImportError:
        return _WANTED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):
        return soft
    return wanted
