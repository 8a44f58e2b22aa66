"""The pytest plugin on a user's own scenarios."""

from __future__ import annotations

import pytest
from tests.in_process import QUICK

SCENARIO = """\
description: The user asks and the agent answers.
clauses: [stream.text]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
expect: {outline: [user, "agent complete: response(text)"]}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project with one good and one bad scenario and another YAML file."""
    folder = pytester.mkdir("scenarios")
    theme = folder / "chat"
    theme.mkdir()
    (theme / "good.yaml").write_text(SCENARIO, encoding="utf-8")
    (theme / "bad.yaml").write_text(SCENARIO.replace("response(text)", "response(thinking)"), encoding="utf-8")
    (theme / "broken.yaml").write_text("description: [", encoding="utf-8")
    (pytester.path / "other.yaml").write_text("just: data", encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run pytest with the plugin."""
    return project.runpytest_inprocess(*QUICK, *args)


def test_scenarios_of_the_named_folder_are_tests(project: pytest.Pytester) -> None:
    """Each file is one test under its id; failures read like those of the command line."""
    project.makeini("[pytest]\ntpharness_scenarios = scenarios\n")
    result = run(project, "-v")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(
        ["*chat/good PASSED*", "FAILED chat/bad", "*outline-differs*", "*broken.yaml:2:1"]
    )


def test_the_folder_can_be_named_on_the_command_line(project: pytest.Pytester) -> None:
    """No configuration is needed."""
    result = run(project, "--tpharness-scenarios", "scenarios", "-k", "good")
    result.assert_outcomes(passed=1, deselected=2)


def test_other_yaml_files_are_left_alone(project: pytest.Pytester) -> None:
    """Without a folder nothing is collected."""
    assert run(project).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_target_that_does_not_exist_is_said_plainly(project: pytest.Pytester) -> None:
    """A wrong target is an error, in one line."""
    result = run(project, "--tpharness-scenarios", "scenarios", "--tpharness-server", "nobody", "-k", "good")
    result.assert_outcomes(errors=1, deselected=2)
    result.stdout.fnmatch_lines(["*there is no target 'nobody'*"])
