"""The comparison of histories to look at: two tables, and scenarios as timelines with a track for each history.

In: a comparison, and the tracks of its scenarios. Out: the text of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tpharness.histories.compare import HistoryComparison
from tpharness.histories.report import Table, comparison_tables
from tpharness.histories.tracks import Tracks
from tpharness.picture import MOST_BYTES, PageEntry, PicturePage, render_page, table_html, text_html, timeline_of_case
from tpharness.picture.tables import json_bytes
from tpharness.printable import counted
from tpharness.run.plan import base_case
from tpharness.scenario import AgentRun, Scenario

__all__ = ["render_comparison"]


def render_comparison(comparison: HistoryComparison, tracked: Iterable[tuple[Scenario, Tracks | None]]) -> str:
    """Return the page. Scenarios without tracks are in the tables only; timelines that do not fit are named."""
    entries: list[PageEntry] = []
    left_out: list[str] = []
    size = 0
    for scenario, tracks in tracked:
        if tracks is None:
            continue
        timeline = _timeline(scenario, tracks)
        needs = json_bytes(timeline)
        if size + needs > MOST_BYTES:
            left_out.append(scenario.id)
            continue
        size += needs
        entries.append(PageEntry(timeline=timeline))
    sections = [
        f"<section><h2>{text_html(one.title)}</h2>{_table_html(one)}</section>" for one in comparison_tables(comparison)
    ]
    if left_out:
        words = (
            f"{counted(len(left_out), 'timeline')} left out, so that this file stays below 15 MB: {', '.join(left_out)}"
        )
        sections.append(f"<p class='note'>{text_html(words)}</p>")
    lead = "<p>What each history keeps of a turn that is interrupted, and whether the model's API takes it then.</p>"
    if entries:
        lead += "<noscript><p>The timelines need scripts; the tables do not.</p></noscript>"
    return render_page(
        PicturePage(title="tpharness compare", lead=lead, sections=sections, entries=entries, timeline_first=True)
    )


def _table_html(one: Table) -> str:
    rows = [tuple(map(text_html, row)) for row in one.rows]
    meanings = "".join(f"<dt>{text_html(word)}</dt><dd>{text_html(text)}</dd>" for word, text in one.meanings)
    summary = "<summary>What the words mean</summary>"
    table = table_html(map(text_html, one.heads), rows, caption=one.title)
    return f"{table}<details>{summary}<dl>{meanings}</dl></details>"


def _timeline(scenario: Scenario, tracks: Tracks) -> dict[str, Any]:
    """Return the timeline of a scenario that its user cancels, with the states of its tracks by place.

    A place of a run has as many events as there are places before it in its turn; the end of a run is not a cut. The
    last run is shown to its end, also where the scenario cuts it.
    """
    *earlier, last = scenario.turns
    if isinstance(last, AgentRun):
        scenario = replace(scenario, turns=(*earlier, replace(last, interrupt=None, wire=None)))
    timeline = timeline_of_case(base_case(scenario), reason="user_cancelled")
    counts: dict[int, int] = {}
    places: list[Sequence[int] | None] = []
    for number in timeline["places"]:
        row = timeline["rows"][number]
        count = counts.get(row["turn"], 0)
        counts[row["turn"]] = count + 1
        places.append(None if row["kind"] == "end" else tracks.places.get((row["turn"], count)))
    return {**timeline, "tracks": {"names": list(tracks.names), "states": list(tracks.states), "places": places}}
