"""The baseline that a table names is held against the run: an expected failure passes, and a mended one does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.virtual_time import run_idly
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.playing import THREAD, play, run_on

from tpharness.verdict import Outcome, RunFinished

CASE = "user-leaves/in-text"
ENTRY = f"- id: {CASE}\n  findings: [{{code}}]\n  reason: a post after an interruption fails\n"


@pytest.mark.parametrize(
    ("defects", "code", "outcome"),
    [
        ((Defect.BRICKS,), "chat-bricked", Outcome.EXPECTED),
        ((Defect.BRICKS,), "user-turn-lost", Outcome.STALE),
        ((), "chat-bricked", Outcome.STALE),
    ],
    ids=["as-known", "otherwise", "mended"],
)
def test_the_baseline_of_the_table_is_held_against_the_run(
    defects: tuple[Defect, ...], code: str, outcome: Outcome, tmp_path: Path
) -> None:
    """A departure that is gone is noticed as one that is new."""
    file = tmp_path / "known.yaml"
    file.write_text(ENTRY.format(code=code), "utf-8")
    (result,) = play(ChatApp(*defects), CASE, folder=tmp_path, baseline="known.yaml")
    assert result.outcome is outcome


def test_a_baseline_that_is_given_comes_before_that_of_the_table(tmp_path: Path) -> None:
    """An empty one shows the findings of an application that has known failures."""
    (tmp_path / "known.yaml").write_text(ENTRY.format(code="chat-bricked"), "utf-8")
    none = tmp_path / "none.yaml"
    none.write_text("", "utf-8")
    app = ChatApp(Defect.BRICKS)
    (result,) = play(app, CASE, options={"baseline": none}, folder=tmp_path, baseline="known.yaml")
    assert result.outcome is Outcome.FAILED


SWEPT = """\
- {id: "user-leaves/every-piece@*", findings: [chat-bricked], reason: each piece}
- {id: user-leaves/every-piece@piece-999, findings: [chat-bricked], reason: no such piece}
- {id: user-leaves/every-piece@piece-1@thread-protocol, findings: [chat-bricked], reason: a thread}
- {id: "user-leaves/every-piece@piece-*@thread-protocol", findings: [chat-bricked], reason: the threads}
- {id: user-leaves/before-effect, findings: [chat-bricked], reason: only with the ledger}
- {id: user-leaves/gone, findings: [chat-bricked], reason: no such case}
"""


@pytest.mark.parametrize(
    ("sweep", "unmatched"),
    [
        (False, ["user-leaves/gone"]),
        (True, ["piece-999", "piece-1@thread-protocol", "user-leaves/gone", "piece-*@thread-protocol"]),
    ],
)
def test_what_only_other_options_play_is_not_judged(sweep: bool, unmatched: list[str], tmp_path: Path) -> None:
    """The pieces of a sweep and the tools of the ledger. This application never writes a thread."""
    known = tmp_path / "known.yaml"
    known.write_text(SWEPT, "utf-8")
    options = {"baseline": known, "sweep": sweep}
    events = run_idly(run_on(ChatApp(Defect.BRICKS), options=options, allow=(), thread=THREAD))
    problems = next(event.problems for event in events if isinstance(event, RunFinished))
    assert {one.code for one in problems} == {"baseline-unmatched"}
    assert [str(one.got).removeprefix("user-leaves/every-piece@") for one in problems] == unmatched
