"""`-x`, `--maxfail`, `--lf`, `-k`, `-v`, `-q` and `--write-baseline`: reading and repeating a run that fails."""

from __future__ import annotations

import json
import re
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from tests.cli.conftest import Call

from tpharness.file_lock import hold_lock
from tpharness.resources import scenarios_dir, schema_path
from tpharness.run import RunOptions, last_failed
from tpharness.run.last_failed import LastFailed
from tpharness.run.select import select_scenarios
from tpharness.verdict import Outcome, Result

CHANGED = "python:tests.run.test_truth:Changed"
CHOSEN = ("parts/en*", "parts/file", "parts/thinking*", "stream/t*")
"""Three that fail, the first in one case and the second in several; each test plays them once or more."""
THINKING = ("run", *CHOSEN, "--server", CHANGED)
THINKING_COUNT = len(select_scenarios(CHOSEN, (scenarios_dir(),)))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what failed last below the test's folder; return the folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "tpharness" / "last-failed"


def report(call: Call, tmp_path: Path, *words: str) -> Any:
    """Run with a JSON report; return it."""
    file = tmp_path / "report.json"
    call(*words, "--report", f"json:{file}")
    value = json.loads(file.read_text("utf-8"))
    jsonschema_rs.validate(json.loads(schema_path("report").read_text("utf-8")), value)
    return value


def failing(value: Any) -> set[str]:
    """Return the ids of the results that failed."""
    return {result["id"] for result in value["results"] if result["outcome"] == "failed"}


def test_what_ends_a_run_early_is_told_with_what_to_do(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sentences in one line have something between them."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = call("run", "--cluster", "local").out
    assert "distributed is not installed: a cluster needs Dask; pip install 'tpharness[cluster]'" in told


def test_the_run_ends_at_the_first_failure_and_says_what_was_not_played(call: Call, tmp_path: Path) -> None:
    """In every report; it has not passed, and what follows is not taken for green."""
    called = call(*THINKING, "-x")
    assert called.code == 1
    assert re.search(r"ended after one failure; \d+ of \d+ scenarios were not played", called.out)
    value = report(call, tmp_path, *THINKING, "-x")
    assert len(failing(value)) == 1
    assert value["incomplete"]["scenarios"] == THINKING_COUNT
    assert value["incomplete"]["played"] < THINKING_COUNT
    assert value["error"].startswith("ended after one failure")
    junit = tmp_path / "junit.xml"
    call(*THINKING, "-x", "--report", f"junit:{junit}")
    suite = ET.fromstring(junit.read_text("utf-8"))  # noqa: S314  # our own
    assert any("ended after one failure" in (failure.text or "") for failure in suite.iter("failure"))


def test_more_failures_are_allowed_by_number(call: Call, tmp_path: Path) -> None:
    """A scenario is played to its end; a limit that is not reached changes nothing."""
    three, all_ = (report(call, tmp_path, *THINKING, "--maxfail", number) for number in ("3", "500"))
    assert 3 <= len(failing(three)) < len(failing(all_))
    assert "incomplete" in three
    assert "incomplete" not in all_


def test_what_failed_last_is_played_alone(call: Call, tmp_path: Path, state: Path) -> None:
    """By scenario; what is corrected is forgotten, and what was not played is not."""
    first = report(call, tmp_path, *THINKING)
    again = report(call, tmp_path, *THINKING, "--lf")
    assert failing(again) == failing(first)
    assert {result["id"].partition("@")[0] for result in again["results"]} == {
        name.partition("@")[0] for name in failing(first)
    }
    (file,) = state.iterdir()
    assert set(json.loads(file.read_text("utf-8"))["failed"]) == failing(first)
    report(call, tmp_path, "run", "sse/line-ends", "--server", CHANGED)
    assert set(json.loads(file.read_text("utf-8"))["failed"]) == failing(first)
    some = report(call, tmp_path, *THINKING, "--lf", "-k", "alias")
    assert failing(some) == {"stream/thinking-alias"}


def test_without_a_failure_everything_is_played_and_nothing_is_written(call: Call, state: Path) -> None:
    """As pytest does; other targets have failures of their own."""
    called = call("run", "sse/line-ends", "--lf")
    assert called.code == 0
    assert "nothing failed last on these targets" in called.err
    assert "PASSED 1 scenario" in called.out
    assert not state.exists()
    call(*THINKING)
    assert "nothing failed last" in call("run", "sse/line-ends", "--lf", "--client", CHANGED).err
    none = call("run", "sse/line-ends", "--lf", "--server", CHANGED)
    assert none.code == 2
    assert "nothing that was named failed last" in none.err


def test_a_command_in_another_folder_is_another_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stdio:python client.py` of one project has not failed because that of another has; an address is the same."""
    command = "stdio:python client.py"
    for folder, told in (("mine", True), ("mine", False), ("yours", True)):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        memory = LastFailed.of(RunOptions(client=command))
        assert (memory.read() == frozenset()) is told, folder
        memory.update([Result(id="sse/line-ends", outcome=Outcome.FAILED)])
    here = LastFailed.of(RunOptions(server="http://127.0.0.1:8765"))
    monkeypatch.chdir(tmp_path / "mine")
    assert LastFailed.of(RunOptions(server="http://127.0.0.1:8765")) == here


def test_two_runs_that_end_together_are_both_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits until the first has written; what it read before would leave out what failed in the first."""
    memory = LastFailed.of(RunOptions(client="stdio:./mine"))
    writes, waits, write = threading.Event(), threading.Event(), LastFailed._write

    def announced(path: Path, *, seconds: float) -> AbstractContextManager[bool]:
        if writes.is_set():
            waits.set()
        return hold_lock(path, seconds=60 * seconds)

    def slowly(memory: LastFailed, *args: Any) -> None:
        if not writes.is_set():
            writes.set()
            assert waits.wait(60)
        write(memory, *args)

    monkeypatch.setattr(last_failed, "hold_lock", announced)
    monkeypatch.setattr(LastFailed, "_write", slowly)
    first = threading.Thread(target=memory.update, args=([Result(id="a/first", outcome=Outcome.FAILED)],))
    first.start()
    assert writes.wait(60)
    memory.update([Result(id="a/second", outcome=Outcome.FAILED)])
    first.join()
    assert memory.read() == {"a/first", "a/second"}


def test_two_merges_into_one_file_leave_one_of_both(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each writes a file of its own, and gives it the name when it is whole."""
    file, shards = tmp_path / "whole.json", []
    for ids in (("sse/line-ends",), ("parts/file", "sse/line-ends")):
        for index in (1, 2):
            shards.append(tmp_path / f"{len(ids)}-{index}.json")
            call("run", *ids, "--shard", f"{index}/2", "--report", f"json:{shards[-1]}")
    replace, wholes = Path.replace, []

    def replaced(draft: Path, target: Path) -> Path:
        wholes.append(json.loads(draft.read_text("utf-8")))
        if len(wholes) == 1:  # the other merge begins, and ends, before this one has given its file the name
            call("merge", *map(str, shards[:2]), "-o", str(file))
            assert json.loads(file.read_text("utf-8")) == wholes[1]
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", replaced)
    call("merge", *map(str, shards[2:]), "-o", str(file))
    assert json.loads(file.read_text("utf-8")) == wholes[0] != wholes[1]
    assert len(list(tmp_path.glob("*whole*"))) == 1


def test_a_failure_with_a_fault_is_played_with_it_again(call: Call, tmp_path: Path, state: Path) -> None:
    """And without it only if it failed without it."""
    call(*THINKING)
    (file,) = state.iterdir()
    cases = ["basics/tool-call-and-answer@fault-reset", "cycles/three-steps@event-3", "stream/gone-since"]
    file.write_text(json.dumps({"failed": cases}), encoding="utf-8")
    value = report(call, tmp_path, "run", "--lf", "--server", CHANGED)
    ids = {result["id"] for result in value["results"]}
    assert {name for name in ids if name.startswith("basics")} == {"basics/tool-call-and-answer@fault-reset"}
    assert "cycles/three-steps" in ids


@pytest.mark.parametrize("text", ["", "[", "[]", '{"failed": 3}', '{"other": []}'])
def test_a_broken_memory_is_none(call: Call, state: Path, text: str) -> None:
    """What somebody else wrote there does not end a run."""
    call(*THINKING)
    (file,) = state.iterdir()
    file.write_text(text, encoding="utf-8")
    assert call("run", "sse/line-ends", "--lf", "--server", CHANGED).code in (0, 1)


def test_a_memory_that_cannot_be_written_does_not_matter(call: Call, tmp_path: Path) -> None:
    """A file is where the folder would be."""
    (tmp_path / "state").write_text("", encoding="utf-8")
    assert call(*THINKING).code == 1


def test_ids_are_selected_by_an_expression(call: Call, tmp_path: Path) -> None:
    """Of the scenarios that are named; what fits nothing is refused."""
    value = report(call, tmp_path, "run", "cycles", "tools", "-k", "reset and step and not call")
    assert {result["id"].partition("@")[0] for result in value["results"]} == {"cycles/reset-step"}
    nothing = call("run", "cycles", "-k", "nothing-like-it")
    assert (nothing.code, "fits no scenario that was named" in nothing.err) == (2, True)
    wrong = call("run", "cycles", "-k", "a and")
    assert (wrong.code, "is not an expression: at column 6" in wrong.err) == (2, True)


def test_quiet_is_lines_and_verbose_is_everything(call: Call) -> None:
    """The verdict is the last line of each."""
    quiet, verbose = (call(*THINKING, word).out.splitlines() for word in ("-q", "-v"))
    assert len(quiet) < 12
    assert len(verbose) > 60
    assert "passed parts/file" in verbose
    played = rf"FAILED {THINKING_COUNT} scenarios, \d+ cases "
    assert re.match(played, quiet[-1])
    assert re.match(played, verbose[-1])


def test_a_baseline_is_written_refused_and_then_explains(call: Call, tmp_path: Path) -> None:
    """Reasons are filled in by hand; a file with reasons is not lost, and an update keeps them."""
    known = tmp_path / "known.yaml"
    called = call(*THINKING, "--write-baseline", str(known))
    assert called.code == 1
    assert f"{known}: 1 cause to give a reason for" in called.err
    assert "is empty" in call(*THINKING, "--baseline", str(known)).err
    known.write_text(known.read_text("utf-8").replace("reason: ''", "reason: not stored here"), encoding="utf-8")
    assert call(*THINKING, "--baseline", str(known)).code == 0
    refused = call(*THINKING, "--write-baseline", str(known))
    assert (refused.code, "may have reasons that somebody wrote" in refused.err) == (2, True)
    before = known.read_text("utf-8")
    assert call(*THINKING, "--baseline", str(known), "--write-baseline", str(known)).code == 0
    assert "not stored here" in known.read_text("utf-8")
    assert call(*THINKING, "--baseline", str(known)).code == 0
    assert sorted(word for word in before.split() if "/" in word) == sorted(
        word for word in known.read_text("utf-8").split() if "/" in word
    )


@pytest.mark.parametrize(
    "words",
    [
        ("-x",),
        ("--lf",),
        ("--shard", "1/2"),
        ("--server", "reference", "--server", CHANGED),
        ("--write-baseline", "nowhere/x.yaml"),
    ],
)
def test_a_baseline_is_that_of_one_whole_run(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Half of one would hide nothing and explain nothing; a path that cannot be written is told before the run."""
    assert call("run", "sse", "--write-baseline", str(tmp_path / "x.yaml"), *words).code == 2
