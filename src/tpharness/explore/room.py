"""The way into the explorer: what `tpharness.rooms` asks of it. Its commands are those of `tpharness.cli`."""

from __future__ import annotations

from tpharness.findings import Kind

__all__ = ["KINDS"]

KINDS: tuple[Kind, ...] = ()
