"""What a certificate claims: for each profile that was played whether the target conforms, and why not. Pure.

In: the playings of `counts.count_reports`, how much they have judged, and the names of the profiles. Out: claims as
`conformance/schemas/certificate.schema.json` has them. A profile conforms if at least one of its cases was judged, all
that were judged have passed in every order, and, where it has faults, one of those was judged too. It conforms in part
if some of its clauses in which the target has a part were not judged by any case, or the target was not asked what they
are about, and is not judged if none was. Every claim says of how much it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.certificate.counts import Extent
from tpharness.clauses import load_clauses
from tpharness.profiles import SuiteProfile, load_profiles
from tpharness.readings import Readings

__all__ = ["CONFORMS", "IN_PART", "as_before", "claim_extent", "make_claims"]

CONFORMS = "conforms"
IN_PART = "conforms-in-part"
_MOST_IDS = 3


def make_claims(
    playings: Sequence[Mapping[str, Any]],
    extents: Sequence[Mapping[str, Extent]],
    profiles: Sequence[str],
    version: str,
) -> list[dict[str, Any]]:
    """Return a claim for each of the profiles: `profile`, `status`, and `why` it does not conform, "" if it does.

    `cases` and `clauses` say how many were judged of how many. `extents` are those of each playing, and `version` is
    the version of ThreadProtocol that is claimed.
    """
    claims = []
    for name in profiles:
        judged = [_judge(playing, load_profiles()[name], version) for playing in playings]
        status, why = next((one for one in judged if one[0] != CONFORMS), (CONFORMS, ""))
        found = [extent[name] for extent in extents]
        owed = {clause for one in found for clause in one.owed}
        missing = sorted(clause for clause in owed if not all(clause in one.judged for one in found))
        if status == CONFORMS and missing:
            status = IN_PART if len(missing) < len(owed) else "not-judged"
            why = f"{len(missing)} of {len(owed)} clauses were not judged: {_some(missing)}{_not_asked(found)}"
        cases = {"judged": sum(one.judged_cases for one in found), "of": sum(one.cases for one in found)}
        clauses = {"judged": len(owed) - len(missing), "of": len(owed)}
        claims.append({"profile": name, "status": status, "why": why, "cases": cases, "clauses": clauses})
    return claims


def _not_asked(extents: Sequence[Extent]) -> str:
    asked = sorted({load_clauses()[clause].asks for one in extents for clause in one.unasked})
    return f"; the target does not declare that it answers {', '.join(asked)}" if asked else ""


def claim_extent(claim: Mapping[str, Any]) -> str:
    """Return in words of how much a claim is; nothing for one of an earlier version, which does not say it."""
    if "cases" not in claim or "clauses" not in claim:
        return ""
    cases, clauses = claim["cases"], claim["clauses"]
    return f"judged {cases['judged']} of {cases['of']} cases, {clauses['judged']} of {clauses['of']} clauses"


def as_before(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim as certificates had it that did not say of how much it is, and knew no conformance in part."""
    whole = claim["status"] == IN_PART
    return {
        "profile": claim["profile"],
        "status": CONFORMS if whole else claim["status"],
        "why": "" if whole else claim["why"],
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_IDS} more" if len(names) > _MOST_IDS else ""
    return f"{', '.join(names[:_MOST_IDS])}{more}"


def _judge(playing: Mapping[str, Any], profile: SuiteProfile, version: str) -> tuple[str, str]:
    row = playing["profiles"].get(profile.name, {})
    unstable = [case for case, profiles in playing["unstable"].items() if profile.name in profiles]
    judged = sum(row.get(key, 0) for key in ("passed", "departing", "failed"))
    if playing["problems"]:
        return "fails", f"the run has a problem of its own: {playing['problems'][0]}"
    if any(playing[side]["capabilities"]["readings"] != Readings().as_json() for side in ("server", "client")):
        return "not-judged", "a target reads rulings in another way than by default, and such a target is not certified"
    if version not in playing["versions"]:
        return "not-judged", f"a target does not write version {version}"
    if unstable:
        return "unstable", f"not the same verdict in every order: {_some(unstable)}"
    if row.get("failed"):
        return "fails", f"{row['failed']} of {judged} cases failed"
    if not judged:
        return "not-judged", "none of its cases could be judged"
    if row["departing"]:
        return "departs", f"{row['departing']} of {judged} cases are known differences"
    if profile.faults and not row["fault_cases"]:
        return "not-judged", "none of its faults could be played: the target is not on a network or lacks capabilities"
    return CONFORMS, ""
