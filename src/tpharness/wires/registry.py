"""Which wires there are: a name → the wire, imported when it is first asked for.

A wire that nobody uses costs nothing. Adding one is its folder and its row.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tpharness.errors import UsageError, did_you_mean
from tpharness.wires.sse.frames import iter_frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tpharness.wires.contract import Wire

__all__ = ["DEFAULT_WIRE", "WIRES", "default_wire", "name_wire", "recognize", "recognize_events", "wire_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRow:
    """Where a wire is, and what the types of its events look like.

    The module defines `WIRE` and `check_stream`. A stream of a wire that `posts` answers an input with rules of its
    own, which `check_input` of the module knows.
    """

    module: str
    types: re.Pattern[str]
    posts: bool = False


WIRES = {
    "vsp": WireRow(module="tpharness.wires.vsp.wire", types=re.compile(r"[a-z][A-Za-z0-9:._-]*")),
    "ag-ui": WireRow(module="tpharness.wires.ag_ui.wire", types=re.compile(r"[A-Z]+(_[A-Z]+)*"), posts=True),
}
"""Every wire by its name."""

DEFAULT_WIRE = next(iter(WIRES))
"""The name of the wire that is meant where none is named."""


@cache
def wire_named(name: str) -> Wire:
    """Return a wire. UsageError for another name."""
    if name not in WIRES:
        hint = did_you_mean(name, list(WIRES), f"there are {', '.join(WIRES)}")
        raise UsageError(f"{name!r} is not the name of a wire", hint=hint)
    wire: Wire = import_module(WIRES[name].module).WIRE
    return wire


def default_wire() -> Wire:
    """Return the wire of whoever does not name one."""
    return wire_named(DEFAULT_WIRE)


def name_wire(data: bytes) -> str:
    """Return the name of the wire of a stream: its first event with a type says it. The default one where none does."""
    for frame in iter_frames(data):
        text = frame.field(b"data")
        try:
            event = json.loads(text) if text is not None else None
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            return _wire_of(event)
    return DEFAULT_WIRE


def recognize(data: bytes) -> Wire:
    """Return the wire of a stream; the default one where nothing of it says which."""
    return wire_named(name_wire(data))


def recognize_events(events: Iterable[Mapping[str, Any]]) -> Wire:
    """Return the wire of events as JSON objects, by the first one that has a type; else the default one."""
    typed = (event for event in events if isinstance(event.get("type"), str))
    return wire_named(next(map(_wire_of, typed), DEFAULT_WIRE))


def _wire_of(event: Mapping[str, Any]) -> str:
    """Return the name of the wire that an event with a type is of."""
    return next((name for name, row in WIRES.items() if row.types.fullmatch(event["type"])), DEFAULT_WIRE)
