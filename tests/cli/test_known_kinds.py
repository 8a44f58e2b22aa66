"""`explain` and `list findings` know every kind of finding that there is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import tpharness
from tpharness.clauses import load_clauses, load_rulings
from tpharness.cli.kinds import known_kinds
from tpharness.findings import Kind


def declared() -> Iterator[tuple[str, Kind]]:
    """Yield every kind that is a constant of some module, with the name of the module."""
    for module in pkgutil.walk_packages(tpharness.__path__, "tpharness."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Kind):
                    yield module.name, value


def test_every_kind_that_a_module_declares_is_known() -> None:
    """A code that a report shows can always be explained; no two kinds share one."""
    known = known_kinds()
    for module, kind in declared():
        assert known.get(kind.code) is kind, f"{kind.code} of {module}"


def test_every_kind_cites_what_exists() -> None:
    """Clause ids and rulings of a kind are those of the suite; each says what to do."""
    clauses, rulings = load_clauses(), load_rulings()
    for kind in known_kinds().values():
        assert set(kind.clauses) <= set(clauses), kind.code
        assert set(kind.rulings) <= set(rulings), kind.code
        assert kind.remedy


@pytest.mark.parametrize("code", ["stream-unfinished", "identity-differs", "json-too-deep"])
def test_explain_knows_the_kinds_of_commands_and_checks(code: str, call: Any) -> None:
    """Title, remedy, and the clauses in words."""
    called = call("explain", code)
    assert called.code == 0
    assert called.out.startswith(f"{code} (")
    assert known_kinds()[code].remedy in called.out
