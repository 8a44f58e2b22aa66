"""What of a scenario applies to two targets, by what they declare. Pure.

In: a scenario and the players. Out: the case as it can be played, or why it cannot: a version that is not written, a
ruling that is read otherwise. What is not declared is not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tpharness.protocol.versions import Version, version_names
from tpharness.readings import Readings
from tpharness.run.plan import Case, base_case
from tpharness.run.play import Players
from tpharness.scenario.records import Scenario
from tpharness.targets.contract import ClientTarget, ServerTarget
from tpharness.targets.remote import Remote

__all__ = ["applicable", "label", "needs_carriers", "written"]


def applicable(scenario: Scenario, players: Players, versions: Sequence[Version] | None) -> tuple[Case, str]:
    """Return the case in the versions that both targets write, and why it does not apply, "" when it does."""
    scenario, reason = _as_read(scenario, players)
    case = base_case(scenario, versions)
    both = written(case.versions, players)
    if not case.versions:
        reason = "not for the versions asked for"
    elif not both:
        sides = (("server", players.server), ("client", players.client))
        writes = ", ".join(f"the {name} writes {_words(t.capabilities.versions)}" for name, t in sides)
        reason = f"a scenario for {_words(case.versions)}; {writes}"
    return replace(case, versions=both), reason


def written(versions: Sequence[Version], players: Players) -> tuple[Version, ...]:
    """Return those of the versions that both targets write."""
    server, client = players.server.capabilities, players.client.capabilities
    return tuple(v for v in versions if v in server.versions and v in client.versions)


def needs_carriers(case: Case, players: Players) -> bool:
    """Whether the case counts on carriers that these players do not have."""
    runs = case.scenario.runs
    return case.scenario.carriers and not players.carriers and any(run.events is not None for _, run in runs)


def label(target: ServerTarget | ClientTarget) -> str:
    """Name a target for a report; one that reads rulings otherwise is said not to certify."""
    declared = target.capabilities
    name = f"{declared.name} {declared.implementation_version}".rstrip()
    return name if declared.readings.certifies else f"{name} (reads {_readings(declared.readings)}: does not certify)"


def _as_read(scenario: Scenario, players: Players) -> tuple[Scenario, str]:
    """Return the scenario by the readings that the targets declare; or why it does not apply to them.

    A target in this process reads as the script says, unless it declares something itself. What a scenario pins beside
    the derivation holds for its own readings only.
    """
    fixed: dict[str, Readings] = {}
    for name, target in (("server", players.server), ("client", players.client)):
        declared = target.capabilities.readings
        if isinstance(target, Remote) or not declared.certifies:
            fixed[name] = declared
    if not fixed:
        return scenario, ""
    readings, *others = fixed.values()
    if any(other != readings for other in others):
        return scenario, f"the server reads {_readings(readings)}, the client {_readings(others[0])}"
    if readings == scenario.readings:
        return scenario, ""
    if not scenario.readings.certifies:
        named = " and the ".join(fixed)
        return scenario, f"the scenario reads {_readings(scenario.readings)}, the {named} {_readings(readings)}"
    expect = replace(scenario.expect, outline={}, thread={})
    return replace(scenario, readings=readings, expect=expect), ""


def _words(versions: Sequence[Version]) -> str:
    return version_names(versions) or "none"


def _readings(readings: Readings) -> str:
    default = Readings().as_json()
    other = [f"{ruling} as {reading}" for ruling, reading in readings.as_json().items() if reading != default[ruling]]
    return ", ".join(other) or "every ruling in the default way"
