"""What `tpharness app` costs: what it adds to a case over a bare client, and nine cases on a real application.

The first application answers at once: it asks its model, and streams one text. The bare client posts the same turns to
it and reads the same streams, so that the difference is the harness. The second is the AI SDK's quickstart in
examples/apps; it is left out where its packages are not installed.

    python -m benchmarks.apps
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import aiohttp
from aiohttp import web
from benchmarks.table import Row, at_most, report, shown

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import AppCase
from tpharness.apps.client import find_profile
from tpharness.apps.config import AppConfig, load_config
from tpharness.apps.engine import AppOptions, run_app
from tpharness.apps.judge import judge_app
from tpharness.apps.marks import new_mark
from tpharness.apps.play import Player
from tpharness.apps.process import AppProcess
from tpharness.apps.provider.server import Provider
from tpharness.targets.server_process import free_port
from tpharness.verdict import Outcome, ResultReady

ROUNDS = 60
ADDED_LIMIT = 50.0  # milliseconds
BASIC_LIMIT = 30.0  # seconds
EXAMPLES = Path(__file__).parents[1] / "examples" / "apps"
QUICKSTART = "ai-sdk-quickstart"


async def answer_at_once(request: web.Request) -> web.StreamResponse:
    """Ask the model for an answer to all messages, and stream it as one text."""
    posted = await request.json()
    texts = [(m["role"], "".join(p["text"] for p in m["parts"] if p["type"] == "text")) for m in posted["messages"]]
    body = {"model": "gpt-4o", "messages": [{"role": role, "content": text} for role, text in texts]}
    session: aiohttp.ClientSession = request.app["model"]
    async with session.post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", json=body) as asked:
        text = (await asked.json())["choices"][0]["message"]["content"]
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    part = {"id": "t"}
    chunks = [
        {"type": "start"},
        {"type": "start-step"},
        {"type": "text-start", **part},
        {"type": "text-delta", **part, "delta": text},
        {"type": "text-end", **part},
        {"type": "finish-step"},
        {"type": "finish"},
    ]
    events = [*map(json.dumps, chunks), "[DONE]"]
    await response.write("".join(f"data: {event}\n\n" for event in events).encode())
    return response


def serve() -> None:
    """Run the application that answers at once, on PORT."""

    async def build() -> web.Application:
        app = web.Application()
        app["model"] = aiohttp.ClientSession()
        app.router.add_post("/api/chat", answer_at_once)
        return app

    web.run_app(build(), host="127.0.0.1", port=int(os.environ["PORT"]), print=None)


async def post_turns(session: aiohttp.ClientSession, provider: Provider, url: str, case: AppCase, mark: str) -> None:
    """Do what a case does, and nothing more: give the model its answers, post each turn, read its stream."""
    conversation = provider.conversation(mark)
    messages: list[dict[str, object]] = []
    for number, turn in enumerate(case.turns, 1):
        conversation.plans(list(turn.plans))
        words = {"type": "text", "text": f"{mark} ({number}) {turn.says}"}
        messages.append({"id": f"u{number}", "role": "user", "parts": [words]})
        async with session.post(url, json={"id": mark, "messages": messages}) as answer:
            await answer.read()
        said = {"type": "text", "text": turn.plans[0].text}
        messages.append({"id": f"a{number}", "role": "assistant", "parts": [said]})
    if conversation.plans_left:
        raise SystemExit(f"{conversation.plans_left} answers of the model were not asked for")


async def measure_added() -> list[Row]:
    """Return what the harness adds to a case of two turns, in milliseconds: the median of the differences."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/api/chat"
    command = (sys.executable, "-m", "benchmarks.apps", "serve")
    config = AppConfig(name="at-once", url=url, command=command, folder=Path(__file__).parents[1])
    bare: list[float] = []
    judged: list[float] = []
    async with Provider() as provider, AppProcess(config, provider.environment()), aiohttp.ClientSession() as session:
        player = Player(config, provider, session, find_profile("client"))
        for _ in range(ROUNDS + 1):
            (case, *_others), mark = basic_cases(None, "call_0"), new_mark()
            start = time.perf_counter()
            await post_turns(session, provider, url, case, mark)
            between = time.perf_counter()
            result = judge_app(await player.play(case, new_mark()))
            end = time.perf_counter()
            if result.outcome is not Outcome.PASSED:
                raise SystemExit(f"{case.id}: {result.outcome.value}: {[f.line() for f in result.findings]}")
            bare.append(1000 * (between - start))
            judged.append(1000 * (end - between))
    added = statistics.median(with_us - without for with_us, without in zip(judged[1:], bare[1:], strict=True))
    return [
        shown("two turns, posted by a bare client", round(statistics.median(bare[1:]), 1), "ms"),
        shown("two turns, played and judged", round(statistics.median(judged[1:]), 1), "ms"),
        at_most("what a case costs more than its posts", round(added, 1), ADDED_LIMIT, "ms"),
    ]


def measure_basic() -> list[Row]:
    """Return the time of the nine basic cases on the quickstart, its start included; nothing without its packages."""
    config = replace(load_config(QUICKSTART, EXAMPLES / "tpharness.toml"), baseline=None)
    if not (EXAMPLES / "ai-sdk" / "node_modules" / "ai").is_dir():
        print(f"{QUICKSTART} is not installed: npm ci in examples/apps/ai-sdk")
        return []
    start = time.perf_counter()
    events = list(run_app(AppOptions(config=config, ids=("basic",))))
    spent = time.perf_counter() - start
    results = [event.result for event in events if isinstance(event, ResultReady)]
    played = [r for r in results if r.outcome in (Outcome.PASSED, Outcome.FAILED)]
    if len(played) != len(basic_cases(None, "call_0")):
        raise SystemExit(f"{QUICKSTART}: {[(r.id, r.outcome.value) for r in results]}")
    return [at_most(f"the nine basic cases on {QUICKSTART}", round(spent, 1), BASIC_LIMIT, "s")]


def main() -> int:
    """Measure both; with `serve`, be the application."""
    if sys.argv[1:] == ["serve"]:
        serve()
        return 0
    return report([*asyncio.run(measure_added()), *measure_basic()])


if __name__ == "__main__":
    sys.exit(main())
