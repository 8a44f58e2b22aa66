"""The way into the explorer: what `tpharness.rooms` asks of it. Its commands are those of `tpharness.cli`."""

from __future__ import annotations

from tpharness.explore.orders.play import OrderOptions, play_orders

__all__ = ["OrderOptions", "play_orders"]
