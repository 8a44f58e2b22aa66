"""The least that a generated program takes: what nobody who judges it at its places can do without.

Its events are encoded and its streams folded. Both sides show their threads at each place where one may be cut, and at
the end, in each version; the two are compared, and each new thread is read once, by fields and types, in native code.
No rule is asked, no history of a model rebuilt, nothing compared with the place before. It is the floor of
`tpharness.explore.campaigns.fold.passes`, and shows the same threads or ends with an error.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from tpharness.explore.generate.programs import GeneratedProgram, cut_scenarios
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.plain_records import PlainThread
from tpharness.protocol.versions import Version
from tpharness.run.plan import base_case, cut_time, make_script
from tpharness.scenario import WireEnd
from tpharness.targets import Reference
from tpharness.targets.contract import StreamEnd
from tpharness.targets.reference import ReferenceClient, ReferenceServer

__all__ = ["check_least_program", "least_program"]

Threads = dict[Version, dict[str, Any]]


def least_program(made: GeneratedProgram) -> list[Threads]:
    """Return the threads at the places of the last run where either side may stop, in order, and at its end."""
    script = make_script(base_case(made.scenario))
    server, client = ReferenceServer(script), ReferenceClient(script)
    reasons = {seen: reason for _, seen, reason in made.cuts} | {place: reason for place, _, reason in made.cuts}
    shown: list[Threads] = []
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            server.user(turn)
            client.user(turn)
            continue
        at = turn.started_at
        client.begin(turn.agent_id, at)
        unread, played = [server.begin(turn)], 0
        for place in (*(sorted(reasons) if turn is script.turns[-1] else ()), len(turn.events)):
            for event in turn.events[played:place]:
                at = str(event.get("at", at))
                unread.append(server.feed(event))
            client.feed(b"".join(unread), at)
            unread, played = [], place
            if len(shown) < len(reasons) and turn is script.turns[-1]:
                cut = Interrupted(reason=reasons[place], at=cut_time(turn, place))
                shown.append(_look(server.threads(cut), client.threads(cut), shown))
        client.feed(server.close(), at)
        client.close(StreamEnd(reason=None, at=at))
    return [*shown, _look(server.threads(), client.threads(), shown)]


def _look(served: Threads, received: Threads, shown: list[Threads]) -> Threads:
    """Compare what both sides show, and read what is not the very object of the place before."""
    if served != received:
        raise SystemExit("the two sides of this benchmark show different threads")
    before = shown[-1] if shown else {}
    for version, thread in served.items():
        if thread is not before.get(version):
            with suppress(msgspec.ValidationError):  # what has no record would take another look
                msgspec.convert(thread, PlainThread)
    return served


def check_least_program(made: GeneratedProgram) -> None:
    """SystemExit if the floor shows other threads than the program does that is served whole, and cut at each place.

    A server that is cut and still ends its stream has more to record than one that is only looked at.
    """
    *shown, end = least_program(made)
    whole, *cut = [asyncio.run(Reference().serve(make_script(base_case(one)))).threads for one in cut_scenarios(made)]
    at_place = {place: (reason, threads) for (place, _, reason), threads in zip(made.cuts, cut, strict=True)}
    looked_at = dict(zip(sorted({seen for _, seen, _ in made.cuts} | at_place.keys()), shown, strict=True))
    for place, (reason, threads) in at_place.items():
        if WireEnd.default_for(reason) in (WireEnd.CUT, WireEnd.ABORT) and looked_at[place] != threads:
            raise SystemExit("the floor of this benchmark shows other threads than the program that is cut")
    if end != whole:
        raise SystemExit("the floor of this benchmark shows other threads than the whole program")
