"""Runs on a server over HTTP: the whole engine, with verdicts that say what was not asked and what could not be."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import SLOW
from tests.scenarios import load_builtin
from tests.targets.servers import ALL, Connection, ContractServer, RawServer, Request, in_thread

from tpharness.cli import main
from tpharness.errors import TargetError
from tpharness.run import RunOptions, play_one, run_suite
from tpharness.run.loop_lag import LoopLag
from tpharness.targets.remote import Patience
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished, RunStarted
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.profile_tally import tally_profiles

EXAMPLES = Path(__file__).parents[2] / "examples"
CALM = Patience(total=30.0, limit=0.1)
SOME = ("basics/c*", "basics/p*", "cycles/three-steps", "interruptions/mid-text", "interruptions/timeout-by-stall")


def played(
    contract: Any, ids: tuple[str, ...] = SOME, *, patience: Patience = CALM, **options: Any
) -> tuple[RunStarted, list[Result], RunFinished]:
    """Run the engine against a server; return what it told."""
    with in_thread(contract if isinstance(contract, RawServer) else RawServer(contract)) as raw:
        events = list(run_suite(RunOptions(server=raw.url, ids=ids, patience=patience, **options)))
    started, *_, finished = events
    assert isinstance(started, RunStarted)
    assert isinstance(finished, RunFinished)
    return started, [event.result for event in events if isinstance(event, ResultReady)], finished


def test_a_server_that_keeps_the_contract_passes_with_results_in_order() -> None:
    """Several cases go on at once; the report does not show it."""
    contract = ContractServer()
    started, results, finished = played(contract)
    assert (started.server, started.versions) == ("by-hand 0.1", ("2.0.0", "0.0.3", "0.0.4"))
    assert finished.passed
    assert set(Counter(result.outcome for result in results)) == {Outcome.PASSED}
    scenarios = list(dict.fromkeys(result.id.partition("@")[0] for result in results))
    assert scenarios == sorted(scenarios)
    places = [result.id for result in results if result.id.startswith("cycles/three-steps@")]
    assert places == [f"cycles/three-steps@event-{n}" for n in range(len(places))]
    assert contract.holds > 10, "cuts are played live where they can be seen"
    assert contract.threads == {}


def test_a_server_that_does_not_go_on_with_a_thread_that_it_declares_to_take_over_fails() -> None:
    """It answers as if the thread began with the run."""
    ids = ("interruptions/next-turn-after-interruption", "basics/tool-call-and-answer")
    _, results, _ = played(ContractServer(declares={**ALL, "seed": True}), ids)
    by_id = {result.id: result for result in results if "@" not in result.id}
    failed = by_id["interruptions/next-turn-after-interruption"]
    assert failed.outcome is Outcome.FAILED
    assert all(f.code == "repeat-matters" and "handed over" in f.message for f in failed.findings)
    assert by_id["basics/tool-call-and-answer"].outcome is Outcome.PASSED, "nothing comes before its run"


def test_the_same_verdicts_come_without_anything_declared() -> None:
    """What is not declared is told in the script, compared by content, and what cannot be is not applicable."""
    nothing = dict.fromkeys(("carriers", "marks", "cancel", "limits", "resume"), False)
    ids = (*SOME, "tools/content-ref")
    _, results, finished = played(ContractServer(declares={**ALL, **nothing, "disconnect": []}), ids)
    assert finished.passed
    left_out = {result.id: result.reason for result in results if result.outcome is Outcome.NOT_APPLICABLE}
    assert left_out["basics/client-loses-the-end"] == (
        "it cuts what the client sees at an event, and the server does not say which bytes an event caused"
        " (`event` of its packets, `marks` over HTTP)"
    )
    assert "it needs carriers" in left_out["tools/content-ref"]
    assert len(left_out) == 2


def test_keys_of_data_are_expected_without_carriers_too() -> None:
    """A key that an application calls timestamp or metadata is data, and no carrier transports it."""
    ids = ("tools/keys-with-a-meaning-elsewhere",)
    _, bare, _ = played(ContractServer(declares={**ALL, "carriers": False}), ids)
    assert [result.outcome for result in bare] == [Outcome.PASSED]


def test_what_is_played_without_carriers_says_nothing_about_them() -> None:
    """The contents are judged; the profile of carriers, and the clauses that speak of them, learn nothing."""
    ids = ("carriers/all-facts", "carriers/timestamps-with-offsets", "carriers/thinking-provider")
    _, bare, finished = played(ContractServer(declares={**ALL, "carriers": False}), ids)
    assert finished.passed
    assert {result.id: result.outcome for result in bare}["carriers/all-facts"] is Outcome.PASSED
    judged = [result for result in bare if result.outcome is Outcome.PASSED]
    assert {clause for result in judged for clause in result.clauses if clause.startswith("carrier.")} == set()
    assert [tally.scenarios for tally in tally_profiles(bare) if tally.profile.name == "carriers"] in ([], [0])
    _, whole, _ = played(ContractServer(), ids)
    assert [tally.scenarios for tally in tally_profiles(whole) if tally.profile.name == "carriers"] == [3]


def test_versions_that_the_server_does_not_write_are_not_asked_for() -> None:
    """A scenario for others alone does not apply; the run says which versions it is about."""
    ids = ("documents/2-0-0-example-thread", "interruptions/mid-text", "documents/0-0-3-client-metadata")
    started, results, finished = played(ContractServer(declares={**ALL, "versions": ["0.0.4"]}), ids)
    assert started.versions == ("0.0.4",)
    assert finished.passed
    reasons = {r.id: r.reason for r in results if r.outcome is Outcome.NOT_APPLICABLE}
    assert all("the server writes 0.0.4" in reason for reason in reasons.values())
    assert "interruptions/mid-text" not in reasons


def test_a_run_to_which_nothing_applies_does_not_pass() -> None:
    """Green without a verdict would be a lie."""
    scenario = load_builtin("interruptions/reading-keep-empty")
    _, results, finished = played(ContractServer(), (scenario.id,))
    assert [result.outcome for result in results] == [Outcome.NOT_APPLICABLE]
    assert "the scenario reads R24 as keep-empty, the server every ruling in the default way" in results[0].reason
    assert not finished.passed


def test_a_server_is_judged_by_the_readings_that_it_declares() -> None:
    """And said not to certify; the scenario of just that reading applies to it."""
    declares = {**ALL, "readings": {"R24": "keep-empty"}}
    started, results, _ = played(ContractServer(declares=declares), ("interruptions/mid-text",))
    assert started.server == "by-hand 0.1 (reads R24 as keep-empty: does not certify)"
    assert [result.outcome for result in results] == [Outcome.FAILED], "it declares what it does not do"
    _, results, _ = played(ContractServer(declares=declares), ("interruptions/reading-any-return",))
    assert results[0].outcome is Outcome.NOT_APPLICABLE


def test_a_promise_that_is_not_kept_fails_the_case_with_a_code_of_its_own() -> None:
    """Whatever the threads say."""
    _, results, finished = played(ContractServer(breaks=frozenset({"resume"})), ("tools/metadata",))
    assert [(r.outcome, r.failing_codes) for r in results] == [(Outcome.FAILED, frozenset({"resume-not-kept"}))]
    assert results[0].findings[0].place.case == "tools/metadata"
    assert not finished.passed


def test_a_target_that_is_not_there_ends_the_run_before_its_first_event() -> None:
    """One clear line, and not one error for each case."""
    with pytest.raises(TargetError, match="nothing listens there"):
        next(run_suite(RunOptions(server="http://127.0.0.1:9", ids=SOME, patience=CALM)))


def test_the_command_line_says_so_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2: nothing was learnt."""
    monkeypatch.setattr("sys.argv", ["tpharness", "run", "--server", "http://127.0.0.1:9", "basics"])
    with pytest.raises(SystemExit) as raised:
        main()
    assert raised.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "tpharness: GET http://127.0.0.1:9/capabilities: nothing listens there: Connection refused",
        "  start the server, or correct the port",
    ]


class Dying(ContractServer):
    """Answers a number of requests, then drops every connection."""

    left = 60

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer, or hang up."""
        self.left -= 1
        if self.left < 0:
            connection.writer.close()
            raise ConnectionResetError
        await super().__call__(request, connection)


@pytest.mark.parametrize("left", [1, 60])
def test_a_server_that_dies_is_not_asked_for_ever(left: int) -> None:
    """The cases that it broke off are errors, the rest could not run: neither a hang nor a pass."""
    contract = Dying()
    contract.left = left
    _, results, finished = played(contract, ("cycles", "interruptions"))
    outcomes = Counter(result.outcome for result in results)
    assert not finished.passed
    assert 5 <= outcomes[Outcome.ERRORED] <= 5 + 16, "five in a row, and those that were on their way"
    assert outcomes[Outcome.COULD_NOT_RUN] > 50
    (reason, *_) = {r.reason for r in results if r.outcome is Outcome.COULD_NOT_RUN}
    assert "cases in a row had no answer" in reason
    assert "closes the connection before its answer is whole" in reason


CRASHES = """
import os, sys
sys.path.insert(0, sys.argv.pop())
import plain_python

left = int(sys.argv.pop())

class Crashing(plain_python.Handler):
    def start_run(self, name, request):
        global left
        left -= 1
        if left < 0:
            os._exit(1)
        super().start_run(name, request)

plain_python.Handler = Crashing
plain_python.main()
"""


@contextmanager
def crashing(folder: Path, left: int) -> Iterator[str]:
    """Start a server that ends in the middle of a request, after so many runs; yield its address."""
    (folder / "crashes.py").write_text(CRASHES)
    command = [sys.executable, str(folder / "crashes.py"), "--http", "127.0.0.1:0", str(left), str(EXAMPLES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


class AlwaysLate(LoopLag):
    """A machine that stands still during every case."""

    def _measure(self) -> None:
        self.max_delay = 1.0


@pytest.mark.parametrize("lag", [LoopLag, AlwaysLate])
def test_a_server_that_crashes_is_one_cause_that_begins_with_whom_it_crashed_on(
    lag: type[LoopLag], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many cases it costs, and whatever each of them was told; no case is played again where nobody listens."""
    monkeypatch.setattr("tpharness.run.session.LoopLag", lag)
    with crashing(tmp_path, left=20) as url:
        events = list(run_suite(RunOptions(server=url, ids=("basics", "cycles"), patience=SLOW)))
    (group,) = group_failures(event.result for event in events if isinstance(event, ResultReady))
    assert str(group.cause) == f"no-answer at nothing listens at {url} any more; does it crash?"
    assert {result.outcome for result in group.results} == {Outcome.ERRORED, Outcome.COULD_NOT_RUN}
    assert "the server closes the connection before its answer is whole" in group.smallest.reason
    assert "does it crash on this request?" in group.smallest.reason


def test_a_server_that_stops_answering_costs_no_more_than_a_few_silences() -> None:
    """Silence is waited for a few times, not once for each case."""

    class Silent(ContractServer):
        async def run(self, name: str, asked: dict[str, Any], connection: Connection) -> None:
            del name, asked
            await connection.reader.read(1)

    _, results, _ = played(Silent(), ("cycles", "interruptions"), patience=replace(CALM, silence=0.5))
    outcomes = Counter(r.outcome for r in results)
    assert outcomes[Outcome.ERRORED] <= 5 + 16, "five in a row, and those that were on their way"
    assert outcomes[Outcome.COULD_NOT_RUN] > 50


def test_one_scenario_is_played_by_the_same_engine() -> None:
    """The pytest plugin comes this way; a target that is not there is an error of the case."""
    scenario = load_builtin("tools/metadata")
    with in_thread(RawServer(ContractServer())) as raw:
        good = play_one(scenario, RunOptions(server=raw.url, patience=CALM))
    assert [result.outcome for result in good] == [Outcome.PASSED]
    bad = play_one(scenario, RunOptions(server="http://127.0.0.1:9", patience=CALM))
    assert [(r.id, r.outcome) for r in bad] == [("tools/metadata", Outcome.ERRORED)]


def test_a_run_that_is_given_up_leaves_nothing_behind() -> None:
    """Closing the generator cancels what goes on; warnings of tasks or sockets left would fail this test."""
    with in_thread(RawServer(ContractServer())) as raw:
        events = run_suite(RunOptions(server=raw.url, ids=("cycles",), patience=CALM))
        assert isinstance(next(events), RunStarted)
        next(events)
        events.close()
        del events
        gc.collect()  # what was not closed is found here, and not in a later test
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
