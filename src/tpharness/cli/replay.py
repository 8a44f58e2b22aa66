"""`tpharness replay`: show both sides of a case step by step, with the events, the chunks and the threads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.checks import Delivery
from tpharness.cli.options import Argument, Exit, FollowLinksOption, Option
from tpharness.errors import UsageError
from tpharness.findings import shorten
from tpharness.journal import Interrupted, UserTurn, needs_partial
from tpharness.printable import say
from tpharness.protocol.versions import Version, newest_version, parse_version
from tpharness.report import failure_lines
from tpharness.report.trace_lines import event_line
from tpharness.run.case_ids import case_of
from tpharness.run.configured import read_configured
from tpharness.run.plan import Case, base_case, expected_delivery, make_script
from tpharness.run.play import PlayedCase, comparison_mode
from tpharness.run.requests import parse_compare
from tpharness.run.select import built_in_roots, select_scenarios
from tpharness.run.session import Session
from tpharness.run.trail import Pace
from tpharness.scenario import load_scenario
from tpharness.scenario.outline import outline
from tpharness.scenario_files import find_files, is_built_in
from tpharness.targets import RunScript, Stream, TargetOutput
from tpharness.targets.reference import ReferenceClient, ReferenceServer, is_foreign, serve_run
from tpharness.verdict.result import CheckState, Result
from tpharness.wires.sse.frames import split_frames

__all__ = ["replay"]


def replay(
    name: Annotated[str, Argument(metavar="ID", help="A case: theme/name, or one place, theme/name@event-12.")],
    server: Annotated[str, Option(metavar="TARGET", help="The server that plays.")] = "reference",
    client: Annotated[str, Option(metavar="TARGET", help="The client that plays.")] = "reference",
    dialect: Annotated[str | None, Option(help="The version to show [default: the newest].")] = None,
    compare: Annotated[str | None, Option(help="exact or content, as of run.")] = None,
    wire: Annotated[
        str | None, Option(metavar="NAME", help="What the streams are: vsp or ag-ui [default: the case's own, or vsp].")
    ] = None,
    scenarios: Annotated[list[Path] | None, Option(help="Folders or files with your own scenarios.")] = None,
    follow_links: FollowLinksOption = False,
    no_config: Annotated[
        bool, Option("--no-config", help="Do not look for the case where [run] of tpharness.toml has scenarios.")
    ] = False,
) -> None:
    """Show both sides of a case step by step, and the verdict.

    The output has each server event, what goes over the wire, and the thread when it changes. The verdict is that of
    `tpharness run` without a baseline. Of tpharness.toml only the folders of scenarios are used.
    """
    roots = tuple(scenarios) if scenarios else _configured_roots(name, no_config=no_config) or built_in_roots(wire)
    found = select_scenarios((name,), roots, follow_links=follow_links)
    if len(found) != 1:
        some = ", ".join(one.id for one in found[:3])
        raise UsageError(f"{name!r} names {len(found)} scenarios, and replay shows one", hint=f"for example {some}")
    scenario = load_scenario(found[0].path, root=found[0].root)
    version = parse_version(dialect) if dialect else newest_version(scenario.versions)
    if version not in scenario.versions:
        raise UsageError(f"{scenario.id} is not for version {version.value}")
    versions = [version] if dialect else None
    wire = wire or base_case(scenario).wire
    session = Session(server=server, client=client, versions=versions, compare=parse_compare(compare), wire=wire)
    case_of(
        scenario, name, [version], session.players, wire=wire
    )  # a place that it lacks is refused before a target is started
    with session:
        adapted, reason = session.run(session.adapt(scenario))
        reason = session.find_no_part(scenario) or reason
        if reason:
            raise UsageError(f"{scenario.id} does not apply to these targets: {reason}")
        version = newest_version(adapted.versions)
        case = case_of(adapted.scenario, name, adapted.versions, session.players, wire=adapted.wire)
        say(f"{case.id}, version {version.value}: {scenario.description}")
        seen: list[PlayedCase] = []
        result = session.run(session.play_case(case, thorough="@" not in case.id, observe=seen.append))
        if seen:
            _show_server(case, version, seen[0], session)
            _show_client(case, version, seen[0], session)
        _show_verdict(case, result, session)
    raise Exit(0 if result.outcome.green else 1)


def _configured_roots(name: str, *, no_config: bool) -> tuple[Path, ...]:
    """Return the folders of tpharness.toml if they have the scenario; another one is built in."""
    roots = () if no_config else tuple(root for root in read_configured().scenarios if not is_built_in(root))
    return roots if roots and name.partition("@")[0] in find_files(roots) else ()


def _show_server(case: Case, version: Version, played: PlayedCase, session: Session) -> None:
    say("", "server")
    served = played.served
    if served is not None and (played.recorded or is_foreign(session.players.server)):
        recorded = case.scenario.recorded
        if played.recorded and recorded is not None:
            say(f"  (the thread that {recorded.implementation} {recorded.version} had when this was recorded)")
        else:
            _show_packets(case, served)
        _show_thread(served, version)
        return
    script = make_script(case)
    reference = ReferenceServer(script)
    watch = _Watch(version, reference, partial=needs_partial(script.readings))
    for turn, scripted in zip(case.scenario.turns, script.turns, strict=True):
        if isinstance(scripted, UserTurn):
            reference.user(scripted)
            _user(scripted)
        elif getattr(turn, "events", None) is None:
            say("  (the scenario gives this run as a stream only)")
        else:
            _server_run(reference, scripted, watch)
    watch.end()
    for finding in reference.findings():
        say(f"  finding: {finding.line()}")


def _show_packets(case: Case, served: TargetOutput) -> None:
    """Show the events that another server was given, and what it sent after each, if it says so."""
    streams = iter(served.streams)
    for turn in make_script(case).turns:
        if isinstance(turn, UserTurn):
            _user(turn)
            continue
        packets = next(streams, ())
        for index, event in enumerate(turn.events):
            say(f"  {index:>4} {event_line(event)}")
            for packet in packets:
                if packet.event == index:
                    _show_frames(packet.data)
        cut = turn.interruption
        say(f"       {f'interrupted: {cut.reason}' if cut else 'end of the run'}")
        if all(packet.event is None for packet in packets):
            say("       (it does not say which event a packet belongs to; the client shows them all)")


def _show_frames(data: bytes) -> None:
    for piece in split_frames(data):
        say(f"         <- {shorten(piece.decode('utf-8', 'replace').rstrip(), 110)}")


def _show_thread(output: TargetOutput, version: Version) -> None:
    for line in outline(output.threads[version]) if version in output.threads else ["(it gave no thread)"]:
        say(f"         => {line}")


def _server_run(session: ReferenceServer, run: RunScript, watch: _Watch) -> None:
    for packet in serve_run(session, run):
        if packet.event is not None:
            watch.step(f"{packet.event:>4} {event_line(run.events[packet.event])}", packet.at)
    cut = run.interruption
    watch.step(f"     {f'interrupted: {cut.reason}' if cut else 'end of the run'}")


def _show_client(case: Case, version: Version, played: PlayedCase, session: Session) -> None:
    """Show what the client was given; the reference's thread is shown as it grows, another client's at its end."""
    script = make_script(case)
    reference = None if is_foreign(session.players.client) else ReferenceClient(script)
    watch = None if reference is None else _Watch(version, reference, partial=needs_partial(script.readings))
    say("", "client")
    for turn in played.turns:
        if not isinstance(turn, Stream):
            if reference is not None:
                reference.user(turn)
            _user(turn)
            continue
        if reference is not None:
            reference.begin(turn.agent_id, turn.begun_at)
        for packet in turn.packets:
            for piece in split_frames(packet.data):
                text = f"     {shorten(piece.decode('utf-8', 'replace').rstrip(), 110)}"
                if reference is None or watch is None:
                    say(f"  {text}")
                    continue
                reference.feed(piece, packet.at)
                watch.step(text, packet.at)
        end = f"     end of the stream: {turn.end.reason or 'the body ends'}"
        if reference is None or watch is None:
            say(f"  {end}")
        else:
            reference.close(turn.end)
            watch.step(end)
    if watch is None:
        _show_thread(played.received, version)
    else:
        watch.end()
    for finding in reference.findings() if reference is not None else ():
        say(f"  finding: {finding.line()}")


def _show_verdict(case: Case, result: Result, session: Session) -> None:
    """Say what the two sides owe each other, and how a run judges the case."""
    say("")
    for _, line in failure_lines(result, hint=False):
        say(line)
    identity = result.checks.get("identity")
    match expected_delivery(case):
        case Delivery.UNRELATED:
            say("there is one side only")
        case Delivery.PART:
            say("the client received only part of the stream: its thread has to be a prefix (R32)")
        case Delivery.WHOLE if identity is CheckState.PASSED:
            say(f"both sides hold the same thread ({comparison_mode(case.scenario, session.players).value})")
        case Delivery.WHOLE if identity is CheckState.FAILED:
            say("the threads differ, or are not the right ones")
        case _:
            pass
    codes = ", ".join(sorted(result.failing_codes))
    say(f"verdict: {result.outcome.value}{f': {codes}' if codes else ''}")


def _user(turn: UserTurn) -> None:
    say(f"  user submits {shorten([part.get('content') for part in turn.parts], 80)}")


class _Watch:
    """Prints a step, and the outline of the thread if the step changed it.

    Of a long stream it looks at ever fewer threads, since each is rendered and printed anew; `end` says how many it
    left out. Without a time a step is the end of a run or a stream, whose thread is always shown.
    """

    def __init__(self, version: Version, session: ReferenceServer | ReferenceClient, *, partial: bool) -> None:
        self._version, self._session = version, session
        self._partial = partial  # under a reading that keeps open parts each delta of one is a change
        self._shown: list[str] = []
        self._pace, self._state = Pace(), -1

    def step(self, text: str, at: str | None = None) -> None:
        say(f"  {text}")
        if at is not None and not self._is_next():
            return
        cut = None if at is None else Interrupted(reason="(cut here)", at=at)
        lines = outline(self._session.threads(cut)[self._version])
        if lines != self._shown:
            self._shown = lines
            for line in lines or ["(no turns)"]:
                say(f"         => {line}")

    def _is_next(self) -> bool:
        """Whether a document could show a change, and its turn has come."""
        before, self._state = self._state, self._session.version
        return (self._partial or before != self._state) and self._pace.looks()

    def end(self) -> None:
        if self._pace.skipped:
            shown = self._pace.seen - self._pace.skipped
            say(f"  (of {self._pace.seen} states of the thread {shown} were looked at: ever fewer of a long stream)")
