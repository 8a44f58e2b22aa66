"""One fold of a program for all its places: whether anything about it could be wrong.

In: a program, two targets that can be stepped. Out: how many cases that was, and whether one of them needs a closer
look. The questions are those of the checks `identity`, `prefix`, `validity`, `resumable`, `monotonicity` and
`idempotence`, asked so that a good answer is quick: two equal threads need only one look. Whoever gets a bad answer
judges the case again by the checks themselves, which say what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tpharness.checks.growth import first_missing
from tpharness.explore.generate.programs import Program
from tpharness.findings import Finding, Level
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol import history
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.compare import identical
from tpharness.protocol.jcs import jcs
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import newest_version
from tpharness.run.plan import base_case, cut_time, script_of
from tpharness.scenario import Compare
from tpharness.targets.contract import RunScript, Script, SteppableClient, SteppableServer, StreamEnd

__all__ = ["look"]

Thread = dict[str, Any]


def look(made: Program, server: SteppableServer, client: SteppableClient, *, deep: bool) -> tuple[int, bool]:
    """Return the number of cases that the program stands for, and whether everything holds in each of them.

    `deep` asks for idempotence as well. Programs without carriers, which only the checks can compare, never look good.
    """
    return _Look(made, server, client, deep=deep).cases()


class _Look:
    """Plays a program on two sessions and asks at its places."""

    def __init__(self, made: Program, server: SteppableServer, client: SteppableClient, *, deep: bool) -> None:
        self._deep = deep
        self._made = made
        self._script: Script = script_of(base_case(made.scenario))
        self._server = server.server_session(self._script)
        self._client = client.client_session(self._script)
        self._trail: Thread | None = None
        self._seen: dict[int, Thread] = {}

    def cases(self) -> tuple[int, bool]:
        script, server, client = self._script, self._server, self._client
        last = len(script.turns) - 1
        for index, turn in enumerate(script.turns):
            if isinstance(turn, UserTurn):
                server.user(turn)
                client.user(turn)
            elif index < last or not self._made.cuts:
                self._play(turn, turn.events)
                self._close(turn)
            elif not self._cut(turn):
                return len(self._made.cuts) + 1, False
        good = self._good(None, deep=self._deep)
        reported = (*server.findings(), *client.findings())
        return len(self._made.cuts) + 1, good and not any(f.level is Level.MUST for f in reported)

    def _play(self, run: RunScript, events: Sequence[Any]) -> None:
        """Play a run; the reads are as large as can be, since carriers say when things happened."""
        self._client.begin(run.agent_id, run.started_at)
        data = [self._server.begin(run), *map(self._server.feed, events)]
        self._client.feed(b"".join(data), self._end(run))

    def _close(self, run: RunScript) -> None:
        at = self._end(run)
        self._client.feed(self._server.close(), at)
        self._client.close(StreamEnd(reason=None, at=at))

    def _end(self, run: RunScript) -> str:
        return str(run.events[-1]["at"]) if run.events else run.started_at

    def _cut(self, run: RunScript) -> bool:
        """Play the last run in pieces and ask at each of its places; False at the first bad answer."""
        turn = self._made.scenario.runs[-1][1]
        places = sorted({place for server, client, _ in self._made.cuts for place in (server, client)})
        reasons = {server: reason for server, _, reason in self._made.cuts}
        behind = {(server, client) for server, client, _ in self._made.cuts if client < server}
        self._client.begin(run.agent_id, run.started_at)
        pending = [self._server.begin(run)]
        done = 0
        for place in (*places, len(run.events)):
            pending += map(self._server.feed, run.events[done:place])
            at = str(run.events[place - 1]["at"]) if place else run.started_at
            self._client.feed(b"".join(pending), at)
            pending, done = [], place
            cut = Interrupted(reason=reasons.get(place, "network_failure"), at=cut_time(turn, place))
            if place in places and not self._good(cut, deep=False, place=place, behind=behind):
                return False
        self._close(run)
        return True

    # ---------------------------------------------------------------- questions

    def _good(
        self,
        cut: Interrupted | None,
        *,
        deep: bool,
        place: int = -1,
        behind: set[tuple[int, int]] | frozenset[tuple[int, int]] = frozenset(),
    ) -> bool:
        """Whether everything holds here; `deep` asks as well what costs most."""
        ours, theirs = self._server.threads(cut), self._client.threads(cut)
        for version, one in ours.items():
            other = theirs[version]
            if not _same(one, other):
                return False
            # What stands before the last two turns was looked at when it was written.
            late = {**one, "turns": one["turns"][-2:]} if place >= 0 else one
            if not _sound(late, deep=deep):
                return False
        newest = newest_version(ours)
        if not newest.features.interrupted_turns:
            return True
        if self._trail is not None and first_missing(self._trail, theirs[newest], Compare.EXACT) is not None:
            return False
        self._trail = self._seen[place] = theirs[newest]
        return all(
            first_missing(self._seen[saw], ours[newest], Compare.EXACT) is None for at, saw in behind if at == place
        )


def _same(one: Thread, other: Thread) -> bool:
    """Whether two threads are equal as JSON, which tells 1 from true; False when in doubt."""
    if one != other:
        return False
    try:
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate, a number beyond 64 bits
        return identical(one, other)


def _sound(thread: Thread, *, deep: bool) -> bool:
    """Whether a thread is valid, can be continued, and, asked `deep`, is its own canonical form when read back."""
    if _broken(check_thread(thread)):
        return False
    messages = history.model_history(thread).messages
    if _broken(history.check_history(messages)):
        return False
    turns = thread["turns"]
    if turns and turns[-1]["turn_type"] == "agent":
        before = history.model_history({**thread, "turns": turns[:-1]})
        if not before.pending and messages[: len(before.messages)] != before.messages:
            return False
    if not deep:
        return True
    once = jcs(canonical_thread(thread))
    return jcs(canonical_thread(parse_json(once).value)) == once


def _broken(findings: Sequence[Finding]) -> bool:
    return any(finding.level is Level.MUST for finding in findings)
