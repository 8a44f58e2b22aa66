"""The page in a real browser: opened from the file system, stepped with mouse and keys, by whoever uses it."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run_in_process
from tests.picture.looking import look_at
from tests.picture.test_page import HOSTILE, hostile_page
from tests.scenarios import load_builtin

from tpharness.checking import check_data
from tpharness.findings import Level
from tpharness.picture import PageEntry, PicturePage, plain_timeline, render_page, timeline_of_case, timeline_of_file
from tpharness.printable import counted
from tpharness.run.plan import base_case
from tpharness.scenario import load_text

pytestmark = pytest.mark.browser
WORDS = ["eval", "document.getElementById('server-words').textContent"]
THREADS = ["text", "#threads"]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return a page with two cases, the second with bytes that the client lost."""
    timelines = [timeline_of_case(base_case(load_builtin(name))) for name in CASES]
    file = tmp_path / "page.html"
    entries = [PageEntry(timeline=timeline) for timeline in timelines]
    plain = [plain_timeline(timeline) for timeline in timelines]
    file.write_text(render_page(PicturePage(title="Two cases", entries=entries, plain=plain)), "utf-8")
    return file


def test_timelines_that_are_packed_open_as_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one, another that is chosen, and one that the address names, with what nobody else's page holds."""
    texts = []
    for most in (10**9, 0):
        monkeypatch.setattr("tpharness.picture.page._PLAIN_BYTES", most)
        file = tmp_path / f"page-{most}.html"
        entries = [PageEntry(timeline=timeline_of_case(base_case(load_builtin(name)))) for name in CASES]
        file.write_text(render_page(PicturePage(title="Two cases", entries=entries)), "utf-8")
        shown = ["eval", _WHEN_OPEN]
        chosen = look_at(
            file, shown, THREADS, ["choose", "#case", "1"], shown, THREADS, ["press", "#rows", "Home"], WORDS
        )
        named = look_at(file, shown, THREADS, hash=f"#view/{CASES[1]}@event-3")
        assert chosen.errors == named.errors == []
        texts.append([*chosen.results, *named.results])
    plain, packed = texts
    assert packed == plain
    assert plain[1] != plain[4]


_WHEN_OPEN = """new Promise((done) => {
  const look = () => document.getElementById("viewer").inert ? requestAnimationFrame(look) : done(true);
  look();
})"""
CASES = ("basics/tool-call-and-answer", "interruptions/client-loses-a-running-tool")


def test_opens_from_the_file_system_and_asks_for_nothing(page: Path) -> None:
    """The only address is its own, and nothing goes wrong."""
    seen = look_at(page, WORDS)
    assert seen.requests == [page.as_uri()]
    assert seen.errors == []
    assert seen.results[0].startswith("end of the run")


def test_the_arrow_keys_move_the_cut_and_the_threads_follow(page: Path) -> None:
    """Event by event, on the slider and on the list; Home is before everything, where there is no agent's turn yet."""
    seen = look_at(
        page,
        ["press", "#server-cut", "ArrowLeft", 12],
        WORDS,
        THREADS,
        ["press", "#rows", "ArrowDown", 2],
        WORDS,
        ["press", "#rows", "Home"],
        THREADS,
    )
    _, words, threads, _, later, _, first = seen.results
    assert words.startswith("event 13 · part_delta")
    assert "not kept" in threads
    assert "R20" in threads
    assert later.startswith("event 15 · model_response_end")
    assert "What is the weather" in first
    assert "agent" not in first
    assert seen.errors == []


def test_the_cut_is_dragged_with_the_mouse(page: Path) -> None:
    """The line in the list follows the pointer, row by row; a click on a row cuts there."""
    up = ["drag", ".handle.server", -3 * 28]
    seen = look_at(
        page, ["press", "#server-cut", "ArrowLeft", 12], WORDS, up, WORDS, ["click", "[data-row='9'] .event"], WORDS
    )
    _, before, _, dragged, _, clicked = seen.results
    assert before.startswith("event 13 ")
    assert dragged.startswith("event 11 ")  # whose two frames are two rows
    assert clicked != dragged
    assert seen.errors == []


def test_the_sides_can_be_cut_at_different_places(page: Path) -> None:
    """The client further back than the server: its thread is a prefix, and what it lacks is marked."""
    seen = look_at(
        page,
        ["click", "#together"],
        ["press", "#client-cut", "ArrowLeft", 12],
        ["text", "#panel"],
        ["eval", "document.querySelectorAll('.differing').length"],
        ["eval", "document.querySelector('#threads .absent').textContent"],
    )
    assert "prefix of the server's (R32)" in seen.results[2]
    assert seen.results[3] > 0
    assert seen.results[4] == "not in this thread"


def test_an_address_names_a_case_and_a_place(page: Path) -> None:
    """A link from a finding opens the timeline at the place that it is about."""
    seen = look_at(page, ["text", "#about h3"], WORDS, hash=f"#view/{CASES[0]}@event-9")
    assert seen.results[0] == CASES[0]
    assert seen.results[1].startswith("event 9 ")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_is_accessible_and_no_wider_than_the_screen(page: Path, width: int, dark: bool) -> None:
    """Axe finds nothing, in both colour schemes, where threads differ and where something is not kept."""
    wide = ["eval", "document.documentElement.scrollWidth"]
    case = ["choose", "#case", CASES[1]]
    seen = look_at(
        page, ["press", "#server-cut", "ArrowLeft", 12], ["axe"], wide, case, ["axe"], wide, width=width, dark=dark
    )
    assert (seen.results[1], seen.results[4]) == ([], [])
    assert (seen.results[2], seen.results[5]) == (width, width)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_stream_alone_is_accessible_and_its_chunks_are_read_on_a_phone(tmp_path: Path, width: int) -> None:
    """A page with one case, called as the page: its headings are in order, and no column takes the others' room."""
    chunks: list[dict[str, Any]] = [
        {"type": "start"},
        {"type": "text-start", "id": "t"},
        {"type": "text-start", "id": "t"},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    timeline = timeline_of_file("bad.sse", body)
    file = tmp_path / "page.html"
    file.write_text(render_page(PicturePage(title="bad.sse", entries=[PageEntry(timeline=timeline)])), "utf-8")
    narrow = ["eval", "Math.min(...[...document.querySelectorAll('#rows .row .chunk')].map((one) => one.clientWidth))"]
    axe, least, wide = look_at(
        file, ["axe"], narrow, ["eval", "document.documentElement.scrollWidth"], width=width
    ).results
    assert axe == []
    assert least >= 100
    assert wide == width


def test_makes_the_screenshot_of_the_docs(tmp_path: Path) -> None:
    """`TPHARNESS_SCREENSHOT=docs/picture.png` writes it: both sides cut apart, in the middle of a call."""
    timeline = timeline_of_case(base_case(load_builtin(CASES[0])))
    file = tmp_path / "page.html"
    file.write_text(
        render_page(PicturePage(title="tool-call-and-answer.yaml", entries=[PageEntry(timeline=timeline)])), "utf-8"
    )
    shot = Path(os.environ.get("TPHARNESS_SCREENSHOT", tmp_path / "shot.png")).absolute()
    seen = look_at(
        file,
        ["press", "#server-cut", "ArrowLeft", 9],
        ["click", "#together"],
        ["press", "#client-cut", "ArrowLeft", 8],
        ["eval", "document.activeElement.blur()"],
        ["shot", str(shot), True],
        width=1100,
    )
    assert seen.errors == []
    assert shot.read_bytes().startswith(b"\x89PNG")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """No element comes of it, nothing is asked for, and what turns the direction of writing is shown as an escape."""
    file = tmp_path / "hostile.html"
    file.write_bytes(hostile_page().encode("utf-8", "backslashreplace"))
    count = "document.querySelectorAll('img, script:not([type]), iframe').length"
    seen = look_at(
        file, ["eval", count], ["press", "#server-cut", "ArrowLeft", 1], ["text", "#threads"], ["text", "#rows"]
    )
    assert seen.results[0] == 1
    for shown in seen.results[2:]:
        assert "<script>alert(1)</script>" in shown
        assert "\\u202egnp" in shown
        assert "\\u001b[31m" in shown
        assert "\u202e" not in shown
    assert seen.requests == [file.as_uri()]
    assert seen.errors == []
    assert "alert" in HOSTILE


def test_a_megabyte_in_one_string_is_cut_where_it_is_shown(tmp_path: Path) -> None:
    """The page shows its beginning, and says how much more there is; a button shows the rest."""
    chunks: list[dict[str, Any]] = [
        {"type": "start"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "x" * 1_000_000},
        {"type": "text-end", "id": "t"},
        {"type": "finish-step"},
        {"type": "finish"},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    file = tmp_path / "large.html"
    timeline = timeline_of_file("large.sse", body.encode())
    file.write_text(render_page(PicturePage(title="large", entries=[PageEntry(timeline=timeline)])), "utf-8")
    length = "document.getElementById('threads').textContent.length"
    seen = look_at(file, ["eval", length], ["text", "#threads .rest"], ["click", "#threads .rest"], ["eval", length])
    assert seen.results[0] < 5000
    assert seen.results[1] == "Show 999,400 more characters"
    assert seen.results[3] > 1_000_000
    assert seen.errors == []


def test_twenty_thousand_events_open_at_the_error_and_draw_what_is_in_sight(tmp_path: Path) -> None:
    """A page with 200 events has as many elements: what opening one costs is not drawing its rows."""
    counts = []
    for number in (200, 20_000):
        chunks: list[dict[str, Any]] = [{"type": "start", "messageId": "m1"}, {"type": "start-step"}]
        for n in range(number // 3):
            called = {"toolCallId": f"c{n}", "toolName": "look", "input": {}}
            chunks += [
                {"type": "tool-input-start", "toolCallId": f"c{n}", "toolName": "look"},
                {"type": "tool-input-available", **called},
                {"type": "tool-output-available", "toolCallId": f"c{n}", "output": "yes"},
            ]
        chunks[number - 90 : number - 90] = [{"type": "text-delta", "id": "t", "delta": "of no part"}]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
        file = tmp_path / f"{number}.html"
        timeline = timeline_of_file("calls.sse", body)
        file.write_text(render_page(PicturePage(title="calls", entries=[PageEntry(timeline=timeline)])), "utf-8")
        seen = look_at(
            file,
            ["eval", _WHEN_OPEN],
            WORDS,
            ["eval", "document.querySelectorAll('*').length"],
            ["eval", "document.querySelector('.handle.client').getBoundingClientRect().top < innerHeight"],
        )
        assert seen.results[1].startswith("text-delta")
        assert seen.results[3] is True
        assert seen.errors == []
        counts.append(seen.results[2])
    assert counts[1] <= counts[0] * 1.5
    assert counts[1] <= 3000


def test_of_a_long_thread_the_end_is_shown_first(tmp_path: Path) -> None:
    """The last messages, and a button for those before, which says how many there are."""
    steps = "".join(
        f"      - response: [{{call: look, id: c{n}}}]\n      - returns: {{c{n}: yes}}\n" for n in range(30)
    )
    text = f"description: Many calls.\nclauses: [cycle.kept]\nturns:\n  - user: Hi\n  - steps:\n{steps}"
    file = tmp_path / "long.html"
    timeline = timeline_of_case(base_case(load_text(text, id="chat/long")))
    file.write_text(render_page(PicturePage(title="long", entries=[PageEntry(timeline=timeline)])), "utf-8")
    count = ["eval", "document.querySelectorAll('#threads .pair').length"]
    seen = look_at(file, count, ["text", "#threads button.earlier"], ["click", "#threads button.earlier"], count)
    assert seen.results == [40, "Show 22 earlier turns and messages", None, 62]
    assert seen.errors == []


def test_without_scripts_the_rows_are_a_table(page: Path) -> None:
    """Every frame of both cases, and no empty controls."""
    seen = look_at(page, ["text", "body"], scripts=False)
    assert "tool-input-available" in seen.results[0]
    assert "part_delta" in seen.results[0]
    assert "Cut after" not in seen.results[0]


ODD = b"".join(
    b"data: " + json.dumps(chunk).encode() + b"\n\n"
    for chunk in (
        {"type": "start", "messageId": "m1"},
        {"type": "start-step"},
        {"type": "text-start", "id": "t0"},
        {"type": "text-delta", "id": "t0", "delta": "A message."},
        {"type": "text-end", "id": "t0"},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "text-start", "id": "t1"},
        {"type": "text-delta", "id": "t2", "delta": "of a part that never began"},
        {"type": "text-end", "id": "t1"},
        {"type": "tool-output-available", "toolCallId": "c9", "output": "ok"},
        {"type": "abort", "reason": "user_cancelled"},
    )
) + (b"data: [DONE]\n\n")


def test_a_stream_that_is_wrong_opens_at_its_first_error(tmp_path: Path) -> None:
    """The verdict comes first; the places are red; nothing speaks of a side that a stream does not have."""
    stream, file = tmp_path / "odd.sse", tmp_path / "odd.html"
    stream.write_bytes(ODD)
    assert run_in_process("view", str(stream), "-o", str(file)) == 0
    top = "document.querySelector('.handle.client').getBoundingClientRect().top"
    shown = "[...document.querySelectorAll('#controls .legend li')].filter((one) => !one.hidden)"
    seen = look_at(
        file,
        ["text", "header"],
        WORDS,
        ["text", "#panel"],
        ["eval", "document.querySelectorAll('#strip rect.bad').length"],
        ["eval", f"{top} > 0 && {top} < innerHeight"],
        ["eval", f"{shown}.map((one) => one.className).join()"],
        ["click", "#next-bad"],
        ["text", "#panel"],
        ["text", "#reason"],
        ["press", "#rows", "End"],
        ["text", "#reason"],
        ["eval", "document.querySelector('#threads').innerText.includes('00:00')"],
        height=800,
    )
    header, words, panel, red, in_sight, colours, _, later, *reasons, times = seen.results
    assert "2 ERRORS" in header.upper()
    assert words.startswith("text-delta")
    assert "part-without-start" in panel
    assert (red, in_sight) == (2, True)
    assert colours == "quiet,grows,bad"
    assert "output-without-input" in later
    assert reasons[0].endswith("network_failure")  # cut by us
    assert reasons[2].endswith("user_cancelled")  # as the stream says
    assert times is False
    assert seen.errors == []


AG_UI = (
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "after its end"},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
)
BROKEN = {
    "ag-ui": (b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in AG_UI), "TEXT_MESSAGE_CONTENT"),
    "vsp": (ODD, "text-delta"),
    "no stream": (b"<html>not a stream</html>\n", "end of the run"),
    "cut in JSON": (b'data: {"type":"start"}\n\ndata: {"type":\n\n', '{"type":'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_has_the_verdict_of_check_and_opens_at_its_first_error(name: str, tmp_path: Path) -> None:
    """On both wires: as many errors and warnings as `tpharness check` finds, and the first of them in sight."""
    data, first = BROKEN[name]
    stream, file = tmp_path / "odd.sse", tmp_path / "odd.html"
    stream.write_bytes(data)
    assert run_in_process("view", str(stream), "-o", str(file)) == 0
    levels = Counter(finding.level for finding in check_data(data, "odd.sse"))
    counts = [(levels[Level.MUST], "error"), (levels[Level.SHOULD], "warning")]
    verdict = ", ".join(counted(number, noun) for number, noun in counts if number)
    seen = look_at(file, ["text", "header .verdict"], WORDS, ["axe"])
    assert levels[Level.MUST] > 0
    assert seen.results[0].lower() == verdict
    assert seen.results[1].startswith(first)
    assert seen.results[2] == []
    assert seen.errors == []


def test_a_sound_stream_says_so(tmp_path: Path) -> None:
    """It opens at its end, as before."""
    stream, file = tmp_path / "sound.sse", tmp_path / "sound.html"
    chunks = ({"type": "start", "messageId": "m1"}, {"type": "start-step"}, {"type": "finish-step"}, {"type": "finish"})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    stream.write_text("".join([*lines, "data: [DONE]\n\n"]))
    assert run_in_process("view", str(stream), "-o", str(file)) == 0
    seen = look_at(file, ["text", "header"], WORDS, ["eval", "document.querySelectorAll('#strip rect.bad').length"])
    header, words, red = seen.results
    assert "NOTHING IS WRONG" in header.upper()
    assert words.startswith("end of the run")
    assert red == 0


def test_the_address_names_the_cut(page: Path) -> None:
    """Who opens it sees the same case and the same place, also between the two frames of one event."""
    for steps in (
        ["press", "#server-cut", "ArrowLeft", 12],
        ["press", "#rows", "Home"],
        ["press", "#rows", "ArrowUp", 4],
    ):
        first = look_at(page, ["choose", "#case", "1"], steps, WORDS, THREADS, ["eval", "location.hash"])
        words, threads, address = first.results[2:]
        again = look_at(page, WORDS, THREADS, hash=address)
        assert again.results == [words, threads], address


def test_each_row_stands_right_below_the_one_before(page: Path) -> None:
    """Also a further frame of an event, whose row is one of its own."""
    tops = "[...document.querySelectorAll('#rows [data-row]')].map((one) => one.getBoundingClientRect().top)"
    seen = look_at(page, ["eval", f"JSON.stringify({tops})"], ["eval", "document.querySelectorAll('.row.more').length"])
    heights = json.loads(seen.results[0])
    assert seen.results[1] > 0
    assert {round(below - above) for above, below in pairwise(heights)} == {28}
