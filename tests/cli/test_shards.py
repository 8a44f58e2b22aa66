"""Shards and `tpharness merge`: together they are the whole run, and nothing less is taken for it."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.cli.conftest import Call, run_in_process
from tests.distribution import ChosenScenarios
from tests.mutants import mutate_value

from tpharness.resources import schema_path

THEME = ("basics", "approvals", "numbers")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Play three shards of three themes; return their reports, which are to be left as they are."""
    folder = tmp_path_factory.mktemp("shards")
    files = [folder / f"{index}.json" for index in (1, 2, 3)]
    for index, file in enumerate(files, 1):
        assert run_in_process("run", *THEME, "--shard", f"{index}/3", "--report", f"json:{file}") == 0
    return files


@pytest.fixture
def shards(played: list[Path], tmp_path: Path) -> list[str]:
    """Return the reports of three shards as files of the test's own."""
    return [str(shutil.copy(file, tmp_path)) for file in played]


def read(name: str | Path) -> Any:
    """Return a report."""
    return json.loads(Path(name).read_text("utf-8"))


def merged_cause(call: Call, shards: list[str], folder: Path) -> dict[str, Any]:
    """Merge shards that fail; return the one cause of the report, which fits its schema."""
    merged = folder / "merged.json"
    assert call("merge", *shards, "-o", str(merged)).code == 1
    document = read(merged)
    jsonschema_rs.validate(read(schema_path("report")), document)
    (cause,) = document["causes"]
    return dict(cause)


def test_all_shards_together_are_the_whole_run(call: Call, shards: list[str], tmp_path: Path) -> None:
    """The same cases, the same counts, the same clauses; in whatever order the reports are given."""
    whole, merged = tmp_path / "whole.json", tmp_path / "merged.json"
    assert call("run", *THEME, "--report", f"json:{whole}").code == 0
    done = call("merge", *reversed(shards), "-o", str(merged))
    assert done.code == 0
    assert done.out.startswith("PASSED 3 of 3 shards, ")
    one, other = read(whole), read(merged)
    assert sorted(r["id"] for r in one["results"]) == [r["id"] for r in other["results"]]
    for key in ("counts", "passed", "problems", "server", "client", "versions"):
        assert one[key] == other[key]
    assert {clause: set(ids) for clause, ids in one["exercised"].items()} == {
        clause: set(ids) for clause, ids in other["exercised"].items()
    }
    schema = read(schema_path("report"))
    for name in (*shards, str(merged)):
        jsonschema_rs.validate(schema, read(name))


def test_no_two_shards_share_a_scenario(shards: list[str]) -> None:
    """And each has some."""
    ids = [{result["id"].partition("@")[0] for result in read(name)["results"]} for name in shards]
    assert all(ids)
    assert not ids[0] & ids[1]
    assert not ids[1] & ids[2]
    assert not ids[0] & ids[2]


def test_a_gap_is_refused(call: Call, shards: list[str]) -> None:
    """What was not played is not passed."""
    done = call("merge", shards[0], shards[2])
    assert (done.code, "shard 2/3 is missing" in done.err) == (2, True)


def test_an_overlap_is_refused(call: Call, shards: list[str], tmp_path: Path) -> None:
    """A shard that counts twice hides one that does not count."""
    again = tmp_path / "again.json"
    again.write_bytes(Path(shards[0]).read_bytes())
    done = call("merge", *shards, str(again))
    assert (done.code, "are both shard 1/3" in done.err) == (2, True)
    assert "named twice" in call("merge", shards[0], shards[0]).err


@pytest.mark.parametrize(
    ("options", "differs"),
    [
        (("basics",), "scenario files is "),
        ((*THEME, "--dialect", "0.0.4"), "dialect is 0.0.4 and none\n"),
        ((*THEME, "--compare", "content"), "compare is content and none\n"),
    ],
)
def test_shards_of_another_run_are_refused(
    call: Call, shards: list[str], tmp_path: Path, options: tuple[str, ...], differs: str
) -> None:
    """Other scenarios or other options are another run, however alike the reports look; the error says which."""
    other = tmp_path / "other.json"
    assert call("run", *options, "--shard", "2/3", "--report", f"json:{other}").code == 0
    done = call("merge", shards[0], str(other), shards[2])
    assert (done.code, f"are not shards of one run: {differs}" in done.err) == (2, True), done.err


def test_a_failure_in_one_shard_is_a_failure_of_the_whole(call: Call, shards: list[str]) -> None:
    """And it is named with its findings."""
    report = read(shards[1])
    report["results"][0] |= {"outcome": "failed", "reason": ""}
    Path(shards[1]).write_text(json.dumps(report), encoding="utf-8")
    done = call("merge", *shards)
    assert done.code == 1
    assert f"FAILED {report['results'][0]['id']}" in done.out
    assert "FAILED 3 of 3 shards" in done.out


def test_cases_of_one_outage_are_one_cause_in_the_whole_run(call: Call, shards: list[str], tmp_path: Path) -> None:
    """Whichever shards they were in, and whatever each of them was told."""
    gone = {"what": "nothing listens there any more", "began": False}
    for index, name in enumerate(shards):
        report = read(name)
        report["results"][0] |= {"outcome": "errored", "reason": f"request {index}", "outage": gone}
        Path(name).write_text(json.dumps(report), encoding="utf-8")
    cause = merged_cause(call, shards, tmp_path)
    assert (cause["cause"], cause["cases"]) == ("no-answer at nothing listens there any more", 3)


def test_cases_of_one_symptom_are_one_cause_in_the_whole_run(call: Call, shards: list[str], tmp_path: Path) -> None:
    """What differs in their reasons parts them no more than in one run."""
    for index, name in enumerate(shards):
        report = read(name)
        told = {"outcome": "errored", "reason": f"it broke; it wrote {index}", "symptom": "it broke"}
        report["results"][0] |= told
        Path(name).write_text(json.dumps(report), encoding="utf-8")
    cause = merged_cause(call, shards, tmp_path)
    assert (cause["cause"].partition(" [")[0], cause["cases"]) == ("errored at it broke", 3)


def test_the_whole_suite_owes_its_clauses_and_its_baseline(call: Call, shards: list[str], tmp_path: Path) -> None:
    """A shard of it passes alone, and says what it is a part of; together every clause and known failure is owed."""
    one = tmp_path / "one.json"
    assert call("run", "--shard", "7/400", "--report", f"json:{one}").code == 0
    assert read(one)["shard"]["whole_suite"] is True
    for name in shards:  # as if there were no other themes
        report = read(name)
        assert report["shard"]["whole_suite"] is False
        report["shard"]["whole_suite"] = True
        Path(name).write_text(json.dumps(report), encoding="utf-8")
    done = call("merge", *shards)
    assert done.code == 1
    assert "clause-unexercised" in done.out
    assert "baseline-unmatched" in done.out


@pytest.mark.sampled
def test_all_shards_of_the_whole_suite_owe_nothing(
    call: Call, tmp_path: Path, chosen_scenarios: ChosenScenarios
) -> None:
    """Each passes, and so do both together."""
    ids = chosen_scenarios(9)
    names = [str(tmp_path / f"{index}.json") for index in (1, 2)]
    for index, name in enumerate(names, 1):
        assert call("run", *ids, "--shard", f"{index}/2", "--report", f"json:{name}").code == 0
    assert call("merge", *names).code == 0
    assert read(names[0])["shard"]["whole_suite"] is (not ids)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_what_is_no_shard_is_refused(call: Call, text: str) -> None:
    """Before anything is played."""
    done = call("run", "basics", f"--shard={text}")
    assert (done.code, "write --shard 2/5" in done.err) == (2, True)


def test_what_is_no_report_of_a_shard_is_refused(call: Call, tmp_path: Path) -> None:
    """A whole run, another JSON file, no JSON at all."""
    whole, other, none = tmp_path / "whole.json", tmp_path / "other.json", tmp_path / "none.json"
    call("run", "basics", "--report", f"json:{whole}")
    other.write_text("{}", encoding="utf-8")
    none.write_text("[", encoding="utf-8")
    assert "not of a shard" in call("merge", str(whole)).err
    assert "not the report of a run" in call("merge", str(other)).err
    assert "is not JSON" in call("merge", str(none)).err
    assert call("merge", str(tmp_path / "missing.json")).code == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (methodcaller("pop", "results"), 'does not fit report.schema.json: "results" is a required property'),
        (lambda report: report["results"][0].update(clauses=[["x"]]), "at /results/0/clauses/0"),
        (lambda report: report.update(results=7), "at /results"),
        (lambda report: report["shard"].update(index="x"), "at /shard/index"),
    ],
    ids=["no results", "a clause is a list", "results are a number", "the index is a text"],
)
def test_an_odd_report_is_refused_with_its_place(
    call: Call, shards: list[str], change: Callable[[Any], object], said: str
) -> None:
    """It was changed by hand, or cut off: exit code 2, and never a traceback."""
    report = read(shards[1])
    change(report)
    Path(shards[1]).write_text(json.dumps(report), "utf-8")
    done = call("merge", *shards)
    assert (done.code, shards[1] in done.err, said in done.err) == (2, True, True)


def test_no_mutant_of_a_shard_gives_a_traceback(call: Call, tmp_path: Path) -> None:
    """Of a run and of a sweep, from fixed seeds: a verdict, or a sentence."""
    names = [str(tmp_path / f"{index}.json") for index in (1, 2)]
    for command in ("run", "sweep"):
        for index, name in enumerate(names, start=1):
            options = (*("basics/tool-call-and-answer", "cycles/three-steps"), "--shard", f"{index}/2")
            written = call(command, *options, *(("--report", f"json:{name}") if command == "run" else ("--json",)))
            if command == "sweep":
                Path(name).write_text(written.out, "utf-8")
        report, codes = read(names[0]), Counter[object]()
        for number in range(100):
            Path(names[0]).write_bytes(mutate_value(report, random.Random(f"{command} {number}")))  # noqa: S311
            done = call("merge", *names)
            assert done.code in (0, 1, 2), (command, number, done.err)
            assert "Traceback" not in done.err, (command, number)
            codes[done.code] += 1
        assert codes[2] > 5, "no mutant was refused"
        assert codes[0] > 5, "no mutant was taken: they are not like what is real any more"


def test_a_shard_is_a_part_of_one_run_on_one_pair(call: Call) -> None:
    """A matrix is several runs."""
    done = call("run", "basics", "--shard", "1/2", "--server", "reference", "--server", "reference")
    assert (done.code, "one run on one pair" in done.err) == (2, True)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_shard_without_a_scenario_passes(call: Call, tmp_path: Path, command: str) -> None:
    """There may be more machines than scenarios; alone it says that it has none, and the whole is judged by merge."""
    names = [str(tmp_path / f"{index}.json") for index in (1, 2)]
    for index, name in enumerate(names, start=1):
        options = ("cycles/three-steps", "--shard", f"{index}/2")
        if command == "run":
            assert call("run", *options, "--report", f"json:{name}").code == 0
        else:
            Path(name).write_text(call("sweep", *options, "--json").out, "utf-8")
        assert read(name)["passed"]
    told = call(command, "cycles/three-steps", "--shard", "2/2")
    assert (told.code, "this shard has no" in told.out) == (0, True)
    assert call("merge", *names).code == 0
