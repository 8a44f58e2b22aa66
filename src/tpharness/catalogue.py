"""Every kind of finding, by code: what `tpharness explain` and `tpharness list findings` know."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tpharness import acceptance, scenario
from tpharness.acceptance import sdk
from tpharness.checks import CHECKS
from tpharness.findings import Kind
from tpharness.protocol import history, parse, rules
from tpharness.rooms import rooms
from tpharness.run import baseline, judge, trace
from tpharness.server_events import recorder
from tpharness.targets import remote
from tpharness.vsp import chunks, majors, sse, violations

__all__ = ["all_kinds"]


@cache
def all_kinds() -> Mapping[str, Kind]:
    """Return every kind by its code; two kinds under one code are a mistake of ours and raise ValueError."""
    sources = (
        sse.KINDS,
        chunks.KINDS,
        majors.KINDS,
        violations.KINDS,
        recorder.KINDS,
        parse.KINDS,
        rules.KINDS,
        history.KINDS,
        acceptance.KINDS,
        sdk.KINDS,
        scenario.KINDS,
        baseline.KINDS,
        judge.KINDS,
        trace.KINDS,
        remote.KINDS,
        *(check.kinds for check in CHECKS),
        *(room.KINDS for room in rooms()),
    )
    kinds: dict[str, Kind] = {}
    for kind in (kind for source in sources for kind in source):
        if kinds.setdefault(kind.code, kind) is not kind:
            raise ValueError(f"two kinds of finding are called {kind.code!r}")
    return dict(sorted(kinds.items()))
