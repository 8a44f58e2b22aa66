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

__all__ = ["play_over_default_wire"]


async def play_over_default_wire(
    case: Case, players: Players, play_once: Callable[[Case, Script], Awaitable[PlayedCase]]
) -> list[PlayedVariant]:
    """Return what both sides hold of the case over the default wire, if they speak it and it is not that of the run.

    A client that loses bytes at a byte loses other things on another wire, and what a scenario gives as a stream is of
    one wire.
    """
    wire, runs = DEFAULT_WIRE, [run for _, run in case.scenario.runs]
    cuts = [run.interrupt.client_after for run in runs if run.interrupt is not None]
    if (
        case.wire == wire
        or any(wire not in target.capabilities.wires for target in (players.server, players.client))
        or any(cut is not None and cut.unit is not CutUnit.EVENT for cut in cuts)
        or any(run.events is None for run in runs)
    ):
        return []
    again = replace(case, wire=wire)
    played = await play_once(again, make_script(again))
    sides = (("server", played.served), ("client", played.received))
    return [PlayedVariant(name=wire, side=side, output=output) for side, output in sides if output is not None]
