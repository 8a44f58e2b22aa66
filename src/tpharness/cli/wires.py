"""The option `--wire` of commands that play over one wire, and the words that say which."""

from __future__ import annotations

from typing import Annotated

from tpharness.cli.options import Option
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["WireOption", "over"]

WireOption = Annotated[
    str, Option(metavar="NAME", help="What the streams are: vsp (the AI SDK's) or ag-ui; a target declares which.")
]


def over(wire: str) -> str:
    """Return a wire as words of a sentence, "" for the one that is meant where none is named."""
    return "" if wire == DEFAULT_WIRE else f" over {wire}"
