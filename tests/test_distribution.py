"""The whole suite is dealt out to all processors, a part of it to none, and the long tests come first in each share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.scenarios import load_all

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_short(number): pass

@pytest.mark.sampled
@pytest.mark.parametrize("number", range(2))
def test_sampled(number): pass

@pytest.mark.long
def test_long(): pass
"""
CHOOSING = """
import pytest
from pathlib import Path

@pytest.mark.sampled
@pytest.mark.parametrize("number", range(10))
def test_live(number, chosen_scenarios):
    ids = chosen_scenarios(number, *{folders})
    Path(f"chosen.{{number}}").write_text(" ".join(ids))
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


def test_all_of_it_is_shared_and_each_share_begins_with_long_tests(project: pytest.Pytester) -> None:
    """A worker for each processor and one more, as many as there may be; each gets a part of the list.

    Half of the long tests stand at its beginning, half in the middle.
    """
    collected = project.path / "collected"
    project.makeconftest(
        "import pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_finish(session):\n"
        "    if hasattr(session.config, 'workerinput'):\n"
        f"        with open({str(collected)!r} + session.config.workerinput['workerid'], 'w') as file:\n"
        "            file.write(' '.join(item.name for item in session.items))\n"
    )
    result = run(project)
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["*2 workers*"])
    first, second = (Path(f"{collected}gw{number}").read_text("utf-8").split() for number in (0, 1))
    assert first == second
    kinds = [name.partition("[")[0].removeprefix("test_") for name in first]
    assert kinds == ["sampled", "long", "short", "short", "short", "sampled", "short", "short", "short"]


def chosen(project: pytest.Pytester, *options: str, folders: tuple[str, ...] = ()) -> list[set[str]]:
    """Return what ten live targets play, and let the closing lines be the last ones of `project`."""
    project.makepyfile(test_mine=CHOOSING.format(folders=folders))
    result = run(project, *options)
    result.assert_outcomes(passed=10)
    said = "10 tests took a tenth of what they are about; pytest -m sampled --whole takes all of it"
    if "--whole" in options:
        result.stdout.no_fnmatch_line(said)
    else:
        result.stdout.fnmatch_lines([said])
    return [set((project.path / f"chosen.{number}").read_text("utf-8").split()) for number in range(10)]


def test_ten_live_targets_play_each_scenario_once(project: pytest.Pytester) -> None:
    """Each has another tenth, and the closing lines say so."""
    parts = chosen(project)
    assert set.union(*parts) == set(load_all())
    assert sum(map(len, parts)) == len(load_all())


def test_a_live_target_plays_its_tenth_of_some_folders(project: pytest.Pytester) -> None:
    """Not a tenth of what is in them: that would be the same scenarios as another target has."""
    parts, inside = chosen(project, "-n", "0"), chosen(project, "-n", "0", folders=("basics", "tools"))
    assert inside == [{one for one in part if one.startswith(("basics/", "tools/"))} for part in parts]


def test_on_demand_it_plays_everything(project: pytest.Pytester) -> None:
    """Nothing is named then, or the folders alone."""
    assert chosen(project, "-n", "0", "--whole") == [set()] * 10
    assert chosen(project, "-n", "0", "--whole", folders=("basics",)) == [{"basics"}] * 10


SAMPLING = """
import json
import pytest
from pathlib import Path

@pytest.mark.sampled
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_part(name, sample):
    Path(f"took.{name}").write_text(json.dumps([sample(range(25)), sample("x")]))

def test_unmarked(sample):
    sample(range(25))
"""


def test_any_sequence_is_sampled(project: pytest.Pytester) -> None:
    """A tenth of it in its order, at least one, the same in each run; everything on demand."""
    project.makepyfile(test_mine=SAMPLING)

    def took(*options: str) -> list[tuple[list[int], list[str]]]:
        run(project, "-n", "0", "-k", "part", *options).assert_outcomes(passed=3)
        return [tuple(json.loads((project.path / f"took.{name}").read_text("utf-8"))) for name in "abc"]

    first = took()
    for part, only in first:
        assert part == list(range(part[0] % 10, 25, 10))
        assert only == ["x"]
    assert took() == first
    assert took("--whole") == [(list(range(25)), ["x"])] * 3


def test_a_sample_that_ci_would_not_play_whole_is_refused(project: pytest.Pytester) -> None:
    """CI finds what it plays whole by the marker."""
    project.makepyfile(test_mine=SAMPLING)
    result = run(project, "-n", "0", "-k", "unmarked")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*needs the marker `sampled`*"])
