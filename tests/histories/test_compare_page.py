"""The page of `tpharness compare`: what each history loses stands beside every place of a timeline."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.picture.looking import look_at
from tests.picture.test_page import Elements
from tests.scenarios import load_builtin

from tpharness.histories.compare import compare
from tpharness.histories.page import render_comparison
from tpharness.histories.registry import HISTORIES
from tpharness.histories.tracks import history_tracks
from tpharness.scenario import Scenario, load_text

HOSTILE = "</script><img src=x onerror=alert(1)>\u202egnp"  # as long as what is lost is shown
NAMES = ("0.0.4", "message-parts/plan", "message-parts/current")


def scenario(text: str = "It is eighteen degrees.") -> Scenario:
    """Return a run of one answer in two steps, which its user cancels in the first."""
    steps = [{"response": [{"call": "get_weather", "id": "c1", "args": {"city": text}}]}, {"returns": {"c1": text}}]
    turns = [{"user": "q"}, {"steps": [*steps, {"response": [{"text": text}]}]}]
    return load_text(json.dumps({"description": "One.", "clauses": ["cycle.kept"], "turns": turns}), id="a/b")


def page_of(*scenarios: Scenario) -> str:
    """Return the page of some scenarios and histories."""
    histories = [HISTORIES[name] for name in NAMES]
    return render_comparison(
        compare(scenarios, histories), [(one, history_tracks(one, histories)) for one in scenarios]
    )


def timeline(page: str) -> dict[str, Any]:
    """Return the first timeline of a page."""
    (found,) = [text for attrs, text in Elements(page).named("script") if attrs.get("id") == "data-0"]
    shown: dict[str, Any] = json.loads(found)
    return shown


def words_after(shown: dict[str, Any], kind: str, track: int, nth: int = -1) -> str:
    """Return what a track says after the last event of a kind, or the `nth` one."""
    places = [n for n, row in enumerate(shown["places"]) if is_after(shown, row, kind)]
    states = shown["tracks"]["places"][places[nth]]
    return str(shown["tracks"]["states"][states[track]]["words"])


def is_after(shown: dict[str, Any], row: int, kind: str) -> bool:
    """Whether a row ends the step of an event of this kind."""
    while shown["rows"][row]["kind"] == "more":
        row -= 1
    return bool(shown["rows"][row].get("event", {}).get("event_kind") == kind)


def test_every_place_says_what_each_history_loses() -> None:
    """After the return the cycle is complete, which 0.0.4 keeps; half an answer it drops, and the others keep it."""
    shown = timeline(page_of(scenario()))
    assert shown["tracks"]["names"] == list(NAMES)
    assert len(shown["tracks"]["places"]) == len(shown["places"])
    assert words_after(shown, "function_tool_result", 0) == "loses nothing"
    assert words_after(shown, "function_tool_result", 2) == "loses nothing"
    assert words_after(shown, "part_start", 0).startswith("loses text")  # in the last answer, which has begun
    assert words_after(shown, "part_start", 1) == "loses nothing"
    assert words_after(shown, "part_start", 0, 0).startswith("loses arguments, the name of a tool")  # in the call
    assert shown["tracks"]["places"][0] is None  # the user's turn
    assert shown["tracks"]["places"][-1] is None  # the end of the run is not a cut


def test_the_tracks_say_what_the_tables_count() -> None:
    """A place that loses something, or is refused, is one of those that a cell of the tables counts."""
    one, histories = scenario(), [HISTORIES[name] for name in NAMES]
    tracks = history_tracks(one, histories)
    assert tracks is not None
    cells = [cell for row in compare([one], histories).cells.values() for cell in row.values()]
    refused = [
        state for states in tracks.places.values() for state in states if tracks.states[state]["colour"] == "bad"
    ]
    assert len(refused) >= sum(cell.refusals for cell in cells) > 0


def test_a_scenario_without_server_events_is_in_the_tables_only() -> None:
    """Nobody could cut its server."""
    bare = load_builtin("carriers/odd-carriers")
    assert history_tracks(bare, [HISTORIES["0.0.4"]]) is None
    page = page_of(bare)
    assert "What is lost of the turn that is cut" in page
    assert not [attrs for attrs, _ in Elements(page).named("script") if attrs.get("id") == "data-0"]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_the_words_follow_the_cut_and_hostile_text_stays_text(tmp_path: Path, width: int, dark: bool) -> None:
    """It opens where something is lost, the strips first; axe finds nothing; what a scenario says is text only."""
    file = tmp_path / "page.html"
    file.write_bytes(page_of(scenario(HOSTILE)).encode("utf-8", "backslashreplace"))
    assert not Elements(file.read_text("utf-8")).named("img")
    words = ["eval", "document.querySelector('.track-line .words').textContent"]
    wide = ["eval", "document.documentElement.scrollWidth"]
    back = ["press", "#server-cut", "ArrowLeft", 3]
    panel = ["text", "#panel"]
    colours = ["eval", "[...document.querySelectorAll('.track-line .words')].map((one) => one.className).join()"]
    above = ["eval", "viewer.tracks.box.compareDocumentPosition(document.querySelector('table')) === 4"]
    refused, lost = r"a model API refuses it at \d+ of \d+ places", r"something is lost at \d+"
    style = "(one) => getComputedStyle(document.querySelector(one)).display"
    displays = f"['#tracks', '#strip', '#controls .legend'].map({style}).join(' ')"
    opened = look_at(
        file, colours, above, ["text", ".track-line .muted >> nth=0"], ["eval", displays], width=width, dark=dark
    )
    assert "words bad" in opened.results[0] or "words warn" in opened.results[0]
    assert opened.results[1] is True
    assert re.fullmatch(rf"({refused}, and {lost} others|{refused}|{lost} of \d+ places)", opened.results[2])
    assert opened.results[3] == "block none none"  # one meaning for each colour: those of the strips of histories
    last = ["press", "#server-cut", "End"]
    steps: list[list[Any]] = [last, words, back, words, panel, ["axe"], wide, ["click", "[data-track='1']"], words]
    seen = look_at(file, *steps, width=width, dark=dark)
    _, end, _, there, lost, found, is_wide, _, clicked = seen.results
    assert end == "no run to cut here"
    assert there.startswith("loses text")
    assert "<img src=x onerror=alert(1)>" in lost
    assert "\u202e" not in lost
    assert (found, is_wide) == ([], width)
    assert clicked not in (end, there)  # the middle of the run: the call, or its return
    assert seen.requests == [file.as_uri()]
    assert seen.errors == []
