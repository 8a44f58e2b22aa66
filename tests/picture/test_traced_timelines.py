"""The timeline of a trace shows what was really played, and what each side should have held."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.test_commands import tpharness, words
from tests.picture.looking import look_at
from tests.picture.test_timelines import thread_of
from tests.report.test_html_report import cases

from tpharness.picture import MOST_BYTES, PageEntry, PicturePage, entries_of_trace, render_page
from tpharness.picture.traces import timeline_of_trace
from tpharness.trace.read import Trace

BROKEN = "python:tests.report.test_html_report:TARGET"
PLACE = "cycles/three-steps@event-4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the trace and the page of a run of a server that keeps parts of unfinished responses."""
    where = tmp_path_factory.mktemp("traced")
    names = ("cycles/three-steps", "basics/client-loses-the-end")
    to = ("--trace", "all", "--trace-to", str(where / "trace.zip"), "--report", f"html:{where / 'run.html'}")
    done = tpharness("run", *names, "--server", BROKEN, *to)
    assert done.returncode == 1, words(done)
    return where


def test_the_frames_are_those_of_the_wire_and_the_last_row_has_the_last_threads(folder: Path) -> None:
    """Byte for byte, and thread for thread, beside the one that is right."""
    trace = Trace.open(folder / "trace.zip")
    case = trace.case(PLACE)
    timeline = timeline_of_trace(case)
    frames = "".join(row.get("frame", "") for row in timeline["rows"])
    assert frames.encode() == b"".join(case.wires["server", run].data for run in range(len(case.ends)))
    assert [row["index"] for row in timeline["rows"] if "index" in row] == [event.index for event in case.events]
    last = timeline["rows"][-1]
    for final in case.finals:
        if final.version == timeline["version"]:
            assert final.held is not None
            assert final.right is not None
            assert thread_of(timeline, last[final.side]) == case.thread(final.held)
            assert thread_of(timeline, last["right"][final.side]) == case.thread(final.right)
    assert timeline["departing"] == ["server"]
    assert "is only on the server side" in last["departs"]["server"][0]["text"]
    assert timeline["rows"][timeline["parts"]]["turn"] == last["turn"]


def test_before_its_end_a_target_has_only_what_it_should_hold(folder: Path) -> None:
    """It is asked once; the reference's own thread is known at every place."""
    timeline = timeline_of_trace(Trace.open(folder / "trace.zip").case(PLACE))
    *before, last = [row for row in timeline["rows"] if row["kind"] in ("event", "end")]
    assert all("server" not in row for row in before)
    assert any("server" in row["right"] for row in before)
    assert any("client" in row for row in before)
    assert "server" in last


def test_what_the_client_was_not_given_is_lost(folder: Path) -> None:
    """The bytes are those of the server, up to where the client's end."""
    case = Trace.open(folder / "trace.zip").case("basics/client-loses-the-end")
    timeline = timeline_of_trace(case)
    sizes = {run: case.wires["client", run].size for run in range(len(case.ends))}
    assert any(row.get("lost") for row in timeline["rows"])
    runs = [line["turn"] for line in case.script if "run" in line]
    for row in timeline["rows"]:
        if "frame" in row:
            assert bool(row.get("lost")) == (row["from"] >= sizes[runs.index(row["turn"])])


def test_cases_that_do_not_fit_are_named(folder: Path) -> None:
    """A page stays small; `only` one is asked for by name."""
    trace = Trace.open(folder / "trace.zip")
    every, none = entries_of_trace(trace, MOST_BYTES)
    assert (len(every) > 10, none) == (True, [])
    assert entries_of_trace(trace, 1) == ([], [entry.id for entry in every])
    (one,), _ = entries_of_trace(trace, MOST_BYTES, only=trace.find(PLACE))
    assert (one.id, one.outcome, one.green) == (PLACE, "failed", False)


def test_show_and_view_write_the_page(folder: Path, tmp_path: Path) -> None:
    """One case by its id, or all of them; a trace that is not one is refused."""
    trace = str(folder / "trace.zip")
    done = tpharness("show", trace, PLACE, "--html", "one.html", cwd=tmp_path)
    assert (done.returncode, words(done)) == (0, "written to one.html\n")
    assert f"<title>{PLACE}</title>" in (tmp_path / "one.html").read_text("utf-8")
    assert tpharness("view", trace, "-o", "all.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "all.html").stat().st_size > (tmp_path / "one.html").stat().st_size
    (tmp_path / "odd.zip").write_bytes(b"PK")
    assert tpharness("view", "odd.zip", cwd=tmp_path).returncode == 2


def test_the_page_of_a_run_has_the_cases_of_its_trace(folder: Path) -> None:
    """What was really played stands before what the reference makes of the scenarios."""
    page = (folder / "run.html").read_text("utf-8")
    ids = [case["id"] for case in cases(page)]
    assert ids.index(PLACE) < ids.index("cycles/three-steps")
    assert len(ids) == len(set(ids))
    assert " (keeps-parts) and the reference." in page


@pytest.mark.browser
def test_the_departing_side_is_beside_what_it_should_hold(folder: Path, tmp_path: Path) -> None:
    """That is what the page opens with; the server can be compared with the client as well."""
    entries: list[PageEntry]
    entries, _ = entries_of_trace(Trace.open(folder / "trace.zip"), MOST_BYTES)
    file = tmp_path / "trace.html"
    file.write_text(render_page(PicturePage(title="trace", entries=entries)), "utf-8")
    heads = ["text", "#heads"]
    seen = look_at(
        file,
        heads,
        ["text", "#panel"],
        ["axe"],
        ["click", "#next-bad"],
        ["text", "#panel"],
        ["choose", "#compare", "both"],
        heads,
        hash=f"#view/{PLACE}",
    )
    first, panel, found, _, parted, _, both = seen.results
    assert "WHAT IT SHOULD HOLD HERE" in first.upper()
    assert "The server is wrong: it does not hold what the reference makes of the same input (R51)." in panel
    assert found == []
    assert "The server was asked once, at its end" in parted
    assert "CLIENT" in both.upper()
    assert seen.errors == []
