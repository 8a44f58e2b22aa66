"""Profiles: the parts of the suite that an implementation can take on by themselves, with the rules of what belongs.

In: `conformance/profiles.yaml`, and the id and clauses of a case. Out: the profiles that a clause, a fault or a case
belongs to, in the order in which an implementer takes them on. Nothing here plays or counts anything.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

from tpharness.errors import UsageError
from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = ["SuiteProfile", "find_profiles", "load_profiles", "parse_profiles"]

_FAULT = "@fault-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteProfile:
    """One profile. `reader` says in one sentence whom it is for; `core` profiles build on those before them.

    `clauses`, `scenarios`, `faults` and `struck` are patterns of ids: what belongs to the profile, and the scenarios
    that `run --profile` plays with its faults.
    """

    name: str
    title: str
    reader: str
    clauses: tuple[str, ...]
    core: bool = False
    scenarios: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()

    def has_clause(self, clause: str) -> bool:
        """Whether the clause belongs to the profile."""
        return _fits(clause, self.clauses)

    def has_fault(self, fault: str) -> bool:
        """Whether the fault belongs to the profile."""
        return _fits(fault, self.faults)

    def strikes(self, scenario: str) -> bool:
        """Whether `run --profile` plays the scenario with the faults of the profile."""
        return _fits(scenario, self.struck)

    def has_scenario(self, scenario: str, clauses: Iterable[str]) -> bool:
        """Whether the scenario, which cites these clauses, fits the rule of the profile taken alone."""
        return _fits(scenario, self.scenarios) or any(map(self.has_clause, clauses))


@cache
def load_profiles() -> Mapping[str, SuiteProfile]:
    """Return every profile by name, in the order in which an implementer takes them on."""
    raw = load_suite_yaml(conformance_dir() / "profiles.yaml")
    return {
        item["name"]: SuiteProfile(
            name=item["name"],
            title=item["title"],
            reader=item["for"],
            core=item.get("core", False),
            **{key: tuple(item.get(key, ())) for key in ("clauses", "scenarios", "faults", "struck")},
        )
        for item in raw
    }


def find_profiles(case: str, clauses: Iterable[str]) -> tuple[SuiteProfile, ...]:
    """Return the profiles that a case belongs to, by its id and by the clauses that its scenario cites.

    Every built-in case belongs to one at least. A scenario of somebody's own without a clause belongs to none.
    """
    known = load_profiles().values()
    base, struck, fault = case.partition(_FAULT)
    if struck:
        return tuple(profile for profile in known if profile.has_fault(fault))
    scenario, cited = base.partition("@")[0], tuple(clauses)
    fitting = [profile for profile in known if profile.has_scenario(scenario, cited)]
    last = next((profile for profile in reversed(fitting) if profile.core), None)
    return tuple(profile for profile in fitting if not profile.core or profile is last)


def parse_profiles(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named profiles in the order of the file, without repetitions. UsageError with the nearest names."""
    known = load_profiles()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise UsageError(f"no profile is called {name!r}", hint=hint)
    return tuple(name for name in known if name in names)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return _matcher(patterns)(name) is not None


@cache
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Return what matches a whole name with any of the patterns; asked for each result of a run."""
    return re.compile("|".join(map(translate, patterns)) if patterns else r"(?!)").match
