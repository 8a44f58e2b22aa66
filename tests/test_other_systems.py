"""Where the modules and functions of POSIX are missing, as on Windows, the rest works."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tpharness
from tpharness.cli.app import COMMANDS

PACKAGE = Path(tpharness.__file__).parent
ELSEWHERE = ("langgraph_ag_ui", "pydantic_ai_ag_ui", "strands_ag_ui")
BLOCKED = Path(__file__).parent / "without_posix.py"
PROGRAM = [sys.executable, "-P", str(BLOCKED)]
EXAMPLE = Path(__file__).parent.parent / "examples" / "plain_python.py"
STREAM = 'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
ONE = "basics/tool-call-and-answer"
PLAYED = (
    "check stream.sse",
    "fold stream.sse",
    "doctor",
    "fuzz --cases 3",
    "run basics",
    f"run {ONE} --server 'stdio:{sys.executable} {EXAMPLE} --stdio'",
    f"run {ONE} --client 'stdio:{sys.executable} {EXAMPLE} --stdio'",
    f"run {ONE} --server peer:plain --client peer:plain",
    f"run {ONE} --server peer:serve-without-posix",
)


def without_posix(*lines: str, cwd: Path) -> str:
    """Run what `without_posix.py` says, and return what it prints."""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        [*PROGRAM, *lines], capture_output=True, text=True, check=False, timeout=300, cwd=cwd, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Return the exit code and the output of each command line; one process runs all of them."""
    folder = tmp_path_factory.mktemp("without_posix")
    (folder / "stream.sse").write_text(STREAM, "utf-8")
    serve = [*PROGRAM, "serve --port {port}"]
    (folder / "tpharness.toml").write_text(
        f'[peers.plain]\ncommand = ["{sys.executable}", "{EXAMPLE}", "--http", "127.0.0.1:{{port}}"]\n'
        f"[peers.serve-without-posix]\ncommand = {serve!r}\n",
        "utf-8",
    )
    text = without_posix("--help", *(f"{name} --help" for name in COMMANDS), *PLAYED, cwd=folder)
    pieces = re.split(r"^== (\d+) (.*)\n", text, flags=re.MULTILINE)
    return {line: (int(code), said) for said, code, line in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=False)}


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    """No module needs them at its top. Programs of their own are left out: each runs what it imports.

    A peer whose framework is installed in an environment of its own is such a program as a whole.
    """
    names = [
        ".".join(("tpharness", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.stem != "__main__" and file.parent.name not in ELSEWHERE
    ]
    assert len(names) > 300
    assert without_posix("import", *names, cwd=tmp_path) == f"imported {len(names)}\n"


def test_no_module_imports_them_at_its_top() -> None:
    """Also where an `import` could be caught: whatever needs them asks for them where it needs them."""
    named = re.compile(rf"\b({'|'.join(POSIX_MODULES)})\b")
    texts = [(file.name, file.read_text("utf-8")) for file in PACKAGE.rglob("*.py")]
    found = [
        (file, name)
        for file, text in texts
        if named.search(text)  # which is quicker than parsing all of them
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        if name in POSIX_MODULES
    ]
    assert found == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_help(name: str, printed: dict[str, tuple[int, str]]) -> None:
    """It is what a user types first."""
    code, said = printed[f"{name} --help"]
    assert (code, f"Usage: tpharness {name}" in said) == (0, True)


@pytest.mark.parametrize("line", PLAYED)
def test_commands_work(line: str, printed: dict[str, tuple[int, str]]) -> None:
    """Documents, the reference in this process and in others, programs over their pipes, servers over HTTP."""
    code, said = printed[line]
    assert code == 0, said
    if line.startswith("run"):
        assert said.splitlines()[-1].startswith("PASSED")
