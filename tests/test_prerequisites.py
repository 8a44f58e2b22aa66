"""What a test needs and cannot have makes it fail, what is left out is counted, and the closing lines say both."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import prerequisites

from tpharness.errors import TargetError

TESTS = """
import pytest

@pytest.mark.node
def test_node(): pass

@pytest.mark.browser
@pytest.mark.parametrize("number", [1, 2])
def test_browser(number): pass

@pytest.mark.go
def test_go(): pass

def test_neither(): pass
"""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What was found is found again, in these tests and after them."""
    prerequisites._missing.cache_clear()
    yield
    prerequisites._missing.cache_clear()


@pytest.fixture
def closing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project with five tests, in which there is Node.js, a browser and Go."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # of the plugins of this environment none is needed
    monkeypatch.setattr(logging.getLogger("tpharness.install"), "handlers", [])
    monkeypatch.setattr(prerequisites, "find_node", lambda: None)
    monkeypatch.setattr(prerequisites, "find_browser", lambda: Path("chromium"))
    monkeypatch.setattr(prerequisites, "find_go", lambda: None)
    pytester.makepyfile(TESTS)
    return pytester


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests of the project."""
    return pytester.runpytest_inprocess("-p", "tests.prerequisites", "-p", "xdist", "--strict-markers", *options)


def raise_error(text: str, hint: str) -> None:
    """Raise what is raised when something is missing."""
    raise TargetError(text, hint=hint)


def test_with_all_that_is_needed_nothing_is_said(closing: pytest.Pytester) -> None:
    """Everything was tested."""
    result = run(closing)
    result.assert_outcomes(passed=5)
    result.stdout.no_fnmatch_line("*NOT TESTED*")


def test_a_missing_browser_fails_what_needs_it(closing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip could be taken for a pass."""
    monkeypatch.setattr(prerequisites, "find_browser", lambda: raise_error("no browser", "type this"))
    result = run(closing)
    result.assert_outcomes(passed=3, errors=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= NOT TESTED =*",
            "2 tests that need a browser FAILED without it: no browser; type this",
            "  to leave them out, type: pytest --without-browser",
        ]
    )


def test_where_only_playwright_knows_it_is_asked(closing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems for which there is no package."""
    monkeypatch.setattr(prerequisites, "find_browser", lambda: None)
    monkeypatch.setattr(prerequisites, "_playwrights", lambda: "there is no browser: type that")
    result = run(closing)
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["2 tests * FAILED without it: there is no browser: type that"])


def test_without_node_there_is_no_browser_either(closing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser is driven by Node.js."""
    monkeypatch.setattr(prerequisites, "find_node", lambda: raise_error("no Node", "type this"))
    result = run(closing)
    result.assert_outcomes(passed=2, errors=3)
    result.stdout.fnmatch_lines(["3 tests that need Node.js FAILED without it: no Node; type this"])


def test_go_is_asked_for_by_those_that_need_it(closing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Node.js is."""
    monkeypatch.setattr(prerequisites, "find_go", lambda: raise_error("no Go", "type this"))
    result = run(closing)
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["1 test that needs Go FAILED without it: no Go; type this"])


@pytest.mark.parametrize(
    ("options", "count", "line"),
    [
        (("--without-node",), 3, "3 tests that need Node.js left out by --without-node"),
        (("--without-go",), 1, "1 test that needs Go left out by --without-go"),
        (("--without-browser",), 2, "2 tests that need a browser left out by --without-browser"),
        (("--without-browser", "--without-node"), 3, "3 tests that need Node.js left out by --without-node"),
        (("--without-browser", "-n", "1"), 2, "2 tests that need a browser left out by --without-browser"),
    ],
    ids=["node", "go", "browser", "both", "in another process"],
)
def test_what_is_left_out_is_counted(options: tuple[str, ...], count: int, line: str, closing: pytest.Pytester) -> None:
    """It was asked for, so it is not a failure; but it is said."""
    result = run(closing, *options)
    result.assert_outcomes(passed=5 - count, skipped=count)
    result.stdout.fnmatch_lines(["*= NOT TESTED =*", line])


@pytest.mark.parametrize(("ci", "outcome"), [("", {"skipped": 1, "passed": 1}), ("true", {"errors": 1, "passed": 1})])
def test_what_no_package_brings_is_not_played_and_fails_in_ci(
    ci: str, outcome: dict[str, int], closing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with Python and nothing else goes without the program openssl, and is shown what it did not test."""
    closing.makepyfile("import pytest\n@pytest.mark.openssl\ndef test_time(): pass\ndef test_neither(): pass")
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("CI", ci)
    result = run(closing)
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines(
        ["*= NOT TESTED =*", "1 test that needs the program openssl *: it is not on the PATH, *"]
    )
