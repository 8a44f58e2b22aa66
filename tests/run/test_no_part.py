"""Cases that ask nothing of the target under test are no passes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.distribution import ChosenScenarios
from tests.scenarios import load_builtin

from tpharness.errors import TargetError
from tpharness.run import RunOptions, play_one, run_suite
from tpharness.targets import Capabilities, TargetOutput
from tpharness.verdict import Outcome, ResultReady, RunFinished

STUB = "python:tests.run.test_no_part:Stub"
STREAM_ONLY = "stream/unknown-finish-reason"


class Stub:
    """A target that answers every request with an error."""

    capabilities = Capabilities(name="stub")

    async def serve(self, *_: object) -> TargetOutput:
        """Refuse."""
        raise TargetError("not implemented")

    receive = adopt = serve


@pytest.mark.sampled
@pytest.mark.parametrize(
    "options", [RunOptions(server=STUB), RunOptions(client=STUB), RunOptions(server=STUB, client=STUB)]
)
def test_a_stub_passes_nothing(options: RunOptions, chosen_scenarios: ChosenScenarios) -> None:
    """Whatever side it plays: each case is an error, is not for it, or asks it nothing, and the run fails."""
    events = list(run_suite(replace(options, ids=chosen_scenarios(9))))
    outcomes = {event.result.outcome for event in events if isinstance(event, ResultReady)}
    assert not outcomes & {Outcome.PASSED, Outcome.EXPECTED}
    assert Outcome.ERRORED in outcomes
    (finished,) = [event for event in events if isinstance(event, RunFinished)]
    assert not finished.passed
    assert finished.exercised == {}
    assert "clause-unexercised" not in {problem.code for problem in finished.problems}, (
        "the suite has scenarios for all"
    )


def test_a_server_is_asked_nothing_where_the_scenario_gives_the_stream() -> None:
    """The case is counted by itself, with the reason; a client beside that server takes part."""
    (result,) = play_one(load_builtin(STREAM_ONLY), RunOptions(server=STUB))
    assert result.outcome is Outcome.NO_PART
    assert "the server is asked nothing" in result.reason
    (result,) = play_one(load_builtin(STREAM_ONLY), RunOptions(server=STUB, client=STUB))
    assert result.outcome is Outcome.ERRORED
    (result,) = play_one(load_builtin(STREAM_ONLY), RunOptions())
    assert result.outcome is Outcome.PASSED


def test_a_run_in_which_the_target_took_no_part_has_not_passed() -> None:
    """Nothing was learned about it."""
    (*_, finished) = run_suite(RunOptions(ids=(STREAM_ONLY,), server=STUB))
    assert isinstance(finished, RunFinished)
    assert finished.counts == {Outcome.NO_PART: 1}
    assert not finished.passed
