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


def check_as_read(thread: Any, *, observations: bool = False) -> list[Finding]:
    """Return what is wrong with a thread once it has been read; arguments are those of `check_thread`."""
    read, filled = fill_agents(thread)
    return [*filled, *check_thread(read, observations=observations)]


def fill_agents(thread: Any) -> tuple[Any, list[Finding]]:
    """Fill in the agent of requests and responses that name none, from their turn (R3). The input is not changed.

    Accepts any JSON value; what is not shaped as a thread is returned as it is.
    """
    turns = thread.get("turns") if isinstance(thread, Mapping) else None
    if not isinstance(turns, list):
        return thread, []
    filled = FindingLog()
    read = [_fill_turn(turn, f"/turns/{t}", filled) for t, turn in enumerate(turns)]
    return ({**thread, "turns": read}, filled.findings()) if filled else (thread, [])


def _fill_turn(turn: Any, pointer: str, log: FindingLog) -> Any:
    if not isinstance(turn, Mapping) or turn.get("turn_type") != "agent":
        return turn
    agent, messages = turn.get("agent_id"), turn.get("messages")
    if not isinstance(agent, str) or not agent or not isinstance(messages, list):
        return turn
    read = list(messages)
    for m, message in enumerate(messages):
        if _lacks_agent(message):
            log.add(FILLED.at(Place(pointer=f"{pointer}/messages/{m}"), expected=agent))
            read[m] = {**message, "agent_id": agent}
    return {**turn, "messages": read}


def _lacks_agent(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("message_type") not in ("request", "response"):
        return False
    return message.get("agent_id") is None
