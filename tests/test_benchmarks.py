"""Benchmarks run alike, and their README lists them all."""

from __future__ import annotations

import importlib
import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import core_figures, least_program, least_wires, performance, performance_page, table
from benchmarks.figures import FIGURES, Pair, Point

from tpharness.run import RunOptions, run_suite
from tpharness.verdict import RunFinished

FOLDER = Path(__file__).parents[1] / "benchmarks"
SHARED = {
    "attacks_on_serve",
    "attacks_parts",
    "bodies",
    "core_figures",
    "figures",
    "floor_figures",
    "least_certificate",
    "least_fold",
    "least_program",
    "least_wires",
    "long_streams",
    "performance_page",
    "played_disk",
    "stored_conversations",
    "suite_figures",
    "table",
    "virtual_conversation",
    "virtual_serve",
    "virtual_time",
}
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - SHARED)
_A_SIZE, _ROUNDS = 10, 5 + 1  # and one that does not count, for what is loaded on first use
README = (FOLDER / "README.md").read_text("utf-8")


def test_the_readme_lists_every_benchmark() -> None:
    """And none that is gone."""
    assert sorted(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_as_a_module_and_prints_the_table_that_all_print(name: str) -> None:
    """`python -m benchmarks.NAME`, with one way to take time and to judge."""
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__
    assert module.main.__annotations__ == {"return": "int"}
    assert module.report is table.report


def test_a_missed_target_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """In a table with one column for each of name, value, target and verdict."""
    rows = [table.shown("a", 12.345, "ms"), table.at_most("b / c", 5.01, 5), table.at_least("d", 2000.4, 2000, "/s")]
    assert table.report(rows) == 1
    assert capsys.readouterr().out.splitlines() == [
        "measure    value  target      verdict",
        "a        12.3 ms",
        "b / c     5.01 ×  <= 5 ×      FAIL",
        "d        2000 /s  >= 2000 /s  PASS",
    ]
    assert table.report([rows[0], rows[2]]) == 0


def test_the_page_shows_the_figures_with_their_targets() -> None:
    """Those of the core at least; what was measured is named by version, and no target is another than the declared."""
    page = performance.PAGE.read_text("utf-8")
    measured = page.partition(performance_page.BEGIN)[2].partition(performance_page.END)[0]
    rows = [line for line in measured.splitlines() if line.startswith("| ") and "---" not in line][1:]
    by_name = {row.split(" | ")[0].removeprefix("| "): row for row in rows}
    shown = [figure for figure in FIGURES.values() if figure.name in by_name]
    assert [figure.name for figure in shown] == list(by_name)
    assert {f.key for f in shown} >= {f.key for f in FIGURES.values() if f.make.__module__ == core_figures.__name__}
    picture = performance.PICTURE.read_text("utf-8")
    for figure in shown:
        assert f"| {figure.target} |" in by_name[figure.name]
        assert all(re.search(rf"{re.escape(peer.removeprefix('npm:'))} \d", measured) for peer in figure.peers)
        assert len(figure.sizes) < 3 or figure.key in picture


def test_a_figure_beyond_its_limit_fails_and_is_marked() -> None:
    """The verdict is on the head size, whatever the others are."""
    figure = FIGURES["data-chunk"]
    assert figure.at_most
    bad = Point(key=figure.key, size=figure.head, value=figure.at_most + 0.1, low=1, high=9)
    good = Point(key=figure.key, size=1_000, value=figure.at_most, low=1, high=9)
    row, *sizes = performance.rows_of(figure, [good, bad], [])
    assert (row.passed, len(sizes)) == (False, 2)
    assert "**missed**" in performance_page.page_table({figure.key: [good, bad]}, {}, "a machine", [])
    assert "**missed**" not in performance_page.page_table({figure.key: [good]}, {}, "a machine", [])
    assert performance.rows_of(figure, [good], [])[0].passed


def test_a_round_repeats_both_until_they_can_be_compared() -> None:
    """One that is 32 times as fast is played as often as it takes, among the plays of the other."""
    now, order = [0.0], []

    def work(name: str, seconds: float) -> Callable[[], None]:
        def play() -> None:
            order.append(name)
            now[0] += seconds

        return play

    made = Pair(ours=work("ours", 4.0), peer=work("peer", 0.125), clock=lambda: now[0])
    point = replace(FIGURES["data-chunk"], make=lambda _: made, head=_A_SIZE, at_most=40).measure(_A_SIZE)
    assert (point.value, point.low, point.high) == (32, 32, 32)
    assert order.count("ours") == _ROUNDS
    assert order.count("peer") == 13 * _ROUNDS


def test_a_misspelt_key_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are."""
    monkeypatch.setattr("sys.argv", ["performance", "journal-in-read"])
    with pytest.raises(SystemExit) as ended:
        performance.main()
    assert ended.value.code == 2
    assert "there is no figure 'journal-in-read'; there are frames-in-reads, " in capsys.readouterr().err


def test_the_measured_part_of_the_page_is_replaced_and_nothing_else() -> None:
    """What is written by hand stays."""
    page = f"before\n{performance_page.BEGIN}\nold\n{performance_page.END}\nafter\n"
    new = performance_page.replace_measured(page, "new\n")
    assert new == f"before\n{performance_page.BEGIN}\n\nnew\n\n{performance_page.END}\nafter\n"
    assert performance_page.replace_measured(new, "new\n") == new


def test_a_table_is_made_in_several_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What earlier calls have measured is kept in a file, and the last one writes all of it in the order of figures."""
    monkeypatch.setattr(performance, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(performance, "PICTURE", tmp_path / "picture.svg")
    monkeypatch.setattr(
        performance,
        "measure",
        lambda key, _source, sizes, _code: [Point(key=key, size=one, value=1.5, low=1, high=2) for one in sizes],
    )
    performance.PAGE.write_text(f"{performance_page.BEGIN}\n{performance_page.END}\n", "utf-8")
    points = str(tmp_path / "points.json")
    for arguments in (["documents"], ["data-chunk", "--write"]):
        monkeypatch.setattr("sys.argv", ["performance", "--points", points, *arguments])
        assert performance.main() == 0
    measured = performance.PAGE.read_text("utf-8")
    assert 0 < measured.index(FIGURES["data-chunk"].name) < measured.index(FIGURES["documents"].name)
    assert "data-chunk" in performance.PICTURE.read_text("utf-8")


def test_the_floor_of_a_program_shows_what_is_shown_at_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the row ends with an error."""
    made = next(
        one for one in core_figures.programs_of_thirty(20) if any(reason == "timeout" for *_, reason in one.cuts)
    )
    least_program.check_least_program(made)
    *places, end = least_program.least_program(made)
    for wrong in ([*places, {}], [*({} for _ in places), end]):
        monkeypatch.setattr(least_program, "least_program", lambda _, shown=wrong: shown)
        with pytest.raises(SystemExit, match="shows other threads"):
            least_program.check_least_program(made)


def test_the_floor_of_a_wire_gives_the_threads_of_the_run() -> None:
    """The server plays three times, the client five; what is asked over the other wire is left out."""
    ids = ("parts/every-kind-in-one-response",)

    def play() -> None:
        deque(run_suite(RunOptions(ids=ids, wire="ag-ui")), maxlen=0)

    asked = least_wires.record_asked(play, "ag-ui")
    assert [one.turns is None for one in asked].count(True) == 3
    assert len(asked) == 3 + 5
    least_wires.play_asked(asked)
    with pytest.raises(SystemExit, match="gives other threads"):
        least_wires.play_asked([replace(asked[-1], threads={})])


def test_the_target_in_process_of_the_suite_over_http_passes() -> None:
    """It stands beside the targets over HTTP, so it has to do what the reference declares, contents included."""
    here = "python:benchmarks.http_suite:Unstepped"
    asked = ("parts/every-kind-in-one-response", "carriers/all-facts")  # the second asks for what a target may answer
    *_, finished = run_suite(RunOptions(ids=asked, server=here, client=here))
    assert isinstance(finished, RunFinished)
    assert finished.passed, finished.counts
