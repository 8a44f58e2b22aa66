"""Where the modules and functions of POSIX are missing, as on Windows, the rest works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.blocked import python_without

import tpharness
from tpharness.targets.process import LineProcess
from tpharness.targets.remote import UnreachableError

POSIX_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
WITHOUT_POSIX = """
import os, signal
for module, names in {
    os: ("fork", "forkpty", "getpgid", "getpgrp", "getuid", "killpg", "setsid"),
    signal: ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "setitimer", "set_wakeup_fd"),
}.items():
    for name in names:
        delattr(module, name)
"""
"""Takes away what Windows does not have, but for what subprocess itself needs here to wait for a process."""
COMMAND = "sys.argv[0] = 'tpharness'\nfrom tpharness.cli import main\nmain()"
EXAMPLE = Path(__file__).parent.parent / "examples" / "plain_python.py"


def run(*arguments: str, cwd: Path) -> str:
    """Run a command on such a system and return what it prints; it has to pass."""
    before = "import asyncio, subprocess, multiprocessing.util, selectors\n" + WITHOUT_POSIX
    done = python_without(POSIX_MODULES, before + COMMAND, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    """No module needs them at its top. Programs of their own are left out: each runs what it imports."""
    package = Path(tpharness.__file__).parent
    names = [
        ".".join(("tpharness", *file.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        for file in sorted(package.rglob("*.py"))
        if file.stem != "__main__"
    ]
    assert len(names) > 300
    libraries = "import aiohttp, distributed, hypothesis, langgraph.graph, mcp.server, pydantic_ai, pytest, uvicorn\n"
    # The libraries are not ours to judge: they are imported first, with all that they need.
    code = (
        libraries
        + f"sys.modules.update(dict.fromkeys({POSIX_MODULES!r}))\n"
        + WITHOUT_POSIX
        + f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\nprint('imported')"
    )
    done = python_without((), code, cwd=tmp_path)
    assert done.stdout == "imported\n", done.stderr


@pytest.mark.parametrize("command", ["--help", "check stream.sse", "fold stream.sse", "doctor", "fuzz --cases 3"])
def test_commands_work(command: str, tmp_path: Path) -> None:
    """What needs no processes needs nothing of POSIX."""
    stream = 'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
    (tmp_path / "stream.sse").write_text(stream, "utf-8")
    run(*command.split(), cwd=tmp_path)


def test_scenarios_are_played(tmp_path: Path) -> None:
    """On the reference."""
    assert "PASSED" in run("run", "basics", cwd=tmp_path).splitlines()[-1]


def test_what_cannot_work_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows nothing can wait for the pipes of a program: it is said before one is started."""
    monkeypatch.setattr("tpharness.targets.process.CAN_WAIT_FOR_PIPES", False)
    with pytest.raises(UnreachableError, match=r"mine: .* on Windows") as told:
        LineProcess(["no-such-program"], name="mine", limit=1)
    assert "http://HOST:PORT" in told.value.hint


def test_a_process_is_started_and_ended_without_a_guard(tmp_path: Path) -> None:
    """A peer and a program, as they are where processes have no groups."""
    peer = f'[peers.plain]\ncommand = ["{sys.executable}", "{EXAMPLE}", "--http", "127.0.0.1:{{port}}"]\n'
    (tmp_path / "tpharness.toml").write_text(peer, "utf-8")
    assert "PASSED" in run("run", "basics", "--server", "peer:plain", cwd=tmp_path).splitlines()[-1]
    program = f"stdio:{sys.executable} {EXAMPLE} --stdio"
    assert "PASSED" in run("run", "basics", "--server", program, cwd=tmp_path).splitlines()[-1]
