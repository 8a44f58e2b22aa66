"""An application of the AI SDK that keeps everything: played by hand once, and accused of nothing since."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.playing import codes_of
from tests.cli.test_real_app_days import start_command

from tpharness.apps.config import AppConfig
from tpharness.apps.engine import AppOptions, run_app
from tpharness.targets.children import split_command
from tpharness.verdict import Outcome, ResultReady

OF_THE_FRAMEWORK = {"failure-unsaid", "chat-same-role-twice", "history-changed"}
"""At SHOULD: `ai` ends the stream without a word where the model's connection breaks; a message without an answer and
the next one are two of the user; of a call that runs when the user writes again nobody knows, until it ends."""


@pytest.mark.long
@pytest.mark.node
def test_a_right_application_of_the_ai_sdk_passes(tmp_path: Path) -> None:
    """Every case that applies to a page that keeps the history, with the ledger; many at the same time."""
    (tmp_path / "release").write_text("3", "utf-8")
    config = AppConfig(
        name="chat",
        url="http://127.0.0.1:{port}/api/chat",
        command=tuple(split_command(start_command("ai-sdk"))),
        folder=tmp_path,
        on_disconnect="stop",
        regenerate=True,
        edit=True,
        allow=("book_hotel",),
        args={"book_hotel": ({"city": "Paris", "nights": 2}, {"city": "Rome", "nights": 3})},
        effects="ledger",
        outcome_unknown=("whether it has run is not known",),
        stop_within=5.0,
    )
    results = [event.result for event in run_app(AppOptions(config=config)) if isinstance(event, ResultReady)]
    failed = [result.id for result in results if result.outcome not in (Outcome.PASSED, Outcome.NOT_APPLICABLE)]
    assert failed == []
    assert sum(result.outcome is Outcome.PASSED for result in results) >= 43
    assert codes_of(results) <= OF_THE_FRAMEWORK
