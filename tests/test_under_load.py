"""What depends on the clock is found: tests are played many times, and on a busy machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scripts import newest, under_load

TWICE_OF_FIVE = """
import pytest
made = []

@pytest.fixture
def fresh(tmp_path):
    made.append(tmp_path)
    return tmp_path

@pytest.mark.parametrize("name", ["first", "second"])
def test_odd(fresh, name):
    assert not list(fresh.iterdir())
    assert made.count(fresh) == 1
    (fresh / name).touch()
    assert len(made) not in (2, 4)
"""
PRINTED = """\
FAILED tests/inner.py::test_inside_a_test - of a project that a test makes
============================= slowest 20 durations =============================
12.50s call     tests/a.py::test_long[one two]
9.00s setup    tests/b.py::test_setup
2.10s call     tests/b.py::test_setup
=========================== short test summary info ============================
FAILED tests/a.py::test_long[one two] - AssertionError: 1 - 2
FAILED tests/a.py::test_long[one two] - AssertionError: 1 - 2
ERROR tests/b.py::test_setup
"""


def test_a_test_is_played_so_many_times(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time with its own fixtures and parameters, and each time that fails is one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_mine=TWICE_OF_FIVE)
    result = pytester.runpytest_inprocess("-p", "tests.repetition", "--times", "5", "-k", "first")
    result.assert_outcomes(passed=3, failed=2)
    pytester.runpytest_inprocess("-p", "tests.repetition").assert_outcomes(passed=1, failed=1)


def test_what_failed_and_what_was_slow_is_read() -> None:
    """As often as it did, by the last summary alone; a run that names nothing has failed, too."""
    long, setup = "tests/a.py::test_long[one two]", "tests/b.py::test_setup"
    assert under_load.failures(PRINTED, 1) == [long, long, setup]
    assert under_load.slowest(PRINTED, 50) == [long, setup]
    assert under_load.slowest(PRINTED, 1) == [long]
    assert under_load.failures("1 passed", 0) == []
    assert under_load.failures("no tests ran", 5) == ["pytest ended with 5, see the log"]


@pytest.mark.parametrize(
    ("name", "code"), [("test_every_limit_is_named", 1), ("test_what_failed_and_what_was_slow_is_read", 0)]
)
def test_it_ends_with_what_happened(
    name: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test that is not there is a failure, and not silence."""
    log = tmp_path / "log"
    words = ["--busy", "1", "--times", "2", "--log", str(log), f"tests/test_under_load.py::{name}"]
    monkeypatch.setattr(sys, "argv", ["under_load.py", *words])
    assert under_load.main() == code
    said = capsys.readouterr().out
    assert said.endswith("1 failures\n" if code else "0 failures\n")
    assert code or "2 passed" in said
    assert f"--times 2 tests/test_under_load.py::{name}" in log.read_text("utf-8")


def test_what_moved_is_said() -> None:
    """New packages too, and not those that are installed as they are tested."""
    pins = {"same": "1.0", "moved": "1.0", "builds-the-wheel": "2"}
    moved = newest.find_moved(pins, {"same": "1.0", "moved": "1.1", "fresh": "0.1", "pip": "26.3", "tpharness": "0.1"})
    assert moved == [("fresh", "", "0.1"), ("moved", "1.0", "1.1")]
    assert newest.table(moved) == ["2 moved, tested → newest:", "  fresh  (new) → 0.1", "  moved  1.0 → 1.1"]
    assert newest.table([]) == ["nothing moved: the newest releases are the tested ones"]
    assert newest.normal("Ruamel_YAML.clib") == "ruamel-yaml-clib"
