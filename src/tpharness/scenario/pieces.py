"""How the short form cuts text and arguments into deltas, so that there is something to interrupt in the middle."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["split_args", "split_text"]

_WORD = re.compile(r"\S+\s*|\s+")
_TEXT_PIECES = 3
_ARGS_PIECES = 3


def split_text(text: str) -> list[str]:
    """Cut a text at word boundaries into three pieces, fewer when it has fewer words; one word into two halves."""
    words = _WORD.findall(text)
    if len(words) > 1:
        count = min(_TEXT_PIECES, len(words))
        bounds = [len(words) * i // count for i in range(count + 1)]
        return ["".join(words[a:b]) for a, b in pairwise(bounds)]
    return _halves(text, 2)


def split_args(text: str) -> list[str]:
    """Cut the JSON text of arguments into three pieces, fewer when it has fewer characters."""
    return _halves(text, _ARGS_PIECES)


def _halves(text: str, count: int) -> list[str]:
    count = min(count, len(text))
    bounds = [len(text) * i // count for i in range(count + 1)] if count else []
    return [text[a:b] for a, b in pairwise(bounds)] or [""]
