"""Put changed source in the place of a module that is loaded, for the rest of this process.

In: a module and its changed source. Out: nothing; the module's functions, and the tables and constants that differ,
are now those of the changed source, also for whoever has imported them before. Only for a process that plays one mutant
and then ends: nothing is put back.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Iterator
from typing import Any

__all__ = ["install", "load_program"]


def load_program(name: str, source: bytes, **names: Any) -> types.ModuleType:
    """Run source as a module of its own, with these names defined, and return it."""
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module  # dataclasses look it up
    exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102
    return module


def install(module: types.ModuleType, source: bytes, *, tables: bool, **names: Any) -> None:
    """Make a loaded module what its changed source says, with these names defined in it.

    `tables`: also what is not a function, for whoever has imported it.
    """
    real = sys.modules[module.__name__]
    try:
        changed = load_program(
            module.__name__, source, __file__=module.__file__, __package__=module.__package__, **names
        )
    finally:
        sys.modules[module.__name__] = real
    module.__dict__.update(names)
    twins = _Twins(module, changed)
    for name, new in vars(changed).items():
        if not name.startswith("__"):
            twins.take_over(name, new, tables=tables)


class _Twins:
    """A module as it is, and the same one loaded from changed source: what stands for what."""

    def __init__(self, module: types.ModuleType, changed: types.ModuleType) -> None:
        self._module = module
        self._old: dict[int, Any] = {}
        self._keep = changed
        for name, new in vars(changed).items():
            old = vars(module).get(name)
            if _belongs(new, changed) and old is not None:
                self._old[id(new)] = old
                if isinstance(new, type):
                    methods = {k: one for k, one in vars(new).items() if isinstance(one, types.FunctionType)}
                    self._old.update((id(one), vars(old).get(k, one)) for k, one in methods.items())
                if isinstance(new, type) and issubclass(new, enum.Enum):
                    self._old.update((id(member), old[member.name]) for member in new if member.name in old.__members__)

    def take_over(self, name: str, new: Any, *, tables: bool) -> None:
        old = vars(self._module).get(name)
        if isinstance(new, type):
            if id(new) in self._old and isinstance(old, type):
                self._swap_methods(old, new, tables=tables)
        elif (function := _function(new)) is not None:
            if _belongs(function, self._keep):
                self._swap(_function(old), function)
                getattr(old, "cache_clear", lambda: None)()
        elif tables and old is not new:
            self._replace(name, old, self._translate(new))

    def _swap_methods(self, old: type, new: type, *, tables: bool) -> None:
        for name, value in vars(new).items():
            for ours, theirs in zip(_functions(vars(old).get(name)), _functions(value), strict=False):
                if _belongs(theirs, self._keep):
                    self._swap(ours, theirs)
            if (
                tables
                and isinstance(value, dict)
                and not name.startswith("__")
                and isinstance(vars(old).get(name), dict)
            ):
                _fill(vars(old)[name], self._translate(value, old))

    def _swap(self, old: Any, new: types.FunctionType) -> None:
        if isinstance(old, types.FunctionType) and len(old.__code__.co_freevars) == len(new.__code__.co_freevars):
            old.__code__ = new.__code__
            old.__defaults__ = self._translate(new.__defaults__)
            old.__kwdefaults__ = self._translate(new.__kwdefaults__)

    def _translate(self, value: Any, owner: type | None = None) -> Any:
        """Return a value with what belongs to the module in the place of its twins."""
        if id(value) in self._old:
            return self._old[id(value)]
        if owner is not None and isinstance(value, types.FunctionType):
            return getattr(owner, value.__name__, value)
        if isinstance(value, dict) and type(value) is dict:
            return {self._translate(k, owner): self._translate(v, owner) for k, v in value.items()}
        if type(value) in (tuple, list, set, frozenset):
            return type(value)(self._translate(item, owner) for item in value)
        return value

    def _replace(self, name: str, old: Any, new: Any) -> None:
        if type(new) is dict and type(old) is dict:
            _fill(old, new)
            return
        for other in [m for n, m in sys.modules.items() if n.startswith("tpharness")]:
            for key in [key for key, value in vars(other).items() if value is old and key == name]:
                setattr(other, key, new)


def _belongs(value: Any, module: types.ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__ and isinstance(value, type | types.FunctionType)


def _fill(old: dict[Any, Any], new: dict[Any, Any]) -> None:
    if old != new:
        old.clear()
        old.update(new)


def _function(value: Any) -> types.FunctionType | None:
    """Return the function that is behind decorators, None if there is none."""
    while value is not None and not isinstance(value, types.FunctionType):
        value = getattr(value, "__wrapped__", None)
    return value


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """Yield the functions of what stands in a class."""
    if isinstance(value, property):
        yield from (one for one in (value.fget, value.fset) if isinstance(one, types.FunctionType))
    else:
        function = _function(getattr(value, "__func__", value))
        if function is not None:
            yield function
