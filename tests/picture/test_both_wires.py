"""One case on both wires: the same steps side by side, and what the client holds over each."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Call, call  # noqa: F401  # a fixture
from tests.picture.looking import look_at
from tests.scenarios import load_builtin

from tpharness.picture import side_by_side_html, timelines_over
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case
from tpharness.wires.ag_ui.encode import AgUiEncoder
from tpharness.wires.registry import WIRES

CUT = "interruptions/mid-tool-args"


def section_of(scenario: str) -> str:
    """Return the section of a scenario on all wires."""
    return side_by_side_html(scenario, timelines_over(base_case(load_builtin(scenario)), tuple(WIRES)))


def rows_of(section: str) -> list[list[str]]:
    """Return the cells of its tables as text; frames are on lines of their own, those that were lost between ~~."""
    marked = section.replace("</div>", "\n").replace("<del>", "~~").replace("</del>", "~~")
    rows = re.findall(r"<tr>(.*?)</tr>", marked, re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells if row]


def test_a_cut_shows_what_each_wire_says_of_it() -> None:
    """VSP leaves half arguments open, AG-UI has to end them, marks them, and says that the run was stopped."""
    section = section_of(CUT)
    rows = rows_of(section)
    words = [row[0] for row in rows]
    assert words[:2] == ["the user writes", "the stream begins"]
    cut = rows[words.index("cut: user_cancelled")]
    assert '"type":"abort"' in cut[1]
    assert "tool-input-available" not in cut[1]
    assert '"type":"TOOL_CALL_END","toolCallId":"c1","metadata":{"threadprotocol":{"cut":true}}' in cut[2]
    assert '"outcome":{"type":"cancelled"}' in cut[2]
    assert "the client holds the same thread over each wire" in section
    assert [row for row in rows if row[0] in WIRES] == [["vsp", "user"], ["ag-ui", "user"]]


def test_what_a_wire_loses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the threads differ, the section names the place."""
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    section = section_of("basics/tool-call-and-answer")
    assert "the threads differ" in section
    assert "/turns/1" in section


def test_what_the_client_did_not_get_is_struck_through() -> None:
    """On both wires, from the same event on."""
    rows = [row for row in rows_of(section_of("basics/client-loses-the-end")) if len(row) == 3]
    lost = [tuple(cell.startswith("~~") for cell in row[1:]) for row in rows if "–" not in row[1:]]
    assert set(lost) == {(False, False), (True, True)}
    assert lost == sorted(lost)


def test_the_command_shows_a_scenario_over_a_wire(
    call: Call,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One, or all side by side, as it stands or cut at a place of its sweep."""
    monkeypatch.chdir(tmp_path)
    file = str(scenarios_dir() / "cycles" / "three-steps.yaml")
    assert call("view", file, "--wire", "ag-ui", "-o", "one.html").code == 0
    one = Path("one.html").read_text("utf-8").partition('id="data-0"')[2].partition("</script>")[0]
    assert "RUN_STARTED" in one
    assert "start-step" not in one
    cut = ("--at", "event-9", "--reason", "user_cancelled")
    assert call("view", file, "--wire", "all", *cut, "-o", "both.html").code == 0
    both = Path("both.html").read_text("utf-8")
    assert "cycles/three-steps@event-9, on 2 wires" in both
    assert "the client holds the same thread over each wire" in both
    assert "cycles/three-steps@event-9 over ag-ui" in both


@pytest.mark.browser
def test_makes_the_picture_of_both_wires_in_the_docs(
    call: Call,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`TPHARNESS_SCREENSHOT_OF_WIRES=docs/both-wires.png` writes it: a run that is stopped inside of arguments."""
    shot = Path(os.environ.get("TPHARNESS_SCREENSHOT_OF_WIRES", tmp_path / "shot.png")).absolute()
    monkeypatch.chdir(tmp_path)
    file = str(scenarios_dir() / "interruptions" / "mid-tool-args.yaml")
    assert call("view", file, "--wire", "all", "-o", "both.html").code == 0
    words = ["eval", "document.body.textContent"]
    seen = look_at(tmp_path / "both.html", words, ["shot", str(shot), False], width=1280, height=1120)
    assert seen.errors == []
    assert "TOOL_CALL_END" in seen.results[0]
    assert "the client holds the same thread over each wire" in seen.results[0]
    assert shot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("SCENARIO", "--wire", "agui"), "did you mean ag-ui"),
        (("SCENARIO", "--at", "event-999"), "it has event-0 to event-"),
        (("plain.sse", "--wire", "all"), "--wire is for scenarios"),
        (("plain.sse", "--at", "event-1"), "--at is for scenarios"),
    ],
)
def test_what_cannot_be_shown_says_what_can(
    call: Call,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """A name of a wire, a place, and a stream that is what it is."""
    monkeypatch.chdir(tmp_path)
    Path("plain.sse").write_bytes(b'data: {"type":"start"}\n\n')
    file = str(scenarios_dir() / "cycles" / "three-steps.yaml")
    done = call("view", *(file if one == "SCENARIO" else one for one in arguments))
    assert done.code == 2
    assert said in done.err
