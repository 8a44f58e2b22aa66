"""Every place in a JSON value, and the value with something else there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def replace_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another one at a place, the empty path being all of it; what lies elsewhere is shared."""
    if not path:
        return new
    step, *rest = path
    changed = copy.copy(value)
    changed[step] = replace_at(value[step], tuple(rest), new) if rest else new
    return changed
