"""Forms that a JSON value may have, and the mismatches of a value that does not have its form.

In: a decoded JSON value. Out: its mismatches: where, what was got, what was expected; an empty tuple if it fits. A form
is data, so that a table of forms can be read, and it is fast, since every event of every run is checked. Must not
contain: the forms of events (`shapes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Form", "ListOf", "Mismatch", "Record", "Scalar", "TaggedRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A place where a value has a wrong form. `path` leads there, or to the object without its field `missing`."""

    path: tuple[str | int, ...] = ()
    got: Any = None
    expected: str
    missing: str | None = None

    def under(self, step: str | int) -> Mismatch:
        """Return the same mismatch, seen from the object that has the value under `step`."""
        return Mismatch(path=(step, *self.path), got=self.got, expected=self.expected, missing=self.missing)

    def where(self) -> str:
        """Return the path in words, such as `parts[0].content`, with the name of a missing field at its end."""
        steps = self.path if self.missing is None else (*self.path, self.missing)
        return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).removeprefix(".")

    def message(self) -> str:
        """Return what is wrong in one clause."""
        return f"{self.where()} is missing" if self.missing is not None else f"{self.where()} is not {self.expected}"


class Form(Protocol):
    """The form of a value. `plain` are types of which every value fits, so that most values need no call."""

    @property
    def description(self) -> str:
        """What is expected, in words for a message."""

    @property
    def plain(self) -> frozenset[type]:
        """Exact types of which every value fits."""

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """Return everything that is wrong with a value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that is checked as a whole. `native` is a type of msgspec that only fitting values have, if any."""

    description: str
    holds: Callable[[Any], bool]
    plain: frozenset[type] = frozenset()
    native: Any = None

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """Return the one mismatch of a value that does not fit."""
        return () if self.holds(value) else (Mismatch(got=value, expected=self.description),)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of values of one form."""

    description: str
    item: Form
    nullable: bool = False
    plain: frozenset[type] = frozenset()

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """Return the mismatches of the items."""
        if value is None and self.nullable:
            return ()
        if not isinstance(value, list | tuple):
            return (Mismatch(got=value, expected=self.description),)
        return tuple(f.under(i) for i, item in enumerate(value) for f in self.item.mismatches(item))


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields, of which some are required; others may stand beside them (R7)."""

    fields: Mapping[str, Form]
    required: tuple[str, ...] = ()
    description: str = "an object"
    plain: frozenset[type] = frozenset()

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """Return the mismatches of the fields, those that are missing first."""
        if type(value) is not dict and not isinstance(value, Mapping):
            return (Mismatch(got=value, expected=self.description),)
        return _field_mismatches(value, self.fields, self.required)


@dataclass(frozen=True, slots=True)
class TaggedRecord:
    """An object whose required text field `tag` says which record it is; one that the table does not name is `other`.

    Objects whose tag is not text are checked by `other`, so only `other` has to require the tag.
    """

    tag: str
    records: Mapping[str, Record]
    other: Record
    description: str = "an object"
    plain: frozenset[type] = frozenset()

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """Return the mismatches of the record that the tag names."""
        if type(value) is not dict and not isinstance(value, Mapping):
            return (Mismatch(got=value, expected=self.description),)
        tag = value.get(self.tag)
        record = self.records.get(tag, self.other) if isinstance(tag, str) else self.other
        return _field_mismatches(value, record.fields, record.required)


def _field_mismatches(
    value: Mapping[str, Any], fields: Mapping[str, Form], required: tuple[str, ...]
) -> tuple[Mismatch, ...]:
    """Return the mismatches of an object. Every event goes through this loop: it allocates only for a mismatch."""
    found: tuple[Mismatch, ...] = ()
    for name in required:
        if name not in value:
            found += (Mismatch(expected=fields[name].description, missing=name),)
    for name, given in value.items():
        if name in fields and type(given) not in (form := fields[name]).plain and (inner := form.mismatches(given)):
            found += tuple(mismatch.under(name) for mismatch in inner)
    return found
