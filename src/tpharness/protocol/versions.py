"""The versions of the protocol: their order, and what each has and calls things.

Lineage (R1): 2.0.0 came first, then the numbering restarted: 2.0.0 → 0.0.3 → 0.0.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tpharness.errors import UsageError

__all__ = ["NORMATIVE_EVENTS", "Tier", "Version", "event_name", "neutral_event_name", "parse_version", "tier"]


class Version(Enum):
    """A version of ThreadProtocol, in order of lineage."""

    V2_0_0 = "2.0.0"
    V0_0_3 = "0.0.3"
    V0_0_4 = "0.0.4"

    @property
    def order(self) -> int:
        """0 for the oldest."""
        return list(Version).index(self)

    @property
    def has_client_metadata(self) -> bool:
        """Client metadata, content references and links came with 0.0.3."""
        return self is not Version.V2_0_0

    @property
    def keeps_interrupted(self) -> bool:
        """Interrupted turns came with 0.0.4 (R18, R19)."""
        return self is Version.V0_0_4


def parse_version(text: str, others: Sequence[str] = ()) -> Version:
    """Return the version that somebody named. UsageError for an unknown one, whose hint lists `others` too."""
    try:
        return Version(text)
    except ValueError:
        known = ", ".join(str(v.value) for v in Version)
        hint = f"known versions are {known}" + (f"; histories are {', '.join(others)}" if others else "")
        raise UsageError(f"unknown version {text!r}", hint=hint) from None


NORMATIVE_EVENTS = {
    "agent.handoff": "data-tp-agent_handoff",
    "thread.spawn": "data-tp-thread_spawn",
    "thread.merge": "data-tp-thread_merge",
    "thread.end": "data-tp-thread_end",
    "error": "data-tp-error",
}
"""The five normative events: their names in 2.0.0 and 0.0.3, and in 0.0.4 (R1)."""

_OLD_NAMES = {new: old for old, new in NORMATIVE_EVENTS.items()}


class Tier(Enum):
    """Whose a system event is (0.0.4, namespace taxonomy)."""

    NORMATIVE = "data-tp-"
    SYSTEM = "data-sys-"
    APPLICATION = "data-app-"
    METADATA = "meta:"
    OTHER = ""


def tier(event_type: str) -> Tier:
    """Return the tier of an event type; a `data-*` that no tier claims is the application's (R34)."""
    for one in (Tier.NORMATIVE, Tier.SYSTEM, Tier.METADATA):
        if event_type.startswith(one.value):
            return one
    return Tier.APPLICATION if event_type.startswith("data-") else Tier.OTHER


def event_name(name: str, version: Version) -> str:
    """Return what a version calls an event that 0.0.4 calls `name`; 2.0.0 strips `data-` from custom events (R34)."""
    if version is Version.V0_0_4:
        return name
    old = _OLD_NAMES.get(name)
    if old is not None:
        return old
    bare = name.removeprefix("data-") if version is Version.V2_0_0 else name
    return bare or name  # there is no event without a type


def neutral_event_name(name: str) -> str:
    """Return what 0.0.4 calls one of the five normative events; other names are the same."""
    return NORMATIVE_EVENTS.get(name, name)
