"""Split text and arguments of the short form into deltas, so that a run can be cut in the middle of them."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["split_args", "split_text"]

_WORD = re.compile(r"\S+\s*|\s+")
_TEXT_PIECES = 3
_ARGS_PIECES = 3


def split_text(text: str) -> list[str]:
    """Split a text at word boundaries into up to three pieces, one for each word at most; a single word in two."""
    words = _WORD.findall(text)
    if len(words) > 1:
        count = min(_TEXT_PIECES, len(words))
        bounds = [len(words) * i // count for i in range(count + 1)]
        return ["".join(words[a:b]) for a, b in pairwise(bounds)]
    return _split_evenly(text, 2)


def split_args(text: str) -> list[str]:
    """Split the JSON text of arguments into three pieces, or fewer if it has fewer characters."""
    return _split_evenly(text, _ARGS_PIECES)


def _split_evenly(text: str, count: int) -> list[str]:
    count = min(count, len(text))
    bounds = [len(text) * i // count for i in range(count + 1)] if count else []
    return [text[a:b] for a, b in pairwise(bounds)] or [""]
