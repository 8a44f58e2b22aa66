"""What the rules are given: an index of the thread, built in a single walk, and what a rule is.

In: a thread that fits its schema. Out: its parts and messages with their places. This module judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.findings import Finding
from tpharness.protocol.versions import Features, Version

__all__ = ["Index", "Rule", "build_index", "message_pointer", "part_pointer", "stop_of"]


@dataclass(slots=True)
class Index:
    """What several rules need of a thread, collected in one walk.

    `parts` and `messages` are those that the schema describes; fields of the same name elsewhere are unknown fields,
    which may have any value (R7). `events` are those of the messages that are system messages. A message comes with the
    indexes of its turn and of itself. A part comes with those, its own index, and what holds it, which is `user` for a
    user turn, whose message has the index -1, and else the type of its message. Pointers are made of indexes where
    there is something to find, since most threads are right. `times` are the texts of all times, each once.
    """

    thread: Mapping[str, Any]
    version: Version
    agents: frozenset[str]
    parts: list[tuple[int, int, int, str, Mapping[str, Any]]] = field(default_factory=list)
    messages: list[tuple[int, int, Mapping[str, Any]]] = field(default_factory=list)
    events: list[tuple[int, int, Mapping[str, Any]]] = field(default_factory=list)
    times: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its function, and the features that a version needs for it. With `observes` it reports at MAY only."""

    find: Callable[[Index], Iterator[Finding]]
    needs: Callable[[Features], bool] = lambda _: True
    observes: bool = False


def build_index(thread: Mapping[str, Any]) -> Index:
    """Return the index of a thread that fits its schema."""
    index = Index(thread=thread, version=Version(thread["version"]), agents=frozenset(thread["agents"]))
    times = index.times
    times.update((thread["created_at"], thread["updated_at"]))
    times.update(agent["created_at"] for agent in thread["agents"].values())
    for t, turn in enumerate(thread["turns"]):
        if turn["turn_type"] == "user":
            times.add(turn["submitted_at"])
            for k, part in enumerate(turn["parts"]):
                index.parts.append((t, -1, k, "user", part))
            continue
        times.update((turn["started_at"], stop_of(turn)[1]))
        for m, message in enumerate(turn["messages"]):
            index.messages.append((t, m, message))
            times.add(message["timestamp"])
            holder = message["message_type"]
            if holder == "system":
                index.events.append((t, m, message))
                continue
            for k, part in enumerate(message["parts"]):
                index.parts.append((t, m, k, holder, part))
    return index


def stop_of(turn: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field with the end of an agent turn, and the end; the schema requires one of the two."""
    if turn.get("completed_at"):
        return "completed_at", turn["completed_at"]
    return "interruption/interrupted_at", turn["interruption"]["interrupted_at"]


def message_pointer(t: int, m: int) -> str:
    """Return the JSON pointer to a message, by the indexes of its turn and of itself."""
    return f"/turns/{t}/messages/{m}"


def part_pointer(t: int, m: int, k: int) -> str:
    """Return the JSON pointer to a part; `m` is -1 for a part of a user turn."""
    return f"/turns/{t}/parts/{k}" if m < 0 else f"/turns/{t}/messages/{m}/parts/{k}"
