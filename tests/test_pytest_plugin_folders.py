"""Which folders the plugin visits: those that were named, and never silently none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.in_process import QUICK

SCENARIO = """\
description: The user asks and the agent answers.
clauses: [stream.text]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
"""
INI = "[pytest]\ntestpaths = tests\ntpharness_scenarios = scenarios\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project with a scenario in one folder and a test in another, which alone `testpaths` names."""
    for name, text in {
        "scenarios/chat/hello.yaml": SCENARIO,
        "tests/test_mine.py": "def test_mine(): pass\n",
        "tests/data.yaml": "just: data",
    }.items():
        file = pytester.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run pytest with the plugin."""
    return project.runpytest_inprocess("-v", *QUICK, *args)


def test_named_folders_are_visited_whatever_testpaths_says(project: pytest.Pytester) -> None:
    """A project that has `testpaths = tests`, as most have, gets its scenarios played."""
    project.makeini(INI)
    result = run(project)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines_random(["*chat/hello PASSED*", "*test_mine PASSED*"])


def test_a_run_of_one_file_stays_a_run_of_one_file(project: pytest.Pytester) -> None:
    """Who names a file gets that file; who names a folder of scenarios gets that too."""
    project.makeini(INI)
    run(project, "tests/test_mine.py").assert_outcomes(passed=1)
    run(project, "scenarios/chat/hello.yaml").assert_outcomes(passed=1)
    run(project, "tests/test_mine.py", "--tpharness-scenarios", "scenarios").assert_outcomes(passed=2)


def test_a_scenario_is_played_once(project: pytest.Pytester) -> None:
    """Also when its folder is named twice, or lies in one that is visited anyway."""
    project.makeini(INI.replace("testpaths = tests\n", ""))
    run(project, "--tpharness-scenarios", "scenarios").assert_outcomes(passed=2)
    run(project, ".", "--tpharness-scenarios", "scenarios").assert_outcomes(passed=2)


@pytest.mark.parametrize("options", [(), ("tests/test_mine.py",), (".",)], ids=["whole", "a-file", "here"])
def test_a_folder_that_is_not_there_is_an_error(project: pytest.Pytester, options: tuple[str, ...]) -> None:
    """A slip of the pen does not end in no tests, also where the folder it is in is visited anyway."""
    for ini in (INI, INI.replace("testpaths = tests\n", "")):
        project.makeini(ini.replace("scenarios = scenarios", "scenarios = scenarois"))
        result = run(project, *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"tpharness_scenarios: {project.path / 'scenarois'} does not exist" in result.stderr.str()


@pytest.mark.parametrize(("name", "why"), [("nosuch", "does not exist"), ("tests/data.yaml", "is not a folder")])
def test_a_name_on_the_command_line_that_is_not_a_folder_is_an_error(
    project: pytest.Pytester, name: str, why: str
) -> None:
    """Files are named as files are named to pytest."""
    result = run(project, "--tpharness-scenarios", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{project.path / name} {why}" in result.stderr.str()


def test_a_baseline_that_is_not_there_is_one_error(project: pytest.Pytester) -> None:
    """And not the failure of every scenario."""
    project.makeini(INI)
    result = run(project, "--tpharness-baseline", "nope.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"tpharness_baseline: {project.path / 'nope.yaml'} is not a file" in result.stderr.str()


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("tpharness_clause(id='cycle.keep')", "-m: no clause is called 'cycle.keep'; did you mean cycle.kept?"),
        ("not tpharness_profile(name='cycels')", "-m: no profile is called 'cycels'; did you mean cycles?"),
    ],
)
def test_a_marker_that_names_nothing_is_an_error(project: pytest.Pytester, marker: str, said: str) -> None:
    """It would leave no test, or leave out none."""
    project.makeini(INI)
    result = run(project, "-m", marker)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()


def test_the_command_line_goes_before_the_configuration(project: pytest.Pytester) -> None:
    """Its folders and its built-in scenarios are played in place of those of the configuration, not besides."""
    project.makeini(INI + "tpharness_builtin = threads/usage-[st]*\n")
    other = project.path / "other" / "chat" / "again.yaml"
    other.parent.mkdir(parents=True)
    other.write_text(SCENARIO, "utf-8")
    result = run(project, "--tpharness-scenarios", "other", "--tpharness-builtin", "cycles/late-return")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines_random(["*chat/again PASSED*", "*test_mine PASSED*", "*cycles/late-return PASSED*"])
    run(project, "scenarios/chat/hello.yaml", "--tpharness-scenarios", "other").assert_outcomes(passed=2)


def test_the_scenarios_can_be_dealt_out_to_workers(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pytest-xdist each is played once, by whichever worker, and a target starts once in each worker."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # three processes start: with what they need
    project.makeini(
        INI + "tpharness_builtin = threads/usage-[st]* threads/steering-*\ntpharness_server = python:mine:make\n"
    )
    project.makepyfile(
        mine="""
        from pathlib import Path
        from tpharness.targets.reference import Reference

        def make():
            with Path("started.txt").open("a") as file:
                file.write(".")
            return Reference()
        """
    )
    result = project.runpytest_subprocess("-n", "2", "-p", "xdist", "-p", "tpharness.pytest_plugin")
    result.assert_outcomes(passed=11)
    assert len((project.path / "started.txt").read_text("utf-8")) <= 2


def test_the_plugin_is_loaded_where_tpharness_is_installed(project: pytest.Pytester) -> None:
    """In a process of its own, as users have it: nobody names the plugin."""
    project.makeini(INI)
    project.runpytest_subprocess(*QUICK).assert_outcomes(passed=2)


def test_a_failure_names_the_command_that_replays_it(project: pytest.Pytester) -> None:
    """With the folder, so that it can be copied."""
    project.makeini(INI)
    (project.path / "scenarios/chat/hello.yaml").write_text(SCENARIO + "expect: {outline: [user]}\n", "utf-8")
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    folder = project.path / "scenarios"
    result.stdout.fnmatch_lines([f"*tpharness replay chat/hello --scenarios {folder}*"])


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    """Every pytest run of every user pays for it: none of the libraries that only playing needs."""
    heavy = "yaml", "msgspec", "orjson", "jsonschema_rs", "rich", "click", "httpx", "tpharness.run"
    code = f"import sys, tpharness.pytest_plugin; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run(  # ourselves
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert result.stdout.strip() == b"[]"
