"""What to change in an application of a known framework, in place of the general advice of a finding.

In: the table `conformance/fixes.yaml`, a verdict, and what the application calls itself to its model's API. Out: the
verdict, whose findings say the change that made the same case pass on an application of `examples/apps`, and whether
the framework does the same alone. What is to blame is not judged here: the table knows what was played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from tpharness.apps.config import AppConfig
from tpharness.errors import UsageError, did_you_mean
from tpharness.findings import Finding
from tpharness.resources import conformance_dir, docs_dir
from tpharness.suite_yaml import load_suite_yaml
from tpharness.verdict import Result

__all__ = ["Fix", "KnownFramework", "load_fixes", "load_frameworks", "require_known_framework", "with_fixes"]

_UNDECIDED = "whether framework or application is to blame is not decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFramework:
    """A framework, which is known by the beginning of its User-Agent, `says`, under the profiles in `history`.

    One with an empty `says` does not name itself, and is known by `framework` of `tpharness.toml` alone.
    """

    title: str
    history: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change. The fields are those of the table, which says what they mean."""

    id: str
    framework: str
    title: str
    codes: tuple[str, ...]
    cases: tuple[str, ...]
    to_do: str
    application: str
    passes: tuple[str, ...]
    diff: str
    alone: str = ""
    shows: str = ""
    history: tuple[str, ...] = ()
    on_disconnect: str = ""
    outcome_unknown: tuple[str, ...] = ()

    def fits(self, finding: Finding, case: str, config: AppConfig) -> bool:
        """Whether a finding of a case has the cause that the change takes away."""
        return (
            finding.code in self.codes
            and any(fnmatchcase(case, pattern) for pattern in self.cases)
            and self.shows in str(finding.got)
            and (not self.history or config.history in self.history)
            and self.on_disconnect in ("", config.on_disconnect)
        )

    @property
    def advice(self) -> str:
        """What is said in place of the general advice."""
        title = load_frameworks()[self.framework].title
        alone = f"the framework does the same alone ({_versions(self.alone)}; tpharness docs {self.alone})"
        return f"in {title}: {self.to_do} (tpharness docs FIXES {self.id}); {alone if self.alone else _UNDECIDED}"


@cache
def load_frameworks() -> Mapping[str, KnownFramework]:
    """Return the frameworks by their names."""
    table: Mapping[str, Mapping[str, Any]] = _table()["frameworks"]
    return {name: KnownFramework(**_frozen(row)) for name, row in table.items()}


@cache
def load_fixes() -> tuple[Fix, ...]:
    """Return the fixes in the order of the table."""
    return tuple(Fix(**_frozen(row)) for row in _table()["fixes"])


def require_known_framework(config: AppConfig) -> None:
    """UsageError for a `framework` that the table does not have."""
    if config.framework and config.framework not in load_frameworks():
        hint = did_you_mean(
            config.framework, load_frameworks(), f"one of {', '.join(load_frameworks())}, or leave it out"
        )
        raise UsageError(f"{config.name}: framework is {config.framework!r}, which has no fixes", hint=hint)


def with_fixes(result: Result, agents: Iterable[str], config: AppConfig) -> Result:
    """Return the verdict with the changes of the framework; `agents` is what the application has called itself."""
    named = (
        {config.framework}
        if config.framework
        else {
            name
            for name, one in load_frameworks().items()
            if one.says and any(agent.startswith(one.says) for agent in agents)
        }
    )
    names = {name for name in named if config.history in load_frameworks()[name].history}

    def advised(finding: Finding) -> Finding:
        fits = (one for one in load_fixes() if one.framework in names and one.fits(finding, result.id, config))
        fix = next(fits, None)
        return finding if fix is None else replace(finding, advice=fix.advice)

    return replace(result, findings=tuple(map(advised, result.findings))) if result.findings else result


def _versions(file: str) -> str:
    """Return the releases that a program of docs/reproductions was run with."""
    rows = load_suite_yaml(docs_dir() / "reproductions" / "applications.yaml")
    return next((str(row["versions"]) for row in rows if row["file"] == file), file)


def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = load_suite_yaml(conformance_dir() / "fixes.yaml")
    return found


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
