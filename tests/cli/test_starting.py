"""How the command line starts: what it lists, what it imports, and what is there when a room is taken out."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.blocked import CALLING
from tests.cli.conftest import Called

import tpharness
from tpharness.cli.app import COMMANDS, app
from tpharness.resources import conformance_dir, scenarios_dir

MAY_BE_IMPORTED = {
    "tpharness",
    "tpharness.__main__",
    "tpharness.cli",
    "tpharness.cli.app",
    "tpharness.cli.completion_options",
    "tpharness.cli.stop_signals",
    "tpharness.errors",
    "tpharness.printable",
}
"""What `tpharness --help` may import of ours."""

HEAVY = {
    "aiohttp", "asyncio", "hypothesis", "importlib.metadata", "jsonschema_rs", "msgspec", "orjson", "pydantic",
    "pytest", "rich", "uvicorn", "yaml",
}  # fmt: skip
"""What it may not import of others."""

EXPLAINING = {
    "tpharness.clauses",
    "tpharness.cli.explain",
    "tpharness.cli.help",
    "tpharness.cli.options",
    "tpharness.findings",
    "tpharness.profiles",
    "tpharness.resources",
    "tpharness.scenario_files",
    "tpharness.suite_yaml",
}
"""What `tpharness explain` may import of ours beside that, unless something else is explained than a text."""


def without_room(room: str, folder: Path) -> Path:
    """Copy the package and its data without a room, and return the folder to import from."""
    package = folder / "src" / "tpharness"
    shutil.copytree(Path(tpharness.__file__).parent, package, ignore=shutil.ignore_patterns("*-pytest-*.pyc"))
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


def called_by(calls: Sequence[Sequence[str]], path: Path) -> list[Called]:
    """Call the entry point in one process of its own, several times; return how each call ended and what it printed."""
    done = python("-c", CALLING, json.dumps([list(words) for words in calls]), path=path)
    assert done.returncode == 0, done.stderr
    return [Called(**one) for one in json.loads(done.stdout)]


def imported_by(*calls: list[str]) -> set[str]:
    """Return the modules of ours, and those of others that weigh, that calls of tpharness in one process import."""
    source = (
        f"import sys\nfrom tpharness.cli import app\nfor words in {calls!r}:\n"
        "    try:\n        app(words)\n    except SystemExit as end:\n        assert not end.code, end\n"
        f"heavy = {HEAVY}\n"
        "print('MODULES', *sorted(m for m in sys.modules if m.split('.')[0] == 'tpharness' or m in heavy))\n"
    )
    done = python("-c", source, path=Path(tpharness.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("MODULES ")[1].split())


def imported_by_importing(module: str) -> set[str]:
    """Return every module that importing one in a process of its own imports."""
    done = python("-c", f"import sys, {module}\nprint(*sys.modules)", path=Path(tpharness.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_help_is_that_of_the_command(name: str) -> None:
    """The line of `tpharness --help` is the first one of `tpharness COMMAND --help`."""
    documented = inspect.getdoc(COMMANDS[name].load())
    assert documented is not None
    assert documented.split("\n")[0] == COMMANDS[name].help


def test_help_imports_no_command() -> None:
    """Listing the commands costs nothing of what they need."""
    assert imported_by(["--help"]) <= MAY_BE_IMPORTED


def test_completing_the_name_of_a_command_imports_none() -> None:
    """The shell asks at each press of Tab; click's own way asks every command for its line of help."""
    words = {"COMP_WORDS": "tpharness ", "COMP_CWORD": "1", "_TPHARNESS_COMPLETE": "bash_complete"}
    source = (
        f"import os, sys\nos.environ |= {words}\nfrom tpharness.cli import app\n"
        "try:\n    app(prog_name='tpharness')\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *(m for m in sys.modules if m.startswith('tpharness.cli.')))\n"
    )
    done = python("-c", source, path=Path(tpharness.__file__).parent.parent)
    offered, _, imported = done.stdout.partition("MODULES ")
    assert [line.removeprefix("plain,") for line in offered.splitlines()] == list(COMMANDS)
    assert set(imported.split()) <= MAY_BE_IMPORTED


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("check th", ["file,th"]),
        ("diff one.json th", ["file,th"]),
        ("hash ", ["file,"]),
        ("convert one.json -o new", ["file,new"]),
        ("run --trace f", ["plain,failed"]),
        ("run --profile ver", ["plain,versions"]),
        ("run --clause cycle.kep", ["plain,cycle.kept"]),
        ("sweep --clause cycle.kep", ["plain,cycle.kept"]),
        ("list scenarios --clause cycle.kep", ["plain,cycle.kept"]),
        ("list pro", ["plain,profiles"]),
        ("run --server ref", ["plain,reference"]),
        ("replay --client peer:ai-sdk-b", ["plain,peer:ai-sdk-browser"]),
        ("app chat --client ref", []),
        ("run --fault hal", ["plain,half-open"]),
        ("app chat --report j", ["plain,json:", "plain,junit:"]),
        ("run --dialect 0.0.", ["plain,0.0.3", "plain,0.0.4"]),
        ("compare --dialect message-parts/p", ["plain,message-parts/plan"]),
        ("run basics/tool-call-and-a", ["plain,basics/tool-call-and-answer"]),
        ("run --scenarios mine chat/", ["plain,chat/one"]),
        ("run --scenarios nowhere chat/", []),
        ("replay basics/tool-call-and-a", ["plain,basics/tool-call-and-answer"]),
        ("record peer:serve --play basics/tool-call-and-a", ["plain,basics/tool-call-and-answer"]),
        ("explain cycle.kep", ["plain,cycle.kept"]),
        ("explain identity-d", ["plain,identity-differs"]),
        ("app chat cycles/", []),
        ("import one.json --agent a", []),
    ],
)
def test_the_value_that_is_typed_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]
) -> None:
    """Files, as the shell itself would have done, ids and names; nothing where anything may be meant."""
    scenario = tmp_path / "mine" / "chat" / "one.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.touch()
    monkeypatch.chdir(tmp_path)
    typed = ["tpharness", *words.split(" ")]
    asked = {"COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1), "_TPHARNESS_COMPLETE": "bash_complete"}
    done = CliRunner().invoke(app, env=asked, prog_name="tpharness")
    assert done.output.split() == offered


def test_an_explanation_imports_what_reads_texts() -> None:
    """It is asked for while somebody reads a failure: no runner, no language of scenarios, no thread, no target."""
    names = ("cycle.kept", "app.alive", "identity-differs")
    assert imported_by(*(["explain", name] for name in names)) <= MAY_BE_IMPORTED | EXPLAINING | {"yaml"}
    assert not imported_by(["explain", "R20"]) & {
        f"tpharness.{name}" for name in ("run", "scenario", "targets", "wires")
    }


def test_a_command_imports_no_other_kind_of_work() -> None:
    """Documents are checked, folded and compared without what plays; only `check` reads scenarios."""
    imported = imported_by(*([asked, "--help"] for asked in ("check", "fold", "diff")))
    assert not imported & {"aiohttp", "asyncio", "hypothesis", "pytest", "uvicorn"}
    assert not imported & {"tpharness.run", "tpharness.targets", "tpharness.report"}


def test_a_run_in_this_process_imports_no_http_no_histories_and_no_page() -> None:
    """Each start of `run`, and of each of its workers, would take half as long again."""
    source = (
        "import sys\nfrom tpharness.cli import app\n"
        "try:\n    app(['run', 'basics/tool-call-and-answer'])\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *sorted(sys.modules))\n"
    )
    done = python("-c", source, path=Path(tpharness.__file__).parent.parent)
    assert "PASSED 1 scenario" in done.stdout, done.stdout + done.stderr
    imported = set(done.stdout.split("MODULES ")[1].split())
    assert not imported & {"aiohttp", "tpharness.targets.net", "tpharness.reference_app", "tpharness.histories"}
    assert not imported & {"tpharness.report.html", "tpharness.report.junit", "tpharness.picture", "xml"}


def test_a_server_that_receives_nothing_imports_no_http_client() -> None:
    """The client's role brings one, which would be a third of the time in which `tpharness serve` starts."""
    assert "aiohttp" not in imported_by_importing("tpharness.reference_app")
    assert "aiohttp" in imported_by_importing("tpharness.reference_app.receive")


@pytest.mark.parametrize("room", sorted({command.room for command in COMMANDS.values()} - {""}))
def test_the_core_works_without_a_room(room: str, tmp_path: Path) -> None:
    """Scenarios are played, findings explained, and the commands of the room that is gone are not listed."""
    gone = next(name for name, command in COMMANDS.items() if command.room == room)
    calls = [["run", "basics"], ["--help"], ["explain", "return-without-call"], [gone]]
    needs_explore = [["sweep", "--orders", "basics"]] if room == "explore" else []
    played, listed, explained, asked, *swept = called_by([*calls, *needs_explore], without_room(room, tmp_path))
    assert (played.code, "PASSED" in played.out) == (0, True), played.out + played.err
    assert (listed.code, explained.code) == (0, 0), listed.err + explained.err
    for name, command in COMMANDS.items():
        assert (f"  {name} " in listed.out) == (command.room != room)
    assert (asked.code, f"No such command '{gone}'" in asked.err) == (2, True)
    for one in swept:
        assert (one.code, "needs the package tpharness.explore" in one.err) == (2, True)
