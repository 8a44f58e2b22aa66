"""The application under test: one that runs somewhere, a command, or an ASGI application served in this process.

In: what the configuration names. Out: its address, and a client for it. It is started when it is first used.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpharness.errors import TargetError, UsageError
from tpharness.extras import needs_extra
from tpharness.printable import make_printable
from tpharness.pytest_plugin.app_import import load_asgi
from tpharness.waiting import await_result, in_event_loop

if TYPE_CHECKING:
    import httpx

    from tpharness.verdict import Result

__all__ = ["App"]

_ASGI = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_ANSWER_SECONDS = 30.0
_CLOSE_SECONDS = 1
_PAUSE = 0.005


class App:
    """The application under test; it also judges applications of `tpharness.toml`, which need not be the same.

    `ready` is how many seconds a command may take until it listens, None as many as `AppConfig` has. `noted` takes what
    a judgement has found and does not fail for.
    """

    def __init__(
        self, named: str, folder: Path, *, ready: float | None, noted: list[tuple[str, str]] | None = None
    ) -> None:
        self.folder = folder
        self._named = named
        self._ready = ready
        self._running: _InThread | None = None
        self._client: httpx.Client | None = None
        self._noted = noted if noted is not None else []

    def __repr__(self) -> str:
        return f"<App {self._named}>"

    @property
    def url(self) -> str:
        """The address, without a path and a final slash. UsageError or TargetError where it does not start."""
        if self._named.startswith(("http://", "https://")):
            return self._named.rstrip("/")
        if not self._named:
            raise UsageError(
                "no application is named",
                hint='write tpharness_app = "my_package.my_module:app" into the configuration of pytest,'
                " or a URL, or a command with {port}",
            )
        if self._running is None:
            self._running = _InThread(self._start)
        return self._running.url

    @property
    def client(self) -> httpx.Client:
        """An `httpx.Client` for the address, the same for all tests: one of your own has cookies of its own."""
        if self._client is None:
            with needs_extra("pytest", "the client of tpharness_app"):
                import httpx  # noqa: PLC0415  # an extra
            self._client = httpx.Client(base_url=self.url, timeout=_ANSWER_SECONDS)
        return self._client

    def async_client(self, **options: Any) -> httpx.AsyncClient:
        """Return a new `httpx.AsyncClient` for the address, for one `async with`: it belongs to one event loop."""
        with needs_extra("pytest", "the client of tpharness_app"):
            import httpx  # noqa: PLC0415  # an extra
        return httpx.AsyncClient(**{"base_url": self.url, "timeout": _ANSWER_SECONDS, **options})

    def close(self) -> None:
        """Close the client and end what was started."""
        if self._client is not None:
            self._client.close()
        if self._running is not None:
            self._running.close()

    def __call__(self, name: str | None = None, *ids: str, **options: Any) -> list[Result]:
        """Judge an application of `tpharness.toml` as it runs, and return the results; a failure fails the test.

        All cases are played without `ids`. `options` are those of `AppOptions`.
        """
        __tracebackhide__ = True
        from tpharness.apps.config import CONFIG_FILE, load_config  # noqa: PLC0415  # few projects judge one
        from tpharness.apps.engine import AppOptions, run_app  # noqa: PLC0415
        from tpharness.pytest_plugin.advice import notes_of  # noqa: PLC0415
        from tpharness.testing import describe_failures  # noqa: PLC0415
        from tpharness.verdict import ResultReady, RunFinished  # noqa: PLC0415

        config = load_config(name, self.folder / CONFIG_FILE)
        options_of_run = AppOptions(config=config, ids=ids, **options)
        if in_event_loop():  # of an `async def` test: judging needs a loop of its own
            with ThreadPoolExecutor(1) as judging:
                events = await_result(judging.submit(lambda: list(run_app(options_of_run))))
        else:
            events = list(run_app(options_of_run))
        results = [event.result for event in events if isinstance(event, ResultReady)]
        self._noted += notes_of(config.name, results)
        problems = [f.line() for event in events if isinstance(event, RunFinished) for f in event.problems]
        failed = [result for result in results if not result.outcome.green]
        if failed or problems:
            again = f"tpharness app {shlex.quote(config.name)} {{id}}"
            text = describe_failures(failed, again=again, grouped=True)
            raise AssertionError("\n\n".join([text, *map(make_printable, problems)]).strip())
        return results

    def _start(self) -> AbstractAsyncContextManager[str]:
        asgi = _ASGI.fullmatch(self._named)
        return _serve(load_asgi(self.folder, *asgi.groups())) if asgi else _run(self._named, self.folder, self._ready)


@contextlib.asynccontextmanager
async def _serve(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application on a free port of loopback, with its lifespan."""
    with needs_extra("pytest", "an ASGI application in tpharness_app"):
        import uvicorn  # noqa: PLC0415  # an extra
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # asyncio sends at once where TCP is named
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_CLOSE_SECONDS)
        server = uvicorn.Server(config)

        async def serve() -> None:
            with contextlib.suppress(SystemExit):  # what uvicorn raises where the application does not start
                await server.serve(sockets=[listening])

        serving = asyncio.create_task(serve())
        while not server.started:
            if serving.done():
                await serving
                raise TargetError(
                    "tpharness_app: the application did not start", hint="what it raised is in the log of uvicorn"
                )
            await asyncio.sleep(_PAUSE)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@contextlib.asynccontextmanager
async def _run(command: str, folder: Path, ready: float | None) -> AsyncIterator[str]:
    """Run a command in the root folder; `{port}`, and PORT in its environment, is the port that it has to listen on."""
    from tpharness.apps.config import AppConfig  # noqa: PLC0415  # an application may need no command
    from tpharness.apps.process import AppProcess  # noqa: PLC0415
    from tpharness.targets.server_process import free_port  # noqa: PLC0415

    words = tuple(shlex.split(command))
    config = AppConfig(name="app", url="http://127.0.0.1:{port}", command=words, folder=folder)
    config = config.on_port(free_port())
    if ready is not None:
        config = replace(config, ready=ready)
    async with AppProcess(config, {}):
        yield config.url


class _InThread:
    """An application that runs on an event loop in a thread of its own until it is closed."""

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[str]]) -> None:
        self._ready: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._start = start
        self._thread = threading.Thread(target=lambda: asyncio.run(self._hold()), name="tpharness-app", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address, once it listens. Raises what starting it raised, each time."""
        return await_result(self._ready)[0]

    def close(self) -> None:
        """End it."""
        if self._ready.exception() is None:
            _, loop, stop = self._ready.result()
            loop.call_soon_threadsafe(stop.set)
        self._thread.join()

    async def _hold(self) -> None:
        stop = asyncio.Event()
        try:
            async with self._start() as url:
                self._ready.set_result((url, asyncio.get_running_loop(), stop))
                await stop.wait()
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)
