"""What the name of a Claude says about the requests that it takes."""

from __future__ import annotations

import re

__all__ = ["takes_prefill", "takes_system_messages"]

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_NO_PREFILL = (4, 6)  # from this version of Claude on
_SYSTEM_MESSAGES = (4, 8)  # from this version of Claude on


def takes_prefill(model: str) -> bool | None:
    """Whether a Claude goes on with an assistant message at the end of a request (rules A6, A19, A20).

    None if the name does not say which Claude it is.
    """
    version = _version(model)
    return None if version is None else version < _NO_PREFILL


def takes_system_messages(model: str) -> bool | None:
    """Whether a Claude takes messages of the role system among the others (rule A22)."""
    version = _version(model)
    return None if version is None else version >= _SYSTEM_MESSAGES


def _version(model: str) -> tuple[int, int] | None:
    found = _CLAUDE.search(model)
    return None if found is None else (int(found[1]), int(found[2] or 0))
