"""A case that is played again, as `certify` plays each three times, is judged once where nothing differs.

In: a case, two targets. Out: its result. The targets are asked everything each time; what the reference makes of the
same input, and the verdict, follow from the case and from what the targets gave. So these are looked up by a digest of
all that was given, to the order of its keys. One look-up in a thousand, known by its digest, is judged nevertheless.

What cannot be written down exactly, such as a lone surrogate, is judged each time, and so is what a target in this
process gives, which need not be JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tpharness.run.judge_played import judge_played, leave_out_scripted
from tpharness.run.plan import Case
from tpharness.run.play import Given, Players, ask_targets, collect_evidence
from tpharness.scenario import load_scenario
from tpharness.scenario.records import Scenario
from tpharness.targets.reference import is_foreign
from tpharness.verdict.result import Result

__all__ = ["JudgedBefore"]

ONE_IN = 1000
"""Of how many cases that were judged before one is judged again; the tests set it to 1."""


class JudgedBefore:
    """The results of one pair of targets, of one run after another with the same options, and the scenarios of these.

    `reused` and `again` count the look-ups that were not judged, and those that were although a result was known.
    """

    def __init__(self) -> None:
        self.reused = self.again = 0
        self._scenarios: dict[tuple[Path, Path | None], Scenario] = {}
        self._results: dict[str, tuple[Case, dict[bytes, Result]]] = {}

    def load(self, path: Path, root: Path | None = None) -> Scenario:
        """Load a scenario, once; errors as `load_scenario`."""
        known = self._scenarios.get((path, root))
        if known is None:
            known = self._scenarios[path, root] = load_scenario(path, root=root)
        return known

    async def play(self, case: Case, players: Players, *, thorough: bool = True) -> Result:
        """Play a case as `tpharness.run.play` does; return its result."""
        given = await ask_targets(case, players, thorough=thorough)

        async def judged() -> Result:
            result = judge_played(case, collect_evidence(case, players, given))
            return await leave_out_scripted(case, result, players)

        digest = _digest(players, given)
        return await judged() if digest is None else await self._look_up(case, digest, judged)

    async def _look_up(self, case: Case, digest: bytes, judged: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of the same case and digest, and judge it if there is none or this one is looked at."""
        known_case, results = self._results.get(case.id, (None, {}))
        if known_case != case:
            results = {}
            self._results[case.id] = case, results
        known = results.get(digest)
        if known is not None and int.from_bytes(digest[:8]) % ONE_IN:
            self.reused += 1
            return known
        result = await judged()
        self.again += known is not None
        if known not in (None, result):
            raise RuntimeError(f"{case.id} was judged before with another result, and its targets gave the same")
        results[digest] = result
        return result


def _digest(players: Players, given: Given) -> bytes | None:
    """Return a digest of all that the evidence is made of beside the case; None for what has no exact form."""
    foreign = {name for name in ("server", "client") if is_foreign(getattr(players, name))}
    if not foreign <= players.remote:
        return None
    declared = (players.server.capabilities, players.client.capabilities)
    try:
        exact = msgspec.msgpack.encode((declared, players.compare, given))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return hashlib.sha256(exact).digest()
