"""How a reader takes a thread in: what the protocol lets a reader fill in is filled in, with a warning.

In: any JSON value. Out: the value as it is read, and findings. To judge a writer, use `check_thread` itself, which
holds the thread to what a writer has to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.finding_log import FindingLog
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.rules import check_thread

__all__ = ["check_as_read", "fill_agents"]

FILLED = Kind("agent-id-filled")


def check_as_read(thread: Any, *, observations: bool = False, safe: bool = False) -> list[Finding]:
    """Return what is wrong with a thread once it has been read; arguments are those of `check_thread`."""
    read, filled = fill_agents(thread)
    return [*filled, *check_thread(read, observations=observations, safe=safe)]


def fill_agents(thread: Any) -> tuple[Any, list[Finding]]:
    """Fill in the agent of requests and responses that name none, from their turn (R3). The input is not changed.

    Accepts any JSON value; what is not shaped as a thread is returned as it is.
    """
    turns = thread.get("turns") if isinstance(thread, Mapping) else None
    if not isinstance(turns, list):
        return thread, []
    lacking = [t for t, turn in enumerate(turns) if _lacks_agents(turn)]
    if not lacking:
        return thread, []
    filled = FindingLog()
    read = list(turns)
    for t in lacking:
        read[t] = _fill_turn(turns[t], f"/turns/{t}", filled)
    return {**thread, "turns": read}, filled.findings()


def _lacks_agents(turn: Any) -> bool:
    """Whether messages of a turn name no agent, and the turn names one."""
    if (type(turn) is not dict and not isinstance(turn, Mapping)) or turn.get("turn_type") != "agent":
        return False
    agent, messages = turn.get("agent_id"), turn.get("messages")
    return isinstance(agent, str) and bool(agent) and isinstance(messages, list) and any(map(_lacks_agent, messages))


def _fill_turn(turn: Mapping[str, Any], pointer: str, log: FindingLog) -> Mapping[str, Any]:
    agent, read = turn["agent_id"], list(turn["messages"])
    for m, message in enumerate(read):
        if _lacks_agent(message):
            log.add(FILLED.at(Place(pointer=f"{pointer}/messages/{m}"), expected=agent))
            read[m] = {**message, "agent_id": agent}
    return {**turn, "messages": read}


def _lacks_agent(message: Any) -> bool:
    if type(message) is not dict and not isinstance(message, Mapping):
        return False
    return message.get("agent_id") is None and message.get("message_type") in ("request", "response")
