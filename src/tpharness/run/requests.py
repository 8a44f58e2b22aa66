"""Clauses, faults, dialects and comparisons as users name them → what they mean. UsageError for other names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tpharness import faults as wire_faults
from tpharness.clauses import load_app_clauses, load_clauses
from tpharness.errors import UsageError, did_you_mean
from tpharness.protocol.compare import refuse_unknown_mode
from tpharness.protocol.versions import Version, parse_version
from tpharness.rooms import histories_room
from tpharness.scenario.records import Compare

__all__ = ["parse_clauses", "parse_compare", "parse_dialects", "parse_faults"]


def parse_compare(name: str | None) -> Compare | None:
    """Return the named comparison of threads (R39), None for that of each scenario. UsageError for another name."""
    if name is None:
        return None
    refuse_unknown_mode(name, "--compare")
    return Compare(name)


def parse_dialects(names: Sequence[str]) -> tuple[tuple[Version, ...], tuple[str, ...]]:
    """Return the named versions and histories. A history named without a variant stands for all of its variants."""
    room = histories_room() if names else None  # it takes a tenth of the start of a run, which has none as a rule
    versions: dict[Version, None] = {}
    histories: dict[str, None] = {}
    for name in names:
        named = [] if room is None else room.find_names(name)
        histories.update(dict.fromkeys(named))
        if not named:
            versions[parse_version(name, others=[] if room is None else room.all_names())] = None
    return tuple(versions), tuple(histories)


def parse_clauses(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named clauses, each once. UsageError for one that no scenario can cite."""
    known = load_clauses()
    for name in names:
        if name in load_app_clauses():
            raise UsageError(f"{name} is a clause about applications", hint="no scenario cites it: see `tpharness app`")
        if name not in known:
            hint = did_you_mean(name, known, "`tpharness list clauses` names them")
            raise UsageError(f"no clause is called {name!r}", hint=hint)
    return tuple(dict.fromkeys(names))


def parse_faults(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named faults in the order of the catalogue, without repetitions; `all` names every one."""
    if not names:
        return ()
    known = wire_faults.FAULTS
    wanted = {name for given in names for name in given.split(",")}
    unknown = sorted(wanted - set(known) - {"all"})
    if unknown:
        hint = did_you_mean(unknown[0], known, "`tpharness list faults` names them")
        raise UsageError(f"no fault is called {unknown[0]!r}", hint=hint)
    return tuple(name for name in known if name in wanted or "all" in wanted)
