"""Which cases apply to two targets, given the capabilities that they declare. Pure.

In: a scenario and the players. Out: the case to play, or the reason why it does not apply, such as a version that a
target does not write or a ruling that it reads in another way. A target is never asked for what it does not declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tpharness.findings import shorten
from tpharness.protocol.versions import Version, version_names
from tpharness.readings import Readings
from tpharness.run.plan import Case, base_case
from tpharness.run.play import Players, remove_carried
from tpharness.scenario.records import AgentRun, CutAt, Scenario
from tpharness.targets.contract import ClientTarget, ServerTarget, SteppableClient, SteppableServer
from tpharness.wires.registry import DEFAULT_WIRE, default_wire, wire_named

__all__ = [
    "adapt_scenario",
    "are_steppable",
    "describe_target",
    "expect_nothing_carried",
    "find_common_versions",
    "find_undeclared_wire",
    "leave_out_given_carriers",
    "narrow_sweep",
    "needs_carriers",
    "over_wire",
    "without_carrier_clauses",
]


def adapt_scenario(scenario: Scenario, players: Players, versions: Sequence[Version] | None) -> tuple[Case, str]:
    """Return the case in the versions that both targets write, and why it does not apply ("" if it applies)."""
    scenario, reason = _apply_readings(narrow_sweep(scenario, players), players)
    case = base_case(scenario, versions)
    both = find_common_versions(case.versions, players)
    if not case.versions:
        reason = "not for the versions asked for"
    elif not both:
        sides = (("server", players.server), ("client", players.client))
        writes = ", ".join(f"the {name} writes {_join_versions(t.capabilities.versions)}" for name, t in sides)
        reason = f"a scenario for {_join_versions(case.versions)}; {writes}"
    return replace(case, versions=both), reason


def over_wire(case: Case, wire: str) -> tuple[Case, str]:
    """Return the case over another wire than its own, and why it does not apply.

    What a client finds of the default wire's own order is not found there.
    """
    scenario = case.scenario
    if any(run.wire is not None for _, run in scenario.runs):
        reason = f"it gives a stream of {case.wire} itself, which cannot be sent over {wire}"
        return replace(case, wire=wire), f"{reason}; add --wire {case.wire}" if wire == DEFAULT_WIRE else reason
    own = {kind.code for kind in default_wire().violations}
    found = scenario.expect.findings
    kept = tuple(code for code in found if code not in own) if found is not None else None
    expect = replace(scenario.expect, findings=kept or None)
    return replace(case, wire=wire, scenario=replace(scenario, expect=expect)), ""


def find_undeclared_wire(wire: str, players: Players) -> str:
    """Return why nothing can be played over a wire: a side that does not declare it; "" if both do."""
    missing = [name for name in ("server", "client") if wire not in getattr(players, name).capabilities.wires]
    return f"the {' and the '.join(missing)} does not declare the wire {wire}" if missing else ""


def are_steppable(players: Players) -> bool:
    """Whether both can be stepped, so that a sweep cuts them with one fold, also between two bytes."""
    return isinstance(players.server, SteppableServer) and isinstance(players.client, SteppableClient)


def narrow_sweep(scenario: Scenario, players: Players) -> Scenario:
    """Return the scenario with places after events in place of those at bytes, unless both can be stepped.

    The bytes of another server belong to no events, and each place is a run of its own.
    """
    if scenario.cut is None or scenario.cut.at is CutAt.EVERY_EVENT or are_steppable(players):
        return scenario
    return replace(scenario, cut=replace(scenario.cut, at=CutAt.EVERY_EVENT))


def find_common_versions(versions: Sequence[Version], players: Players) -> tuple[Version, ...]:
    """Return those of the versions that both targets write."""
    server, client = players.server.capabilities, players.client.capabilities
    return tuple(v for v in versions if v in server.versions and v in client.versions)


def needs_carriers(case: Case, players: Players) -> bool:
    """Whether the case relies on carriers, and these players do not both support them."""
    runs = case.scenario.runs
    return case.scenario.carriers and not players.carriers and any(run.events is not None for _, run in runs)


def leave_out_given_carriers(case: Case, players: Players) -> Case | None:
    """Return the case without the carriers of the streams that it gives; None if there are none, or they are read."""
    if players.client.capabilities.carriers:
        return None
    turns = tuple(
        _leave_out_carriers(turn, case.wire) if isinstance(turn, AgentRun) else turn for turn in case.scenario.turns
    )
    return None if turns == case.scenario.turns else replace(case, scenario=replace(case.scenario, turns=turns))


def expect_nothing_carried(case: Case) -> Case:
    """Return the case for a client that is sent carriers and reads none: it owes that it does not keep them."""
    expect = case.scenario.expect
    thread = {version: remove_carried(pinned) for version, pinned in expect.thread.items()}
    cited = tuple(c for c in case.scenario.clauses if not c.startswith("carrier.") or c == "carrier.not-recorded")
    return replace(case, scenario=replace(case.scenario, clauses=cited, expect=replace(expect, thread=thread)))


def _leave_out_carriers(run: AgentRun, wire: str) -> AgentRun:
    if run.wire is None or run.wire.chunks is None:
        return run
    is_carrier = wire_named(wire).is_carrier
    kept = tuple(chunk for chunk in run.wire.chunks if not is_carrier(chunk))
    return replace(run, wire=replace(run.wire, chunks=kept))


def without_carrier_clauses(case: Case) -> Case:
    """Return a case that is played without its carriers: nothing is learned about the clauses that speak of them."""
    cited = tuple(clause for clause in case.scenario.clauses if not clause.startswith("carrier."))
    return replace(case, scenario=replace(case.scenario, clauses=cited))


_MAX_NAME = 160


def describe_target(target: ServerTarget | ClientTarget) -> str:
    """Return a target's name for a report, with a note if its readings of the rulings do not certify."""
    declared = target.capabilities
    name = shorten(f"{declared.name} {declared.implementation_version}".rstrip(), _MAX_NAME)
    return (
        name
        if declared.readings.certifies
        else f"{name} (reads {_describe_readings(declared.readings)}: does not certify)"
    )


def _apply_readings(scenario: Scenario, players: Players) -> tuple[Scenario, str]:
    """Return the scenario with the readings that the targets declare, and why it does not apply ("" if it applies).

    A target in this process follows the readings of the script unless it declares its own. The outline and thread that
    a scenario expects hold for its own readings only, so they are removed for others.
    """
    fixed: dict[str, Readings] = {}
    for name, target in (("server", players.server), ("client", players.client)):
        declared = target.capabilities.readings
        if name in players.remote or not declared.certifies:
            fixed[name] = declared
    if not fixed:
        return scenario, ""
    readings, *others = fixed.values()
    if any(other != readings for other in others):
        return scenario, f"the server reads {_describe_readings(readings)}, the client {_describe_readings(others[0])}"
    if readings == scenario.readings:
        return scenario, ""
    if not scenario.readings.certifies:
        named = " and the ".join(fixed)
        return (
            scenario,
            f"the scenario reads {_describe_readings(scenario.readings)}, the {named} {_describe_readings(readings)}",
        )
    expect = replace(scenario.expect, outline={}, thread={})
    return replace(scenario, readings=readings, expect=expect), ""


def _join_versions(versions: Sequence[Version]) -> str:
    return version_names(versions) or "none"


def _describe_readings(readings: Readings) -> str:
    default = Readings().as_json()
    other = [f"{ruling} as {reading}" for ruling, reading in readings.as_json().items() if reading != default[ruling]]
    return ", ".join(other) or "every ruling in the default way"
