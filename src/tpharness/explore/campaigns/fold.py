"""Whether a program passes at all of its places, with one fold of each side.

In: a program and two targets that can be stepped. Out: whether any check finds something. The checks are those of
every run; cheap is the evidence: the run is played once and stopped at each place. A program that does not pass is
played again case by case, which says what is wrong (`judging`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tpharness.checks import CHECKS, Check, Delivery, Evidence
from tpharness.checks.idempotence import IDEMPOTENCE
from tpharness.checks.prefix import PREFIX
from tpharness.explore.generate.programs import GeneratedProgram
from tpharness.journal import Interrupted
from tpharness.run.judge import holds
from tpharness.run.plan import base_case, cut_time, make_script
from tpharness.run.sweeps.evidence import ThreadsByVersion, is_unchanged, place_evidence
from tpharness.run.sweeps.pair import SessionPair
from tpharness.scenario import Compare
from tpharness.targets.contract import RunScript, SteppableClient, SteppableServer
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["passes"]

_WITHOUT_IDEMPOTENCE = tuple(check for check in CHECKS if check is not IDEMPOTENCE)


def passes(
    made: GeneratedProgram,
    server: SteppableServer,
    client: SteppableClient,
    *,
    idempotence: bool,
    wire: str = DEFAULT_WIRE,
) -> bool:
    """Whether no check finds anything at MUST at any place of the program; idempotence, which costs most, if asked.

    The evidence has no variants: what is split or repeated is for a case that is played by itself.
    """
    checks = CHECKS if idempotence else _WITHOUT_IDEMPOTENCE
    return all(holds(pieces, some) for some, pieces in _evidence(made, server, client, checks, wire))


def _evidence(
    made: GeneratedProgram, server: SteppableServer, client: SteppableClient, checks: Sequence[Check], wire: str
) -> Iterator[tuple[Sequence[Check], list[Evidence]]]:
    """Yield the evidence of each place of the program's last run, and of the whole run, with the checks to judge it."""
    script = make_script(replace(base_case(made.scenario), wire=wire))
    mode = made.scenario.compare if made.scenario.carriers else Compare.CONTENT
    pair = SessionPair(script, server, client)
    *turns, run = script.turns
    if not isinstance(run, RunScript):
        raise TypeError("a program ends with a run")
    for turn in turns:
        pair.play(turn, one_read=True)
    reasons = {seen: reason for _, seen, reason in made.cuts} | {place: reason for place, _, reason in made.cuts}
    before: ThreadsByVersion = {}
    at_place: dict[int, ThreadsByVersion] = {}
    unread, played = [pair.begin(run)], 0
    for place in sorted(reasons):
        unread += map(pair.write, run.events[played:place])
        pair.client.feed(b"".join(unread), pair.at)
        unread, played = [], place
        now = pair.threads(Interrupted(reason=reasons[place], at=cut_time(made.scenario.runs[-1][1], place)))
        new = {v: threads for v, threads in now.items() if pair.foreign or not is_unchanged(before.get(v, ()), threads)}
        yield (
            checks,
            place_evidence(
                "",
                new,
                before,
                mode=mode,
                delivery=Delivery.WHOLE,
                readings=script.readings,
                open_calls=pair.open_calls(),
            ),
        )
        for seen in [seen for server_at, seen, _ in made.cuts if server_at == place and seen < place]:
            apart = {version: [sides[0], at_place[seen][version][1]] for version, sides in now.items()}
            yield (
                (PREFIX,),
                place_evidence("", apart, {}, mode=mode, delivery=Delivery.PART, readings=script.readings),
            )
        at_place[place] = before = now
    unread += map(pair.write, run.events[played:])
    pair.client.feed(b"".join(unread), pair.at)
    pair.end(run)
    yield (
        checks,
        place_evidence(
            "",
            pair.threads(),
            before,
            mode=mode,
            delivery=Delivery.WHOLE,
            readings=script.readings,
            whole=True,
            findings=(pair.server.findings(), pair.client.findings()),
        ),
    )
