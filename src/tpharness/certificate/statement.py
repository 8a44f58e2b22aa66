"""The certificate itself: an in-toto statement about reports and traces, whose predicate says what they show.

In: the targets that were played, and the bytes of their reports. Out: JSON values, the predicate by
`conformance/schemas/certificate.schema.json`. `summarise` is what verifying makes again from the reports alone.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.certificate.claims import make_claims
from tpharness.certificate.counts import Extent, count_reports, find_extents, merge_extents
from tpharness.certificate.requirements import RequirementSet, judge_requirements, load_requirements
from tpharness.certificate.suite import describe_suite, sha256
from tpharness.errors import InputError
from tpharness.protocol.jcs import jcs
from tpharness.protocol.parse import parse_json
from tpharness.run.applicable import describe_target
from tpharness.run.questions import unasked_clauses
from tpharness.run.tracing.secrets import find_secrets
from tpharness.targets.contract import QUESTIONS, ClientTarget, ServerTarget
from tpharness.targets.forms import capabilities_json

__all__ = [
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "Playing",
    "describe_side",
    "digest_about",
    "make_statement",
    "read_report",
    "summarise",
]

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:tpharness:certificate:1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """One server with one client, as `describe_side` has them, and a report for each order, by file name.

    `traces` are those of the orders in which something failed, by file name.
    """

    server: Mapping[str, Any]
    client: Mapping[str, Any]
    reports: Mapping[str, bytes]
    traces: Mapping[str, bytes] = field(default_factory=dict)


def describe_side(target: ServerTarget | ClientTarget, spec: str, role: str) -> dict[str, Any]:
    """Return what a certificate says of a target; its address without what is or looks like a secret."""
    declared = target.capabilities
    return {
        "name": declared.name,
        "version": declared.implementation_version,
        "address": find_secrets([spec]).text(spec),
        "reported_as": describe_target(target),
        "capabilities": capabilities_json(declared, [role]),
    }


def make_statement(
    playings: Sequence[Playing],
    *,
    profiles: Sequence[str],
    time: str,
    revision: str = "",
    baseline: tuple[str, bytes] | None = None,
    expires: str = "",
) -> dict[str, Any]:
    """Return the statement over reports and traces.

    `time` and `expires` are in ISO 8601; `baseline` is the name and the bytes of a file.
    """
    sides = [
        {"server": p.server, "client": p.client, "reports": list(p.reports), "traces": list(p.traces)} for p in playings
    ]
    texts = {name: data for playing in playings for name, data in playing.reports.items()}
    reports = {name: read_report(data, name) for name, data in texts.items()}
    texts |= {name: data for playing in playings for name, data in playing.traces.items()}
    predicate = {
        "format": "tpharness-certificate/1",
        "time": time,
        **({"expires": expires} if expires else {}),
        "platform": {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "system": platform.system(),
            "machine": platform.machine(),
        },
        **({"revision": revision} if revision else {}),
        **({"baseline": {"name": baseline[0], "sha256": sha256(baseline[1])}} if baseline else {}),
        "suite": dict(describe_suite()),
        "played": list(profiles),
        **summarise(sides, reports, profiles),
    }
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": sha256(data)}} for name, data in texts.items()],
        "predicateType": PREDICATE_TYPE,
        "predicate": {**predicate, "about": digest_about(predicate)},
    }


def digest_about(predicate: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a certificate is about, in canonical JSON: all that no report says."""
    about = {
        key: predicate.get(key) for key in ("format", "time", "expires", "platform", "revision", "baseline", "played")
    }
    about["suite"] = predicate["suite"]["digest"]
    about["sides"] = [{side: one[side] for side in ("server", "client")} for one in predicate["playings"]]
    return sha256(jcs(about))


def summarise(
    sides: Sequence[Mapping[str, Any]],
    reports: Mapping[str, Mapping[str, Any]],
    profiles: Sequence[str],
    wanted: RequirementSet | None = None,
) -> dict[str, Any]:
    """Return `playings`, `requirements` and `claims`, made of the reports alone.

    `sides` has the server, the client and the names of the reports of each playing; `wanted` is the requirement set,
    the newest one if none is named.
    """
    playings = [
        {
            **{key: side[key] for key in ("server", "client", "reports", "traces")},
            **count_reports([reports[name] for name in side["reports"]], find_unasked(side)),
        }
        for side in sides
    ]
    wanted = wanted or load_requirements()[-1]
    extents = [find_extents(reports[side["reports"][0]], wanted.clauses, find_unasked(side)) for side in sides]
    return {
        "playings": playings,
        "requirements": judge_requirements(wanted, playings),
        "claims": make_claims(playings, _by_pair(sides, extents), profiles, wanted.version),
    }


def _by_pair(sides: Sequence[Mapping[str, Any]], extents: Sequence[Mapping[str, Extent]]) -> list[Mapping[str, Extent]]:
    """Return the extents by server and client: what these two have played over several wires is of one pair."""
    pairs: dict[tuple[str, str], list[Mapping[str, Extent]]] = {}
    for side, extent in zip(sides, extents, strict=True):
        pairs.setdefault((side["server"]["address"], side["client"]["address"]), []).append(extent)
    return [some[0] if len(some) == 1 else merge_extents(some) for some in pairs.values()]


def find_unasked(side: Mapping[str, Any]) -> frozenset[str]:
    """Return the clauses about what the targets of a playing were not asked: one of them does not declare it.

    The reference beside a target is none of them.
    """
    both = [side["server"], side["client"]]
    targets = [one for one in both if one["address"] != "reference"] or both
    return unasked_clauses(
        [[question for question in QUESTIONS if one["capabilities"].get(question)] for one in targets]
    )


def read_report(data: bytes, name: str) -> dict[str, Any]:
    """Return a report as JSON values. InputError if it is not one."""
    parsed = parse_json(data, file=name)
    if parsed.findings:  # of two keys of one name two readers take different ones
        said = parsed.findings[0].message
        raise InputError(f"{name} is not JSON: {said}", hint="it has to be the report of the certificate")
    report = parsed.value
    if not isinstance(report, dict):
        raise InputError(f"{name} is not a report", hint="it has to be the report of the certificate")
    return report
