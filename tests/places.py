"""Every place in a JSON value, and the value with something else there."""

from __future__ import annotations

import copy
from typing import Any


def places(value: Any) -> list[tuple[Any, ...]]:
    """Return the path of every value inside, in the order of the document."""
    found: list[tuple[Any, ...]] = []
    _add_places(value, (), found)
    return found


def _add_places(value: Any, path: tuple[Any, ...], found: list[tuple[Any, ...]]) -> None:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        here = (*path, key)
        found.append(here)
        if isinstance(item, dict | list):
            _add_places(item, here, found)


def replace_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another one at a place, the empty path being all of it; what lies elsewhere is shared."""
    if not path:
        return new
    step, *rest = path
    changed = copy.copy(value)
    changed[step] = replace_at(value[step], tuple(rest), new) if rest else new
    return changed
