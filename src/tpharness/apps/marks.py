"""Marks: the tokens by which the requests of one case are known, and ids of calls made of them."""

from __future__ import annotations

import re
import secrets
import string

__all__ = ["call_id", "marks_in", "new_mark"]

_LETTERS = string.ascii_lowercase + string.digits
_MARK = re.compile(r"\[tp:[a-z0-9]{6}\]")


def new_mark() -> str:
    """Return a token that no other case has."""
    return f"[tp:{''.join(secrets.choice(_LETTERS) for _ in range(6))}]"


def call_id(mark: str) -> str:
    """Return an id for a call of the case, in letters that every API takes."""
    return f"call_{mark.strip('[]').replace(':', '_')}"


def marks_in(text: str) -> set[str]:
    """Return the tokens in a text."""
    return set(_MARK.findall(text))
