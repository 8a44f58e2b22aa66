"""A short soak of the reference server: interrupted runs, faults on the wire, SIGKILLs, and nothing canonical lost."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.failing_disk import explore_one
from benchmarks.played_disk import PlayedFiles

ROOT = Path(__file__).parents[2]


def test_nothing_canonical_is_lost_when_the_server_is_killed() -> None:
    """The long one is `python -m benchmarks.soak`; every check of it is made here as well."""
    command = [sys.executable, "-m", "benchmarks.soak", "--runs", "100", "--kills", "2", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.split(r" {2,}", line)[:2] for line in done.stdout.splitlines())
    assert told["kills"] == "2"
    assert told["violations"] == "0"
    assert int(told["streams gone on with"]) > 3
    assert int(told["turns kept"]) > 30


def test_threads_are_prefixes_whatever_the_disk_does() -> None:
    """The whole exploration is `python -m benchmarks.failing_disk`; here every 50th operation fails."""
    command = [sys.executable, "-m", "benchmarks.failing_disk", "--every", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {line[:50].strip(): line.split()[-1] for line in done.stdout.splitlines()}
    assert all(int(told[f"of which one {how}"]) > 15 for how in ("fails", "tears", "lies"))


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["sync_folder", "remove", "rename"])
async def test_the_exploration_finds_contents_that_are_not_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not synced, a content that stays, one whose name never comes: nothing else is wrong."""
    monkeypatch.setattr(logging.getLogger("tpharness.reference_app"), "disabled", True)
    assert (await explore_one(0, "", "nothing unsynced is left"))[1] == []
    made = getattr(PlayedFiles, name)

    def left_out(files: PlayedFiles, *paths: Path) -> Any:
        return None if ".content" in str(paths[0]) else made(files, *paths)

    monkeypatch.setattr(PlayedFiles, name, left_out)
    _, wrong = await explore_one(0, "", "nothing unsynced is left")
    assert wrong
    assert all("is not there" in one or "is of a deleted thread" in one for one in wrong)
