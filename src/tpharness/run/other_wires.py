"""Play a case once more over the default wire, to compare what each side holds over both (R39)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tpharness.run.plan import Case, make_script
from tpharness.run.variants import PlayedVariant
from tpharness.scenario.records import CutUnit
from tpharness.targets.contract import Script
from tpharness.wires.registry import DEFAULT_WIRE

if TYPE_CHECKING:
    from tpharness.run.play import PlayedCase, Players

__all__ = ["cite_any_wire", "play_over_default_wire"]

_ANY_WIRE = "sync.any-wire"


def _is_compared(case: Case, players: Players) -> bool:
    """Whether a case is played over the default wire too: both sides speak it, and it is not that of the run.

    A client that loses bytes at a byte loses other things on another wire, and what a scenario gives as a stream is of
    one wire.
    """
    runs = [run for _, run in case.scenario.runs]
    cuts = [run.interrupt.client_after for run in runs if run.interrupt is not None]
    return (
        case.wire != DEFAULT_WIRE
        and all(DEFAULT_WIRE in target.capabilities.wires for target in (players.server, players.client))
        and all(cut is None or cut.unit is CutUnit.EVENT for cut in cuts)
        and all(run.events is not None for run in runs)
    )


def cite_any_wire(case: Case, players: Players) -> Case:
    """Return the case, about the clause of wire independence too where it is played over both wires."""
    if not _is_compared(case, players):
        return case
    return replace(case, scenario=replace(case.scenario, clauses=(*case.scenario.clauses, _ANY_WIRE)))


async def play_over_default_wire(
    case: Case, players: Players, play_once: Callable[[Case, Script], Awaitable[PlayedCase]]
) -> list[PlayedVariant]:
    """Return what both sides hold of the case over the default wire, nothing for a case that is not compared so."""
    if not _is_compared(case, players):
        return []
    again = replace(case, wire=DEFAULT_WIRE)
    played = await play_once(again, make_script(again))
    sides = (("server", played.served), ("client", played.received))
    return [PlayedVariant(name=DEFAULT_WIRE, side=side, output=output) for side, output in sides if output is not None]
