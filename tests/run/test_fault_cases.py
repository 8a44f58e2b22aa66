"""Faults on the wire through the whole engine, on servers and clients that were written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.targets.clients import CLIENT, ContractClient, Fetched
from tests.targets.servers import ALL, Connection, ContractServer, RawServer, in_thread

from tpharness.errors import UsageError
from tpharness.faults import FAULTS
from tpharness.run import RunOptions, run_suite
from tpharness.targets.remote import Patience
from tpharness.verdict import Outcome, Result, ResultReady

PATIENT = Patience(total=30.0)
TOOLS = "basics/tool-call-and-answer"
PARALLEL = "basics/parallel-returns-in-call-order"
BACK = ("resume", "resume-twice-told", "resume-from-start")


def struck(peer: Any, faults: Iterable[str], ids: tuple[str, ...] = (TOOLS,), role: str = "server") -> list[Result]:
    """Play scenarios with faults between the harness and a peer."""
    with in_thread(RawServer(peer)) as raw:
        options = RunOptions(ids=ids, patience=PATIENT, faults=tuple(faults))
        options = replace(options, server=raw.url) if role == "server" else replace(options, client=raw.url)
        return [event.result for event in run_suite(options) if isinstance(event, ResultReady)]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_keeps_the_contract_stands_every_fault(fault: str) -> None:
    """One result for each fault, under an id of its own."""
    (result,) = struck(ContractServer(), [fault])
    assert result.id == f"{TOOLS}@fault-{fault}"
    applies = fault not in ("fin-in-character", "end-in-character", "reorder", "kill")
    assert result.outcome is (Outcome.PASSED if applies else Outcome.NOT_APPLICABLE), result
    assert applies or result.reason.startswith(
        ("its last stream has no place ", "the server is not one that tpharness")
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_that_keeps_the_contract_stands_every_fault(fault: str) -> None:
    """What it detects happens for real."""
    (result,) = struck(ContractClient(), [fault], role="client")
    applies = fault not in ("fin-in-character", "end-in-character", "reorder", "cancel-race", "kill")
    assert result.outcome is (Outcome.PASSED if applies else Outcome.NOT_APPLICABLE), result


@pytest.mark.parametrize("role", ["server", "client"])
def test_outputs_of_parallel_calls_may_change_places(role: str) -> None:
    """Returns stand in the order of their calls all the same (R11)."""
    peer = ContractServer() if role == "server" else ContractClient()
    (result,) = struck(peer, ["reorder"], ids=(PARALLEL,), role=role)
    assert result.outcome is Outcome.PASSED, result


def test_a_client_that_keeps_returns_in_the_order_of_arrival_fails() -> None:
    """Which an unharmed run never shows, as long as tools end in the order of their calls."""

    class ByArrival(ContractClient):
        async def receive(self, case: dict[str, Any]) -> dict[str, Any]:
            threads: dict[str, Any] = json.loads(json.dumps(await super().receive(case)))
            body = self.fetched[-1].body
            swapped = body.find(b'output-error","toolCallId":"paris"') < body.find(b'"berlin","output"')
            for thread in threads.values() if swapped else ():
                for message in thread["turns"][-1]["messages"]:
                    message["parts"].reverse()
            return threads

    results = struck(ByArrival(), ["reorder"], ids=(PARALLEL,), role="client")
    assert [result.outcome for result in results] == [Outcome.FAILED]


@pytest.mark.parametrize(("fault", "notices"), [("end-in-middle", False), ("reset", True)])
def test_a_client_that_takes_the_end_of_a_body_for_the_end_of_an_answer_fails(fault: str, *, notices: bool) -> None:
    """A proxy ends the framing well when its application dies, so only `finish` says that an answer is whole."""

    class Trusting(ContractClient):
        async def fetch(self, turn: dict[str, Any], last: str) -> Fetched:
            got = await super().fetch(turn, last)
            return got if got.reason else replace(got, body=got.body + b'\n\ndata: {"type":"finish"}\n\n')

    (result,) = struck(Trusting(), [fault], role="client")
    assert result.outcome is (Outcome.PASSED if notices else Outcome.FAILED), result
    assert notices or "prefix-broken" in {finding.code for finding in result.findings}


@pytest.mark.parametrize("fault", ["fin-in-middle", "reset", "half-open", "stall-for-ever", "drip", "resume"])
def test_a_client_that_detects_nothing_is_told(fault: str) -> None:
    """Of a loss; it cannot be asked to come back."""
    client = ContractClient(declares={**CLIENT, "detects": [], "resume": False})
    (result,) = struck(client, [fault], role="client")
    assert result.outcome is (
        Outcome.NOT_APPLICABLE if fault in ("resume", "half-open", "stall-for-ever") else Outcome.PASSED
    ), result


@pytest.mark.parametrize(
    ("broken", "fault", "codes"),
    [
        ("resume-lost", "resume", {"resume-lost"}),
        ("resume-repeated", "resume", {"resume-repeated"}),
        ("resume-differs", "resume-from-start", {"resume-differs"}),
        ("resume", "resume", {"resume-not-kept"}),
    ],
)
def test_a_server_that_resumes_badly_fails(broken: str, fault: str, codes: set[str]) -> None:
    """With a finding that names the frame, and a reason that names the place."""
    (result,) = struck(ContractServer(breaks=frozenset({broken})), [fault])
    assert result.outcome is Outcome.FAILED
    assert codes <= {finding.code for finding in result.findings}
    assert "the connection is closed in the middle" in result.reason


def test_a_client_that_forgets_what_it_had_fails() -> None:
    """It takes frames that come twice for new ones."""
    (result,) = struck(ContractClient(breaks=frozenset({"seen"})), ["resume-from-start"], role="client")
    assert result.outcome is Outcome.FAILED


@pytest.mark.parametrize("half", [False, True])
def test_a_server_that_goes_on_has_the_thread_of_an_unharmed_run(half: bool) -> None:
    """One that stops although it declares to go on has another, whether or not it says that it was interrupted."""

    class Stops(ContractServer):
        played = 0

        async def _events(self, thread: Any, asked: dict[str, Any], connection: Connection, out: Any) -> None:
            self.played += 1
            if self.played == 1:
                await super()._events(thread, asked, connection, out)
                return
            await connection.reader.read(1)
            raise ConnectionResetError

    (result,) = struck(Stops(breaks=frozenset({"half"} if half else ())), ["fin-before-first-byte"])
    assert result.outcome is Outcome.FAILED
    assert {f.code for f in result.findings} == {"repeat-matters"}
    assert "the same without the fault" in result.findings[0].message


def test_what_is_not_declared_is_not_asked_for() -> None:
    """A server that does not resume is not asked to, nor one that cannot be cancelled."""
    server = ContractServer(declares={**ALL, "resume": False, "cancel": False})
    results = {result.id.partition("@fault-")[2]: result for result in struck(server, FAULTS)}
    assert {name for name, r in results.items() if "does not declare" in r.reason} == {*BACK, "cancel-race", "kill"}
    assert results["fin-in-middle"].outcome is Outcome.PASSED


def test_scenarios_that_break_their_streams_themselves_are_left_alone() -> None:
    """With the reason."""
    ids = ("interruptions/mid-text", "interruptions/client-saw-less", "sse/byte-order-mark")
    reasons = {result.id.partition("@")[0]: result.reason for result in struck(ContractServer(), ["reset"], ids)}
    assert reasons == {
        "interruptions/mid-text": "its last run is interrupted already",
        "interruptions/client-saw-less": "its last run is interrupted already",
        "sse/byte-order-mark": "the scenario gives the stream itself",
    }


def test_a_fault_needs_a_wire() -> None:
    """The reference in this process has none; a run in which nothing was judged does not pass."""
    (result,) = [e.result for e in run_suite(RunOptions(ids=(TOOLS,), faults=("reset",))) if isinstance(e, ResultReady)]
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "neither target is reached over plain HTTP, as --server peer:serve" in result.reason


def test_one_fault_on_one_scenario_has_an_id() -> None:
    """As every other case has, for playing it again."""
    (result,) = struck(ContractServer(), [], ids=(f"{TOOLS}@fault-drip",))
    assert (result.id, result.outcome) == (f"{TOOLS}@fault-drip", Outcome.PASSED)
    with pytest.raises(UsageError, match="no fault is called 'dripp'"):
        struck(ContractServer(), [], ids=(f"{TOOLS}@fault-dripp",))
