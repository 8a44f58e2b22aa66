"""Pictures for a site: one page for the scenarios of each theme, and one for each ruling.

In: scenarios. Out: files of HTML that need nothing else, and where each scenario is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from tpharness.clauses import load_clauses, load_rulings
from tpharness.picture import (
    PageEntry,
    PicturePage,
    place_of_ruling,
    plain_timeline,
    render_page,
    shared_files,
    text_html,
    timeline_of_case,
)
from tpharness.run.plan import base_case
from tpharness.scenario import Scenario

__all__ = ["frame_link", "scenarios_of_clause", "scenarios_of_ruling", "view_files", "view_link"]

_MOST_OF_A_RULING = 3


def view_files(scenarios: Sequence[Scenario]) -> Iterator[tuple[str, str]]:
    """Yield the name of each picture page below the site, and its text."""
    for name, text in shared_files().items():
        yield f"views/{name}", text
    entries = {scenario.id: PageEntry(timeline=timeline_of_case(base_case(scenario))) for scenario in scenarios}
    themes: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in scenarios:
        themes[scenario.id.rpartition("/")[0]].append(scenario)
    for theme, some in themes.items():
        title = f"Scenarios: {theme}"
        some_entries = [entries[scenario.id] for scenario in some]
        yield _theme_file(theme), _page(title, some_entries, [_plain(one) for one in some_entries])
    for ruling in load_rulings().values():
        shown = scenarios_of_ruling(ruling.id, scenarios)[:_MOST_OF_A_RULING]
        if shown:
            links = ", ".join(f'<a href="../{view_link(one.id)}">{text_html(one.id)}</a>' for one in shown)
            plain = [f"<p>Without scripts: {links}, as tables</p>"]
            yield f"views/{ruling.id}.html", _page(ruling.title, [entries[scenario.id] for scenario in shown], plain)


def view_link(scenario: str) -> str:
    """Return the address of a scenario's picture, from the top of the site."""
    return f"{_theme_file(scenario.rpartition('/')[0])}#view/{quote(scenario)}"


def frame_link(ruling: str, shown: Iterable[Scenario]) -> str:
    """Return the address of a ruling's picture, opened where a cut drops something by it, if there is such a place."""
    address = f"views/{ruling}.html"
    for one in list(shown)[:_MOST_OF_A_RULING]:
        place = place_of_ruling(timeline_of_case(base_case(one)), ruling)
        if place:
            return f"{address}#view/{quote(f'{one.id}@{place}')}"
    return address


def scenarios_of_clause(clause: str, scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Return the scenarios that cite a clause, those with the fewest events and clauses first."""
    return sorted((one for one in scenarios if clause in one.clauses), key=_size)


def scenarios_of_ruling(ruling: str, scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Return the scenarios that cite a clause which the ruling decides.

    First those that are about little else: the share of their clauses that it decides, then their size.
    """
    decided = {clause.id for clause in load_clauses().values() if ruling in clause.rulings}
    share = {one.id: len(decided & set(one.clauses)) / len(one.clauses) for one in scenarios if one.clauses}
    return sorted((one for one in scenarios if share.get(one.id)), key=lambda one: (-share[one.id], *_size(one)))


def _size(scenario: Scenario) -> tuple[int, int, str]:
    events = sum(len(run.events or ()) or 99 for _, run in scenario.runs)
    return (events, len(scenario.clauses), scenario.id)


def _theme_file(theme: str) -> str:
    return f"views/{theme.replace('/', '-')}.html"


def _plain(entry: PageEntry) -> str:
    """Return a timeline for a reader without scripts, without the end tags that HTML does not want: there are many."""
    return plain_timeline(entry.timeline).replace("</td>", "").replace("</tr>", "")


def _page(title: str, entries: Sequence[PageEntry], plain: Sequence[str]) -> str:
    lead = '<p class="muted">Drag the cut, or move it with the arrow keys.</p>'
    return render_page(PicturePage(title=text_html(title), lead=lead, entries=entries, plain=plain, shares=True))
