"""Play one case on a server and a client: the only part of a run that does I/O.

In: a case and two targets. Out: evidence, one piece for each version. Nothing here judges. The capabilities of the
targets decide how their threads are compared: exactly only if both have carriers (R39), and by their readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pkgutil import resolve_name
from typing import Any

from tpharness import run as runner
from tpharness.checks import Delivery, Evidence, OpenCall, Resolution, SentRun, Side, StreamChange, Variant
from tpharness.clauses import load_clauses
from tpharness.findings import Finding
from tpharness.journal import UserTurn
from tpharness.judging_time import judging
from tpharness.protocol.compare import FAILED_STATUSES
from tpharness.protocol.versions import Version
from tpharness.run.contents import resolve_contents
from tpharness.run.cut_inputs import find_open_calls
from tpharness.run.plan import Case, expected_delivery, lack_their_events, make_script, make_streams
from tpharness.run.trail import NO_TRAIL, collect_trail
from tpharness.run.variants import PlayedVariant, play_variants
from tpharness.scenario.records import Compare, CutUnit, Scenario, UserInput
from tpharness.server_events import approvals_of
from tpharness.targets.contract import ClientTarget, Packet, Script, ServerTarget, Stream, TargetOutput
from tpharness.targets.reference import (
    Reference,
    ReferenceClient,
    ReferenceServer,
    is_foreign,
    receive_turns,
    serve_turns,
)
from tpharness.targets.remote import KINDS, CannotPlayError, Remote
from tpharness.trace.tape import current_tape
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = [
    "Given",
    "Observer",
    "PlayedCase",
    "Players",
    "ask_targets",
    "collect_evidence",
    "comparison_mode",
    "play",
    "remove_carried",
]

_CARRIED_FIELDS = frozenset(
    (
        *("agent_id", "timestamp", "started_at", "completed_at", "submitted_at", "interrupted_at"),
        *("model_name", "provider_name", "provider_response_id", "finish_reason", "usage", "total_usage"),
        *("id", "thinking_id", "metadata", "content_ref"),
    )
)
"""Fields of a thread that a stream without carriers lacks, or has in another form (R39)."""
_DATA_FIELDS = frozenset(("args", "content", "event_data", "client_metadata"))
"""Fields whose value is what somebody said: a key in it is not a field of a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCase:
    """The first playing of a case: what each side was given, and what it made of it; `served` is None without a server.

    `recorded` says that the server's threads are those that the scenario has of a recorded server.
    """

    served: TargetOutput | None
    turns: Sequence[UserTurn | Stream]
    received: TargetOutput
    recorded: bool = False


Observer = Callable[[PlayedCase], None]


@dataclass(frozen=True, kw_only=True)
class Players:
    """The server and the client of a case, and how their threads are compared (None: as the scenario says)."""

    server: ServerTarget
    client: ClientTarget
    compare: Compare | None = None

    @property
    def carriers(self) -> bool:
        """Whether the server's stream has carriers and the client reads them."""
        return self.server.capabilities.carriers and self.client.capabilities.carriers

    @cached_property
    def remote(self) -> frozenset[str]:
        """The sides outside this process; looked up once, since a protocol is looked for in each of its members."""
        return frozenset(n for n, t in (("server", self.server), ("client", self.client)) if isinstance(t, Remote))


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """All that the targets of a case gave, whatever they were asked: nothing else decides its evidence."""

    first: PlayedCase
    thorough: bool
    delivery: Delivery
    rechunked: Sequence[PlayedVariant] = ()
    repeated: Sequence[PlayedVariant] = ()
    over_wires: Sequence[PlayedVariant] = ()
    resolutions: tuple[Resolution, ...] = ()
    unresolved: str = ""
    adopted: Mapping[Version, dict[str, Any]] = field(default_factory=dict)
    open_calls: tuple[OpenCall, ...] = ()
    sent: tuple[SentRun, ...] = ()
    answers: tuple[Any, ...] = ()


async def play(
    case: Case, players: Players, *, thorough: bool = True, lost: bool = False, observe: Observer | None = None
) -> list[Evidence]:
    """Play a case and return its evidence by version.

    `thorough` also plays the variants that the checks chunking, monotonicity, idempotence and integrity need. `lost`
    says that bytes are lost on the way for a reason that the scenario does not give (R32), such as a fault. `observe`
    is called with the first playing.
    """
    given = await ask_targets(case, players, thorough=thorough, lost=lost, observe=observe)
    return collect_evidence(case, players, given)


async def ask_targets(
    case: Case, players: Players, *, thorough: bool = True, lost: bool = False, observe: Observer | None = None
) -> Given:
    """Play a case as `play` does, and return what its targets gave."""
    script = make_script(case)
    how = Delivery.PART if lost else expected_delivery(case)
    first = await _play_once(case, script, players=players, how=how)
    served, turns, received = first.served, first.turns, first.received
    _show_first(first, observe)
    again = None if first.recorded else served
    rechunked, repeated = ([], []) if not thorough else await play_variants(script, turns, players, received, again)
    over_wires: list[PlayedVariant] = []
    if thorough and not lost and case.wire != DEFAULT_WIRE:
        again_over = resolve_name("tpharness.run.other_wires:play_over_default_wire")  # few runs need it
        over_wires = await again_over(case, players, partial(_play_once, players=players, how=how))
    resolutions, unresolved = await resolve_contents(players.client, received.threads, thorough=thorough)
    adopted: Mapping[Version, dict[str, Any]] = {}
    if served is not None and how is Delivery.PART:
        adopted = await players.client.adopt(served.threads)
    open_calls = await find_open_calls(script, again, players.server) if again is not None and not lost else ()
    sent = _read_sent_runs(script, again) if again is not None and not lost else ()
    clauses = map(load_clauses().get, case.scenario.clauses if thorough and not lost else ())
    questions = {clause.asks for clause in clauses if clause and clause.asks}
    answers: tuple[Any, ...] = ()
    if questions:
        with judging():
            server, client = _play_reference(case, script, turns, served, players)
        asked = (("server", players.server, (server, served)), ("client", players.client, (client, received)))
        answers = await runner.ask_sides(questions, asked)
    return Given(
        first=first,
        thorough=thorough,
        delivery=how,
        rechunked=rechunked,
        repeated=repeated,
        over_wires=over_wires,
        resolutions=resolutions,
        unresolved=unresolved,
        adopted=adopted,
        open_calls=open_calls,
        sent=sent,
        answers=answers,
    )


def collect_evidence(case: Case, players: Players, given: Given) -> list[Evidence]:
    """Return the evidence of a case by version, with what the reference makes of the same input. Pure."""
    script = make_script(case)
    served, turns, received = given.first.served, given.first.turns, given.first.received
    received = replace(received, findings=(*received.findings, *_broken_promises(given.rechunked, given.repeated)))
    with judging():
        trail = collect_trail(script, turns, players.client) if given.thorough else {}
        server, client = _play_reference(case, script, turns, served, players)
    stream_change = _find_stream_change(script, turns, server.streams) if server is not None else None
    plain, unsaid = None, None
    if server is not None and given.thorough:
        with judging():
            plain, unsaid = resolve_name("tpharness.run.plain_streams:read_plain")(case, script, given, players, server)
    library: Mapping[Version, dict[str, Any]] = {}
    if case.scenario.runs and case.scenario.runs[-1][1].library_messages is not None:  # of a few recorded servers
        library = resolve_name("tpharness.run.library_history:render_library_messages")(case, script)
    # Remote targets report nothing about events and streams, so the reference's findings stand for theirs.
    if served is not None and server is not None and "server" in players.remote and case.scenario.expect.findings:
        served = replace(served, findings=(*served.findings, *server.findings))
    if client is not None and "client" in players.remote:
        received = replace(received, findings=(*received.findings, *client.findings))
    pieces = [
        Evidence(
            case=case.id,
            version=version,
            mode=comparison_mode(case.scenario, players),
            delivery=given.delivery,
            server=_make_side("server", served, version, server),
            client=_make_side("client", received, version, client),
            library=Side(name="library", thread=library[version]) if library else None,
            adopted=given.adopted.get(version),
            trail=trail.get(version, NO_TRAIL).states,
            skipped_states=trail.get(version, NO_TRAIL).skipped,
            rechunked=_variants_of(given.rechunked, version),
            repeated=_variants_of(given.repeated, version),
            wire=case.wire,
            over_wires=_variants_of(given.over_wires, version),
            resolutions=given.resolutions,
            unresolved=given.unresolved,
            answers=tuple(one for one in given.answers if one.version is version),
            open_calls=given.open_calls,
            sent=given.sent,
            stream_change=stream_change,
            misreading=partial(_find_misreading, script, turns, version),
            plain=plain,
            unsaid=unsaid,
            expectation=case.scenario.expect,
            readings=case.scenario.readings,
        )
        for version in case.versions
    ]
    return [split for piece in pieces for split in _split_by_carriers(case, piece, players)]


async def _play_once(case: Case, script: Script, *, players: Players, how: Delivery) -> PlayedCase:
    recorded = _recorded_output(case, players)
    has_server = how is not Delivery.UNRELATED
    served = await players.server.serve(script) if has_server and recorded is None else recorded
    if served is not None and not players.server.capabilities.marks and "server" in players.remote:
        _check_event_packets(case, served)
    turns = _use_observed_ends(case, make_streams(case, served.streams if served is not None else None), served)
    received = await players.client.receive(script, turns)
    return PlayedCase(served=served, turns=turns, received=received, recorded=recorded is not None)


def _show_first(played: PlayedCase, observe: Observer | None) -> None:
    """Hand the first playing to the observer, and to the tape of a trace if there is one."""
    if observe is not None:
        observe(played)
    tape = current_tape()
    if tape is not None:
        tape.close(played)


def _recorded_output(case: Case, players: Players) -> TargetOutput | None:
    """Return the threads of a recorded server, unless another server than the reference can play the script."""
    recorded = case.scenario.recorded
    if recorded is None or not recorded.threads:
        return None
    if case.scenario.scripted and not isinstance(players.server, Reference):
        return None
    return TargetOutput(threads={v: dict(thread) for v, thread in recorded.threads.items() if v in case.versions})


def _check_event_packets(case: Case, served: TargetOutput) -> None:
    for (_, run), packets in zip(case.scenario.runs, served.streams, strict=False):
        after = None if run.interrupt is None else run.interrupt.client_after
        at_event = run.wire is None and after is not None and after.unit is CutUnit.EVENT
        if at_event and lack_their_events(packets):
            raise CannotPlayError(
                "it cuts what the client sees at an event, and the server does not say which bytes an event caused"
                " (`event` of its packets, `marks` over HTTP)"
            )


def comparison_mode(scenario: Scenario, players: Players) -> Compare:
    """R39: return how the threads are compared: exactly only if the stream has carriers and the client reads them."""
    wanted = players.compare or scenario.compare
    return wanted if scenario.carriers and players.carriers else Compare.CONTENT


def _use_observed_ends(
    case: Case, turns: Sequence[UserTurn | Stream], served: TargetOutput | None
) -> tuple[UserTurn | Stream, ...]:
    """Return the streams with the ends that were observed, unless the scenario gives a stream or its end itself."""
    if served is None or not served.ends:
        return tuple(turns)
    ends = iter(served.ends)
    seen: list[UserTurn | Stream] = []
    for turn, given in zip(turns, case.scenario.turns, strict=True):
        if isinstance(turn, UserTurn) or isinstance(given, UserInput):
            seen.append(turn)
            continue
        end = next(ends, turn.end)
        broken = given.wire is None and turn.end.reason is None and end.reason is not None
        seen.append(replace(turn, end=end) if broken else turn)
    return tuple(seen)


def _play_reference(
    case: Case,
    script: Script,
    turns: Sequence[UserTurn | Stream],
    served: TargetOutput | None,
    players: Players,
) -> tuple[TargetOutput | None, TargetOutput | None]:
    """Play on the reference what the server and the client were given; None for a side that is the reference (R51).

    A client is judged by the streams that it was given, whatever they should have said: what a server sends is that
    server's departure. The findings say what was wrong with the events and the streams.
    """
    server = client = None
    foreign = is_foreign(players.server) or _recorded_output(case, players) is not None
    if served is not None and foreign and case.scenario.scripted:
        server_session = ReferenceServer(script)
        streams = serve_turns(server_session, script.turns)
        server = TargetOutput(threads=server_session.threads(), findings=server_session.findings(), streams=streams)
    if is_foreign(players.client):
        client_session = ReferenceClient(script)
        receive_turns(client_session, turns)
        client = TargetOutput(threads=client_session.threads(), findings=client_session.findings())
    return server, client


def _split_by_carriers(case: Case, piece: Evidence, players: Players) -> list[Evidence]:
    """Split the evidence if the scenario relies on carriers and the stream has none.

    Fields that only a carrier transports are then expected of the server alone.
    """
    pinned = case.scenario.expect.thread.get(piece.version)
    if pinned is None or not case.scenario.carriers or players.carriers or piece.server is None:
        return [piece]
    bare = remove_carried(pinned)
    if bare == pinned:
        return [piece]
    expect = replace(case.scenario.expect, thread={piece.version: bare})
    alone = Evidence(
        case=piece.case,
        version=piece.version,
        mode=piece.mode,
        delivery=Delivery.UNRELATED,
        server=replace(piece.server, findings=()),
        expectation=replace(case.scenario.expect, findings=None),
        readings=piece.readings,
    )
    return [replace(piece, expectation=expect), alone]


def remove_carried(value: Any) -> Any:
    """Return a part of a thread that a scenario expects, without what only a carrier can tell a client."""
    if isinstance(value, Mapping):
        kept = {k: v if k in _DATA_FIELDS else remove_carried(v) for k, v in value.items() if k not in _CARRIED_FIELDS}
        if kept.get("status") in FAILED_STATUSES and not isinstance(kept.get("content"), str):
            kept.pop("content", None)  # the stream has it as a text
        return kept
    return [remove_carried(v) for v in value] if isinstance(value, list | tuple) else value


def _find_stream_change(
    script: Script, turns: Sequence[UserTurn | Stream], right: Sequence[Sequence[Packet]]
) -> StreamChange:
    """Return what says what to send, which few runs need; it is made when it is asked, once for all versions."""
    made = cache(lambda: resolve_name("tpharness.run.stream_change:StreamChange")(script, turns, right))
    return lambda *asked: str(made().describe(*asked))


def _find_misreading(*asked: Any) -> str:
    """Return how the client has to read the streams that it was given, which few runs need."""
    return str(resolve_name("tpharness.run.misreading:find_misreading")(*asked))


def _read_sent_runs(script: Script, served: TargetOutput) -> tuple[SentRun, ...]:
    if script.wire == DEFAULT_WIRE and not any(map(_says_more, script.turns)):
        return ()  # as in most scenarios
    return runner.read_sent_runs(script, served)


def _says_more(turn: Any) -> bool:
    return not isinstance(turn, UserTurn) and (turn.message_id or turn.abort or any(map(approvals_of, turn.events)))


def _broken_promises(*playings: Sequence[PlayedVariant]) -> list[Finding]:
    """Return the promises that a remote client broke in the variants; a server is judged by the first playing."""
    by_client = (one for group in playings for one in group if one.side == "client")
    return [finding for one in by_client for finding in one.output.findings if finding.kind in KINDS]


def _variants_of(playings: Sequence[PlayedVariant], version: Version) -> tuple[Variant, ...]:
    return tuple(
        Variant(name=one.name, side=one.side, thread=one.output.threads[version], split=one.split)
        for one in playings
        if version in one.output.threads
    )


def _make_side(
    name: str, outcome: TargetOutput | None, version: Version, reference: TargetOutput | None
) -> Side | None:
    if outcome is None or version not in outcome.threads:
        return None
    truth = None if reference is None else reference.threads.get(version)
    findings = tuple(f.with_place(side=name) for f in outcome.findings)
    return Side(name=name, thread=outcome.threads[version], findings=findings, truth=truth)
