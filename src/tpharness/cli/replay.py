"""`tpharness replay`: both sides of a scenario step by step, what arrived and what became canonical."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tpharness.findings import shorten
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, script_of, streams_of
from tpharness.run.select import find
from tpharness.scenario import Scenario, load_scenario, outline
from tpharness.targets import Packet, Reference, RunScript, Stream
from tpharness.targets.reference import ReferenceClient, ReferenceServer

__all__ = ["replay"]


def replay(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="A scenario id; with @event-N it stops after N server events.")
    ],
    scenarios: Annotated[list[Path] | None, typer.Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """Show the server's events and the client's chunks one by one, and the canonical thread whenever it changes."""
    one = find((name,), tuple(scenarios) if scenarios else (scenarios_dir(),))[0]
    scenario = load_scenario(one.path, root=one.root)
    _, at, place = name.partition("@")
    stop = (
        int(place.rpartition("event-")[2].partition(":")[0]) if at and "event-" in place and "*" not in place else None
    )
    print(f"{scenario.id}: {scenario.description}")
    streams = _server(scenario, stop)
    if stop is None:
        _client(scenario, streams)


def _server(scenario: Scenario, stop: int | None) -> list[tuple[Packet, ...]]:
    script = script_of(base_case(scenario, [Version.V0_0_4]))
    session: ReferenceServer = Reference().server_session(script)
    watch = _Watch()
    streams: list[tuple[Packet, ...]] = []
    print("\nserver")
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            print(f"  user submits {shorten([p.get('content') for p in turn.parts], 80)}")
            continue
        streams.append(_server_run(session, turn, watch, stop))
    for finding in session.findings():
        print(f"  finding: {finding.line()}")
    return streams


def _server_run(session: ReferenceServer, run: RunScript, watch: _Watch, stop: int | None) -> tuple[Packet, ...]:
    at = run.started_at
    packets = [Packet(data=session.begin(run), at=at)]
    for index, event in enumerate(run.events[:stop]):
        at = str(event.get("at", at))
        packets.append(Packet(data=session.feed(event), at=at, event=index))
        watch.step(f"{index:>4} {_event(event)}", session.threads(Interrupted(reason="(cut here)", at=at)))
    cut = run.interruption
    last = session.close() if cut is None else session.interrupt(cut, abort=run.abort)
    at = at if cut is None else cut.at
    packets.append(Packet(data=last, at=at))
    watch.step(f"     {f'interrupted: {cut.reason}' if cut else 'end of the run'}", session.threads())
    return tuple(packets)


def _client(scenario: Scenario, streams: list[tuple[Packet, ...]]) -> None:
    case = base_case(scenario, [Version.V0_0_4])
    session: ReferenceClient = Reference().client_session(script_of(case))
    watch = _Watch()
    print("\nclient")
    for turn in streams_of(case, streams):
        if isinstance(turn, Stream):
            session.begin(turn.agent_id, turn.begun_at)
            for packet in turn.packets:
                for piece in packet.data.split(b"\n\n"):
                    if piece:
                        session.feed(piece + b"\n\n" if not packet.data.endswith(piece) else piece, packet.at)
                        text = f"     {shorten(piece.decode('utf-8', 'replace'), 110)}"
                        watch.step(text, session.threads(Interrupted(reason="(cut here)", at=packet.at)))
            session.close(turn.end)
            watch.step(f"     end of the stream: {turn.end.reason or 'the body ends'}", session.threads())
        else:
            session.user(turn)
    for finding in session.findings():
        print(f"  finding: {finding.line()}")


class _Watch:
    """Prints a step, and the outline of the thread when the step changed it."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def step(self, text: str, threads: Mapping[Version, dict[str, Any]]) -> None:
        print(f"  {text}")
        lines = outline(next(iter(threads.values())))
        if lines != self._seen:
            self._seen = lines
            for line in lines or ["(no turns)"]:
                print(f"         => {line}")


def _event(event: Mapping[str, Any]) -> str:
    kept = {k: v for k, v in event.items() if k not in ("event_kind", "at", "index") and v is not None}
    return f"{event.get('event_kind'):<22} {shorten(json.dumps(kept, ensure_ascii=False), 90) if kept else ''}"
