"""The versions of the protocol: their lineage, and for each a record of what it can say, which everybody asks.

A version is added here, with a member and its `Features`, and as `conformance/schemas/thread-VERSION.schema.json`.
What a migration step changes follows from the records on both sides of it (`migrate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Literal, TypeAlias

from tpharness.errors import UsageError, did_you_mean

__all__ = [
    "ERROR_EVENT",
    "HANDOFF_EVENT",
    "MERGE_EVENT",
    "NORMATIVE_PREFIX",
    "SPAWN_EVENT",
    "Features",
    "Tier",
    "Version",
    "VersionName",
    "event_name",
    "is_normative_name",
    "neutral_event_name",
    "newest_version",
    "parse_version",
    "tier",
    "version_names",
]


VersionName: TypeAlias = Literal["2.0.0", "0.0.3", "0.0.4"]
"""The versions by their names, so that a type checker finds one that does not exist."""


class Version(Enum):
    """A version of ThreadProtocol, in order of lineage: 2.0.0 came first, then the numbering restarted (R1)."""

    __hash__ = object.__hash__  # a member is one object; Enum's own hash is a call in Python for every look-up

    V2_0_0 = "2.0.0"
    V0_0_3 = "0.0.3"
    V0_0_4 = "0.0.4"

    @property
    def features(self) -> Features:
        """The record of what the version can say."""
        return _FEATURES[self._value_]

    @property
    def order(self) -> int:
        """0 for the oldest."""
        return list(Version).index(self)

    def path_to(self, other: Version) -> tuple[Version, ...]:
        """Return the versions from this one to the other along the lineage, both included (R1)."""
        lineage = list(Version)
        if other.order >= self.order:
            return tuple(lineage[self.order : other.order + 1])
        return tuple(reversed(lineage[other.order : self.order + 1]))


NORMATIVE_PREFIX = "data-tp-"
"""What the names of normative events begin with in journals and in the newest version."""
HANDOFF_EVENT = f"{NORMATIVE_PREFIX}agent_handoff"
SPAWN_EVENT = f"{NORMATIVE_PREFIX}thread_spawn"
MERGE_EVENT = f"{NORMATIVE_PREFIX}thread_merge"
ERROR_EVENT = f"{NORMATIVE_PREFIX}error"

_TIERED = (
    HANDOFF_EVENT,
    SPAWN_EVENT,
    MERGE_EVENT,
    f"{NORMATIVE_PREFIX}thread_end",
    ERROR_EVENT,
)
_DOTTED = ("agent.handoff", "thread.spawn", "thread.merge", "thread.end", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What a version of the protocol can say. A feature that is not named is one that the version does not have."""

    interrupted_turns: bool = False
    """A turn that was cut is shown, with `completion_status` and `interruption` (R19); else it is left out (R18)."""
    client_metadata: bool = False
    """User turns may carry `client_metadata`."""
    content_refs: bool = False
    """A tool return may refer to its content instead of holding it (R6)."""
    links: bool = False
    """A thread may link to other threads under `relationships`."""
    namespaces: bool = False
    """Extensions keep their namespace: `data-` before event types, `custom:` and `meta:`; else `data-` is cut (R34)."""
    late_events: bool = False
    """An event may be appended to a turn that has ended, with a warning, since no interruption can be shown (R48)."""
    event_tiers: bool = False
    """`data-tp-`, `data-sys-` and `data-app-` say whose an event is."""
    normative_events: Mapping[str, str] = field(default_factory=lambda: dict(zip(_TIERED, _DOTTED, strict=True)))
    """What the version calls each of the normative events, by the name that journals have for it (R1)."""


_FEATURES: Mapping[str, Features] = {
    "2.0.0": Features(),
    "0.0.3": Features(client_metadata=True, content_refs=True, links=True, namespaces=True, late_events=True),
    "0.0.4": Features(
        interrupted_turns=True,
        client_metadata=True,
        content_refs=True,
        links=True,
        namespaces=True,
        event_tiers=True,
        normative_events=dict(zip(_TIERED, _TIERED, strict=True)),
    ),
}


def newest_version(versions: Iterable[Version] = tuple(Version)) -> Version:
    """Return the newest of some versions, of all by default. ValueError if there are none."""
    return max(versions, key=lambda version: version.order)


def version_names(versions: Iterable[Version] = tuple(Version)) -> str:
    """Return the names of versions for a sentence, such as `2.0.0, 0.0.3, 0.0.4`."""
    return ", ".join(version.value for version in versions)


def parse_version(text: str, others: Sequence[str] = ()) -> Version:
    """Return the version that somebody named. UsageError for an unknown one, whose hint lists `others` too."""
    try:
        return Version(text)
    except ValueError:
        known = f"known versions are {version_names()}" + (f"; histories are {', '.join(others)}" if others else "")
        hint = f"{did_you_mean(text, others, '')} {known}".strip()  # of versions each is as near as any other
        raise UsageError(f"unknown version {text!r}", hint=hint) from None


class Tier(Enum):
    """Whose a system event is (0.0.4, namespace taxonomy)."""

    NORMATIVE = NORMATIVE_PREFIX
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
    """Return what a version calls an event of a journal; without namespaces `data-` is cut off (R34)."""
    features = version.features
    own = features.normative_events.get(name)
    if own is not None:
        return own
    return name if features.namespaces else name.removeprefix("data-") or name  # an event has a type


def neutral_event_name(name: str) -> str:
    """Return what journals call an event that some version calls `name`; names that are not normative stay."""
    return _neutral_names().get(name, name)


def is_normative_name(name: str) -> bool:
    """Whether some version calls a normative event so."""
    return name in _neutral_names()


@cache
def _neutral_names() -> Mapping[str, str]:
    return {own: neutral for version in Version for neutral, own in version.features.normative_events.items()}
