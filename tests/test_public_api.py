"""The public names: there, sorted, and cheap to have."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tpharness


@pytest.mark.parametrize("name", tpharness.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Each name of `__all__` can be had, and carries its documentation."""
    assert getattr(tpharness, name).__doc__


def test_public_names_are_sorted_and_no_others_exist() -> None:
    """A name that is not public is an AttributeError."""
    assert sorted(tpharness.__all__) == list(tpharness.__all__) == dir(tpharness)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tpharness.no_such_name


def test_importing_the_package_and_the_plugin_loads_nothing_heavy() -> None:
    """Every pytest run of a user pays for this import."""
    heavy = ("msgspec", "orjson", "jsonschema_rs", "yaml", "click", "tpharness.run")
    code = f"import sys, tpharness, tpharness.pytest_plugin; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
