"""The name of a place of the site, as an address has it."""

from __future__ import annotations

import re

__all__ = ["anchor_name"]


def anchor_name(text: str) -> str:
    """Return small letters and digits, joined by hyphens."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
