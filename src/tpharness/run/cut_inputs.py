"""What a server's streams say of calls inside whose arguments its runs were cut (R60).

In: a script and what the server sent for it. Out: the open calls, each with the chunk that gave its input as whole,
None if there is none. A stream that only breaks off does not show what the server says when it is stopped, so such a
run is played once more up to its cut, and the user stops it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tpharness.checks import OpenCall
from tpharness.journal import Interrupted
from tpharness.server_events import OpenCalls
from tpharness.targets.contract import Packet, RunScript, Script, ServerTarget, TargetOutput
from tpharness.targets.remote import CannotPlayError
from tpharness.wires.contract import Inputs, Wire
from tpharness.wires.registry import wire_named

__all__ = ["find_open_calls", "stop_after"]


async def find_open_calls(script: Script, served: TargetOutput, server: ServerTarget) -> tuple[OpenCall, ...]:
    """Return the open calls of all runs of the script that were cut; `served` is what the server sent for it.

    TargetError if the server does not play a run once more.
    """
    runs = [(index, turn) for index, turn in enumerate(script.turns) if isinstance(turn, RunScript)]
    wire = wire_named(script.wire)
    found: list[OpenCall] = []
    for (index, run), packets in zip(runs, served.streams, strict=False):
        ids = _open_at_cut(run)
        if not ids:
            continue
        streams = [_read(packets, wire)]
        if not run.abort and not any(event.get("event_kind") == "error" for event in run.events):
            stopped = stop_after(script, index, run.events)
            streams += await _play_again(stopped, server)
        found += [OpenCall(call_id=call, given=_first_given(streams, call)) for call in sorted(ids)]
    return tuple(found)


def stop_after(script: Script, index: int, events: tuple[Mapping[str, Any], ...]) -> Script:
    """Return the script up to the run at an index, which plays these events; then the user stops it."""
    run = script.turns[index]
    if not isinstance(run, RunScript):
        raise TypeError(f"turn {index} is not a run")
    at = next((str(event["at"]) for event in reversed(events) if "at" in event), run.started_at)
    cut = Interrupted(reason="user_cancelled", at=at)
    stopped = replace(run, events=events, interruption=cut, abort=True)
    return replace(script, turns=(*script.turns[:index], stopped), versions=script.versions[-1:])


def _open_at_cut(run: RunScript) -> frozenset[str]:
    calls = OpenCalls()
    for event in run.events if run.interruption is not None else ():
        calls.feed(event)
    return calls.ids


async def _play_again(stopped: Script, server: ServerTarget) -> list[Inputs]:
    try:
        again = await server.serve(stopped)
    except CannotPlayError:
        return []  # its users cannot stop a run
    return [_read(packets, wire_named(stopped.wire)) for packets in again.streams[-1:]]


def _read(packets: Iterable[Packet], wire: Wire) -> Inputs:
    inputs = wire.open_inputs()
    for packet in packets:
        inputs.feed(packet.data)
    return inputs


def _first_given(streams: Iterable[Inputs], call_id: str) -> Mapping[str, Any] | None:
    return next((given for one in streams if (given := one.given(call_id)) is not None), None)
