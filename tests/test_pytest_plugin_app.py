"""The fixture `tpharness_app`, through pytest itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.test_application import table

pytest_plugins = ["pytester"]

TEST = """
def test_the_chat_survives(tpharness_app):
    results = tpharness_app({name!r}, "*/in-arguments")
    assert len(results) == 4
"""


@pytest.mark.parametrize(("name", "defects", "passed"), [("safe", [], 1), ("broken", ["REPAIRS_ARGUMENTS"], 0)])
def test_a_test_fails_for_what_the_command_would_fail(
    pytester: pytest.Pytester, name: str, defects: list[str], passed: int
) -> None:
    """The failure reads as on the command line, with the command that plays the case alone."""
    pytester.makefile(".toml", tpharness=table(name, *defects))
    pytester.makepyfile(TEST.format(name=name))
    path = os.pathsep.join([str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH", "")])
    pytester.syspathinsert(path)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=passed, failed=1 - passed)
    if not passed:
        result.stdout.fnmatch_lines(["*FAILED user-leaves/in-arguments*", "*arguments-invented: *"])
        result.stdout.fnmatch_lines(["*alone: tpharness app broken user-leaves/in-arguments*"])
