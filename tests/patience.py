"""How long tests wait for a live target that does everything right, on a machine that does other things as well."""

from __future__ import annotations

from tpharness.targets.remote import Patience

__all__ = ["SLOW"]

SLOW = Patience(answer=30.0, silence=30.0, settle=10.0, limit=1.0)
"""A limit below this makes a stream time out that is only slow: what the case then shows is the machine."""
