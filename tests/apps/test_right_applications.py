"""Two applications that were written to be right, on the SDKs of two model APIs: no word about them is false."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.apps.playing import STOP, THREAD, codes_of

from tpharness.apps.config import AppConfig
from tpharness.apps.engine import AppOptions, run_app
from tpharness.verdict import Outcome, ResultReady

HERE = Path(__file__).parent
BY_THE_SERVER: dict[str, Any] = {
    "history": "last-message",
    "on_disconnect": "continue",
    "stop": STOP,
    "thread": THREAD,
    "resume": "GET /api/chat/{id}/stream",
}
BY_THE_PAGE: dict[str, Any] = {
    "history": "client",
    "on_disconnect": "stop",
    "regenerate": True,
    "edit": True,
    "stop_within": 5.0,
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "table", "most", "flaws"),
    [
        ("right_anthropic", BY_THE_SERVER, 48, set()),
        # of a call that runs when the user writes again nobody knows, until it ends
        ("right_responses", BY_THE_PAGE, 39, {"history-changed"}),
    ],
)
def test_a_right_application_is_accused_of_nothing(
    name: str, table: dict[str, Any], most: int, flaws: set[str], tmp_path: Path
) -> None:
    """Every case that applies, with the ledger; many at the same time."""
    config = AppConfig(
        name=name,
        url="http://127.0.0.1:{port}/api/chat",
        command=(sys.executable, str(HERE / f"{name}.py")),
        folder=tmp_path,
        allow=("book_hotel",),
        args={"book_hotel": ({"city": "Paris", "nights": 2}, {"city": "Rome", "nights": 3})},
        effects="ledger",
        outcome_unknown=("It is not known whether the tool has run",),
        ready=300.0,
        **table,
    )
    results = [event.result for event in run_app(AppOptions(config=config)) if isinstance(event, ResultReady)]
    assert {result.outcome for result in results} == {Outcome.PASSED, Outcome.NOT_APPLICABLE}
    assert sum(result.outcome is Outcome.PASSED for result in results) >= most
    assert codes_of(results) <= flaws
