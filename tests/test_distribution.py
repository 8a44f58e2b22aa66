"""The whole suite is dealt out to all processors, a part of it to none, and the long tests come first in each share."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_short(number): pass

@pytest.mark.whole_suite
@pytest.mark.parametrize("number", range(3))
def test_long(number): pass
"""
INI = "[pytest]\naddopts = -n auto --dist worksteal --strict-markers\ntestpaths = .\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project with nine tests, dealt out to two processors at most."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # of the plugins of this environment none is needed
    monkeypatch.setattr("tests.distribution.MOST", 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(16), raising=False)
    pytester.makeini(INI)
    pytester.makepyfile(test_mine=TESTS)
    return pytester


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests of the project."""
    return pytester.runpytest_inprocess("-p", "xdist", "-p", "tests.distribution", *options)


def test_all_of_it_is_shared(project: pytest.Pytester) -> None:
    """A worker for each processor and one more, as many as there may be."""
    result = run(project)
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["*2 workers*"])


@pytest.mark.parametrize("options", [("test_mine.py",), ("--collect-only",), ("-n", "0")])
def test_a_part_of_it_is_not(options: tuple[str, ...], project: pytest.Pytester) -> None:
    """It would take longer to start workers."""
    result = run(project, *options)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*workers*")


def test_whoever_asks_for_workers_gets_them(project: pytest.Pytester) -> None:
    """Also for a part of it."""
    result = run(project, "-n", "auto", "test_mine.py")
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["*2 workers*"])


def test_each_share_begins_with_long_tests(project: pytest.Pytester) -> None:
    """A worker gets a part of the list: half of the long tests stand at the beginning, half in the middle."""
    collected = project.path / "collected"
    project.makeconftest(
        "import pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_finish(session):\n"
        "    if hasattr(session.config, 'workerinput'):\n"
        f"        with open({str(collected)!r} + session.config.workerinput['workerid'], 'w') as file:\n"
        "            file.write(' '.join(item.name for item in session.items))\n"
    )
    run(project).assert_outcomes(passed=9)
    first, second = (Path(f"{collected}gw{number}").read_text("utf-8").split() for number in (0, 1))
    assert first == second
    kinds = [name.partition("[")[0].removeprefix("test_") for name in first]
    assert kinds == ["long", "long", "short", "short", "short", "long", "short", "short", "short"]
