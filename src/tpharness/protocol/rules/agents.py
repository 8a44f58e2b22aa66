"""Rules of agents and links: who is in the registry, and how ids are written."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.facts import is_uuid
from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.jcs import escape
from tpharness.protocol.rules.index import Index, message_pointer

__all__ = ["find_bad_links", "find_short_agent_ids", "find_unknown_agents"]


def find_unknown_agents(index: Index) -> Iterator[Finding]:
    """Find agents that the registry does not have, and entries that are not under their own id."""
    for key, agent in index.thread["agents"].items():
        if agent["agent_id"] != key:
            place = Place(pointer=f"/agents/{escape(key)}/agent_id")
            yield p.REGISTRY_KEY.at(place, got=agent["agent_id"], expected=key)
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] == "agent" and turn["agent_id"] not in index.agents:
            yield p.UNKNOWN_AGENT.at(Place(pointer=f"/turns/{t}/agent_id"), got=turn["agent_id"])
    for t, m, message in index.messages:
        agent = message.get("agent_id")
        if isinstance(agent, str) and agent not in index.agents:
            yield p.UNKNOWN_AGENT.at(Place(pointer=f"{message_pointer(t, m)}/agent_id"), got=agent)
        elif isinstance(agent, str) and message["message_type"] != "system":
            ran = index.thread["turns"][t]["agent_id"]
            if agent != ran:
                yield p.OTHER_AGENT.at(Place(pointer=f"{message_pointer(t, m)}/agent_id"), got=agent, expected=ran)
        if message["message_type"] == "system":
            named = [message.get("source_agent"), *(message.get("target_agents") or ())]
            for name in named:
                if name is not None and name not in index.agents:
                    yield p.EVENT_AGENT.at(Place(pointer=message_pointer(t, m)), got=name)


def find_short_agent_ids(index: Index) -> Iterator[Finding]:
    """R2: observe ids of agents that are not UUIDs."""
    for name in index.agents:
        if not is_uuid(name):
            yield p.AGENT_FORM.at(Place(pointer=f"/agents/{escape(name)}"), got=name)


def find_bad_links(index: Index) -> Iterator[Finding]:
    """R2: find links that do not name a thread by its UUID."""
    for i, link in enumerate((index.thread.get("relationships") or {}).get("links") or ()):
        if not is_uuid(link["thread_id"]):
            yield p.LINK_FORM.at(Place(pointer=f"/relationships/links/{i}/thread_id"), got=link["thread_id"])
