"""Sweeps: one run cut at every place, for one case and for the whole suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.run.sweeps.places import CutPlace
    from tpharness.run.sweeps.stepped import sweep

__all__ = ["CutPlace", "sweep"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.run.sweeps.places": ("CutPlace",),
        "tpharness.run.sweeps.stepped": ("sweep",),
    },
)
