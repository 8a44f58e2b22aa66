"""Runs on clients over HTTP: the whole suite, and verdicts on promises that only a whole run shows."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.distribution import ChosenScenarios
from tests.patience import SLOW
from tests.targets.clients import CLIENT, ContractClient
from tests.targets.servers import ContractServer, RawServer, in_thread

from tpharness.cli import main
from tpharness.run import RunOptions, run_suite
from tpharness.targets.remote import Patience
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished

QUICK = Patience(limit=0.5)
MANY = ("basics", "interruptions/abort*", "interruptions/mid-*", "interruptions/t*", "cycles/three-steps")
NEVER_KEPT = Patience(limit=0.2, settle=0.3)  # each of the failing cases waits for both, in each of its playings
FEW = ("basics/tool-call-and-answer", "interruptions/timeout-by-stall", "interruptions/timeout-while-a-tool-hangs")


def played(
    client: ContractClient, *, server: str = "reference", ids: tuple[str, ...] = MANY, patience: Patience = QUICK
) -> tuple[list[Result], RunFinished]:
    """Run the engine against a client; return its results and how it ended."""
    with in_thread(RawServer(client)) as raw:
        events = list(run_suite(RunOptions(server=server, client=raw.url, ids=ids, patience=patience)))
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    return [event.result for event in events if isinstance(event, ResultReady)], finished


@pytest.mark.sampled
@pytest.mark.parametrize("server", ["reference", "peer:serve"])
def test_the_reference_over_http_passes_the_suite_as_a_client(server: str, chosen_scenarios: ChosenScenarios) -> None:
    """Each stream is fetched from a URL, and ends for real where it ends badly; nothing is left out but readings."""
    ids = chosen_scenarios(2 if server == "reference" else 5)
    events = list(run_suite(RunOptions(server=server, client="peer:serve", ids=ids, patience=SLOW)))
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert finished.passed, [(r.id, r.reason, r.failing_codes) for r in results if not r.outcome.green][:5]
    left_out = [result for result in results if result.outcome is Outcome.NOT_APPLICABLE]
    assert all(result.id.startswith("interruptions/reading-") for result in left_out), left_out
    assert set(finished.counts) <= {Outcome.PASSED, Outcome.EXPECTED, Outcome.NOT_APPLICABLE}


def test_a_client_that_detects_and_resumes_nothing_passes_too() -> None:
    """It is told each end, and nobody breaks a stream off that it would have to ask for again."""
    client = ContractClient(declares={**CLIENT, "detects": [], "resume": False})
    results, finished = played(client)
    assert finished.passed, [r for r in results if not r.outcome.green]
    assert {fetched.reason for fetched in client.fetched} == {None}
    assert not any(b"\nid: " in fetched.body for fetched in client.fetched)


def test_a_promise_that_is_never_kept_fails_its_cases_and_no_others() -> None:
    """A client that waits for ever has answered in the end: the run goes on."""
    results, finished = played(ContractClient(breaks=frozenset({"timeout"})), ids=FEW, patience=NEVER_KEPT)
    assert not finished.passed
    outcomes = Counter(result.outcome for result in results)
    assert set(outcomes) == {Outcome.PASSED, Outcome.FAILED}
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    assert len(failed) > 1
    assert all("detects-not-kept" in result.failing_codes for result in failed)


@pytest.mark.sampled
def test_a_server_and_a_client_over_http_play_together(chosen_scenarios: ChosenScenarios) -> None:
    """The server's runs are held and stopped, the client's streams end as they did."""
    with in_thread(RawServer(ContractServer())) as server:
        ids = chosen_scenarios(6, "basics", "interruptions", "cycles")
        results, finished = played(ContractClient(), server=server.url, ids=ids)
    assert finished.passed, [r for r in results if not r.outcome.green]


def test_the_command_line_names_the_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to do."""
    with in_thread(RawServer(ContractClient(breaks=frozenset({"name"})))) as raw:
        monkeypatch.setattr("sys.argv", ["tpharness", "run", "basics/tool-call-and-answer", "--client", raw.url])
        with pytest.raises(SystemExit) as ended:
            main()
    told = capsys.readouterr().out
    assert ended.value.code == 1
    assert "reconnect-not-kept" in told
    assert "GET the same URL with Last-Event-ID" in told


def test_a_client_that_does_not_read_carriers_is_not_held_to_those_of_a_given_stream() -> None:
    """Where they decide what the thread looks like, the case does not apply; else the contents are judged."""
    told = ("carriers/odd-carriers", "carriers/time-of-an-interruption", "stream/facts-after-the-answer")
    decided = ("carriers/agent-changes-at-its-own-time", "carriers/agent-changes-without-times")
    results, finished = played(ContractClient(declares={**CLIENT, "carriers": False}), ids=(*told, *decided))
    outcomes = {result.id: result.outcome for result in results}
    assert outcomes == {**dict.fromkeys(told, Outcome.PASSED), **dict.fromkeys(decided, Outcome.NOT_APPLICABLE)}
    reasons = {result.reason for result in results if result.outcome is Outcome.NOT_APPLICABLE}
    assert reasons == {"its stream has carriers that decide, and the client does not read carriers"}
    assert finished.passed
    cited = {clause for result in results if result.id in told for clause in result.clauses}
    assert {clause for clause in cited if clause.startswith("carrier.")} == {"carrier.not-recorded"}
    results, _ = played(ContractClient(), ids=(*told, *decided))
    assert {result.outcome for result in results} == {Outcome.PASSED}
