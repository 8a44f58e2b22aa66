"""What the name of a Gemini says about the requests that it takes."""

from __future__ import annotations

import re

__all__ = ["needs_thought_signatures"]

_GEMINI = re.compile(r"gemini-(?:[a-z]+-)?(\d{1,2})")
_SIGNS_SINCE = 3


def needs_thought_signatures(model: str) -> bool | None:
    """Whether a Gemini requires the signatures of its calls (rule G4). None if the name does not say which it is."""
    found = _GEMINI.search(model)
    return None if found is None else int(found[1]) >= _SIGNS_SINCE
