"""What a fresh machine has when the commands of the README are typed on it: scripts/fresh_machine.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts import fresh_machine


def test_its_commands_are_those_of_the_readme() -> None:
    """To the letter, as CI types them."""
    assert fresh_machine.command("user") == "pip install . && tpharness run"
    assert fresh_machine.command("tests") == "pip install -c constraints.txt -e '.[test]' && pytest"


def test_its_programs_are_those_of_coreutils_and_a_shell(tmp_path: Path) -> None:
    """What the tests need besides, the second command brings."""
    names = {file.name for file in fresh_machine.programs(tmp_path / "bin").iterdir()}
    assert {"ls", "cat", "env", "sh", "bash"} <= names
    assert not names & {"node", "npm", "npx", "go", "git", "curl", "chromium", "python", "python3", "pip"}


def test_only_the_variables_that_are_named_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With their values here, or with others."""
    monkeypatch.setenv("SSL_CERT_FILE", "here.pem")
    monkeypatch.delenv("PIP_CERT", raising=False)
    kept = fresh_machine.variables(["SSL_CERT_FILE", "PIP_CERT", "npm_config_userconfig=/a=b"])
    assert kept == {"SSL_CERT_FILE": "here.pem", "npm_config_userconfig": "/a=b"}


def test_a_command_sees_nothing_else_and_its_exit_code_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what pytest has set here; its home is empty."""
    monkeypatch.setenv("PIP_CONSTRAINT", "constraints.txt")
    fresh_machine.new_machine(tmp_path / "one", with_pip=False)
    (tmp_path / "one" / "tpharness").mkdir()
    line = "env | cut -d= -f1 | sort | tr '\\n' ' ' && ls -A $HOME && python -c 'exit(3)'"
    assert fresh_machine.type_in(line, tmp_path / "one", {"KEPT": "yes"}) == 3
    printed = capfd.readouterr().out
    assert "\nHOME KEPT PATH PWD SHLVL VIRTUAL_ENV _ " in printed
    assert "== ended with 3 after" in printed


def test_it_says_what_it_takes() -> None:
    """`--help` has the four ways."""
    command = [sys.executable, fresh_machine.__file__, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "{both,user,tests,install}" in done.stdout
