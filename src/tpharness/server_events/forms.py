"""Forms that a JSON value may have, and the faults of one that does not.

In: a decoded JSON value. Out: its faults: where, what was got, what was expected; none when it fits. A form is data, so
that a table of them can be read, and cheap to ask, since every event of every run is asked about. Must not contain:
what an event is (`shapes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Fault", "Form", "Listed", "Record", "Scalar", "Tagged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong of a value. `path` leads to the place, or to the object that lacks the field when `missing`."""

    path: tuple[str | int, ...] = ()
    got: Any = None
    expected: str
    missing: str | None = None

    def under(self, step: str | int) -> Fault:
        """Return the fault as the object sees it in which the value stands under `step`."""
        return Fault(path=(step, *self.path), got=self.got, expected=self.expected, missing=self.missing)

    def where(self) -> str:
        """Return the path in words, such as `parts[0].content`, with the name of a missing field at its end."""
        steps = self.path if self.missing is None else (*self.path, self.missing)
        return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).removeprefix(".")

    def message(self) -> str:
        """Return what is wrong in one clause."""
        return f"{self.where()} is missing" if self.missing is not None else f"{self.where()} is not {self.expected}"


class Form(Protocol):
    """What a value may be. `plain` are types of which every value fits, so that most values need no call."""

    @property
    def said(self) -> str:
        """What is expected, for people."""

    @property
    def plain(self) -> frozenset[type]:
        """Exact types of which every value fits."""

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return everything that is wrong with a value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that is judged as a whole."""

    said: str
    holds: Callable[[Any], bool]
    plain: frozenset[type] = frozenset()

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return the one fault of a value that does not fit."""
        return () if self.holds(value) else (Fault(got=value, expected=self.said),)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of values of one form."""

    said: str
    item: Form
    nullable: bool = False
    plain: frozenset[type] = frozenset()

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return the faults of the items."""
        if value is None and self.nullable:
            return ()
        if not isinstance(value, list | tuple):
            return (Fault(got=value, expected=self.said),)
        return tuple(f.under(i) for i, item in enumerate(value) for f in self.item.faults(item))


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields, of which some are required; others may stand beside them (R7)."""

    fields: Mapping[str, Form]
    required: tuple[str, ...] = ()
    said: str = "an object"
    plain: frozenset[type] = frozenset()

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return the faults of the fields, those that are missing first."""
        if type(value) is not dict and not isinstance(value, Mapping):
            return (Fault(got=value, expected=self.said),)
        return _field_faults(value, self.fields, self.required)


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object whose required text field `tag` says which record it is; one that the table does not name is `other`.

    Only `other`, which has every object whose tag is no text, says that the tag is required.
    """

    tag: str
    records: Mapping[str, Record]
    other: Record
    said: str = "an object"
    plain: frozenset[type] = frozenset()

    def faults(self, value: Any) -> tuple[Fault, ...]:
        """Return the faults of the record that the tag names."""
        if type(value) is not dict and not isinstance(value, Mapping):
            return (Fault(got=value, expected=self.said),)
        tag = value.get(self.tag)
        record = self.records.get(tag, self.other) if isinstance(tag, str) else self.other
        return _field_faults(value, record.fields, record.required)


def _field_faults(value: Mapping[str, Any], fields: Mapping[str, Form], required: tuple[str, ...]) -> tuple[Fault, ...]:
    """Return the faults of an object. Every event goes through this loop: nothing is made unless something is wrong."""
    found: tuple[Fault, ...] = ()
    for name in required:
        if name not in value:
            found += (Fault(expected=fields[name].said, missing=name),)
    for name, given in value.items():
        if name in fields and type(given) not in (form := fields[name]).plain and (inner := form.faults(given)):
            found += tuple(fault.under(name) for fault in inner)
    return found
