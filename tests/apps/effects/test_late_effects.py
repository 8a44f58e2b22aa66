"""An effect belongs to the case that called its tool, also where nobody waits for the tool any more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect, Json, Writer
from tests.apps.playing import STOP, count_lines, play

from tpharness.apps.cases import CaseTool
from tpharness.apps.cases.basic import run_plans
from tpharness.findings import Level

HOTEL = CaseTool(name="book_hotel", args={"city": "Paris", "nights": 2})
CALLED = run_plans(HOTEL, "call")[0].piece_count
"""How many pieces the answer has that calls the tool."""


class BooksLate(ChatApp):
    """Its tool works for a while before it has its effect, and for a while after it."""

    async def _tool(self, call: Json, answer: Json) -> str:
        await asyncio.sleep(self.tool_seconds)
        return await super()._tool(call, answer)


class Hurries(BooksLate):
    """A message stops the run before it."""

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take a message as the stop button, too."""
        chat = self.chats.get((await request.json())["id"])
        if chat is not None and chat.run is not None:
            chat.run.cancel()
        return await super().post(request)


class Eager(BooksLate):
    """A tool starts when its arguments are whole, before the model's answer is."""

    def __init__(self, *defects: Defect, **options: Any) -> None:
        super().__init__(*defects, **options)
        self.early: dict[str, asyncio.Task[str]] = {}

    async def _take_piece(self, piece: Json, calls: dict[int, Json], out: Writer) -> None:
        await super()._take_piece(piece, calls, out)
        call = calls[piece["index"]]
        if call["arguments"].endswith("}"):
            self.early[call["id"]] = asyncio.create_task(self._tool(call, {}))

    async def _run_tools(self, calls: list[tuple[Json, Json]], out: Writer) -> None:
        for call, answer in calls:
            answer["content"] = await self.early[call["id"]]
            await out.send({"type": "tool-output-available", "toolCallId": call["id"], "output": answer["content"]})


@pytest.mark.parametrize(
    ("app", "cases"),
    [
        (BooksLate, {"stop-button/while-tool-runs": ["effect-forgotten"], "stop-button/in-answer": []}),
        (
            Hurries,
            {
                "second-message/while-tool-runs": ["effect-forgotten"],
                "second-tab/while-tool-runs": ["effect-forgotten"],
            },
        ),
        (
            Eager,
            {
                f"model-drops/every-piece@piece-{CALLED}": ["effect-forgotten"],
                f"model-drops/every-piece@piece-{CALLED + 1}": [],
            },
        ),
    ],
)
def test_a_late_effect_is_waited_for(app: type[ChatApp], cases: dict[str, list[str]], tmp_path: Path) -> None:
    """The case is judged with it, and the next one begins when it is there: nothing has run twice."""
    effects = tmp_path / "effects.txt"
    results = play(
        app(Defect.FORGETS_EFFECT, effects=effects),
        *cases,
        options={"sweep": True},
        effects=count_lines(effects),
        stop=STOP,
        args={HOTEL.name: (HOTEL.args,)},
    )
    assert {r.id: [f.code for f in r.findings if f.level is Level.MUST] for r in results} == cases
