"""The public names: there, sorted, and cheap to have."""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import pathlib
import re
import subprocess
import sys
import typing

import pytest

import tpharness


@pytest.mark.parametrize("name", tpharness.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Each name of `__all__` can be had, and carries its documentation; of a list of words these are it."""
    value = getattr(tpharness, name)
    assert value.__doc__ or (typing.get_args(value) and typing.get_origin(value) is not None)


def test_public_names_are_sorted_and_no_others_exist() -> None:
    """A name that is not public is an AttributeError."""
    assert sorted(tpharness.__all__) == list(tpharness.__all__) == dir(tpharness)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tpharness.no_such_name


FUNCTIONS = [name for name in tpharness.__all__ if inspect.isfunction(getattr(tpharness, name))]
ELSEWHERE = {"SnapshotAssertion"}
"""What comes with another package: syrupy's fixture."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_type_and_error_that_a_signature_names_is_public(name: str) -> None:
    """Whoever writes a function around one of ours can name what it takes, gives and raises."""
    function = getattr(tpharness, name)
    words = {word for text in function.__annotations__.values() for word in re.findall(r"\b[A-Z]\w+", str(text))}
    words |= set(re.findall(r"\b[A-Z]\w*Error\b", function.__doc__))
    others = {word for home in (builtins, typing, collections.abc, pathlib) for word in dir(home)} | ELSEWHERE
    assert words - others <= set(tpharness.__all__)


MADE = ("Assembler", "Readings", "Recorder", "RunOptions")
"""What a caller makes, and calls."""
MAPPINGS_DO = {"Chunk", "EventKind"}
"""Where a chunk as a mapping does, or nothing has to be given."""


@pytest.mark.parametrize("name", MADE)
def test_every_type_that_what_a_caller_makes_takes_is_public(name: str) -> None:
    """The parameters of its constructor and of its methods, and what it gives back."""
    value = getattr(tpharness, name)
    methods = [one for key, one in vars(value).items() if inspect.isfunction(one) and not key.startswith("_")]
    words = {
        word
        for function in (value.__init__, *methods)
        for key, text in function.__annotations__.items()
        if key != "return" or function.__name__ == "journal"
        for word in re.findall(r"\b[A-Z]\w+", str(text))
    }
    others = {word for home in (builtins, typing, collections.abc, pathlib) for word in dir(home)} | MAPPINGS_DO
    assert words
    assert words - others <= set(tpharness.__all__)


def test_importing_the_package_and_the_plugin_loads_nothing_heavy() -> None:
    """Every pytest run of a user pays for this import."""
    heavy = ("msgspec", "orjson", "jsonschema_rs", "yaml", "click", "tpharness.run")
    code = f"import sys, tpharness, tpharness.pytest_plugin; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
