"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from tpharness.report import failure_lines
from tpharness.run import Outcome, RunOptions, play_one
from tpharness.scenario import load_text

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
SCENARIO = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)


def test_the_first_scenario_of_the_readme_passes() -> None:
    """A newcomer who copies it sees it pass."""
    assert SCENARIO
    results = play_one(load_text(SCENARIO[1], id="chat/cancelled"), RunOptions())
    assert [r.outcome for r in results] == [Outcome.PASSED]


def test_the_sweep_that_the_readme_suggests_passes() -> None:
    """Without interrupt and expect, and with a cut after every event."""
    assert SCENARIO
    text = re.sub(r"    interrupt:.*\n", "", SCENARIO[1].partition("expect:")[0]) + "cut: every-event\n"
    results = play_one(load_text(text, id="chat/cancelled"), RunOptions())
    assert {r.outcome for r in results} == {Outcome.PASSED}
    assert sum(r.cases for r in results) > 20


def test_the_failure_of_the_readme_reads_so() -> None:
    """Had the scenario expected the half text to stay, these are the lines."""
    assert SCENARIO
    wrong = SCENARIO[1].replace("request(tool-return:c1)", "request(tool-return:c1) response(text)")
    (result,) = play_one(load_text(wrong, id="chat/cancelled"), RunOptions())
    block = README.partition("FAILED chat/cancelled\n")[2].partition("\n\n")[0]
    shown = {line.strip() for line in block.splitlines()}
    told = {line.strip() for _, line in failure_lines(result, roots=(Path("scenarios"),))}
    assert shown <= told
