"""The ledger over HTTP on a loopback port: tools that run as long as their request is open, and control of them.

`POST /tools/{name}` with the arguments as JSON runs a tool and answers `{"result": …}` or, with status 500,
`{"error": "…"}`; closing the connection cancels the run; the header `X-Tpharness-Call` may have the id of the model's
call. `GET /tools` lists the tools, `GET /runs` the runs, and `GET /count?tool=…` answers with a number alone, for the
`effects` command of an application. `POST /hold` and `POST /release` with `{"tool": …, "before_effect": …}` and
`{"number": …}` are for a harness in another process.
"""

from __future__ import annotations

import asyncio
from typing import Any, Self

import orjson
from aiohttp import web

from tpharness.apps.effects.ledger import EffectLedger, ToolFailure
from tpharness.apps.loopback import LOOPBACK, listen
from tpharness.errors import UsageError

__all__ = ["EffectsEndpoint"]

_VIA = "X-Tpharness-Via"
_CALL = "X-Tpharness-Call"


class EffectsEndpoint:
    """The HTTP endpoint of a ledger; an async context manager, bound to 127.0.0.1 only."""

    def __init__(self, ledger: EffectLedger, *, port: int = 0) -> None:
        self.ledger = ledger
        self.port = port
        self._runner: web.AppRunner | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/tools/{name}", self._run)
        app.router.add_get("/tools", self._tools)
        app.router.add_get("/runs", self._runs)
        app.router.add_get("/count", self._count)
        app.router.add_post("/hold", self._hold)
        app.router.add_post("/release", self._release)
        self._runner, self.port = await listen(app, self.port, name="the ledger of effects")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening; runs that are open are cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _run(self, http: web.Request) -> web.Response:
        arguments = await _json(http)
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            via, call_id = http.headers.get(_VIA, "http"), http.headers.get(_CALL, "")
            result = await self.ledger.perform(http.match_info["name"], arguments, via, call_id)
        except ToolFailure as failure:
            return _answer({"error": str(failure)}, 500)
        except UsageError as error:
            return _answer({"error": f"{error}: {error.hint}"}, 404)
        finally:
            if task is not None:
                self._tasks.discard(task)
        return _answer({"result": result})

    async def _tools(self, _: web.Request) -> web.Response:
        return _answer([tool.as_json() for tool in self.ledger.tools.values()])

    async def _runs(self, _: web.Request) -> web.Response:
        return _answer([run.as_json() for run in self.ledger.runs])

    async def _count(self, http: web.Request) -> web.Response:
        return web.Response(text=f"{self.ledger.effects(http.query.get('tool'))}\n")

    async def _hold(self, http: web.Request) -> web.Response:
        asked = await _json(http)
        try:
            self.ledger.hold(asked.get("tool"), before_effect=asked.get("before_effect") is True)
        except UsageError as error:
            return _answer({"error": f"{error}: {error.hint}"}, 404)
        return _answer({"holds": True})

    async def _release(self, http: web.Request) -> web.Response:
        number = (await _json(http)).get("number")
        released = [run for run in self.ledger.runs if number in (None, run.number)]
        for run in released:
            run.release()
        return _answer({"released": [run.number for run in released]})


async def _json(http: web.Request) -> dict[str, Any]:
    try:
        value = orjson.loads(await http.read() or b"{}")
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text="the body is not a JSON object\n")
    return value


def _answer(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")
