"""The figures of the pure core: frames, chunks, folds, server events, documents, sweeps, generated cases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

import jsonschema_rs
import orjson
import rfc8785
from benchmarks import encode, sse
from benchmarks.bodies import READ, long_text, reads_of, steps
from benchmarks.documents import thread
from benchmarks.figures import Pair, figure
from benchmarks.least_fold import AT
from benchmarks.stream import ai_client, decode, fold
from benchmarks.stream_memory import grown
from benchmarks.sweep import scenario
from benchmarks.sweep_speed import fold as fold_both
from benchmarks.table import median_seconds

from tpharness.dialects import ThreadHeader
from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.campaigns.fold import passes
from tpharness.explore.generate.programs import GeneratedProgram, program
from tpharness.protocol.jcs import jcs
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import newest_version
from tpharness.resources import schema_path
from tpharness.run.plan import Case, base_case, make_script
from tpharness.run.sweeps.pair import SessionPair
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import CutAt, CutPlan, CutSide, load_text
from tpharness.targets import Reference
from tpharness.targets.contract import RunScript, Script
from tpharness.wires.vsp.chunks import decode_chunk, decode_typed

__all__ = ["judge_programs", "programs_of_thirty"]

MILLION = (1_000, 10_000, 100_000, 1_000_000)
CHUNKS_OF_A_STEP, EVENTS_OF_A_STEP = 99, 100


@cache
def _chunks(size: int) -> list[bytes]:
    return steps(max(1, size // CHUNKS_OF_A_STEP))


def _payloads(size: int) -> list[bytes]:
    return [event[6:-2] for event in _chunks(size)[:-1]]  # without [DONE]


@figure("httpx-sse / our frames, reads of 16 KiB", unit="chunk", at_least=4, sizes=MILLION, peers=["httpx-sse"])
def frames_in_reads(size: int) -> Pair:
    """Split a body into events."""
    reads = reads_of(b"".join(_chunks(size)), READ)
    return Pair(ours=lambda: sse.ours(reads), peer=lambda: sse.peer(reads))


@figure("httpx-sse / our frames, one event a read", unit="chunk", at_least=2.5, sizes=MILLION, peers=["httpx-sse"])
def frames_one_by_one(size: int) -> Pair:
    """Split a body that comes as a live stream does."""
    events = _chunks(size)
    return Pair(ours=lambda: sse.ours(events), peer=lambda: sse.peer(events))


@figure(
    "bytes to journal, reads of 16 KiB / bare typed decoding",
    unit="chunk",
    sizes=MILLION,
    peers=["msgspec"],
)
def journal_in_reads(size: int) -> Pair:
    """Frames, decoding and fold of the client, against decoding the same chunks and nothing else."""
    reads, raw = reads_of(b"".join(_chunks(size)), READ), _payloads(size)
    return Pair(ours=lambda: fold(reads), peer=lambda: decode(raw))


@figure(
    "bytes to journal, one event a read / bare typed decoding",
    unit="chunk",
    sizes=MILLION,
    peers=["msgspec"],
)
def journal_one_by_one(size: int) -> Pair:
    """The same for a live stream."""
    events, raw = _chunks(size), _payloads(size)
    return Pair(ours=lambda: fold(events), peer=lambda: decode(raw))


@figure(
    "`ai`'s own reader / ours, bytes to a message, by the clock",
    unit="delta",
    at_least=20,
    sizes=(1_000, 10_000),
    peers=["npm:ai"],
)
def ai_reader(size: int) -> list[float]:
    """One text in reads of 16 KiB; the package is fetched on first use, as for `peer:ai-sdk-client`."""
    body = b"".join(long_text(size))
    reads = reads_of(body, READ)
    ours = median_seconds(lambda: fold(reads), clock=time.perf_counter)
    return [ai_client(body) / ours for _ in range(3)]


@figure("decoding a `data-*` chunk / a typed chunk", unit="chunk", at_most=2.5, peers=["msgspec"])
def data_chunk(size: int) -> Pair:
    """A custom event, which no record names."""
    custom = b'{"type":"data-sys-tp","data":{"timestamp":"2026-01-01T00:00:00Z"},"transient":true}'
    raw = list(islice(_payloads(size + CHUNKS_OF_A_STEP), size))

    def ours() -> None:
        for _ in range(size):
            decode_chunk(custom)

    def peer() -> None:
        for one in raw:
            decode_typed(one)

    return Pair(ours=ours, peer=peer)


@figure(
    "Pydantic AI's adapter / ours, events encoded and recorded",
    unit="event",
    at_least=3,
    peers=["pydantic-ai-slim"],
)
def server_side(size: int) -> Pair:
    """What a server does for each event of its model: bytes for the client, and the journal."""
    mine, theirs = encode.ours(size), encode.theirs(size)
    header = ThreadHeader(thread_id="t", created_at=AT)
    script = Script(header=header, turns=(), versions=(newest_version(),), carriers=False)

    def ours() -> None:
        session = Reference().server_session(script)
        session.begin(RunScript(agent_id="assistant", started_at=AT, events=()))
        written = sum(len(session.feed(event)) for event in mine)
        session.journal()
        if written < size:
            raise SystemExit("the server of this benchmark writes nothing")

    return Pair(ours=ours, peer=lambda: asyncio.run(encode.adapt(theirs)))


@figure(
    "rfc8785 / our canonical form",
    unit="cycle",
    at_least=5,
    head=1_000,
    sizes=(1_000, 10_000, 50_000),
    peers=["rfc8785"],
)
def canonical_form(size: int) -> Pair:
    """A thread of that many responses with their returns; a cycle is 950 bytes."""
    document = thread(size * 950)
    return Pair(ours=lambda: jcs(document), peer=lambda: rfc8785.dumps(document))


@figure(
    "schema and rules of a thread / jsonschema-rs on its schema alone",
    unit="cycle",
    at_most=2,
    head=1_000,
    sizes=(1_000, 10_000, 50_000),
    peers=["jsonschema-rs"],
)
def documents(size: int) -> Pair:
    """The same threads as for the canonical form; the schema is most of what is asked of a document that is valid."""
    document = thread(size * 950)
    schema = orjson.loads(schema_path(f"thread-{document['version']}").read_bytes())
    validator = jsonschema_rs.Draft202012Validator(schema)

    def ours() -> None:
        if check_thread(document):
            raise SystemExit("the thread of this benchmark is not valid")

    return Pair(ours=ours, peer=lambda: validator.is_valid(document))


@cache
def _case(events: int) -> Case:
    return base_case(load_text(scenario(events), id="bench/sweep"))


@figure("a cut after every event, the sides apart / folding once", unit="event", at_most=6)
def sweep_apart(size: int) -> Pair:
    """All checks at each place, and at each pair of neighbouring places."""
    case = _case(size)
    plan = CutPlan(at=CutAt.EVERY_EVENT, side=CutSide.CLIENT)
    one = replace(case, scenario=replace(case.scenario, cut=plan))

    def ours() -> None:
        found = sweep(one, Reference(), Reference(), apart=True)
        if found.failed or found.apart:
            raise SystemExit("the sweep of this benchmark fails")

    return Pair(ours=ours, peer=lambda: fold_both(case))


@cache
def programs_of_thirty(count: int) -> list[GeneratedProgram]:
    """Return programs of about thirty events, as a campaign makes them."""
    found: list[GeneratedProgram] = []
    number = 0
    while len(found) < count:
        made = program(case_source(0, number))
        number += 1
        if 25 <= sum(len(run.events or ()) for _, run in made.scenario.runs) <= 35:
            found.append(made)
    return found


@figure(
    "a generated program with every check / encoding and folding it",
    unit="program",
    head=100,
    sizes=(100, 1_000),
)
def fuzz_program(size: int) -> Pair:
    """Programs of thirty events, each judged at its places as a campaign does it."""
    made, reference = programs_of_thirty(size), Reference()

    def peer() -> None:
        for one in made:
            script = make_script(base_case(one.scenario))
            pair = SessionPair(script, reference, reference)
            for turn in script.turns:
                pair.play(turn, one_read=True)

    return Pair(ours=lambda: judge_programs(made), peer=peer)


def judge_programs(made: Sequence[GeneratedProgram]) -> None:
    """Judge programs as a campaign does, each eighth for idempotence too. SystemExit if one fails."""
    reference = Reference()
    for number, one in enumerate(made):
        if not passes(one, reference, reference, idempotence=number % 8 == 0):
            raise SystemExit("a program of this benchmark fails")


FROM_TEN = (10_000, 100_000, 1_000_000)


@figure(
    "memory of the client's fold / bytes of the stream, texts and calls",
    unit="event",
    at_most=3,
    head=100_000,
    sizes=FROM_TEN,
)
def memory_of_a_fold(size: int) -> list[float]:
    """The stream is read and not held; what stays is the journal."""
    return [grown("fold", size, "steps")]


@figure("the same, one text", unit="event", at_most=1, head=100_000, sizes=FROM_TEN)
def memory_of_a_text(size: int) -> list[float]:
    """A part that never ends: what stays is its text."""
    return [grown("fold", size, "text")]


@figure(
    "memory of a stream that is held and cut after every event / its bytes",
    unit="event",
    at_most=3,
    head=100_000,
    sizes=(10_000, 100_000),
)
def memory_of_a_sweep(size: int) -> list[float]:
    """With everything that is judged at each place."""
    return [grown("sweep", size, "steps")]
