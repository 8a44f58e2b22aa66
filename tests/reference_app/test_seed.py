"""A run on a thread that the server has never seen: seed and run are the same as the thread played whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from conformance.goldens import read_golden
from tests.distribution import Sample
from tests.reference_app.peer import AGENTS, AT, HELLO, TOOL_CALL, Peer, Serve, run_body, user_turn

from tpharness.protocol.compare import same_exact
from tpharness.protocol.versions import Version, newest_version
from tpharness.reference_app.fold import ThreadFold
from tpharness.resources import scenarios_dir
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import load_scenario

VERSIONS = ("2.0.0", "0.0.3", "0.0.4")

PENDING: list[dict[str, Any]] = [
    TOOL_CALL[0],
    TOOL_CALL[1],
    {"event_kind": "agent_run_result", "at": AT.format(3), "finish_reason": "tool_call"},
]
"""A finished run that leaves its call for others to answer (R30)."""

ANSWER: list[dict[str, Any]] = [
    {
        "event_kind": "function_tool_result",
        "part": {"part_kind": "tool-return", "tool_call_id": "c1", "content": "sunny"},
        "at": AT.format(6),
    },
    *({**event, "at": AT.format(7)} for event in HELLO),
]


async def answered(peer: Peer, thread: str, **more: Any) -> dict[str, Any]:
    """Play the run that answers the waiting call, and return the thread in every version."""
    await peer.play(thread, run_body(ANSWER, turn={"started_at": AT.format(5)}, **more))
    return {version: await peer.thread(thread, version) for version in VERSIONS}


@pytest.mark.asyncio
@pytest.mark.parametrize("version", VERSIONS)
async def test_seed_and_run_are_the_thread_played_whole(serve: Serve, version: str) -> None:
    """Also where the run answers a call of the seed, and whatever version the seed is of."""
    async with serve() as peer:
        await peer.play("t", run_body(PENDING, user=[user_turn("Hi")]))
        seed = await peer.thread("t", version)
        whole = await answered(peer, "t")
        await peer.answer("DELETE", "/threads/t")
        assert await answered(peer, "t", seed=seed) == whole
    returned = whole["0.0.4"]["turns"][2]["messages"][0]["parts"][0]
    assert returned == {
        "part_kind": "tool-return",
        "tool_name": "get",
        "tool_call_id": "c1",
        "status": "success",
        "content": "sunny",
    }


@pytest.mark.asyncio
async def test_an_interrupted_turn_of_a_seed_stays(serve: Serve) -> None:
    """0.0.4 keeps its complete cycle, 0.0.3 does not know it; the next turn follows."""
    cut = {"interruption": {"reason": "user_cancelled", "at": AT.format(4)}}
    async with serve() as peer:
        await peer.play("t", run_body(TOOL_CALL, user=[user_turn("Hi")], turn=cut))
        seed = await peer.thread("t")
        await peer.answer("DELETE", "/threads/t")
        body = run_body(HELLO, turn={"started_at": AT.format(6)}, user=[user_turn("Go on", 5)], seed=seed)
        await peer.play("t", body)
        document, older = await peer.thread("t"), await peer.thread("t", "0.0.3")
    assert document["turns"][:2] == seed["turns"]
    assert [t["turn_type"] for t in document["turns"]] == ["user", "agent", "user", "agent"]
    assert [t["turn_type"] for t in older["turns"]] == ["user", "user", "agent"]


@pytest.mark.asyncio
async def test_unknown_fields_of_a_seed_survive(serve: Serve) -> None:
    """R7: at the root, in turns, messages and parts, whoever wrote them."""
    seed = {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": AT.format(0),
        "updated_at": AT.format(4),
        "title": "Weather",
        "agents": AGENTS,
        "turns": [
            {**user_turn("Hi"), "x-mood": "good"},
            {
                "turn_type": "agent",
                "agent_id": "a",
                "started_at": AT.format(1),
                "completed_at": AT.format(4),
                "completion_status": "complete",
                "x-cost": 3,
                "messages": [
                    {
                        "message_type": "response",
                        "timestamp": AT.format(2),
                        "agent_id": "a",
                        "x-model": "m",
                        "parts": [
                            {"part_kind": "text", "content": "Hello", "x-lang": "en"},
                            {"part_kind": "custom:chart", "points": [1, 2]},
                        ],
                    }
                ],
            },
        ],
    }
    async with serve() as peer:
        await peer.play("t", run_body(HELLO, turn={"started_at": AT.format(5)}, seed=seed))
        document = await peer.thread("t")
    assert document["turns"][:2] == seed["turns"]
    assert len(document["turns"]) == 3
    assert document["title"] == "Weather"


@pytest.mark.asyncio
async def test_a_seed_has_to_fit(serve: Serve) -> None:
    """Another id, a broken rule and a thread that is there already are refused, each with its reason."""
    seed = {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": AT.format(0),
        "updated_at": AT.format(0),
        "agents": AGENTS,
        "turns": [user_turn("Hi")],
    }
    broken = {**seed, "turns": [{**user_turn("Hi"), "parts": [{"part_kind": "system-prompt", "content": "Be nice"}]}]}
    async with serve() as peer:
        status, told = await peer.answer("POST", "/threads/u/runs", run_body(HELLO, seed=seed))
        assert (status, "/seed/thread_id" in told["error"]["message"]) == (422, True)
        status, told = await peer.answer("POST", "/threads/t/runs", run_body(HELLO, seed=broken))
        assert (status, "/turns/0/parts/0" in told["error"]["message"]) == (422, True)
        assert (await peer.answer("GET", "/threads/t"))[0] == 404
        await peer.play("t", run_body(HELLO, seed=seed))
        status, told = await peer.answer("POST", "/threads/t/runs", run_body(HELLO, seed=seed))
        assert (status, "seed" in told["error"]["message"]) == (409, True)


def written_again(golden: Mapping[str, Any], version: Version) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a thread that was a seed as it is shown, and as its own events write it."""
    fold = ThreadFold("t", "tpharness:content")
    fold.apply({"kind": "thread", "created_at": AT.format(0), "agents": {}, "extra": {}})
    fold.apply({"kind": "seed", "thread": {**golden, "thread_id": "t", "created_at": AT.format(0), "agents": {}}})
    shown = fold.document(version)
    fold._seed = None
    return shown, fold.document(version)


@pytest.mark.parametrize(
    "scenario",
    [
        "tools/arguments-null",
        "tools/arguments-that-a-lenient-parser-reads",
        "parts/fields-to-their-last-letter",
        "recorded/pydantic-ai/deferred-external",
        "tools/null-output-of-the-provider",
        "interruptions/safety-halt-of-another-response",
    ],
)
def test_what_is_easily_misunderstood_is_written_again_the_same(scenario: str) -> None:
    """Null, a list and a text that is JSON are arguments; usage of the turn is not its last response's.

    A provider's null is its tool's output; the filter does not stop a turn that another agent took over (R27, R45).
    """
    golden = read_golden(scenario, newest_version())
    assert same_exact(written_again(golden, newest_version())[1], golden)


@pytest.mark.sampled
def test_golden_threads_are_shown_as_they_came_and_written_again_the_same(sample: Sample[SelectedScenario]) -> None:
    """What the server would have played, folded, gives each thread again: nothing is misunderstood."""
    wrong: list[str] = []
    scenarios = [load_scenario(one.path, root=one.root) for one in sample(select_scenarios((), (scenarios_dir(),)))]
    goldens = {(one.id, version): read_golden(one.id, version) for one in scenarios for version in one.versions}
    for (scenario_id, version), golden in goldens.items():
        shown, written = written_again(golden, version)
        if shown["turns"] != golden["turns"] or not same_exact(written, golden):
            wrong.append(scenario_id)
    assert len(goldens) > 2 * len(scenarios)
    # An unknown chunk's event keeps its name, which no model event can have; two are read in another way; and a name of
    # 2.0.0 that begins with the prefix that 2.0.0 cuts off does so for an event that has it twice (R34).
    misunderstood = [
        "carriers/facts-around-a-response",
        "events/names-that-begin-with-the-prefix",
        "interruptions/reading-any-return",
        "interruptions/reading-keep-empty",
        "stream/chunk-of-the-type-ping",
        "stream/chunk-of-the-type-ping",
        "stream/chunks-in-other-spellings",
        "stream/chunks-in-other-spellings",
        "stream/optional-fields-in-another-form",
        "stream/optional-fields-in-another-form",
        "stream/unknown-chunk-type",
        "stream/unknown-chunk-type",
    ]
    played = {one.id for one in scenarios}
    assert wrong == [one for one in misunderstood if one in played]
