"""A thread against its schema and every rule.

In: any JSON value. Out: findings, those of the schema first; rules are applied only to documents that fit their schema.
It is loaded for the first thread that is not plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any

from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Level, Place
from tpharness.protocol import problems as p
from tpharness.protocol import schema
from tpharness.protocol.jcs import unsafe_places, write_safe
from tpharness.protocol.rules.agents import find_bad_links, find_short_agent_ids, find_unknown_agents
from tpharness.protocol.rules.calls import find_bad_pairs
from tpharness.protocol.rules.events import (
    find_bad_event_data,
    find_bad_event_names,
    find_odd_event_names,
    find_reused_names,
)
from tpharness.protocol.rules.index import Index, Rule, build_index
from tpharness.protocol.rules.parts import find_bad_metadata_keys, find_bad_parts, find_odd_parts
from tpharness.protocol.rules.times import find_bad_times, find_times_of_other_forms, find_times_without_offset
from tpharness.protocol.rules.turns import find_bad_turns
from tpharness.protocol.rules.unwritten import find_unwritten_fields
from tpharness.protocol.rules.usage import find_bad_usage
from tpharness.protocol.versions import Version

__all__ = ["RULES", "find_broken", "find_broken_events"]


def find_broken(thread: Any, *, observations: bool, fits: bool, safe: bool) -> list[Finding]:
    """Return what `check_thread` does, whatever the thread is."""
    misfits = [] if fits else schema.schema_findings(thread)
    if misfits:
        return [*misfits, *keep_first(() if safe else _unsafe(thread))]
    return keep_first(chain(_broken_rules(thread, observations=observations), () if safe else _unsafe(thread)))


def find_broken_events(thread: Any) -> list[Finding]:
    """Return what is wrong with the events of a thread that keeps its schema and all other rules."""
    index = build_index(thread)
    finders = _finders(index.version, observations=False)
    found = (
        finding for find in (find_bad_event_names, find_bad_event_data) if find in finders for finding in find(index)
    )
    return keep_first(finding for finding in found if finding.level is not Level.MAY)


def _broken_rules(thread: Any, *, observations: bool) -> Iterator[Finding]:
    """Find what is wrong with a thread that fits its schema."""
    index = build_index(thread)
    for find in _finders(index.version, observations=observations):
        for finding in find(index):
            if observations or finding.level is not Level.MAY:
                yield finding


@cache
def _finders(version: Version, *, observations: bool) -> tuple[Callable[[Index], Iterator[Finding]], ...]:
    """Return the rules of a version."""
    return tuple(rule.find for rule in RULES if rule.needs(version.features) and (observations or not rule.observes))


def _unsafe(thread: Any) -> Iterator[Finding]:
    """R38: find what has no canonical form, or one that is read back as another number."""
    for pointer, reason in unsafe_places(thread) if write_safe(thread) is None else ():
        yield p.UNSAFE.at(Place(pointer=pointer), reason)


RULES: tuple[Rule, ...] = (
    Rule(find=find_unknown_agents),
    Rule(find=find_bad_links, needs=lambda features: features.links),
    Rule(find=find_bad_times),
    Rule(find=find_times_without_offset),
    Rule(find=find_times_of_other_forms),
    Rule(find=find_bad_pairs),
    Rule(find=find_bad_turns),
    Rule(find=find_bad_parts),
    Rule(find=find_bad_metadata_keys, needs=lambda features: features.client_metadata),
    Rule(find=find_bad_usage),
    Rule(find=find_unwritten_fields),
    Rule(find=find_bad_event_names),
    Rule(find=find_bad_event_data, needs=lambda features: features.event_tiers),
    Rule(find=find_reused_names, needs=lambda features: features.namespaces and not features.event_tiers),
    Rule(find=find_short_agent_ids, observes=True),
    Rule(find=find_odd_parts, observes=True),
    Rule(find=find_odd_event_names, needs=lambda features: features.namespaces, observes=True),
)
"""Every rule, with the features that it needs."""
