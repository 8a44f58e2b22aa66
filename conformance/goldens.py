"""Read the canonical threads in `golden/` as `golden/README.md` describes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir

GOLDEN = conformance_dir() / "golden"
Thread = dict[str, Any]
OLDEST_FIRST = tuple(Version)


def golden_name(scenario_id: str, version: Version) -> str:
    """Return the name of the file for one version: `theme/name`, or `theme/name@0.0.3` for an older version."""
    return scenario_id if version is OLDEST_FIRST[-1] else f"{scenario_id}@{version.value}"


def golden_path(name: str) -> Path:
    """Return the path of a golden file."""
    return GOLDEN / f"{name}.json"


def in_version(thread: Thread, version: Version) -> Thread:
    """Return the thread as the older version has it if the versions differ in nothing but what the README names."""
    turns = [{key: turn[key] for key in turn if key != "completion_status"} for turn in thread["turns"]]
    return {**thread, "turns": turns, "version": version.value}


def read_golden(scenario_id: str, version: Version) -> Thread:
    """Return the thread of a scenario in a version for which the scenario holds; FileNotFoundError without a file."""
    for candidate in OLDEST_FIRST[OLDEST_FIRST.index(version) :]:
        path = golden_path(golden_name(scenario_id, candidate))
        if path.is_file():
            thread: Thread = json.loads(path.read_bytes())
            return thread if candidate is version else in_version(thread, version)
    raise FileNotFoundError(golden_path(golden_name(scenario_id, version)))


def needed_files(scenario_id: str, threads: dict[Version, Thread]) -> dict[str, Thread]:
    """Return the files that a scenario needs, by name: none for a version that follows from the next newer one."""
    files: dict[str, Thread] = {}
    newer = None
    for version in reversed(OLDEST_FIRST):
        thread = threads.get(version)
        if thread is None:
            continue
        if newer is None or text(thread) != text(in_version(newer, version)):
            files[golden_name(scenario_id, version)] = thread
        newer = thread
    return files


def text(thread: Thread) -> str:
    """Return a thread as text to compare it: as values, 1, 1.0 and true would be the same."""
    return json.dumps(thread, sort_keys=True)
