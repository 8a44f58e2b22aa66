"""How the command line starts: what it lists, what it imports, and what is there when a room is taken out."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tpharness
from tpharness.cli.app import COMMANDS
from tpharness.resources import conformance_dir, scenarios_dir

MAY_BE_IMPORTED = {
    "tpharness",
    "tpharness.__main__",
    "tpharness.cli",
    "tpharness.cli.app",
    "tpharness.cli.help",
    "tpharness.cli.stop_signals",
    "tpharness.errors",
    "tpharness.printable",
}
"""What `tpharness --help` may import of ours."""

HEAVY = {"aiohttp", "asyncio", "hypothesis", "jsonschema_rs", "msgspec", "orjson", "pytest", "uvicorn", "yaml"}
"""What it may not import of others."""


def without_room(room: str, folder: Path) -> Path:
    """Copy the package and its data without a room, and return the folder to import from."""
    package = folder / "src" / "tpharness"
    shutil.copytree(Path(tpharness.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(package / room)
    (folder / "conformance").symlink_to(conformance_dir())
    (folder / "scenarios").symlink_to(scenarios_dir())
    return package.parent


def python(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder to import from before all others."""
    env = {**os.environ, "PYTHONPATH": str(path), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120, env=env, cwd=path
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_help_is_that_of_the_command(name: str) -> None:
    """The line of `tpharness --help` is the first one of `tpharness COMMAND --help`."""
    documented = inspect.getdoc(COMMANDS[name].load())
    assert documented is not None
    assert documented.split("\n")[0] == COMMANDS[name].help


def test_help_imports_no_command() -> None:
    """Listing the commands costs nothing of what they need."""
    source = (
        "import sys\nfrom tpharness.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"heavy = {HEAVY}\n"
        "print('MODULES', *sorted(m for m in sys.modules if m.split('.')[0] == 'tpharness' or m in heavy))\n"
    )
    done = python("-c", source, path=Path(tpharness.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split("MODULES ")[1].split())
    assert imported <= MAY_BE_IMPORTED


@pytest.mark.parametrize("name", ["R20", "identity-differs", "reset"])
def test_an_explanation_imports_nothing_that_plays(name: str) -> None:
    """It is asked for while somebody reads a failure."""
    source = (
        "import sys\nfrom tpharness.cli import app\n"
        f"app(['explain', {name!r}], standalone_mode=False)\n"
        "print('MODULES', *sorted(sys.modules))\n"
    )
    done = python("-c", source, path=Path(tpharness.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split("MODULES ")[1].split())
    assert not imported & {"aiohttp", "asyncio", "tpharness.run", "tpharness.scenario", "tpharness.targets"}


@pytest.mark.parametrize("room", sorted({command.room for command in COMMANDS.values()} - {""}))
def test_the_core_works_without_a_room(room: str, tmp_path: Path) -> None:
    """Scenarios are played, findings explained, and the commands of the room that is gone are not listed."""
    path = without_room(room, tmp_path)
    played = python("-m", "tpharness", "run", "basics", path=path)
    assert (played.returncode, "PASSED" in played.stdout) == (0, True), played.stdout + played.stderr
    listed = python("-m", "tpharness", "--help", path=path)
    explained = python("-m", "tpharness", "explain", "return-without-call", path=path)
    assert (listed.returncode, explained.returncode) == (0, 0), listed.stderr + explained.stderr
    for name, command in COMMANDS.items():
        assert (f"  {name} " in listed.stdout) == (command.room != room)
    if room == "explore":
        orders = python("-m", "tpharness", "sweep", "--orders", "basics", path=path)
        assert (orders.returncode, "needs the package tpharness.explore" in orders.stderr) == (2, True)
    gone = next(name for name, command in COMMANDS.items() if command.room == room)
    asked = python("-m", "tpharness", gone, path=path)
    assert (asked.returncode, f"No such command '{gone}'" in asked.stderr) == (2, True)
