"""`tpharness replay`: show both sides of a case step by step, with the events, the chunks and the threads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tpharness.checks import Delivery
from tpharness.cli.places import case_of
from tpharness.errors import UsageError
from tpharness.findings import shorten
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.diff import diff
from tpharness.protocol.versions import Version, newest_version, parse_version
from tpharness.report import make_printable
from tpharness.resources import scenarios_dir
from tpharness.run.plan import Case, expected_delivery, make_script, make_streams
from tpharness.run.select import select_scenarios
from tpharness.scenario import Compare, load_scenario, outline
from tpharness.targets import Packet, Reference, RunScript, Stream
from tpharness.targets.reference import ReferenceClient, ReferenceServer, serve_run
from tpharness.vsp.frames import split_frames

__all__ = ["replay"]

Thread = Mapping[str, Any]


def replay(
    name: Annotated[str, typer.Argument(metavar="ID", help="A case: theme/name, or one place, theme/name@event-12.")],
    dialect: Annotated[str | None, typer.Option(help="The version to show [default: the newest].")] = None,
    scenarios: Annotated[list[Path] | None, typer.Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """Show both sides of a case step by step.

    The case is played on the reference. The output has each server event, each chunk, and the thread when it changes.
    """
    found = select_scenarios((name,), tuple(scenarios) if scenarios else (scenarios_dir(),))
    if len(found) != 1:
        some = ", ".join(one.id for one in found[:3])
        raise UsageError(f"{name!r} names {len(found)} scenarios, and replay shows one", hint=f"for example {some}")
    scenario = load_scenario(found[0].path, root=found[0].root)
    version = parse_version(dialect) if dialect else newest_version(scenario.versions)
    if version not in scenario.versions:
        raise UsageError(f"{scenario.id} is not for version {version.value}")
    case = case_of(scenario, name, [version])
    print(f"{case.id}, version {version.value}: {scenario.description}")
    streams, server = _server(case, version)
    client = _client(case, version, streams)
    _compare(case, server, client)


def _server(case: Case, version: Version) -> tuple[list[tuple[Packet, ...]], Thread]:
    script = make_script(case)
    session: ReferenceServer = Reference().server_session(script)
    watch = _Watch(version)
    streams: list[tuple[Packet, ...]] = []
    print("\nserver")
    for turn, scripted in zip(case.scenario.turns, script.turns, strict=True):
        if isinstance(scripted, UserTurn):
            session.user(scripted)
            _user(scripted)
        elif getattr(turn, "events", None) is None:
            streams.append(())
            print("  (the scenario gives this run as a stream only)")
        else:
            streams.append(_server_run(session, scripted, watch))
    for finding in session.findings():
        print(f"  finding: {make_printable(finding.line())}")
    return streams, session.threads()[version]


def _server_run(session: ReferenceServer, run: RunScript, watch: _Watch) -> tuple[Packet, ...]:
    packets = []
    for packet in serve_run(session, run):
        packets.append(packet)
        if packet.event is not None:
            threads = session.threads(Interrupted(reason="(cut here)", at=packet.at))
            watch.step(f"{packet.event:>4} {_event(run.events[packet.event])}", threads)
    cut = run.interruption
    watch.step(f"     {f'interrupted: {cut.reason}' if cut else 'end of the run'}", session.threads())
    return tuple(packets)


def _client(case: Case, version: Version, streams: list[tuple[Packet, ...]]) -> Thread:
    session: ReferenceClient = Reference().client_session(make_script(case))
    watch = _Watch(version)
    print("\nclient")
    for turn in make_streams(case, streams):
        if not isinstance(turn, Stream):
            session.user(turn)
            _user(turn)
            continue
        session.begin(turn.agent_id, turn.begun_at)
        for packet in turn.packets:
            for piece in split_frames(packet.data):
                session.feed(piece, packet.at)
                text = f"     {shorten(piece.decode('utf-8', 'replace').rstrip(), 110)}"
                watch.step(text, session.threads(Interrupted(reason="(cut here)", at=packet.at)))
        session.close(turn.end)
        watch.step(f"     end of the stream: {turn.end.reason or 'the body ends'}", session.threads())
    for finding in session.findings():
        print(f"  finding: {make_printable(finding.line())}")
    return session.threads()[version]


def _compare(case: Case, server: Thread, client: Thread) -> None:
    print()
    match expected_delivery(case):
        case Delivery.UNRELATED:
            print("there is one side only")
        case Delivery.PART:
            print("the client received only part of the stream: its thread has to be a prefix (R32)")
        case Delivery.WHOLE:
            exact = case.scenario.carriers and case.scenario.compare is Compare.EXACT
            mode = "exact" if exact else "content"
            differences = diff(server, client, names=("server", "client"), mode=mode)
            print(f"both sides hold the same thread ({mode})" if not differences else "the threads differ:")
            for difference in differences:
                print(f"  {difference.pointer}\n    {make_printable(difference.text)}")


def _user(turn: UserTurn) -> None:
    print(f"  user submits {shorten([part.get('content') for part in turn.parts], 80)}")


class _Watch:
    """Prints a step, and the outline of the thread if the step changed it."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._seen: list[str] = []

    def step(self, text: str, threads: Mapping[Version, dict[str, Any]]) -> None:
        print(f"  {text}")
        lines = outline(threads[self._version])
        if lines != self._seen:
            self._seen = lines
            for line in lines or ["(no turns)"]:
                print(f"         => {line}")


def _event(event: Mapping[str, Any]) -> str:
    kept = {k: v for k, v in event.items() if k not in ("event_kind", "at", "index") and v is not None}
    return (
        f"{event.get('event_kind')!s:<22} {shorten(json.dumps(kept, ensure_ascii=False), 90) if kept else ''}".rstrip()
    )
