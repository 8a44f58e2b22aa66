"""The profiles of a run as lines for people: how much of each has passed, and which one to take on next."""

from __future__ import annotations

from collections.abc import Sequence

from tpharness.printable import counted
from tpharness.verdict.profile_tally import ProfileTally, next_profile

__all__ = ["profile_lines"]


def profile_lines(tallies: Sequence[ProfileTally]) -> list[str]:
    """Return a line for each profile that was played, and one that says which to play next if one is not whole.

    There is none where that one was played alone, as with `--profile`: there is nothing else to play.
    """
    rows = [
        (
            tally.profile.name,
            f"{tally.whole} of {tally.scenarios}",
            f"{tally.passed} of {tally.cases}",
            ", ".join(_notes(tally)),
        )
        for tally in tallies
    ]
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["profiles, by scenarios and cases that passed (tpharness list profiles):"]
    for name, scenarios, cases, notes in rows:
        shown = f"  {name:<{widths[0]}}  {scenarios:>{widths[1]}} scenarios  {cases:>{widths[2]}} cases"
        lines.append(f"{shown}{f'  {notes}' if notes else ''}")
    following = next_profile(tallies)
    if following is not None and not following.alone:
        name, causes = following.profile.name, len(following.causes)
        left = "one cause is" if causes == 1 else f"{causes} causes are"
        lines.append(f"next: {name}, where {left} left (with --profile {name} the same command plays it alone)")
    return lines


def _notes(tally: ProfileTally) -> list[str]:
    notes = [counted(len(tally.causes), "cause")] if tally.causes else []
    notes += [f"{tally.expected} known"] if tally.expected else []
    notes += [f"{tally.unjudged} not judged"] if tally.unjudged else []
    notes += [f"its faults: --profile {tally.profile.name}"] if tally.profile.faults and not tally.faults else []
    return notes
