"""Expectations: what the scenario states because it cannot be derived."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import Any

from tpharness.checks.contract import Check, Evidence, Thread, search_sides
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.protocol.canonical import canonical_time, is_left_out
from tpharness.protocol.versions import Version, event_name
from tpharness.scenario.outline import outline

__all__ = ["ABSENT", "DATA_FIELDS", "EXPECTATIONS", "RESULT_KINDS", "find_mismatch", "in_version"]

ABSENT = "(absent)"
"""What a finding shows where there is nothing."""
DATA_FIELDS = frozenset({"args", "event_data", "metadata", "client_metadata"})
RESULT_KINDS = frozenset({"tool-return", "builtin-tool-return", "retry-prompt"})
_EVENT = re.compile(r"event\(([^)]*)\)")
_TIMES = frozenset(
    {"submitted_at", "started_at", "completed_at", "interrupted_at", "timestamp", "created_at", "updated_at"}
)
_INDEX = re.compile(r"/\d+(?=/|$)")

OUTLINE_DIFFERS = Kind("outline-differs")
THREAD_DIFFERS = Kind("expected-thread-differs")
FINDINGS_DIFFER = Kind("expected-findings-differ")
UNEXPECTED = Kind("unexpected-finding")


def _judge(evidence: Evidence) -> list[Finding]:
    found: list[Finding] = []
    if (wanted := evidence.expectation) is not None:
        if (lines := wanted.outline.get(evidence.version)) is not None:
            found += search_sides(evidence, partial(_outline, in_version(lines, evidence.version), evidence.version))
        if (thread := wanted.thread.get(evidence.version)) is not None:
            found += search_sides(evidence, partial(_thread, thread, evidence.version))
    return [*(_changes().with_causes(evidence, found) if found else ()), *_findings(evidence)]


def _changes() -> Any:
    """Return the module that says what to change, which few runs need."""
    return resolve_name("tpharness.checks.expected_change")


def _line_mismatches(got: Sequence[str], wanted: Sequence[str], version: Version) -> Any:
    find = resolve_name("tpharness.checks.outline_change:find_line_mismatches")
    return find(got, wanted, interrupted=version.features.interrupted_turns)


def _outline(wanted: Sequence[str], version: Version, thread: Thread) -> list[Finding]:
    got = outline(dict(thread))
    if got == list(wanted) or got == [_without_telemetry(line, version) for line in wanted]:
        return []
    return [
        OUTLINE_DIFFERS.at(Place(pointer=f"/turns/{one.turn}"), got=one.got, expected=one.expected, advice=one.change)
        for one in _line_mismatches(got, wanted, version)
    ]


def _without_telemetry(line: str, version: Version) -> str:
    """Return a line of an outline without the events that may be left out of what is stored (R37)."""
    head, colon, messages = line.partition(": ")
    kept = _EVENT.sub(lambda match: "" if is_left_out(match[1], version) else match[0], messages).split()
    return f"{head}{colon}{' '.join(kept)}" if kept else head


def in_version(lines: Sequence[str], version: Version) -> list[str]:
    """Return an outline as a version shows it: with interrupted turns or without (R18), with its event names (R34)."""
    shown = version.features.interrupted_turns
    kept = [line for line in lines if shown or not line.startswith("agent interrupted")]
    return [_EVENT.sub(lambda match: f"event({event_name(match[1], version)})", line) for line in kept]


def _thread(wanted: Mapping[str, Any], version: Version, thread: Thread) -> list[Finding]:
    miss = find_mismatch(thread, wanted)
    if miss is None:
        return []
    changes = _changes()
    if find_mismatch(thread, changes.without_telemetry(wanted, version)) is None:
        return []
    pointer, got, expected = miss
    in_data = changes.is_in_data(thread, pointer)
    advice = changes.change_of_value(thread, wanted, pointer, got, expected)
    got, expected = (changes.make_visible(value, in_data=in_data) for value in (got, expected))
    symptom = f"at {_INDEX.sub('/*', pointer)}"
    return [THREAD_DIFFERS.at(Place(pointer=pointer), got=got, expected=expected, symptom=symptom, advice=advice)]


def find_mismatch(got: Any, wanted: Any, pointer: str = "", *, data: bool = False) -> tuple[str, Any, Any] | None:
    """Return the first place where `got` does not match `wanted`: maps may have more keys, lists not more items.

    A key that is wanted as null may be absent, and a time may be written with another offset or fraction (R37). In
    `data`, whose keys are not fields of the protocol, a map has just the keys that are wanted, and null is null.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping):
            return pointer, got, wanted
        for key, value in wanted.items():
            if key not in got:
                if value is None and not data:  # R37: absent and null are the same
                    continue
                return f"{pointer}/{key}", ABSENT, value
            if key in _TIMES and not data and isinstance(value, str) and isinstance(got[key], str):
                if canonical_time(got[key]) != canonical_time(value):
                    return f"{pointer}/{key}", got[key], value
                continue
            inside = data or key in DATA_FIELDS or (key == "content" and str(got.get("part_kind")) in RESULT_KINDS)
            if (miss := find_mismatch(got[key], value, f"{pointer}/{key}", data=inside)) is not None:
                return miss
        more = [key for key in got if key not in wanted] if data else []
        return (f"{pointer}/{more[0]}", got[more[0]], ABSENT) if more else None
    if isinstance(wanted, list | tuple):
        if not isinstance(got, list | tuple):
            return pointer, got, list(wanted)
        for index, (held, value) in enumerate(zip(got, wanted, strict=False)):
            if (miss := find_mismatch(held, value, f"{pointer}/{index}", data=data)) is not None:
                return miss
        shared = min(len(got), len(wanted))
        if len(got) > shared:
            return f"{pointer}/{shared}", got[shared], ABSENT
        if len(wanted) == shared:
            return None
        missing: tuple[str, Any, Any] = _changes().first_wanted(wanted[shared], f"{pointer}/{shared}")
        return missing
    # 1 == 1.0 == True in Python; in JSON `true` is not a number
    same = got == wanted and isinstance(got, bool) == isinstance(wanted, bool)
    return None if same else (pointer, got, wanted)


def _findings(evidence: Evidence) -> list[Finding]:
    reported = [f for side in (evidence.server, evidence.client) if side is not None for f in side.findings]
    wanted = evidence.expectation.findings if evidence.expectation else None
    if wanted is None:
        return [_unexpected(f.with_place(case=evidence.case)) for f in reported if f.level is not Level.MAY]
    got, expected = Counter(f.code for f in reported if f.level is not Level.MAY or f.code in wanted), Counter(wanted)
    if got == expected:
        return []
    more, fewer = (", ".join(sorted(codes)) for codes in (got - expected, expected - got))
    return [
        FINDINGS_DIFFER.at(
            Place(case=evidence.case),
            got=_changes().words_of_codes(got),
            expected=_changes().words_of_codes(expected),
            symptom="; ".join([*([f"{more} not expected"] if more else []), *([f"no {fewer}"] if fewer else [])]),
            advice=_changes().change_of_findings(reported, got - expected, expected - got),
        )
    ]


def _unexpected(finding: Finding) -> Finding:
    """Return what is reported of a finding that nothing expects: at SHOULD it stands for itself, and fails nothing."""
    if finding.level is Level.SHOULD:
        return finding
    return UNEXPECTED.at(
        finding.place,
        f"{finding.code}: {finding.message}",
        got=finding.got,
        expected=finding.expected,
        symptom=finding.code,
        decided=finding.rulings,
        advice=finding.remedy,
    )


EXPECTATIONS = Check(
    name="expectations",
    title="the expectations of the scenario hold",
    not_applicable=lambda _: None,
    judge=_judge,
)
