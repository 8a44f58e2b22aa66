"""Peers over AG-UI: as their baselines say, and the client in the reads that its name says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from scripts.interop import AG_UI_PAIRS, THEMES
from tests.distribution import ChosenScenarios
from tests.patience import SLOW
from tests.peers.test_certified import counted, told, wrong
from tests.scenarios import load_builtin

from tpharness.errors import UsageError
from tpharness.protocol.versions import newest_version
from tpharness.run import RunOptions, run_suite
from tpharness.run.pairs import plan_runs
from tpharness.run.plan import base_case, make_script, make_streams
from tpharness.scenario.outline import outline
from tpharness.targets.contract import Packet, Stream, StreamEnd
from tpharness.targets.peers import PeerClient
from tpharness.verdict import ResultReady

CLIENT = "peer:ag-ui-client"
BROWSER = "peer:ag-ui-browser"
NEEDS = {
    "peer:tanstack-ai-server": pytest.mark.node,
    "peer:tanstack-ai-client": pytest.mark.node,
    **dict.fromkeys((BROWSER, f"{BROWSER}-one-read"), pytest.mark.browser),
}
EVENTS: list[dict[str, Any] | str] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find"},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c1", "content": "18"},
    "[DONE]",  # which AG-UI does not have, so that the package rejects the stream
]


@pytest.mark.sampled
@pytest.mark.node
@pytest.mark.parametrize("name", [CLIENT, f"{CLIENT}-one-read"])
def test_the_client_departs_only_as_its_baseline_says(name: str, chosen_scenarios: ChosenScenarios) -> None:
    """The same in both groupings, as docs/INTEROP.md has it: no scenario has an event that it rejects."""
    ids = chosen_scenarios(4 if name == CLIENT else 5)
    events = run_suite(RunOptions(client=name, wire="ag-ui", ids=ids, patience=SLOW))
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert list(wrong(results)) == []
    assert ids or counted(results) == told("reference", name)


@pytest.mark.sampled
def test_the_server_departs_only_as_its_baseline_says(chosen_scenarios: ChosenScenarios) -> None:
    """Pydantic AI behind its AG-UI adapter, in an environment of its own, which is made once."""
    ids = chosen_scenarios(6)
    events = run_suite(RunOptions(server="peer:pydantic-ai-ag-ui", wire="ag-ui", ids=ids, patience=SLOW))
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert list(wrong(results)) == []
    assert ids or counted(results) == told("peer:pydantic-ai-ag-ui", "reference")


@pytest.mark.sampled
@pytest.mark.parametrize("name", [pytest.param(one, marks=[NEEDS[one]] if one in NEEDS else []) for one in THEMES])
def test_a_peer_that_plays_some_themes_departs_only_as_its_baseline_says(
    chosen_scenarios: ChosenScenarios, name: str
) -> None:
    """In a sample one of the cuts as well, which the tenth may not have."""
    ids = chosen_scenarios(0, *THEMES[name])
    whole = ids == THEMES[name]
    played = ids if whole else (*ids, "histories/k06-mid-arguments")
    (pair,) = [one for one in AG_UI_PAIRS if name in one]
    events = run_suite(RunOptions(server=pair[0], client=pair[1], wire="ag-ui", ids=played, patience=SLOW))
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert list(wrong(results)) == []
    assert results
    assert not whole or counted(results) == told(*pair)


@pytest.mark.node
@pytest.mark.parametrize(
    ("reads", "turns"),
    [
        ("", ["agent interrupted error: response(tool-call:c1) request(tool-return:c1) event(data-tp-error)"]),
        ("-one-read", ["agent interrupted error: event(data-tp-error)"]),
    ],
)
@pytest.mark.parametrize("client", [CLIENT, pytest.param(BROWSER, marks=pytest.mark.browser)])
def test_the_reads_decide_what_the_package_holds_of_a_stream_that_it_rejects(
    client: str, reads: str, turns: list[str]
) -> None:
    """What had been delivered goes with what comes in the same read; one event a read loses nothing."""
    case = base_case(load_builtin("stream/finish-alone"))
    written = [one if isinstance(one, str) else json.dumps(one) for one in EVENTS]
    at = "2025-01-20T10:00:01Z"
    packet = Packet(data="".join(f"data: {data}\n\n" for data in written).encode(), at=at)
    user, *_ = make_streams(case, None)

    async def receive() -> Any:
        peer = PeerClient(f"{client}{reads}")
        try:
            stream = Stream(agent_id="assistant", begun_at=at, packets=(packet,), end=StreamEnd(reason=None, at=at))
            return await peer.receive(make_script(case), (user, stream))
        finally:
            await peer.close()

    assert outline(asyncio.run(receive()).threads[newest_version()])[1:] == turns


def test_a_client_of_another_wire_says_what_to_add() -> None:
    """And the wire says which targets do not speak it."""
    with pytest.raises(UsageError, match="speaks ag-ui") as refused:
        plan_runs(RunOptions(), servers=[], clients=[CLIENT], dialects=[])
    assert refused.value.hint == "add --wire ag-ui"
    with pytest.raises(UsageError, match="over ag-ui the reference plays both sides, or a peer that speaks it"):
        plan_runs(RunOptions(wire="ag-ui"), servers=[], clients=["peer:ai-sdk-client"], dialects=[])
    assert len(plan_runs(RunOptions(wire="ag-ui"), servers=[], clients=[CLIENT], dialects=[])) == 1
