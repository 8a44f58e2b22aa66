"""`run --clause` and `sweep --clause` play what cites a clause, and `list scenarios --clause` names it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call

from tpharness import play

SCENARIO = """
description: One text.
clauses: {cited}
turns: [{{user: Hi}}, {{steps: [{{response: [{{text: Hello}}]}}]}}]
"""


def write(folder: Path, name: str, cited: str) -> None:
    """Write a scenario that cites clauses."""
    (folder / f"{name}.yaml").write_text(SCENARIO.format(cited=cited), "utf-8")


def test_only_scenarios_that_cite_one_of_the_clauses_are_played(call: Call, tmp_path: Path) -> None:
    """However they cite it; ids beside the clauses restrict what is played, and a baseline is judged of that alone."""
    (suite := tmp_path / "suite").mkdir()
    write(suite, "text", "[stream.text]")
    write(suite, "steps", "\n  - stream.steps")
    write(suite, "kept", "[cycle.kept]")
    report, known = tmp_path / "report.json", tmp_path / "known.yaml"
    known.write_text("- {id: kept, findings: [identity-differs], reason: Known.}\n", "utf-8")
    clauses = ["--clause", "stream.text", "--clause", "stream.steps", "--baseline", str(known)]
    words = ["--scenarios", str(suite), *clauses, "--report", f"json:{report}"]
    assert call("run", *words).code == 0
    assert [result["id"] for result in json.loads(report.read_text())["results"]] == ["steps", "text"]
    assert call("run", "text", *words).code == 0
    assert [result["id"] for result in json.loads(report.read_text())["results"]] == ["text"]
    assert [r.id for r in play(scenarios=[suite], clauses=["cycle.kept"]).results] == ["kept"]


def test_a_sweep_and_the_list_take_what_run_takes(call: Call, tmp_path: Path) -> None:
    """The same scenarios, in the same order."""
    (suite := tmp_path / "suite").mkdir()
    for name, cited in (("text", "[stream.text]"), ("steps", "[stream.steps]"), ("kept", "[cycle.kept]")):
        write(suite, name, cited)
    words = ["--scenarios", str(suite), "--clause", "stream.text", "--clause", "stream.steps", "--json"]
    swept = call("sweep", *words)
    assert swept.code == 0
    assert [one["id"] for one in json.loads(swept.out)["scenarios"]] == ["steps", "text"]
    assert [one["id"] for one in json.loads(call("list", "scenarios", *words).out)] == ["steps", "text"]
    wrong = call("list", "rulings", "--clause", "cycle.kept")
    assert (wrong.code, "tpharness list scenarios --clause cycle.kept" in wrong.err) == (2, True)


def test_a_clause_that_nothing_can_cite_is_refused(call: Call) -> None:
    """Exit code 2, and what to write instead."""
    for words, error, hint in (
        (["--clause", "cycle.kep"], "no clause is called 'cycle.kep'", "did you mean cycle.kept?"),
        (["--clause", "app.alive"], "app.alive is a clause about applications", "see `tpharness app`"),
        (["sse", "--clause", "cycle.kept"], "no scenario that was named cites cycle.kept", "explain cycle.kept"),
    ):
        for command in ("run", "sweep"):
            called = call(command, *words)
            assert (called.code, error in called.err, hint in called.err) == (2, True, True), called.err


def test_a_clause_or_a_file_in_place_of_an_id_is_told_how_it_is_played(call: Call, tmp_path: Path) -> None:
    """The option that takes it."""
    write(tmp_path, "text", "[stream.text]")
    clause = call("run", "cycle.kept")
    assert (clause.code, "that is a clause: tpharness run --clause cycle.kept" in clause.err) == (2, True)
    path = tmp_path / "text.yaml"
    file = call("run", str(path))
    assert (file.code, f"that is a path: name it with --scenarios {path}" in file.err) == (2, True)
