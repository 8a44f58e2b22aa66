"""Modules that hold seeded defects: `DEFECTS`, and if they like `HARMLESS` and `ELSEWHERE`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import get_args

from tpharness.clauses import load_clauses, load_rulings
from tpharness.errors import UsageError, did_you_mean
from tpharness.explore.mutation.records import Defect, Harmless, Side
from tpharness.imports import describe_import_error, import_from

__all__ = ["Changes", "load_changes"]

_HINT = "{} is a list of tpharness.explore.mutation.{}"


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
    _check_lists(module, found)
    defects, harmless = tuple(found.DEFECTS), tuple(getattr(found, "HARMLESS", ()))
    names = Counter(one.name for one in (*defects, *harmless))
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise UsageError(f"{module} has two changes called {', '.join(twice)}")
    for one in (*defects, *harmless):
        _check_change(module, one)
    folder = Path(found.__file__ or ".").parent
    return Changes(
        defects=defects,
        harmless=harmless,
        elsewhere=dict(getattr(found, "ELSEWHERE", {})),
        complete=hasattr(found, "ELSEWHERE"),
        folder=folder,
    )


def _check_lists(module: str, found: ModuleType) -> None:
    """Raise UsageError when what a module holds is not what the names promise."""
    if not hasattr(found, "DEFECTS"):
        raise UsageError(f"{module} does not define DEFECTS", hint=_HINT.format("DEFECTS", "Defect"))
    for name, kind, words in (("DEFECTS", Defect, "defects"), ("HARMLESS", Harmless, "harmless variants")):
        held, hint = getattr(found, name, ()), _HINT.format(name, kind.__name__)
        if not isinstance(held, Sequence) or not all(isinstance(one, kind) for one in held):
            raise UsageError(f"{module} has {name} that are not a list of {words}", hint=hint)
        if name == "DEFECTS" and not held:
            raise UsageError(f"{module} has an empty list of DEFECTS", hint=hint)


def _check_change(module: str, change: Defect | Harmless) -> None:
    """Raise UsageError when a change names a side, a clause or a ruling that does not exist."""
    sides = get_args(Side)
    asked: list[tuple[str, Iterable[str], Iterable[str], str]] = [
        ("side", [change.side], sides, f"sides are {', '.join(sides)}")
    ]
    if isinstance(change, Defect):
        asked += [
            ("clause", change.clauses, load_clauses(), "`tpharness list clauses` names them"),
            ("ruling", change.rulings, load_rulings(), "`tpharness list rulings` names them"),
        ]
    for what, names, known, otherwise in asked:
        for name in map(str, names):
            if name not in known:
                hint = did_you_mean(name, known, otherwise)
                raise UsageError(f"{change.name} of {module} has the {what} {name!r}, which does not exist", hint=hint)
