"""Built-in scenarios as tests: which, under which names and markers, and what their outcomes are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.in_process import QUICK

from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions
from tpharness.run.dispatch import open_session, play_file
from tpharness.run.select import select_scenarios

INI = "[pytest]\ntpharness_builtin = {}\naddopts = --strict-markers\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project with one test of its own."""
    pytester.makepyfile(test_mine="def test_mine(): pass\n")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run pytest with the plugin."""
    return project.runpytest_inprocess("-v", *QUICK, *args)


def collected(project: pytest.Pytester, *args: str) -> list[str]:
    """Return the names of the built-in scenarios that would be played."""
    told = project.runpytest_inprocess("--collect-only", "-q", *QUICK, *args).outlines
    return [line.partition("::")[2] for line in told if line.startswith("tpharness::")]


def test_they_are_named_by_id_folder_or_pattern(project: pytest.Pytester) -> None:
    """Each is one test under its id, beside the project's own; the count of collected tests has them."""
    project.makeini(INI.format("cycles/late-return threads/usage-[st]*"))
    result = run(project)
    result.stdout.fnmatch_lines_random(
        ["*collected 4 items*", "*tpharness::cycles/late-return PASSED*", "*test_mine PASSED*"]
    )
    approvals = collected(project, "--tpharness-builtin", "approvals", "test_mine.py")
    assert len(approvals) > 3
    assert {name.partition("/")[0] for name in approvals} == {"approvals"}


def test_a_run_of_one_file_leaves_them_out(project: pytest.Pytester) -> None:
    """Unless the command line asks for them as well."""
    project.makeini(INI.format("cycles/late-return"))
    run(project, "test_mine.py").assert_outcomes(passed=1)
    run(project, "test_mine.py", "--tpharness-builtin", "cycles/late-return").assert_outcomes(passed=2)


def test_a_list_in_pyproject_is_read_like_words_in_an_ini_file(project: pytest.Pytester) -> None:
    """So it is with every option that takes several."""
    project.makepyprojecttoml(
        """
        [tool.pytest.ini_options]
        tpharness_builtin = ["cycles/late-return", "threads/usage-[st]*"]
        tpharness_dialect = ["0.0.3"]
        """
    )
    run(project).assert_outcomes(passed=4)


def test_a_name_that_does_not_exist_is_an_error(project: pytest.Pytester) -> None:
    """With the nearest names; zero tests would be green."""
    project.makeini(INI.format("cycles/late-retrun"))
    result = run(project)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*no built-in scenario is called 'cycles/late-retrun'", "*did you mean cycles/late-return*"]
    )


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("tpharness_clause(id='event.order')", ["cycles/late-return"]),
        ("tpharness_clause(id='interrupt.user-cancelled')", ["interruptions/mid-text"]),
        ("tpharness_profile(name='interruptions')", ["interruptions/mid-text"]),
        ("tpharness_profile and not tpharness_profile(name='interruptions')", ["cycles/late-return"]),
        ("not tpharness_profile", []),
    ],
)
def test_markers_choose_by_clause_and_profile(project: pytest.Pytester, expression: str, chosen: list[str]) -> None:
    """They are registered, so a project with strict markers has them too."""
    project.makeini(INI.format("cycles/late-return interruptions/mid-text"))
    assert collected(project, "-m", expression) == chosen


def test_every_place_of_a_sweep_can_be_a_test(project: pytest.Pytester) -> None:
    """The scenario uncut, and each place under the id that `run` takes; others stay one test."""
    project.makeini(INI.format("cycles/late-return numbers/floats") + "tpharness_places = true\n")
    late, whole, *places = collected(project)
    assert (late, whole) == ("cycles/late-return", "numbers/floats")
    assert places == [f"numbers/floats@event-{count}" for count in range(len(places))]
    assert len(places) > 3
    run(project, "-k", "event-3 or late-return").assert_outcomes(passed=2, deselected=len(places) + 1)


def test_without_its_sweep_a_scenario_is_one_case() -> None:
    """So that the test of the scenario uncut does not play every place as well."""
    (swept,) = select_scenarios(("numbers/floats",), (scenarios_dir(),))
    with open_session(RunOptions()) as session:
        found = [session.run(play_file(one, session)) for one in (swept, replace(swept, swept=False))]
    assert [[result.id for result in results] for results in found] == [
        ["numbers/floats", "numbers/floats@event-*"],
        ["numbers/floats"],
    ]


def test_a_known_failure_is_expected_to_fail(project: pytest.Pytester) -> None:
    """Recorded servers depart from ThreadProtocol in ways that the built-in baseline names."""
    project.makeini(INI.format("recorded/pydantic-ai/approval-request"))
    run(project).assert_outcomes(passed=1, xfailed=1)


BASELINE = "- {id: cycles/late-return, findings: [outline-differs], reason: the model is slow}\n"


def test_a_baseline_of_ones_own_has_to_fit(project: pytest.Pytester) -> None:
    """An entry that no longer fails, or names a case that the scenario does not have, fails the test."""
    project.makeini(INI.format("cycles/late-return") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(BASELINE, "utf-8")
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["STALE cycles/late-return", "*baseline-stale: *"])
    (project.path / "known.yaml").write_text(BASELINE.replace("return,", "return@event-9,"), "utf-8")
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["STALE cycles/late-return@event-9", "*baseline-unmatched: *"])


WRONG = """\
- {id: cycles/late-return, findings: [no-such-code], reason: x}
- {id: threads/usage-sums, findings: [outline-differs], reason: ''}
- just words
"""


@pytest.mark.parametrize(("text", "failed"), [(WRONG, 2), ("{not: a list}\n", 1), ("- [\n", 1)])
def test_entries_that_cannot_be_read_fail_one_test(project: pytest.Pytester, text: str, failed: int) -> None:
    """Not all of them. An entry whose reason alone is missing still expects a failure of its case, which is stale."""
    project.makeini(INI.format("cycles/late-return threads/usage-s*") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(text, "utf-8")
    result = run(project)
    result.assert_outcomes(failed=failed, passed=3 - failed)
    if text == WRONG:
        told = result.stdout.str()
        for words in ("known.yaml:1: entry 1", "known.yaml:2: entry 2 (threads/usage-sums): the reason is", "entry 3"):
            assert told.count(words) == 1, told


UNMATCHED = [
    "- {id: cycles/late-retrun, findings: [outline-differs], reason: x}\n",
    "- {id: 'mine/*', findings: [outline-differs], reason: x}\n",
    "- {cause: 'outline-differs at server: something', reason: x}\n",
]


@pytest.mark.parametrize("entry", UNMATCHED)
def test_an_entry_that_matches_nothing_fails_the_run(project: pytest.Pytester, entry: str) -> None:
    """A misspelt id, a pattern and a cause, as in `tpharness run`; also where workers share the tests."""
    project.makeini(INI.format("cycles/late-return threads/usage-sums") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(entry, "utf-8")
    for more in ((), ("-p", "xdist", "-n", "2")):
        result = run(project, *more)
        result.assert_outcomes(passed=3)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*the baseline is out of date*", "MUST baseline-unmatched at *", "  correct *"])


@pytest.mark.parametrize("entry", UNMATCHED)
@pytest.mark.parametrize(
    "some",
    [
        ("-k", "late"),
        ("--deselect", "tpharness::cycles/late-return"),
        ("--tpharness-builtin", "cycles/late-return"),
        ("test_mine.py",),
        ("--tpharness-faults", "fin-in-middle"),
    ],
)
def test_a_run_of_some_tests_accuses_no_entry(project: pytest.Pytester, entry: str, some: tuple[str, ...]) -> None:
    """What was not played says nothing of an entry."""
    project.makeini(INI.format("cycles/late-return threads/usage-sums") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(entry, "utf-8")
    project.makepyfile(test_mine="def test_mine(tpharness_play): tpharness_play('cycles/late-return')")
    result = run(project, *some)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*baseline*")


def test_an_entry_of_a_built_in_scenario_that_is_not_collected_is_not_accused(project: pytest.Pytester) -> None:
    """The file may be that of `tpharness run`, which plays all of them."""
    project.makeini(INI.format("cycles/late-return") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(BASELINE.replace("cycles/late-return", "threads/usage-sums"), "utf-8")
    run(project).assert_outcomes(passed=2)
    assert run(project).ret == pytest.ExitCode.OK


def test_a_baseline_may_name_faults_that_are_not_played(project: pytest.Pytester) -> None:
    """As in `tpharness run`: the test plays the scenario without them, which says nothing of them."""
    project.makeini(INI.format("cycles/late-return") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(BASELINE.replace("return,", "return@fault-reset,"), "utf-8")
    run(project).assert_outcomes(passed=2)


def test_a_scenario_that_does_not_apply_is_skipped_with_the_reason(project: pytest.Pytester) -> None:
    """Without a wire no fault can be made: nothing was judged, which is not a pass."""
    project.makeini(INI.format("cycles/late-return") + "tpharness_faults = fin-in-middle\n")
    result = run(project, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*faults are made on the wire*"])


def test_what_failed_last_is_played_again(project: pytest.Pytester) -> None:
    """`--lf` knows them like any test."""
    project.makeini(INI.format("cycles/late-return threads/usage-sums") + "tpharness_baseline = known.yaml\n")
    (project.path / "known.yaml").write_text(BASELINE, "utf-8")
    quick = [word for word in QUICK if word != "no:cacheprovider"]
    quick.remove("-p")
    project.runpytest_inprocess(*quick).assert_outcomes(passed=2, failed=1)
    (project.path / "known.yaml").write_text("", "utf-8")
    project.runpytest_inprocess(*quick, "--lf").assert_outcomes(passed=1, deselected=2)


@pytest.mark.parametrize(
    ("option", "told"), [("dialect", "unknown version 'no'"), ("faults", "no fault is called 'no'")]
)
def test_a_word_that_is_not_there_ends_the_run_at_once(project: pytest.Pytester, option: str, told: str) -> None:
    """As a usage error of pytest, and not as a traceback of ours."""
    project.makeini(INI.format("cycles/late-return"))
    result = run(project, f"--tpharness-{option}", "no")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*tpharness_{option}: {told}; *"])


def test_wrong_calls_are_shown_where_they_are_made(project: pytest.Pytester) -> None:
    """The files of tpharness are not shown: what is wrong is in the call."""
    project.makepyfile(
        test_wrong="""
        from tpharness import play

        def test_play():
            play("cycles/nope")

        def test_fixture(tpharness_play):
            tpharness_play("cycles/nope")
        """
    )
    result = run(project, "test_wrong.py")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *no built-in scenario is called 'cycles/nope'", "test_wrong.py:4: UsageError"])
    result.stdout.no_fnmatch_line("*select.py*")
    result = run(project, "test_wrong.py", "-k", "fixture", "--tpharness-dialect", "no")
    result.assert_outcomes(errors=1, deselected=1)
    result.stdout.fnmatch_lines(["unknown version 'no'; known versions are *"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*versions.py*")
