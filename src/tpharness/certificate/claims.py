"""What a certificate claims: for each profile that was played whether the target conforms, and why not. Pure.

In: the playings of `counts.count_reports`, and the names of the profiles. Out: claims as
`conformance/schemas/certificate.schema.json` has them. A profile conforms if at least one of its cases was judged, all
that were judged have passed in every order, and, where it has faults, one of those was judged too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.profiles import Profile, load_profiles
from tpharness.readings import Readings

__all__ = ["CONFORMS", "make_claims"]

CONFORMS = "conforms"
_MOST_IDS = 3


def make_claims(playings: Sequence[Mapping[str, Any]], profiles: Sequence[str], version: str) -> list[dict[str, str]]:
    """Return a claim for each of the profiles: `profile`, `status`, and `why` it does not conform, "" if it does.

    `version` is the version of ThreadProtocol that is claimed.
    """
    claims = []
    for name in profiles:
        judged = [_judge(playing, load_profiles()[name], version) for playing in playings]
        status, why = next((one for one in judged if one[0] != CONFORMS), (CONFORMS, ""))
        claims.append({"profile": name, "status": status, "why": why})
    return claims


def _judge(playing: Mapping[str, Any], profile: Profile, version: str) -> tuple[str, str]:
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
        more = f" and {len(unstable) - _MOST_IDS} more" if len(unstable) > _MOST_IDS else ""
        return "unstable", f"not the same verdict in every order: {', '.join(unstable[:_MOST_IDS])}{more}"
    if row.get("failed"):
        return "fails", f"{row['failed']} of {judged} cases failed"
    if not judged:
        return "not-judged", "none of its cases could be judged"
    if row["departing"]:
        return "departs", f"{row['departing']} of {judged} cases are known departures"
    if profile.faults and not row["fault_cases"]:
        return "not-judged", "none of its faults could be played: the target is not on a network or lacks capabilities"
    return CONFORMS, ""
