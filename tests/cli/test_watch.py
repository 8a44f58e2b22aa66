"""`run --watch` plays again what a change touches; the test gives the time, the files and the end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call

from tpharness.cli.watch import find_touched, target_files, watch

A, B, TARGET = Path("a.yaml"), Path("b.yaml"), Path("target.py")


def rounds(looks: Sequence[dict[Path, int]]) -> list[tuple[str, ...] | None]:
    """Return what is played when these are the sizes of the files, one look after another; then Ctrl-C."""
    left = list(looks)
    played: list[tuple[str, ...] | None] = []

    def look() -> dict[Path, tuple[int, int]]:
        if not left:
            raise KeyboardInterrupt
        return {path: (0, size) for path, size in left.pop(0).items()}

    def touched(changed: Sequence[Path]) -> list[str] | None:
        return None if TARGET in changed else [path.stem for path in changed if path != Path("notes.txt")]

    with pytest.raises(KeyboardInterrupt):
        watch(lambda only: played.append(tuple(only)), touched, look, lambda _: None)
    return played


def test_everything_is_played_first_and_then_what_has_changed() -> None:
    """One scenario, then another; nothing while nothing changes."""
    start = {A: 1, B: 1}
    assert rounds([start, start, start, {A: 2, B: 1}, {A: 2, B: 1}, {A: 2, B: 5}, {A: 2, B: 5}]) == [
        (),
        ("a",),
        ("b",),
    ]


def test_a_change_is_taken_when_the_files_have_come_to_rest() -> None:
    """An editor that writes twice gives one round; a change that is taken back before gives none."""
    assert rounds([{A: 1}, {A: 2}, {A: 3}, {A: 3}]) == [(), ("a",)]
    assert rounds([{A: 1}, {A: 2}, {A: 1}, {A: 1}]) == [()]


def test_a_changed_target_plays_everything_and_a_new_file_counts() -> None:
    """A file that goes away, or that no scenario is, plays nothing."""
    assert rounds([{A: 1, TARGET: 1}, {A: 1, TARGET: 2}, {A: 1, TARGET: 2}]) == [(), ()]
    assert rounds([{A: 1}, {A: 1, B: 1}, {A: 1, B: 1}]) == [(), ("b",)]
    assert rounds([{A: 1, B: 1}, {A: 1}, {A: 1}]) == [()]
    notes = Path("notes.txt")
    assert rounds([{notes: 1}, {notes: 2}, {notes: 2}]) == [()]


def test_a_recording_touches_the_scenario_that_names_it(tmp_path: Path) -> None:
    """The scenario's own file touches it alone."""
    one, two, stream = tmp_path / "one.yaml", tmp_path / "two.yaml", tmp_path / "two.sse"
    one.write_text("turns: []", encoding="utf-8")
    two.write_text("turns: [{stream: {file: two.sse}}]", encoding="utf-8")
    known = {"mine/one": one, "mine/two": two}
    assert find_touched([one], known) == ["mine/one"]
    assert find_touched([stream], known) == ["mine/two"]
    assert find_touched([tmp_path / "other.txt"], known) == []


def test_the_files_of_a_target_are_known_by_its_name(tmp_path: Path) -> None:
    """The module of an object, the script of a command; an address has none."""
    script = tmp_path / "my server.py"
    script.write_text("", encoding="utf-8")
    found = list(target_files([f"stdio:python '{script}' --fast", "python:tests.places:x", "http://h:1", "reference"]))
    assert found[0] == script
    assert found[1].name == "places.py"
    assert len(found) == 2
    assert list(target_files(["python:no.such.module:X", "python:X"])) == []


def test_a_round_is_the_same_command_without_watch(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Restricted to the scenarios that a change touches; the end is that of Ctrl-C."""
    scenario = tmp_path / "mine" / "one.yaml"
    scenario.parent.mkdir()
    text = 'description: One.\nclauses: [cycle.kept]\nturns:\n  - user: "Hi"\n  - steps: [{response: [{text: Ho}]}]\n'
    for name in ("one", "two"):
        scenario.with_stem(name).write_text(text, encoding="utf-8")
    commands: list[Sequence[str]] = []
    waits = iter((True, False, False))

    def run(command: Sequence[str], **_: Any) -> None:
        commands.append(command[3:])

    def sleep(_: float) -> None:
        change = next(waits, None)
        if change is None:
            raise KeyboardInterrupt
        if change:
            scenario.write_text(text + "# changed\n", encoding="utf-8")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(time, "sleep", sleep)
    called = call("run", "--watch", "--scenarios", str(tmp_path), "-q")
    assert called.code == 130
    plain = ["run", "--scenarios", str(tmp_path), "-q"]
    assert commands == [plain, [*plain, "--only", "mine/one"]]
    assert "changed: one.yaml" in called.err


def test_a_round_plays_only_what_it_is_restricted_to(call: Call) -> None:
    """The option that a round gets is not one for people, and is not shown."""
    called = call("run", "cycles", "--only", "cycles/three-steps")
    assert called.code == 0
    assert "PASSED 1 scenario" in called.out
    assert "--only" not in call("run", "--help").out
    assert "--watch" in call("run", "--help").out
