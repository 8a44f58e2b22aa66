"""The option `--wire` of commands that play over one wire."""

from __future__ import annotations

from typing import Annotated

from tpharness.cli.options import Option

__all__ = ["WireOption"]

WireOption = Annotated[
    str, Option(metavar="NAME", help="What the streams are: vsp (the AI SDK's) or ag-ui; a target declares which.")
]
