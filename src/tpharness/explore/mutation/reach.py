"""Which code a change of the reference replaces, so that what never runs it need not be played.

In: a change, and the code that ran without it. Out: the parts of that code that cannot do the same with the change. A
change replaces what stands in a module, a class or a table of either; that is found by looking at all of them before
and while it is seeded. A replaced function affects the code that ran it, any other value the code that names it.
"""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tpharness.explore.mutation.records import Defect, Harmless

__all__ = ["CodeThatRan", "find_reach"]

_PACKAGE = __name__.partition(".")[0]
_NOTHING = object()
_SIZED = (list, set)
_OF_EVERY_CLASS = frozenset(
    ("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__static_attributes__")
) | {"__firstlineno__", "__annotate_func__", "__annotations_cache__"}


@dataclass(slots=True)
class _Container:
    """A module, a class or a table: the names of a table in others, what it holds, and what is inside of that."""

    names: list[str]
    held: dict[Any, Any]
    inside: list[Any]

    def by_key(self) -> dict[Any, Any]:
        """Return what is inside of the values, by their keys."""
        return dict(zip(self.held, self.inside, strict=False))


class CodeThatRan:
    """The code that ran, by id: code objects are compared by their contents, which takes long."""

    def __init__(self, code: Mapping[int, CodeType]) -> None:
        self._code = code

    @cached_property
    def _by_name(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for number, code in self._code.items():
            words = (one for one in code.co_consts if isinstance(one, str))  # as getattr takes them
            for name in (*code.co_names, *words):
                found.setdefault(name, set()).add(number)
        return found

    def named(self, number: int) -> str:
        """Return the qualified name of a part of the code, "" if it did not run."""
        code = self._code.get(number)
        return "" if code is None else code.co_qualname

    def naming(self, name: str) -> set[int]:
        """Return the code that names something so."""
        return self._by_name.get(name, set())


def _find_slots() -> dict[int, _Container]:
    """Return what stands in all modules that are loaded, in the package's classes, and in the tables of both."""
    found: dict[int, _Container] = {}
    loaded: list[object] = list(sys.modules.values())
    for module in (one for one in loaded if isinstance(one, ModuleType)):
        held = dict(vars(module))
        ours = module.__name__.partition(".")[0] == _PACKAGE
        found[id(module)] = _Container([], held, _inside(held) if ours else [])
        if ours:
            _add_tables(found, held)
            for one in (value for value in held.values() if isinstance(value, type) and id(value) not in found):
                slots = dict(vars(one))
                found[id(one)] = _Container([], slots, _inside(slots))
                _add_tables(found, slots)
    return found


def find_reach(change: Defect | Harmless, ran: CodeThatRan) -> frozenset[int] | None:
    """Return the ids of the code that can do something else with the change; None if nobody can say."""
    collects = gc.isenabled()
    gc.disable()  # what others have it call would change their modules in between
    try:
        before = _find_slots()
        with change.seed():
            now = _find_slots()
    finally:
        if collects:
            gc.enable()
    found: set[int] = set()
    changed = False
    for container, was in before.items():
        then = now.get(container)
        if then is None or _is_same(was, then):
            continue
        inside, inside_now = was.by_key(), then.by_key()
        for key in was.held.keys() | then.held.keys():
            old, new = was.held.get(key, _NOTHING), then.held.get(key, _NOTHING)
            if old is new and inside.get(key) == inside_now.get(key):
                continue
            changed = True
            code = _code_replaced(old, new)
            if code is None:
                found.update(*map(ran.naming, was.names or [key]))
            else:
                found.update(map(id, code))
    return frozenset(found) if changed else None


def _add_tables(found: dict[int, _Container], slots: Mapping[str, Any]) -> None:
    for name, value in slots.items():
        if type(value) is dict and not name.startswith("__"):
            known = found.setdefault(id(value), _Container([], dict(value), []))
            known.names.append(name)


def _is_same(one: _Container, other: _Container) -> bool:
    values = one.held.values(), other.held.values()
    return len(one.held) == len(other.held) and all(map(operator.is_, *values)) and one.inside == other.inside


def _inside(slots: Mapping[str, Any]) -> list[Any]:
    """Return what makes each value do something else although it is the same object."""
    return [  # tens of thousands of values, twice for each change: no call for each
        (id(value.__code__), id(value.__defaults__), id(value.__kwdefaults__))
        if type(value) is FunctionType
        else (len(value) if type(value) in _SIZED else None)
        for value in slots.values()
    ]


def _code_replaced(old: Any, new: Any) -> Collection[CodeType] | None:
    """Return the code that no longer runs; None for what is not a function, nor a class with some methods replaced."""
    functions = _functions(old)
    if functions is not None:
        return [one.__code__ for one in functions]
    if isinstance(old, type) and isinstance(new, type) and old in new.__mro__:
        found: list[CodeType] = []
        for derived in new.__mro__[: new.__mro__.index(old)]:
            for name, value in vars(derived).items():
                if name in _OF_EVERY_CLASS:
                    continue
                base = getattr_static(old, name, _NOTHING)
                overridden = _functions(base)
                if overridden is not None:
                    found += [one.__code__ for one in overridden]
                elif base is not _NOTHING or _functions(value) is None or name.startswith("__"):
                    return None
        return found
    return None


def _functions(value: Any) -> list[FunctionType] | None:
    """Return the functions that run when a slot is used; None if that may be others, or what one gave before."""
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, staticmethod | classmethod):
        return _functions(value.__func__)
    if isinstance(value, property):
        return [one for one in (value.fget, value.fset, value.fdel) if isinstance(one, FunctionType)]
    return None
