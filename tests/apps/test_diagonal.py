"""Each check is tripped by an application that breaks just its clause, and by no other; the safe application passes.

Of all cases, those in which the clauses can be broken and a part of the others are played on every application; what
counts are findings at MUST and SHOULD.
"""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.apps.broken import OBSERVED, ROWS, Broken
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.playing import NOT_ASKED_FOR, STOP, THREAD, codes_of, count_lines, play, playing, together
from tests.distribution import Sample

from tpharness.apps.cases import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.checks import APP_CHECKS
from tpharness.verdict import Outcome, Result

TELLING = (
    "uncut/tool-call",
    "uncut/two-calls",
    "user-leaves/in-arguments",
    "user-leaves/while-tool-runs",
    "user-leaves/in-answer",
    "model-drops/in-text",
    "stop-button/while-tool-runs",
    "approval/denied",
    "regenerate/whole-answer",
    "edit/last-message",
)
"""A few cases in which each of the broken applications is found."""
CHECK_OF = {kind.code: check.name for check in APP_CHECKS for kind in check.kinds}


def telling_and(sample: Sample[str], *, ledger: bool = False) -> tuple[str, ...]:
    """Return the telling cases and a sample of the others."""
    every = [case.id for case in all_cases(CaseTool(name="book_hotel"), ledger=ledger)]
    assert set(TELLING) <= set(every)
    return (*TELLING, *sample([one for one in every if one not in TELLING]))


BATCHES = [ROWS[first::5] for first in range(5)]


@pytest.mark.sampled
@pytest.mark.parametrize("rows", BATCHES, ids=lambda rows: " ".join(row.name for row in rows))
def test_a_broken_application_trips_its_check_and_no_other(
    rows: list[Broken], tmp_path: Path, sample: Sample[str]
) -> None:
    """The diagonal of checks and applications, some of which are played at the same time."""
    ids = telling_and(sample)

    def played(row: Broken) -> Awaitable[list[Result]]:
        effects = tmp_path / f"{row.name}.txt"
        counted = {"effects": count_lines(effects)} if row.config.get("effects") == "counted" else {}
        app = ChatApp(*([row.defect] if row.defect else []), effects=effects)
        return playing(app, *dict.fromkeys((*ids, *row.cases)), **{**row.config, **counted})

    for row, results in zip(rows, together(*map(played, rows)), strict=True):
        codes = codes_of(results) - row.besides
        shown = [f"{result.id} ({result.reason}): {found}" for result in results for found in result.findings]
        assert {CHECK_OF[code] for code in codes} == {row.check}, (row.name, *shown)
        assert codes == row.codes, (row.name, *shown)
        assert not [result for result in results if result.outcome is Outcome.ERRORED], row.name


@pytest.mark.sampled
def test_the_diagonal_holds_with_the_ledger_in_place_of_a_count(sample: Sample[str]) -> None:
    """In those before the effect, too: the same finding, and no other."""
    codes = {Defect.FORGETS_EFFECT: "effect-forgotten", Defect.RUNS_TWICE: "tool-ran-twice"}
    ids = (*telling_and(sample, ledger=True), "*/before-effect")
    plays = (playing(ChatApp(one), *ids, effects="ledger", stop=STOP, on_disconnect="stop") for one in codes)
    for results, code in zip(together(*plays), codes.values(), strict=True):
        assert codes_of(results) == {code}
        assert not [result for result in results if result.outcome is Outcome.ERRORED], code
        assert {"user-leaves/before-effect", "stop-button/before-effect"} <= {result.id for result in results}


@pytest.mark.sampled
def test_the_safe_application_passes(tmp_path: Path, sample: Sample[str]) -> None:
    """Every clause can be kept, all at once."""
    effects = tmp_path / "effects.txt"
    ids = dict.fromkeys((*telling_and(sample), "approval/denied", "approval/never-answered"))
    config: dict[str, Any] = {"effects": count_lines(effects), "stop": STOP, "thread": THREAD, "on_disconnect": "stop"}
    results = play(ChatApp(effects=effects), *ids, **config)
    assert codes_of(results) == set()
    assert {result.outcome for result in results} == {Outcome.PASSED, Outcome.NOT_APPLICABLE}
    assert {r.id for r in results if r.outcome is Outcome.NOT_APPLICABLE} == NOT_ASKED_FOR & set(ids)


def test_an_application_that_asks_for_approvals_is_cut_behind_them(tmp_path: Path) -> None:
    """The run goes on with another post: its tool, its answer, and what nobody approved."""
    effects = tmp_path / "effects.txt"
    ids = ("basic", "approval/*", "user-leaves/while-two-tools-run")
    config: dict[str, Any] = {"effects": count_lines(effects), "on_disconnect": "stop", "thread": THREAD}
    results = play(ChatApp(effects=effects, approvals=True), *ids, **config)
    assert codes_of(results) == set()
    assert {result.outcome for result in results} == {Outcome.PASSED}
    cuts = {result.id: result.reason for result in results}
    assert cuts["user-leaves/in-answer"].startswith("cut after 2 pieces")
    assert cuts["user-leaves/while-tool-runs"].startswith("cut while the tools ran")
    assert len(results) == 15


def test_a_tool_that_was_approved_has_begun_when_its_user_leaves(tmp_path: Path) -> None:
    """The post with the approval has reached the application: the tool has its effect, as in a run that is not cut."""
    made = []
    for case in ("uncut/tool-call", "user-leaves/while-tool-runs"):
        effects = tmp_path / case.replace("/", "-")
        play(ChatApp(effects=effects, approvals=True), case, effects=count_lines(effects))
        made.append(len(effects.read_text("utf-8").splitlines()))
    assert made[0] == made[1]


@pytest.mark.parametrize("titles", [True, "streamed"])
def test_a_request_for_a_title_in_between_changes_nothing(titles: bool | Literal["streamed"]) -> None:
    """It has the words of the case in it, is answered plainly, and is not a request of the run."""
    results = play(ChatApp(titles=titles), "basic", on_disconnect="stop")
    assert codes_of(results) == set()
    assert {result.outcome for result in results} == {Outcome.PASSED}


def test_every_check_but_the_policy_has_a_broken_application() -> None:
    """What has never been seen to fail is not a check."""
    assert {row.check for row in ROWS} == {check.name for check in APP_CHECKS} - {"seen-and-told"}
    own = {kind.code for check in APP_CHECKS for kind in check.kinds if any(c.startswith("app.") for c in kind.clauses)}
    told = {"told-more-than-seen", "told-less-than-seen", "result-told-otherwise", "history-trimmed"}
    told |= {"result-without-its-run", "effect-in-doubt"}  # tests/apps/test_false_words.py
    assert own - told == {code for row in ROWS for code in row.codes} & own


def test_runs_that_are_mixed_rewrite_the_history() -> None:
    """A second message while a tool runs: its request tells the model a placeholder, and later ones the result."""
    results = play(ChatApp(Defect.MIXES_RUNS), "second-message", "second-tab")
    assert "history-changed" in codes_of(results)


@pytest.mark.parametrize("row", OBSERVED, ids=lambda row: row.name)
def test_what_is_a_policy_is_shown_and_passes(row: Broken) -> None:
    """That the model is told more than the user has seen is a policy."""
    assert row.defect is not None
    results = play(ChatApp(row.defect), "basic", **row.config)
    assert {finding.code for result in results for finding in result.findings} == row.codes
    assert {result.outcome for result in results} == {Outcome.PASSED}
