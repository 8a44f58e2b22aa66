"""The canonical thread of each scenario and version, the same on both sides, as files that other languages can read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.goldens import GOLDEN, OLDEST_FIRST, Thread, golden_path, needed_files, read_golden, text
from syrupy.assertion import SnapshotAssertion

from tpharness.checks import Delivery, Evidence
from tpharness.protocol.canonical import canonical_thread
from tpharness.resources import scenarios_dir
from tpharness.run.baselines import load_baseline
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import Compare, load_scenario
from tpharness.targets import Reference

SELECTED = select_scenarios((), (scenarios_dir(),))
DEPARTING = frozenset(load_baseline().entries)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Return one event loop for all scenarios: to open one takes longer than to play most of them."""
    with asyncio.Runner() as runner:
        yield runner


def same_threads(one: SelectedScenario, piece: Evidence) -> list[Thread]:
    """Return the canonical threads that have to be the same; where the sides owe content alone, only the server's."""
    both = piece.mode is Compare.EXACT and piece.delivery is Delivery.WHOLE and one.id not in DEPARTING
    threads = []
    for side in [piece.server, piece.client] if both else [piece.server or piece.client]:
        assert side, "a side did not play"
        threads.append(canonical_thread(side.thread))
    return threads


def remove_unused(unused: set[Path], *, updating: bool) -> None:
    """Fail where goldens are unused; `--snapshot-update` deletes them."""
    names = sorted(str(path.relative_to(GOLDEN)) for path in unused)
    assert updating or not names, f"unused: {names}; `pytest conformance --snapshot-update` deletes them"
    for path in unused:
        path.unlink()


@pytest.mark.parametrize("one", SELECTED, ids=lambda one: one.id)
def test_golden(one: SelectedScenario, golden: SnapshotAssertion, updating: bool, runner: asyncio.Runner) -> None:
    """Both sides render the golden threads, and whoever reads the files as the README says gets the same."""
    scenario = load_scenario(one.path, root=one.root)
    players = Players(server=Reference(), client=Reference())
    played = {piece.version: piece for piece in runner.run(play(base_case(scenario), players, thorough=False))}
    assert set(played) == set(scenario.versions)
    same = {version: same_threads(one, played[version]) for version in reversed(OLDEST_FIRST) if version in played}
    files = needed_files(one.id, {version: threads[0] for version, threads in same.items()})
    for name, thread in files.items():
        assert golden(name=name) == thread
    present = {golden_path(one.id), *GOLDEN.glob(f"{one.id}@*.json")}
    remove_unused(present - set(map(golden_path, files)), updating=updating)
    for version, threads in same.items():
        expected = text(read_golden(one.id, version))
        for thread in threads:
            assert text(thread) == expected


def test_every_golden_has_its_scenario(updating: bool) -> None:
    """No golden is left over from a scenario that was renamed or removed."""
    ids = {one.id for one in SELECTED}
    names = {path: str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.json")}
    remove_unused({path for path, name in names.items() if name.partition("@")[0] not in ids}, updating=updating)
