"""Playing cases on the chat application of the tests, on one event loop.

Its clock goes only while nothing is to do: what is found is the same on a machine that is busy with something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from benchmarks.virtual_time import run_idly
from tests.apps.chat_app import INTERRUPTED, ChatApp, running

from tpharness.apps.config import AppConfig
from tpharness.apps.effects import URL_VARIABLE
from tpharness.apps.engine import AppOptions, play_app
from tpharness.findings import Level
from tpharness.verdict import Result, ResultReady, RunEvent

STOP, THREAD = "POST /api/chat/{id}/stop", "GET /api/chat/{id}"
NOT_ASKED_FOR = {
    *("approval/denied", "approval/never-answered", "approval/one-of-two"),
    *("approval/after-reload", "approval/in-two-tabs"),
    *("regenerate/in-text", "regenerate/whole-answer", "edit/in-text", "edit/first-message", "edit/last-message"),
    *("uncut/thinking", "user-leaves/in-thinking"),
}
"""Cases of approvals, of buttons for another answer and an edit, and of thoughts, which most applications here lack."""


def play(app: ChatApp, *ids: str, options: dict[str, Any] | None = None, **config: Any) -> list[Result]:
    """Serve the application, play cases on it and return their results."""
    return run_idly(playing(app, *ids, options=options, **config))


def together(*plays: Awaitable[list[Result]]) -> list[list[Result]]:
    """Play on several applications at the same time, and return the results of each: most of the time is waits."""

    async def main() -> list[list[Result]]:
        return await asyncio.gather(*plays)

    return run_idly(main())


async def playing(app: ChatApp, *ids: str, options: dict[str, Any] | None = None, **config: Any) -> list[Result]:
    """Serve the application, play cases on it and return their results."""
    events = await run_on(app, *ids, options=options, **config)
    return [event.result for event in events if isinstance(event, ResultReady)]


async def run_on(app: ChatApp, *ids: str, options: dict[str, Any] | None = None, **config: Any) -> list[RunEvent]:
    """Serve the application, play cases on it and return the events of the run."""

    def ready(environment: dict[str, str]) -> None:
        app.base_url, app.api_key = environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"]
        app.effects_url, app.environment = environment.get(URL_VARIABLE), environment

    usual = {"history": "last-message", "allow": ("book_hotel",), "answer": 60.0, "stop_within": 0.4, "concurrency": 12}
    given: dict[str, Any] = usual | {"outcome_unknown": (INTERRUPTED,)} | config
    async with running(app) as port:
        path = given.pop("path", "/api/chat")
        known = AppConfig(name="chat", url=f"http://127.0.0.1:{port}{path}", **given)
        return [event async for event in play_app(AppOptions(config=known, ids=ids, on_ready=ready, **(options or {})))]


def count_lines(file: Path) -> str:
    """Return a command that prints how many lines a file has, 0 if there is none."""
    return f"cat {file} 2>/dev/null | wc -l"


def codes_of(results: list[Result]) -> set[str]:
    """Return the codes of all findings at MUST and SHOULD."""
    return {finding.code for result in results for finding in result.findings if finding.level is not Level.MAY}
