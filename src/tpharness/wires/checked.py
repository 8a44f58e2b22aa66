"""A whole stream, or the input that one answers → what is wrong by the rules of its wire, whichever that is."""

from __future__ import annotations

from importlib import import_module

from tpharness.findings import Finding, Kind
from tpharness.wires.registry import WIRES, name_wire

__all__ = ["NO_EVENTS", "UNFINISHED", "answers_input", "check_input", "check_stream"]

NO_EVENTS = Kind("stream-without-events")
"""A body that does not have a single event, on whatever wire."""

UNFINISHED = Kind("stream-unfinished")
"""A stream that ends before its turn does."""


def check_stream(data: bytes, major: int | None, posted: bytes | None = None) -> list[Finding]:
    """Return what is wrong with a whole stream by the rules of its wire; `posted` is the input that it answers."""
    found: list[Finding] = import_module(WIRES[name_wire(data)].module).check_stream(data, major, posted)
    return found


def answers_input(data: bytes) -> bool:
    """Whether a stream is one that answers an input with rules of its own."""
    return WIRES[name_wire(data)].posts


def check_input(posted: bytes) -> list[Finding]:
    """Return what is wrong with an input, by the rules of the wire whose runs are posted."""
    row = next(row for row in WIRES.values() if row.posts)
    found: list[Finding] = import_module(row.module).check_input(posted)
    return found
