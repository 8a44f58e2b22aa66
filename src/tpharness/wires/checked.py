"""A whole stream, or the input that one answers → what is wrong by the rules of its wire, whichever that is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tpharness.wires.registry import WIRES, name_wire

if TYPE_CHECKING:
    from tpharness.findings import Finding

__all__ = ["answers_input", "check_input", "check_stream"]


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
