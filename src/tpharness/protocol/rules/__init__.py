"""The rules of a thread that a schema cannot express, one file for each subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_modules
from tpharness.protocol.rules.index import Rule

if TYPE_CHECKING:
    from tpharness.protocol.rules import every

__getattr__ = lazy_modules(__name__, "every")

from tpharness.protocol.rules.check import check_thread  # it looks up a rule in this package

__all__ = ["Rule", "check_thread", "every"]
