"""Tools that are a plain `def` beside `async` ones: whether one that is stopped has its effect depends on it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scripts.apps_page import CONFIG, copy_application

from tpharness.apps.config import load_config
from tpharness.apps.engine import AppOptions, run_app
from tpharness.verdict import Outcome, Result, ResultReady

NAME = "pydantic-ai-quickstart-ledger"
BEFORE_EFFECT = "user-leaves/before-effect"
PLAIN = [("async def book_hotel", "def book_hotel"), ("async with httpx.AsyncClient", "with httpx.Client")]
PLAIN += [
    ("await service.post", "service.post"),
    ("await asyncio.sleep", "time.sleep"),
    ("import asyncio", "import time"),
]


def play(folder: Path) -> Result:
    """Play the case on the application in a folder."""
    config = load_config(NAME, CONFIG)
    command = (sys.executable, *config.command[1:])
    config = replace(config, command=command, folder=folder, baseline=None, ready=300.0, answer=120.0, stop_within=5.0)
    config.run_folder.mkdir(parents=True)
    events = run_app(AppOptions(config=config, ids=(BEFORE_EFFECT,)))
    (result,) = (event.result for event in events if isinstance(event, ResultReady))
    return result


@pytest.mark.long
@pytest.mark.parametrize(
    ("plain", "became", "codes"),
    [
        (False, "the application cancelled its tool", set()),
        (True, "the application let its tool run to its end", {"effect-in-doubt"}),
    ],
    ids=["async", "def"],
)
def test_a_plain_tool_of_pydantic_ai_has_its_effect_when_its_user_has_left(
    plain: bool, became: str, codes: set[str], tmp_path: Path
) -> None:
    """It runs in a thread, which nothing cancels. The model is told the same of both: that the call was interrupted."""
    agent = copy_application(NAME, tmp_path) / "agent.py"
    text = agent.read_text("utf-8")
    for old, new in PLAIN if plain else ():
        assert text.count(old) == 1
        text = text.replace(old, new)
    agent.write_text(text, "utf-8")
    result = play(tmp_path)
    assert result.outcome is Outcome.PASSED
    assert became in result.reason
    assert {finding.code for finding in result.findings} == codes
