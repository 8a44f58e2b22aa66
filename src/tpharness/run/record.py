"""A live run → a scenario with its stream and the thread that the server held afterwards.

In: a case and the output of the server that played it, or a captured stream. Out: a scenario that gets the same verdict
on the embedded reference, without the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpharness.errors import UsageError
from tpharness.protocol.versions import Version
from tpharness.run.plan import Case
from tpharness.scenario.load import AGENT_KEYS
from tpharness.scenario.records import (
    AgentRun,
    Clock,
    Compare,
    CutUnit,
    Expectation,
    GivenStream,
    Interrupt,
    Recorded,
    Scenario,
    Turn,
    UserInput,
    WireEnd,
)
from tpharness.targets.capture import CapturedStream
from tpharness.targets.contract import Capabilities, TargetOutput

__all__ = ["record_case", "record_stream"]

_DEFAULT_AGENT = "assistant"


def record_case(case: Case, declared: Capabilities, outcome: TargetOutput, scenario_id: str) -> Scenario:
    """Return a case as a scenario with the bytes and threads of the server that played it."""
    streams = iter(outcome.streams)
    turns: list[Turn] = []
    for turn in case.scenario.turns:
        if isinstance(turn, UserInput):
            turns.append(turn)
            continue
        sent = next(streams, ())
        wire = turn.wire or GivenStream(data=b"".join(packet.data for packet in sent))
        turns.append(replace(turn, wire=wire, interrupt=_check_recordable(turn)))
    carriers = case.scenario.carriers and declared.carriers
    return replace(
        case.scenario,
        id=scenario_id,
        turns=tuple(turns),
        versions=tuple(outcome.threads),
        cut=None,
        carriers=carriers,
        compare=case.scenario.compare if carriers else Compare.CONTENT,
        tags=tuple(dict.fromkeys((*case.scenario.tags, "recorded"))),
        recorded=Recorded(
            implementation=declared.name,
            version=declared.implementation_version or "unknown",
            note=f"recorded while it played {case.id}",
            threads=outcome.threads,
        ),
    )


def _check_recordable(run: AgentRun) -> Interrupt | None:
    """Return the interruption of a run. UsageError if the client's cut cannot be expressed on recorded bytes."""
    cut = run.interrupt
    if cut is None or cut.client_after is None or run.wire is not None:
        return cut
    if cut.client_after.unit is CutUnit.BYTE:
        return cut
    raise UsageError(
        "a case in which the client sees less than the server sent, counted in events, cannot be recorded yet",
        hint="record the whole run, or one that is cut on both sides",
    )


def record_stream(
    captured: CapturedStream,
    prompts: Sequence[str],
    *,
    scenario_id: str,
    started_at: str,
    source: str,
    threads: Mapping[Version, Mapping[str, Any]],
) -> Scenario:
    """Return the scenario of a stream that was captured from any application, without expectations."""
    thread: Mapping[str, Any] = next(iter(threads.values()), {})
    agents = _find_agents(thread) or {
        _DEFAULT_AGENT: {
            "agent_id": _DEFAULT_AGENT,
            "agent_name": "Assistant",
            "model_name": "unknown",
            "provider_name": "unknown",
            "created_at": started_at,
        }
    }
    interrupt = None
    if captured.end is not None:
        wire = WireEnd.STALL if captured.end == "timeout" else WireEnd.CUT
        interrupt = Interrupt(reason=captured.end, at=started_at, wire=wire, server_after=None)
    turns: list[Turn] = [
        UserInput(parts=({"part_kind": "user-prompt", "content": prompt},), submitted_at=started_at)
        for prompt in prompts
    ]
    agent = _find_last_agent(thread, agents)
    turns.append(
        AgentRun(agent_id=agent, started_at=started_at, wire=GivenStream(data=captured.data), interrupt=interrupt)
    )
    return Scenario(
        id=scenario_id,
        description=f"A stream recorded from {source}.",
        clauses=("sync.identity",) if threads else ("stream.text",),
        tags=("recorded",),
        versions=tuple(threads) or tuple(Version),
        compare=Compare.CONTENT,
        carriers=False,
        clock=Clock(start=started_at, tick=0.0),
        thread_id=str(thread.get("thread_id") or scenario_id),
        created_at=str(thread.get("created_at") or started_at),
        agents=agents,
        turns=tuple(turns),
        expect=Expectation(),
        recorded=Recorded(implementation=source, version=captured.server or "unknown", threads=threads),
    )


def _find_agents(thread: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the agents of any thread, as far as a scenario can say them."""
    listed = thread.get("agents")
    configs = listed.items() if isinstance(listed, dict) else ()
    return {
        agent: {key: text for key in AGENT_KEYS if isinstance(text := config.get(key), str) and text}
        for agent, config in configs
        if agent and isinstance(config, dict) and config.get("agent_id", agent) == agent
    }


def _find_last_agent(thread: Mapping[str, Any], agents: Mapping[str, Any]) -> str:
    """Return the agent of the last turn of an agent, the first agent where the thread does not say one of `agents`."""
    turns = thread.get("turns")
    said = [turn.get("agent_id") for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    return next((one for one in reversed(said) if isinstance(one, str) and one in agents), next(iter(agents)))
