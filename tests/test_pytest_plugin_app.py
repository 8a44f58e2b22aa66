"""The fixture `tpharness_app`, through pytest itself."""

from __future__ import annotations

import pytest
from tests.cli.test_application import table
from tests.in_process import QUICK

TEST = """
def test_the_chat_survives(tpharness_app):
    results = tpharness_app({name!r}, "*/in-arguments")
    assert len(results) == 4
"""


@pytest.mark.parametrize(("name", "defects", "passed"), [("safe", [], 1), ("my chat", ["REPAIRS_ARGUMENTS"], 0)])
def test_a_test_fails_for_what_the_command_would_fail(
    pytester: pytest.Pytester, name: str, defects: list[str], passed: int
) -> None:
    """The failure reads as on the command line, with the command that plays the case alone."""
    pytester.makefile(".toml", tpharness=table(f'"{name}"', *defects))
    pytester.makepyfile(TEST.format(name=name))
    result = pytester.runpytest_inprocess(*QUICK)
    result.assert_outcomes(passed=passed, failed=1 - passed)
    if not passed:
        result.stdout.fnmatch_lines(["*FAILED user-leaves/in-arguments*", "*arguments-invented: *"])
        result.stdout.fnmatch_lines(["*alone: tpharness app 'my chat' user-leaves/in-arguments"])
