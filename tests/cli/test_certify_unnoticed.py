"""A target cannot know that it is being certified: whatever it gets then, it gets of a run."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call

ASKED = Path(__file__).with_name("asked.py")
TARGET = f"stdio:{shlex.join([sys.executable, str(ASKED)])}"
PLAYED = ("--server", TARGET, "--client", TARGET, "--profile", "history")


def seen_by(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, *args: str) -> list[Any]:
    """Return what the processes of a command saw, in the order in which they started."""
    folder.mkdir()
    monkeypatch.setenv("ASKED", str(folder))
    call(*args)
    return [json.loads(file.read_text("utf-8")) for file in sorted(folder.iterdir())]


def asked(processes: list[Any]) -> Counter[str]:
    """Return how often each request came. Which process of several gets one, and under which id, is chance."""
    return Counter(
        json.dumps({key: value for key, value in request.items() if key != "id"}, sort_keys=True)
        for process in processes
        for request in process["requests"]
        if request["op"] not in ("start", "stop")
    )


def surroundings(process: Any) -> Any:
    """Return what a process sees beside its requests, and with which contract it is greeted."""
    environment = {key: value for key, value in process["environment"].items() if key != "ASKED"}
    contract = process["requests"][0]["contract"]
    return process["arguments"], environment, process["folder"], contract


def test_a_target_gets_of_a_certification_what_it_gets_of_a_run(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same requests in each order, first as `run` sends them; no process is started to be looked at before."""
    run = seen_by(call, tmp_path / "run", monkeypatch, "run", *PLAYED)
    shuffled = seen_by(call, tmp_path / "random", monkeypatch, "run", "--order", "random", *PLAYED)
    certified = seen_by(call, tmp_path / "asked", monkeypatch, "certify", *PLAYED, "-o", str(tmp_path / "cert"))
    looked_at, playing = certified[-2:], certified[:-2]
    assert asked(looked_at) == Counter()
    assert all(asked([process]) for process in playing)
    once = asked(run)
    assert once
    assert asked(shuffled) == once
    assert asked(playing) == Counter({request: 3 * count for request, count in once.items()})
    first, others = playing[: -2 * len(shuffled)], playing[-2 * len(shuffled) :]
    assert asked(first) == once
    for order in (others[:2], others[2:]):
        assert asked(order) == once
    assert [surroundings(process) for process in certified] == [surroundings(run[0])] * len(certified)
