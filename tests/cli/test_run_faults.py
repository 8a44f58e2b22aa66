"""`tpharness run --fault`, and what other commands say of faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.targets.servers import ContractServer, RawServer, in_thread

from tpharness.faults import FAULTS


def test_faults_are_played_by_name(call: Any, tmp_path: Path) -> None:
    """Several by commas or repetition, each once, in the order of the catalogue."""
    report = tmp_path / "r.json"
    with in_thread(RawServer(ContractServer())) as raw:
        called = call(
            *("run", "basics/tool-call-and-answer", "--server", raw.url, "--fault", "reset,drip", "--fault", "drip"),
            *("--report", f"json:{report}"),
        )
    assert called.code == 0, called.err
    ids = [result["id"] for result in json.loads(report.read_text("utf-8"))["results"]]
    assert ids == [f"basics/tool-call-and-answer@fault-{name}" for name in ("reset", "drip")]


def test_a_failure_under_a_fault_says_where_it_struck(call: Any) -> None:
    """And the command that is suggested is one that works."""
    with in_thread(RawServer(ContractServer(breaks=frozenset({"resume-lost"})))) as raw:
        called = call("run", "basics/tool-call-and-answer", "--server", raw.url, "--fault", "resume")
    assert called.code == 1
    assert "FAILED basics/tool-call-and-answer@fault-resume" in called.out
    assert "the connection is closed in the middle" in called.out
    assert "(byte " in called.out
    assert "resume-lost: a frame of the stream does not reach a client that reconnects" in called.out


def test_without_a_wire_nothing_is_played_and_nothing_passes(call: Any) -> None:
    """The reference in this process has no wire to make faults on."""
    called = call("run", "basics", "--fault", "all")
    assert called.code == 1
    assert "116 not applicable, by reason:" in called.out


def test_an_unknown_fault_is_wrong_use(call: Any) -> None:
    """With the nearest name."""
    called = call("run", "basics", "--fault", "rest")
    assert called.code == 2
    assert "no fault is called 'rest' did you mean reset?" in " ".join(called.err.split())


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_explained(call: Any, name: str) -> None:
    """What it does, what is owed, and by which ruling."""
    out = call("explain", name).out
    assert FAULTS[name].title in out
    assert "guarantee: " in out
    assert FAULTS[name].rulings[0] in out


def test_the_guide_to_faults_tells_of_each() -> None:
    """By its name."""
    guide = (Path(__file__).parents[2] / "docs" / "FAULTS.md").read_text("utf-8")
    assert [name for name in FAULTS if f"`{name}`" not in guide] == []
