"""The rules of a thread that a schema cannot express, one file for each subject."""

from __future__ import annotations

from tpharness.protocol.rules.check import RULES, check_thread
from tpharness.protocol.rules.index import Rule

__all__ = ["RULES", "Rule", "check_thread"]
