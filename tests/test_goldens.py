"""The goldens of older versions: what their files leave out is read back as `conformance/golden/README.md` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import conformance.goldens
import pytest
from conformance.goldens import Thread, needed_files, read_golden, text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tpharness.protocol.versions import Version

OLD, MIDDLE, NEW = Version

TURNS = st.lists(
    st.fixed_dictionaries(
        {"turn_type": st.sampled_from(["user", "agent"])},
        optional={
            "completion_status": st.sampled_from(["complete", "interrupted", 1, 1.0, True]),
            "messages": st.sampled_from([[], [1], [1.0], [True], [{"completion_status": "complete"}]]),
        },
    ),
    max_size=2,
)
PLAYED = st.dictionaries(st.sampled_from(Version), TURNS, min_size=1).map(
    lambda played: {version: {"version": version.value, "turns": turns} for version, turns in played.items()}
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Read goldens from an empty folder."""
    monkeypatch.setattr(conformance.goldens, "GOLDEN", tmp_path)
    return tmp_path


def write(folder: Path, threads: dict[Version, Thread]) -> list[str]:
    """Write the files that a scenario needs, and return their names."""
    for path in folder.glob("*.json"):
        path.unlink()
    for name, thread in needed_files("x", threads).items():
        (folder / f"{name}.json").write_text(json.dumps(thread), "utf-8")
    return sorted(path.name for path in folder.glob("*.json"))


def thread(version: Version, *turns: dict[str, Any]) -> Thread:
    """Return a thread of a version."""
    return {"version": version.value, "turns": list(turns)}


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(threads=PLAYED)
def test_every_thread_is_read_back_as_it_was_played(folder: Path, threads: dict[Version, Thread]) -> None:
    """Whatever the versions hold, the files that are left out change nothing, not even 1 to 1.0."""
    write(folder, threads)
    assert {version: text(read_golden("x", version)) for version in threads} == {v: text(threads[v]) for v in threads}


def test_a_version_without_a_difference_of_its_own_has_no_file(folder: Path) -> None:
    """`version` and `completion_status` of turns are all that an older thread may lack."""
    whole = {"turn_type": "agent", "completion_status": "complete"}
    bare = {"turn_type": "agent"}
    assert write(folder, {NEW: thread(NEW, whole), MIDDLE: thread(MIDDLE, bare), OLD: thread(OLD, bare)}) == ["x.json"]


@pytest.mark.parametrize(
    "older",
    [
        {"turn_type": "agent", "completion_status": "complete"},
        {"turn_type": "agent", "completion_status": None},
        {"turn_type": "user"},
    ],
    ids=["keeps-the-status", "nulls-the-status", "other-turn"],
)
def test_any_other_difference_has_a_file(folder: Path, older: dict[str, Any]) -> None:
    """A version that differs in something else is written whole, and 2.0.0 follows from 0.0.3, not from 0.0.4."""
    whole = {"turn_type": "agent", "completion_status": "complete"}
    written = write(
        folder, {NEW: thread(NEW, whole), MIDDLE: thread(MIDDLE, older), OLD: thread(OLD, {"turn_type": "x"})}
    )
    assert written == ["x.json", "x@0.0.3.json", "x@2.0.0.json"]
    (folder / "x@2.0.0.json").unlink()
    older.pop("completion_status", None)
    assert read_golden("x", OLD) == thread(OLD, older)


def test_a_version_newer_than_the_files_has_no_golden(folder: Path) -> None:
    """A thread follows from a newer one only: without a file of its version or a newer one there is none."""
    assert write(folder, {MIDDLE: thread(MIDDLE)}) == ["x@0.0.3.json"]
    assert read_golden("x", OLD) == thread(OLD)
    with pytest.raises(FileNotFoundError):
        read_golden("x", NEW)
