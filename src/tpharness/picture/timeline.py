"""A case → its timeline: what each side would hold after a cut at every place of its runs, as one JSON value.

    rows    what happened, in order (`rows`)
    places  the rows after which both sides can be cut at once: the last row of every step
    tables  the threads, which share their messages (`tables`)

A row at which the two sides hold different threads has their `differences` in words, with the rulings that decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpharness.picture.rows import Film, Play, play_film
from tpharness.protocol.compare import Mode
from tpharness.protocol.diff import diff
from tpharness.protocol.versions import Version, newest_version
from tpharness.run.plan import Case, make_script, make_streams
from tpharness.scenario.records import AgentRun, Compare, Scenario

__all__ = ["FORMAT", "as_timeline", "differences_in_words", "place_number", "place_of_ruling", "timeline_of_case"]

FORMAT = "tpharness-timeline/1"
_RULING = re.compile(r"\bR\d+\b")
_PLACE = re.compile(r"(?:turn-(?P<turn>\d+)-)?(?P<unit>event|byte)-(?P<count>\d{1,12})(?::|\Z)")
_MOST_DIFFERENCES = 200
"""How many pairs of different threads are described in words; further ones are only marked on the page."""


def timeline_of_case(case: Case, *, version: Version | None = None, reason: str | None = None) -> dict[str, Any]:
    """Return the timeline of a case; `reason` is that of every cut, the scenario's own if None."""
    scenario = case.scenario
    version = version or newest_version(case.versions)
    case = replace(case, versions=(version,), scenario=_whole(scenario))
    scenario = case.scenario
    recorded = None if scenario.recorded is None else scenario.recorded.threads.get(version)
    reason = reason or _reason_of(case)
    film = Film(
        script=make_script(case),
        streams=lambda packets: make_streams(case, packets),
        served=scenario.scripted and recorded is None,
        given=frozenset(index for index, run in scenario.runs if run.wire is not None),
        recorded=recorded,
        reason=reason,
    )
    mode: Mode = "exact" if scenario.carriers and scenario.compare is Compare.EXACT else "content"
    return as_timeline(
        case.id,
        play_film(film, version),
        mode=mode,
        title=scenario.description,
        clauses=list(scenario.clauses),
        rulings=list(scenario.rulings),
        reason=reason,
        turn=_swept_turn(case),
        recorded="" if recorded is None or scenario.recorded is None else scenario.recorded.implementation,
    )


def as_timeline(name: str, play: Play, *, mode: Mode = "exact", **about: Any) -> dict[str, Any]:
    """Return a finished play as a timeline; `about` has further fields."""
    rows = play.rows
    places = [n for n, row in enumerate(rows) if n + 1 == len(rows) or rows[n + 1]["kind"] != "more"]
    known: dict[tuple[int, int], list[dict[str, str]]] = {}
    for number in places:
        pair = (rows[number].get("server", -1), rows[number].get("client", -1))
        if -1 in pair or pair[0] == pair[1]:
            continue
        if pair not in known and len(known) < _MOST_DIFFERENCES:
            one, other = map(play.tables.build, pair)
            known[pair] = differences_in_words(one, other, names=("server", "client"), mode=mode)
        if pair in known:
            rows[number]["differences"] = known[pair]
    return {
        "format": FORMAT,
        "id": name,
        "version": play.version.value,
        "mode": mode,
        **about,
        "rows": rows,
        "places": places,
        "tables": play.tables.as_json(),
    }


def differences_in_words(
    one: Mapping[str, Any], other: Mapping[str, Any], *, names: tuple[str, str], mode: Mode
) -> list[dict[str, str]]:
    """Return where two threads differ as a page shows it; `mode` is `exact` or `content` (R39)."""
    found = diff(one, other, names=names, mode=mode)
    return [{"at": each.pointer, "text": each.text, "cites": each.cites} for each in found]


def place_number(timeline: Mapping[str, Any], place: str) -> int | None:
    """Return the number of a place such as `turn-1-event-12:timeout` in `places`, None if there is no such place."""
    found = _PLACE.match(place)
    if found is None:
        return None
    turn = timeline["turn"] if found["turn"] is None else int(found["turn"])
    rows = [(number, timeline["rows"][row]) for number, row in enumerate(timeline["places"])]
    within = [(number, row) for number, row in rows if row["turn"] == turn]
    count = int(found["count"])
    if found["unit"] == "event":
        return within[count][0] if count < len(within) else None
    return next((number for number, row in within if row.get("to", -1) >= count), None)


def place_of_ruling(timeline: Mapping[str, Any], ruling: str) -> str:
    """Return the first place at which a cut drops something by a ruling, such as `event-12`; "" if there is none."""
    values = timeline["tables"]["values"]
    counts: Counter[int] = Counter()
    for number in timeline["places"]:
        row = timeline["rows"][number]
        dropped = (one for gone in row.get("gone", {}).values() for one in values[gone])
        if any(ruling in _RULING.findall(one["why"]) for one in dropped):
            place = f"event-{counts[row['turn']]}"
            return place if row["turn"] == timeline["turn"] else f"turn-{row['turn']}-{place}"
        counts[row["turn"]] += 1
    return ""


def _reason_of(case: Case) -> str:
    """Return why a case is cut: by its sweep, by the first interruption of its runs, or by a lost connection."""
    plan = case.scenario.cut
    if plan is not None:
        return plan.reasons[0]
    return next((run.interrupt.reason for _, run in case.scenario.runs if run.interrupt), "network_failure")


def _swept_turn(case: Case) -> int | None:
    """Return the turn that the id of a place means if it names none: the swept run, or the first one."""
    plan = case.scenario.cut
    runs = [index for index, _ in case.scenario.runs]
    return plan.turn if plan is not None and plan.turn is not None else next(iter(runs), None)


def _whole(scenario: Scenario) -> Scenario:
    """Return a scenario without the interruptions and streams of the runs that it sweeps: they are cut to their end."""
    plan = scenario.cut
    if plan is None:
        return scenario
    turns = tuple(
        replace(turn, interrupt=None, wire=None)
        if isinstance(turn, AgentRun) and turn.events is not None and plan.turn in (None, index)
        else turn
        for index, turn in enumerate(scenario.turns)
    )
    return replace(scenario, turns=turns)
