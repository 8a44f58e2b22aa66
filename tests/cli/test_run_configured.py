"""`tpharness run` in a folder with a tpharness.toml."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Call

import tpharness.cli

STARTER = Path(tpharness.cli.__file__).parent / "starter" / "target.py"
SCENARIO = """
description: A greeting.
clauses: [turn.complete-has-end]
turns:
  - user: "Hello!"
  - steps: [{response: [{text: "Hello!"}]}]
expect:
  outline: [user, "agent complete: response(text)"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with one scenario and a configuration."""
    (tmp_path / "scenarios" / "chat").mkdir(parents=True)
    (tmp_path / "scenarios" / "chat" / "mine.yaml").write_text(SCENARIO, "utf-8")
    (tmp_path / "tpharness.toml").write_text("[run]\nscenarios = 'scenarios'\ndialect = '0.0.3'\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_the_file_says_is_played(call: Call) -> None:
    """And said, so that nobody wonders."""
    done = call("run")
    assert "1 scenario, server reference, client reference, versions 0.0.3\n" in done.out
    assert done.err.startswith("tpharness.toml says scenarios, dialect (--no-config leaves it alone)\n")
    assert "says" not in call("run", "-q").err


def test_an_option_takes_the_place_of_a_key(call: Call) -> None:
    """Of that one, and of no other."""
    assert "versions 0.0.4\n" in call("run", "--dialect", "0.0.4").out
    suite = call("run", "--scenarios", "built-in", "basics")
    assert "4 scenarios, server reference, client reference, versions 0.0.3\n" in suite.out


def test_the_file_can_be_left_alone(call: Call) -> None:
    """By one option."""
    done = call("run", "--no-config", "basics")
    assert "4 scenarios, server reference, client reference, versions 2.0.0, 0.0.3, 0.0.4\n" in done.out
    assert "says" not in done.err


def test_a_failure_names_the_suite_that_it_belongs_to(call: Call) -> None:
    """The command that it suggests finds the scenario, although the file names others."""
    server = f"stdio:{sys.executable} {STARTER}"
    words = ["--scenarios", "built-in", "cycles/empty-response"]
    failed = call("run", "--dialect", "0.0.4", "--server", server, *words)
    assert failed.code == 1
    assert "tpharness replay cycles/empty-response" in failed.out
    assert "--scenarios built-in" in failed.out
    replayed = call("replay", *words)
    assert (replayed.code, "cycles/empty-response" in replayed.out) == (0, True)


def test_a_folder_that_is_called_built_in_is_that_folder(call: Call, folder: Path) -> None:
    """What is there is meant."""
    (folder / "scenarios").rename(folder / "built-in")
    assert "1 scenario," in call("run", "--scenarios", "built-in").out


def test_a_wrong_expectation_fails_on_a_target_without_carriers(call: Call, folder: Path) -> None:
    """What the reference does not do either is no lack of the target's carriers."""
    wrong = SCENARIO.replace("response(text)", "response(text text)")
    (folder / "scenarios" / "chat" / "mine.yaml").write_text(wrong, "utf-8")
    failed = call("run", "--dialect", "0.0.4", "--server", f"stdio:{sys.executable} {STARTER}")
    assert failed.code == 1
    assert "outline-differs" in failed.out
    assert "needs carriers" not in failed.out


def test_a_case_is_replayed_where_the_file_has_its_scenario(call: Call) -> None:
    """As `run` finds it there; what is not there is built in, and one option leaves the file alone."""
    assert call("replay", "chat/mine").code == 0
    assert call("replay", "cycles/empty-response", "--no-config").code == 0
    assert call("replay", "cycles/empty-response").code == 0
    alone = call("replay", "chat/mine", "--no-config")
    assert (alone.code, "no built-in scenario is called 'chat/mine'" in alone.err) == (2, True)
