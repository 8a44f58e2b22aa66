"""A client over HTTP, against clients written by hand: what it is told, what it is sent, and every way to be bad."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.scenarios import load_builtin
from tests.targets.bad_targets import CALM
from tests.targets.clients import CLIENT, ContractClient
from tests.targets.running import bounded
from tests.targets.servers import RawServer, in_thread

from tpharness.protocol.versions import Version
from tpharness.run import RunOptions, run_suite
from tpharness.run.plan import base_case, make_script, make_streams
from tpharness.targets import Reference
from tpharness.targets.contract import Packet, Stream, StreamEnd, TargetOutput
from tpharness.targets.http_client import HttpClient
from tpharness.targets.reference import ReferenceClient
from tpharness.targets.remote import Remote
from tpharness.targets.spec import resolve_client
from tpharness.verdict import Outcome, ResultReady, RunFinished

PATIENT = replace(CALM, limit=0.75)
"""What is silent is so for long enough that a slow machine does not look so."""

STOPPED, TIMEOUT, BROKEN, WHOLE, THREE = (
    "interruptions/stopped-by-its-client",
    "interruptions/timeout-by-stall",
    "interruptions/before-first-chunk-network",
    "basics/tool-call-and-answer",
    "cycles/finished-for-any-reason",
)


async def received(name: str, client: ContractClient, **options: Any) -> tuple[TargetOutput, TargetOutput]:
    """Have a scenario's streams received by a client over HTTP, and by the reference in this process."""
    case = base_case(load_builtin(name))
    script = make_script(case)
    served = await Reference().serve(script)
    turns = make_streams(case, served.streams)
    async with RawServer(client) as raw:
        target = HttpClient(raw.url, **{"patience": PATIENT, **options})
        try:
            return await target.receive(script, turns), await Reference().receive(script, turns)
        finally:
            await target.close()


@pytest.mark.parametrize("name", [STOPPED, TIMEOUT, BROKEN, WHOLE])
@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("reset", [True, False])
def test_what_a_client_detects_happens_and_what_it_does_not_it_is_told(name: str, live: bool, reset: bool) -> None:
    """The thread is the same; only who knows of the end first is another."""
    client = ContractClient()
    got, wanted = bounded(received(name, client, live=live, reset=reset))
    assert got.threads == wanted.threads
    assert got.findings == ()
    ends = [turn["end"].get("reason") for turn in client.cases[0]["turns"] if "end" in turn]
    expected = {STOPPED: "user_cancelled", TIMEOUT: "timeout", BROKEN: "network_failure", WHOLE: None}[name]
    assert set(ends) == ({None} if live else {expected})
    seen = {fetched.reason for fetched in client.fetched}
    assert seen == ({expected} if live else {None})


def test_a_client_that_detects_nothing_is_told() -> None:
    """Its bodies end plainly then."""
    client = ContractClient(declares={**CLIENT, "detects": [], "versions": ["0.0.4"]})
    got, wanted = bounded(received(STOPPED, client))
    assert [v.value for v in got.threads] == ["0.0.4"]
    assert got.threads == {v: t for v, t in wanted.threads.items() if v.value == "0.0.4"}
    assert [fetched.reason for fetched in client.fetched] == [None]


def test_only_what_is_silent_has_a_limit() -> None:
    """A limit elsewhere would measure the machine."""
    for name in (TIMEOUT, WHOLE):
        client = ContractClient()
        bounded(received(name, client))
        limits = [turn.get("limits") for turn in client.cases[0]["turns"] if "end" in turn]
        assert limits == [{"stream_seconds": PATIENT.limit} if name == TIMEOUT else None]


def test_a_broken_stream_is_gone_on_with() -> None:
    """The thread is what it would have been (R31), with two connections for each stream."""

    async def work() -> None:
        client = ContractClient()
        case = base_case(load_builtin(WHOLE))
        script = make_script(case)
        turns = make_streams(case, (await Reference().serve(script)).streams)
        async with RawServer(client) as raw:
            target = HttpClient(raw.url, patience=PATIENT)
            got = await target.receive_resumed(script, turns)
            await target.close()
        assert got.threads == (await Reference().receive(script, turns)).threads
        assert got.findings == ()
        assert [fetched.reason for fetched in client.fetched] == ["network_failure", None]
        first, rest = (fetched.body for fetched in client.fetched)
        assert first.startswith(b"id: 1\ndata: ")
        assert rest.startswith(b"id: %d\ndata: " % (first.count(b"\n\n") + 1))

    bounded(work())


def test_a_client_that_gives_up_before_all_was_told_gets_a_longer_limit() -> None:
    """The usual limit is short for the harness's sake; on a busy machine it may be over before the stream begins."""
    patience = replace(PATIENT, limit=0.1)
    client = ContractClient(late=0.12)
    got, wanted = bounded(received(TIMEOUT, client, patience=patience))
    assert got.threads == wanted.threads
    assert got.findings == ()
    limits = [turn["limits"]["stream_seconds"] for case in client.cases for turn in case["turns"] if "end" in turn]
    assert limits[:2] == [0.1, 0.4]


def test_a_client_that_does_not_get_to_reading_within_its_limit_gets_a_longer_one() -> None:
    """All was sent and it left long after its limit, so nothing but its thread shows that it has read nothing."""
    client = ContractClient(stalls=1)
    got, wanted = bounded(received(TIMEOUT, client, patience=replace(PATIENT, limit=0.1)))
    assert got == TargetOutput(threads=wanted.threads)
    assert client.fetched[0].body == b""
    limits = [turn["limits"]["stream_seconds"] for case in client.cases for turn in case["turns"] if "end" in turn]
    assert limits == [0.1, 0.4]


def test_a_client_that_is_wrong_stays_wrong_with_a_longer_limit() -> None:
    """It is asked as often as one that is late, and what it answers last counts."""
    client = ContractClient(stalls=3)
    got, wanted = bounded(received(TIMEOUT, client, patience=replace(PATIENT, limit=0.05)))
    assert got.threads != wanted.threads
    assert len(client.cases) == 3


def test_a_client_that_takes_its_time_with_each_of_many_streams_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patience is for silence; a client that requests one stream after the other is not silent."""
    next_turn, has_read = asyncio.Semaphore(0), asyncio.Semaphore(0)
    waited = []

    class Slow(ContractClient):
        async def read(self, turn: dict[str, Any], session: ReferenceClient) -> str | None:
            """Fetch a stream when it may."""
            await next_turn.acquire()
            seen = await super().read(turn, session)
            has_read.release()
            return seen

    async def wait(answers: set[asyncio.Future[Any]], **patience: float) -> tuple[set[Any], set[Any]]:
        """Wait until the patience is over, in which the client reads one stream."""
        waited.append(patience)
        next_turn.release()
        read = asyncio.ensure_future(has_read.acquire())
        done, _ = await asyncio.wait({*answers, read}, return_when=asyncio.FIRST_COMPLETED)
        read.cancel()
        return done - {read}, set()

    wanted, _ = bounded(received(THREE, ContractClient()))
    monkeypatch.setattr(
        "tpharness.targets.http_client.asyncio", SimpleNamespace(wait=wait, ensure_future=asyncio.ensure_future)
    )
    slow = Slow()
    got, _ = bounded(received(THREE, slow))
    assert (got, len(slow.fetched)) == (wanted, 3)
    assert waited[:3] == [{"timeout": PATIENT.silence}] * 3


def test_a_client_that_never_gives_up_is_asked_once() -> None:
    """More time is of no use to it, and each case would wait for every limit."""
    client = ContractClient(breaks=frozenset({"timeout"}))
    got, _ = bounded(received(TIMEOUT, client, patience=replace(PATIENT, limit=0.05, settle=0.05)))
    assert [finding.code for finding in got.findings] == ["detects-not-kept"]
    assert len(client.cases) == 1


@pytest.mark.parametrize("reset", [True, False])
def test_a_connection_breaks_after_all_of_a_large_stream_has_come(reset: bool) -> None:
    """What was sent is there, however slowly it is read; RST would take away what is still on its way."""
    data = b"data: " + b"x" * (3 << 20) + b"\n\n"

    async def work() -> None:
        client = ContractClient()
        case = base_case(load_builtin(BROKEN))
        end = StreamEnd(reason="network_failure", at="2025-01-20T10:00:09Z")
        at = "2025-01-20T10:00:01Z"
        stream = Stream(agent_id="assistant", begun_at=at, packets=(Packet(data=data, at=at),), end=end)
        async with RawServer(client) as raw:
            target = HttpClient(raw.url, patience=PATIENT, reset=reset)
            await target.receive(make_script(case), [stream])
            await target.close()
        assert [(len(f.body), f.reason) for f in client.fetched] == [(len(data), "network_failure")]

    bounded(work())


def test_an_unknown_end_is_told_even_if_everything_is_detected() -> None:
    """A word of the application is nothing that a socket says."""
    client = ContractClient()

    async def work() -> TargetOutput:
        case = base_case(load_builtin(WHOLE))
        script = make_script(case)
        turns = make_streams(case, (await Reference().serve(script)).streams)
        end = StreamEnd(reason="quota_exhausted", at="2025-01-20T10:00:09Z")
        cut = [replace(t, packets=t.packets[:-4], end=end) if isinstance(t, Stream) else t for t in turns]
        async with RawServer(client) as raw:
            target = HttpClient(raw.url, patience=PATIENT)
            try:
                return await target.receive(script, cut)
            finally:
                await target.close()

    got: TargetOutput = bounded(work())
    assert client.cases[0]["turns"][-1]["end"]["reason"] == "quota_exhausted"
    assert "quota_exhausted" in str(got.threads[Version.V0_0_4])


def test_an_http_address_names_a_client_too() -> None:
    """And it is remote: opened before the first case, closed after the last, with several cases at once."""
    target = resolve_client("http://127.0.0.1:9")
    assert isinstance(target, HttpClient)
    assert isinstance(target, Remote)
    assert target.at_once > 1
    bounded(target.close())


def test_the_engine_plays_a_client_over_http() -> None:
    """With sweeps, losses and the variants; one declared promise more is one more thing that is tried."""
    client = ContractClient()
    with in_thread(RawServer(client)) as raw:
        ids = (WHOLE, STOPPED, TIMEOUT, "interruptions/client-saw-less", "cycles/three-steps", "sse")
        events = list(run_suite(RunOptions(client=raw.url, ids=ids, patience=PATIENT)))
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert {result.outcome for result in results} == {Outcome.PASSED}, [r for r in results if not r.outcome.green]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].passed
    assert len(results) > 30
