"""`tpharness.toml` names commands that are run, so whose file it is counts."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tpharness.apps.config import load_config
from tpharness.errors import UsageError
from tpharness.project_file import TRUST_VARIABLE, read_project_file
from tpharness.run.configured import read_configured
from tpharness.targets.peers import known_peers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a file does not have the owner of a number")

STRANGER = 54321
READERS: list[Callable[[Path], object]] = [
    lambda file: read_configured(file.parent / "deep" / "er"),
    lambda file: known_peers(file.parent / "deep" / "er"),
    lambda file: load_config(None, file),
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of the user who plays the tests, two folders above another one."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv(TRUST_VARIABLE, raising=False)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    file = tmp_path / "tpharness.toml"
    file.write_text('[run]\nserver = "reference"\n[apps.chat]\nurl = "http://127.0.0.1:1/chat"\n', "utf-8")
    return file


@pytest.mark.parametrize("read", READERS, ids=["run", "peers", "apps"])
def test_a_file_of_another_user_is_refused_with_the_line_that_allows_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    """It was found two folders above, belonged to somebody else, and its command ran."""
    read(file)
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    with pytest.raises(
        UsageError, match=rf"tpharness\.toml belongs to another user \({file.stat().st_uid}, "
    ) as refused:
        read(file)
    line = refused.value.hint.rpartition(": ")[2]
    word, assigned = shlex.split(line)
    assert (word, assigned) == ("export", f"{TRUST_VARIABLE}={file}")
    monkeypatch.setenv(TRUST_VARIABLE, os.pathsep.join(["/another", str(file)]))
    read(file)


def test_a_link_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it leads to belongs to the user; where it stands it means something else."""
    link = file.parent / "deep" / "tpharness.toml"
    link.symlink_to(file)
    read_project_file(link)
    status = Path.lstat

    def strange(path: Path) -> os.stat_result:
        found = status(path)
        return os.stat_result((*found[:4], STRANGER, *found[5:])) if path == link else found

    monkeypatch.setattr(Path, "lstat", strange)
    with pytest.raises(UsageError, match=f"belongs to another user \\({STRANGER}, "):
        read_project_file(link)


@pytest.mark.parametrize(("user", "sudo", "allowed"), [(0, "54321", True), (0, "1", False), (7, "54321", False)])
def test_who_runs_it_by_sudo_is_the_user(
    file: Path, monkeypatch: pytest.MonkeyPatch, user: int, sudo: str, *, allowed: bool
) -> None:
    """As for git; a user who is not root cannot say so."""
    monkeypatch.setattr(os, "getuid", lambda: user)
    monkeypatch.setenv("SUDO_UID", sudo)
    status, real = os.fstat, Path.lstat

    def strange(found: os.stat_result) -> os.stat_result:
        return os.stat_result((*found[:4], STRANGER, *found[5:]))

    monkeypatch.setattr(os, "fstat", lambda number: strange(status(number)))
    monkeypatch.setattr(Path, "lstat", lambda path: strange(real(path)))
    if allowed:
        read_project_file(file)
        return
    with pytest.raises(UsageError, match="belongs to another user"):
        read_project_file(file)
