"""What `tpharness app` adds to a case: wall time beside that of an application that answers at once.

The application asks the scripted model and passes its text on; the time that it needs is taken inside it. A case with a
cut waits until the client's stream is quiet (30 ms), and is measured against the same case without one.

    python -m benchmarks.applications
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable

import aiohttp
from aiohttp import web
from benchmarks.table import Row, at_most, report, shown

from tpharness.apps.cases import AppCase, basic_cases
from tpharness.apps.client import find_profile
from tpharness.apps.config import AppConfig
from tpharness.apps.marks import call_id, new_mark
from tpharness.apps.play import Player
from tpharness.apps.provider.server import Provider

CASES = 30
LIMIT = 50.0  # milliseconds


class EchoApp:
    """Passes the text of the model on as a UI message stream. `seconds` is the time that it took so far."""

    def __init__(self, session: aiohttp.ClientSession, model: str) -> None:
        self._session, self._model = session, model
        self._told: dict[str, list[dict[str, str]]] = {}
        self.seconds = 0.0

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take a message, ask the model, stream the answer."""
        begun = time.perf_counter()
        body = await request.json()
        told = self._told.setdefault(body["id"], [])
        told.append({"role": "user", "content": body["message"]["parts"][0]["text"]})
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        said = ""
        asked = {"model": "any", "messages": told, "stream": True}
        try:
            async with self._session.post(f"{self._model}/chat/completions", json=asked) as answer:
                await self._send(response, {"type": "start"}, {"type": "text-start", "id": "t"})
                async for line in answer.content:
                    choices = json.loads(line[6:])["choices"] if line.startswith(b"data: {") else []
                    delta = choices[0]["delta"].get("content") if choices else None
                    if delta:
                        said += delta
                        await self._send(response, {"type": "text-delta", "id": "t", "delta": delta})
            await self._send(response, {"type": "text-end", "id": "t"}, {"type": "finish"})
            await response.write(b"data: [DONE]\n\n")
        finally:
            told.append({"role": "assistant", "content": said})
            self.seconds += time.perf_counter() - begun
        return response

    async def _send(self, response: web.StreamResponse, *chunks: dict[str, str]) -> None:
        await response.write(b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks))


def case_of(name: str) -> Callable[[str], AppCase]:
    """Return what makes a basic case for a call id."""
    return lambda call: next(case for case in basic_cases(None, call) if case.id == name)


async def measure() -> list[Row]:
    """Play a case without and one with a cut, and return what they took."""
    async with Provider() as provider, aiohttp.ClientSession() as session:
        app = EchoApp(session, f"{provider.base}/v1")
        site = web.Application()
        site.router.add_post("/chat", app.post)
        runner = web.AppRunner(site, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        config = AppConfig(name="echo", url=f"http://127.0.0.1:{runner.addresses[0][1]}/chat")
        player = Player(config, provider, session, find_profile("last-message"))
        whole, added = await play(player, app, case_of("uncut/text"))
        cut, _ = await play(player, app, case_of("user-leaves/in-text"))
        await runner.cleanup()
    return [
        shown("a case without a cut", 1000 * whole, "ms"),
        shown("a case with a cut", 1000 * cut, "ms"),
        at_most("a case without a cut, beside its application", 1000 * added, LIMIT, "ms"),
        at_most("a cut, beside the case without it", 1000 * (cut - whole), LIMIT, "ms"),
    ]


async def play(player: Player, app: EchoApp, make: Callable[[str], AppCase]) -> tuple[float, float]:
    """Play a case often; return the median of its seconds, and of those that were not the application's."""
    times, rest = [], []
    for _ in range(CASES + 1):
        mark = new_mark()
        app.seconds, begun = 0.0, time.perf_counter()
        await player.play(make(call_id(mark)), mark)
        taken = time.perf_counter() - begun
        times.append(taken)
        rest.append(taken - app.seconds)
    return statistics.median(times[1:]), statistics.median(rest[1:])


def main() -> int:
    """Measure and print."""
    return report(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
