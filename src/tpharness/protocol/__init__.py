"""The protocol itself: versions, parsing, rules, canonical form, comparison, migration, history for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_modules

if TYPE_CHECKING:
    from tpharness.protocol import change, diff, misfits, rfc8785, second_look

__all__ = ["change", "diff", "misfits", "rfc8785", "second_look"]

__getattr__ = lazy_modules(__name__, "change", "diff", "misfits", "rfc8785", "second_look")
