"""The threads of a client over growing prefixes of its streams, which may only grow (invariant 4).

In: streams, and a client that can be stepped. Out: for each version the threads of the prefixes, and how many of them
were skipped. A thread is rendered anew for each prefix, so a stream of a million events would take a million times its
length: the first states are all looked at, later ones ever more seldom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpharness.journal import Interrupted, UserTurn
from tpharness.judging_time import heed_judging_time
from tpharness.protocol.versions import Version
from tpharness.targets.contract import ClientTarget, Script, SteppableClient, Stream
from tpharness.wires.sse.frames import split_frames

__all__ = ["NO_TRAIL", "Pace", "Trail", "collect_trail"]

_ALL_OF = 256
"""How many states of a client are all looked at, which is more than any scenario of the suite has."""

_SELDOM = 8
"""Of later states one in N/8 is looked at, N being its number: together they are as long as nine streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The threads of the prefixes that were looked at, and how many between them were not."""

    states: tuple[Mapping[str, Any], ...] = ()
    skipped: int = 0


NO_TRAIL = Trail()


@dataclass(slots=True)
class Pace:
    """Which states are looked at: of as many as come all of the first, and of later ones fewer and fewer."""

    seen: int = 0
    skipped: int = 0
    next: int = 0

    def looks(self) -> bool:
        """Count a state, and say whether it is looked at."""
        self.seen += 1
        if self.seen < self.next:
            self.skipped += 1
            return False
        self.next = self.seen + (1 if self.seen < _ALL_OF else self.seen // _SELDOM)
        return True


def collect_trail(script: Script, turns: Sequence[UserTurn | Stream], client: ClientTarget) -> dict[Version, Trail]:
    """Return the client's threads as its streams grow, in versions whose turns do (R18); {} if it cannot be stepped."""
    growing = tuple(version for version in script.versions if version.features.interrupted_turns)
    if not growing or not isinstance(client, SteppableClient):
        return {}
    session = client.client_session(replace(script, versions=growing))
    states: dict[Version, list[Mapping[str, Any]]] = {version: [] for version in growing}
    pace, last = Pace(), -1
    for turn in turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        session.begin(turn.agent_id, turn.begun_at)
        for packet in turn.packets:
            for piece in split_frames(packet.data):
                heed_judging_time()
                session.feed(piece, packet.at)
                if session.version == last:
                    continue
                last = session.version
                if pace.looks():
                    for version, thread in session.threads(_connection_lost(packet.at)).items():
                        states[version].append(thread)
        session.close(turn.end)
    for version, thread in session.threads().items():
        states[version].append(thread)
    return {version: Trail(states=tuple(threads), skipped=pace.skipped) for version, threads in states.items()}


def _connection_lost(at: str) -> Interrupted:
    return Interrupted(reason="network_failure", at=at)
