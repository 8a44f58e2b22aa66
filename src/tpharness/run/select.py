"""Select the scenarios of a run by ids and patterns."""

from __future__ import annotations

import difflib
import os
import shlex
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from pathlib import Path

from tpharness import faults as wire_faults
from tpharness.clauses import load_clauses
from tpharness.errors import UsageError, did_you_mean
from tpharness.printable import counted
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.scenario_files import BUILT_IN, find_files, find_skipped, is_built_in
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["SelectedScenario", "built_in_roots", "select_scenarios"]

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedScenario:
    """One scenario file below `root`, which is None for a file that was named itself.

    `place` is the full id of a place of its sweep if only that place is to be played; without `swept` none is. With
    `faults` the scenario is played with each of them, and not without one.
    """

    id: str
    path: Path
    root: Path | None
    place: str | None = None
    faults: tuple[str, ...] = ()
    swept: bool = True

    def __str__(self) -> str:
        return self.place or self.id


def built_in_roots(wire: str | None) -> tuple[Path, ...]:
    """Return the folders of what is built in for a run over a wire, None for any: over another, streams of it."""
    return (scenarios_dir(),) if wire == DEFAULT_WIRE else (scenarios_dir(), conformance_dir() / "streams")


def select_scenarios(
    ids: Sequence[str], roots: Sequence[Path], *, follow_links: bool = False
) -> list[SelectedScenario]:
    """Return the scenarios below `roots` that the ids name, or all of them if there are no ids.

    A root may be a file: its id has the name of its folder, as everywhere else, `theme/name`.
    An id is a full id, a pattern with `*`, a theme, or a case such as `theme/name@event-12`; a scenario that is named
    itself has its places with it. UsageError with the nearest names when an id names nothing: a run that selects
    nothing is never green. Who asks for all gets all or none: UsageError as well if something is left out, such as a
    link to a file elsewhere; `follow_links` reads it.
    """
    if not ids:  # first: where everything is left out there are no scenarios at all
        _require_all(find_skipped(roots, follow_links=follow_links))
    found = find_files(roots, follow_links=follow_links).values()
    known = {one.id: SelectedScenario(id=one.id, path=one.path, root=one.root) for one in found}
    names = sorted(known)
    if not ids:
        return [known[name] for name in names]
    chosen: dict[str, SelectedScenario] = {}
    for wanted in (unicodedata.normalize("NFC", one) for one in ids):
        base, at, _ = wanted.partition("@")
        hits = _find_named(base, names)
        fault = wanted.partition("@fault-")[2]
        if fault and fault not in wire_faults.FAULTS:
            hint = did_you_mean(fault, wire_faults.FAULTS, "`tpharness list faults` names them")
            raise UsageError(f"{wanted!r}: no fault is called {fault!r}", hint=hint)
        if not hits:
            where, listing = _where(roots)
            themes = {name.partition("/")[0]: None for name in names} if "/" not in base else {}
            hint = _explain_unknown(wanted, difflib.get_close_matches(base, [*themes, *known], n=3), listing)
            raise UsageError(f"no {where} is called {wanted!r}", hint=hint)
        for name in hits:
            place = wanted if at and "*" not in wanted else None
            chosen[place or name] = replace(known[name], place=place)
    once = [one for one in chosen.values() if one.place is None or one.id not in chosen or "@fault-" in one.place]
    return sorted(once, key=lambda one: one.id)


def _require_all(skipped: Mapping[Path, str]) -> None:
    """Raise UsageError if anything is left out of what was asked for."""
    if not skipped:
        return
    shown = [f"{path}: {why}" for path, why in islice(skipped.items(), _MOST_SHOWN)]
    more = [f"and {len(skipped) - _MOST_SHOWN} more"] if len(skipped) > _MOST_SHOWN else []
    links = any(why.endswith("elsewhere") for why in skipped.values())
    hint = "name the ids that are to be played" + ("; `run --follow-links` reads what links lead to" if links else "")
    what = f"{counted(len(skipped), 'file')} that look{'s' if len(skipped) == 1 else ''} like a scenario"
    raise UsageError(f"{what} would not be played: {'; '.join([*shown, *more])}", hint=hint)


def _find_named(base: str, names: Sequence[str]) -> set[str]:
    """Return which of the sorted ids an id, a theme or a pattern means; a run may name each scenario by its id."""
    below = base.rstrip("/") + "/"
    found = set(takewhile(lambda name: name.startswith(below), islice(names, bisect_left(names, below), None)))
    if any(sign in base for sign in "*?["):
        found.update(name for name in names if fnmatchcase(name, base))
    place = bisect_left(names, base)
    return found | {base} if names[place : place + 1] == [base] else found


def _explain_unknown(wanted: str, near: Sequence[str], listing: str) -> str:
    """Return what somebody meant by an unknown name: a clause, a file, what is built in, or one of the nearest ids."""
    if wanted in load_clauses():
        return f"that is a clause: tpharness run --clause {wanted}"
    if os.path.exists(wanted):  # noqa: PTH110  # pathlib raises for a name that is too long
        return f"that is a path: name it with --scenarios {shlex.quote(wanted)}"
    if _find_named(wanted.partition("@")[0], sorted(find_files([scenarios_dir()]))):
        return f"that is built in: name it with --scenarios {BUILT_IN}"
    return f"did you mean {', '.join(near)}?" if near else listing


def _where(roots: Sequence[Path]) -> tuple[str, str]:
    """Return which scenarios were looked at, and how they are listed."""
    if all(is_built_in(root) or root in built_in_roots(None) for root in roots):
        return "built-in scenario", "`tpharness list scenarios` names them all; --scenarios FOLDER finds your own"
    listing = f"`tpharness list scenarios --scenarios {roots[0]}` names them all"
    return f"scenario in {', '.join(map(str, roots))}", listing
