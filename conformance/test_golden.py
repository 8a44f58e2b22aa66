"""The canonical thread of each scenario and version, the same on both sides, as files that other languages can read."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from tpharness.checks import Delivery, Evidence
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.run.baseline import load_baseline
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.run.select import Selected, find
from tpharness.scenario import Compare, load_scenario
from tpharness.targets import Reference

SELECTED = find((), (scenarios_dir(),))
DEPARTING = frozenset(load_baseline().entries)


@cache
def evidence(one: Selected) -> dict[Version, Evidence]:
    """Play a scenario once for all versions."""
    players = Players(server=Reference(), client=Reference())
    case = base_case(load_scenario(one.path, root=one.root))
    return {piece.version: piece for piece in asyncio.run(play(case, players, thorough=False))}


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.value)
@pytest.mark.parametrize("one", SELECTED, ids=lambda one: one.id)
def test_golden(one: Selected, version: Version, golden: SnapshotAssertion) -> None:
    """Both sides render the thread in the golden file; where they owe content alone, the server's is the golden."""
    piece = evidence(one).get(version)
    if piece is None:
        assert version not in evidence(one)  # the scenario does not hold for this version
        return
    server = canonical_thread(piece.server.thread) if piece.server else None
    client = canonical_thread(piece.client.thread) if piece.client else None
    both = piece.mode is Compare.EXACT and piece.delivery is Delivery.WHOLE and one.id not in DEPARTING
    for thread in [server, client] if both else [server or client]:
        assert golden(name=f"{one.id}/{version.value}") == thread


def test_every_golden_has_its_scenario() -> None:
    """No golden is left over from a scenario that was renamed, or from a version that it no longer holds for."""
    used = {f"{one.id}/{version.value}.json" for one in SELECTED for version in evidence(one)}
    golden_dir = conformance_dir() / "golden"
    assert {str(path.relative_to(golden_dir)) for path in golden_dir.rglob("*.json")} <= used
