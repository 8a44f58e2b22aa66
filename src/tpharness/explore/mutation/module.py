"""Modules that hold seeded defects: `DEFECTS`, and if they like `HARMLESS` and `ELSEWHERE`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tpharness.errors import UsageError
from tpharness.explore.mutation.records import Defect, Harmless
from tpharness.imports import describe_import_error, import_from

__all__ = ["Changes", "load_changes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a module holds.

    `elsewhere` maps the MUST clauses that no change of the reference can break before the eyes of a scenario to the
    reason, which names the test that shows them broken. A module that has it is `complete`: its defects are to break
    every other MUST clause that a scenario exercises. `folder` is where the module lies.
    """

    defects: tuple[Defect, ...]
    harmless: tuple[Harmless, ...]
    elsewhere: Mapping[str, str]
    complete: bool
    folder: Path

    def all(self) -> tuple[Defect | Harmless, ...]:
        """Return every change, the defects first."""
        return (*self.defects, *self.harmless)

    def named(self, name: str) -> Defect | Harmless:
        """Return the change of that name. UsageError if there is none."""
        for one in self.all():
            if one.name == name:
                return one
        raise UsageError(f"there is no defect called {name!r}", hint="`tpharness mutate MODULE --list` names all")


def load_changes(module: str) -> Changes:
    """Import a module, also from the current folder. UsageError if it does not hold defects."""
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{module!r} is not the name of a module", hint="write it as in import, such as tests.defects")
    try:
        found = import_from(Path.cwd(), module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"cannot import {module}: {error}",
            hint="modules are looked for here, then in PYTHONPATH; only a clone of tpharness has tests.seeded_defects",
        ) from error
    except Exception as error:  # the module's own code may raise anything when it is imported
        raise UsageError(describe_import_error(module, error), hint="import it in a Python shell") from error
    problem = _find_problem(found)
    if problem:
        raise UsageError(f"{module} {problem}", hint="DEFECTS is a list of tpharness.explore.mutation.Defect")
    defects, harmless = tuple(found.DEFECTS), tuple(getattr(found, "HARMLESS", ()))
    names = Counter(one.name for one in (*defects, *harmless))
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise UsageError(f"{module} has two changes called {', '.join(twice)}")
    folder = Path(found.__file__ or ".").parent
    return Changes(
        defects=defects,
        harmless=harmless,
        elsewhere=dict(getattr(found, "ELSEWHERE", {})),
        complete=hasattr(found, "ELSEWHERE"),
        folder=folder,
    )


def _find_problem(module: ModuleType) -> str:
    """Return what is wrong with the DEFECTS of a module, "" if nothing is."""
    if not hasattr(module, "DEFECTS"):
        return "does not define DEFECTS"
    defects = module.DEFECTS
    if not isinstance(defects, Sequence) or not all(isinstance(one, Defect) for one in defects):
        return "has DEFECTS that are not a list of defects"
    return "" if defects else "has an empty list of DEFECTS"
