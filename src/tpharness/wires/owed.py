"""What events cause on a wire that stays in no thread, so that only who reads the wire misses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Owed"]


@dataclass(frozen=True, slots=True)
class Owed:
    """An event of the wire that a client without carriers learns something from, and that stays in no thread.

    `sort` is `answer` for a failure or a denial, `approval` for the refusal that has its reason, `progress`, `provider`
    for an output that names who executed its call, `transient` for an event that is sent and not kept, `finish`; "" for
    what is only compared with these. `about` is the call. Two that say the same have the same `said`, whatever they
    are named and however they are written.
    """

    sort: str
    about: str
    said: str
    event: Mapping[str, Any]
