"""Snapshots of threads, as somebody's own tests take them with syrupy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.in_process import quick_with

from tpharness.errors import UsageError
from tpharness.snapshots import MASKED, mask

OPTIONS = quick_with("syrupy")

TEST = """
import pytest
from tpharness import fold
from tpharness.snapshots import {extension}, mask

CHUNKS = [
    {{"type": "start"}}, {{"type": "start-step"}},
    {{"type": "tool-input-available", "toolCallId": "{call}", "toolName": "look", "input": {{"city": "Paris"}}}},
    {{"type": "tool-output-available", "toolCallId": "{call}", "output": {{"temp": {temp}}}}},
    {{"type": "finish-step"}}, {{"type": "finish"}},
]

def test_the_thread(snapshot):
    assert mask(fold("How warm is it?", CHUNKS), *{pointers}) == snapshot(extension_class={extension})
"""
POINTER = "/turns/*/messages/*/parts/*/content/temp"


def run(
    pytester: pytest.Pytester, *options: str, extension: str, call: str = "c1", temp: int = 18, pointer: str = ""
) -> pytest.RunResult:
    """Run the test of somebody, who masks what `pointer` names."""
    pointers = [pointer] if pointer else []
    pytester.makepyfile(test_mine=TEST.format(extension=extension, call=call, temp=temp, pointers=pointers))
    return pytester.runpytest_inprocess(*OPTIONS, *options)


def stored(pytester: pytest.Pytester) -> tuple[Path, dict[str, object]]:
    """Return the one stored snapshot."""
    (path,) = (pytester.path / "__snapshots__").rglob("*.json")
    return path, json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("extension", "other_id_passes"), [("ThreadSnapshotExtension", False), ("ContentSnapshotExtension", True)]
)
def test_a_snapshot_is_one_file_that_the_thread_has_to_equal(
    pytester: pytest.Pytester, extension: str, other_id_passes: bool
) -> None:
    """Written when asked for; another value fails with our difference; another id only where ids count (R39)."""
    run(pytester, extension=extension).assert_outcomes(failed=1)
    run(pytester, "--snapshot-update", extension=extension).assert_outcomes(passed=1)
    path, thread = stored(pytester)
    assert path.parent.name == "test_mine"
    turns = thread["turns"]
    assert isinstance(turns, list)
    assert [turn["turn_type"] for turn in turns] == ["user", "agent"]
    run(pytester, extension=extension).assert_outcomes(passed=1)
    result = run(pytester, extension=extension, temp=19)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*/turns/1/messages/1/parts/0/content*", "*snapshot*18*", "*thread*19*"])
    outcomes = {"passed": 1} if other_id_passes else {"failed": 1}
    run(pytester, extension=extension, call="call_7f").assert_outcomes(**outcomes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('assert {"turns": []} == snapshot(extension_class={0})', "*what is not a thread*"),
        ("assert [] == snapshot(extension_class={0})", "*what is not a thread*it is not an object*"),
        (
            'assert fold("Hi") == snapshot(extension_class={0}, exclude=lambda **_: False)',
            "*does not take exclude*mask(thread,*",
        ),
    ],
)
def test_what_is_not_a_thread_is_refused(pytester: pytest.Pytester, line: str, words: str) -> None:
    """Also when the snapshot is to be written."""
    body = line.replace("{0}", "ThreadSnapshotExtension")
    pytester.makepyfile(
        "from tpharness import fold\nfrom tpharness.snapshots import ThreadSnapshotExtension\n\n"
        f"def test_it(snapshot):\n    {body}\n"
    )
    for options in ((), ("--snapshot-update",)):
        result = pytester.runpytest_inprocess(*OPTIONS, *options)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([words])
    assert not (pytester.path / "__snapshots__").exists()


def test_a_file_that_somebody_broke_says_what_to_type(pytester: pytest.Pytester) -> None:
    """It is not compared as if it were a thread."""
    run(pytester, "--snapshot-update", extension="ThreadSnapshotExtension").assert_outcomes(passed=1)
    path, _ = stored(pytester)
    path.write_text("[]\n", "utf-8")
    result = run(pytester, extension="ThreadSnapshotExtension")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the stored snapshot is not a thread; pytest --snapshot-update*"])


PLAYS = """
from tpharness import assert_passed, play

def test_my_server(snapshot):
    assert_passed(play("cycles/late-return", server={server!r}, compare={compare!r}, snapshot=snapshot))
"""


@pytest.mark.parametrize("compare", [None, "content"])
def test_a_play_compares_both_sides_with_one_file(pytester: pytest.Pytester, compare: str | None) -> None:
    """One file a version, which both sides equal; what is stored otherwise fails, by side, with the difference."""

    def play(*options: str) -> pytest.RunResult:
        pytester.makepyfile(test_play=PLAYS.format(server="reference", compare=compare))
        return pytester.runpytest_inprocess(*OPTIONS, *options)

    missing = play()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*SNAPSHOT cycles/late-return in 0.0.3, server*", "*--snapshot-update writes it*"])
    play("--snapshot-update").assert_outcomes(passed=1)
    files = sorted((pytester.path / "__snapshots__").rglob("*.json"))
    assert len(files) == 3
    play().assert_outcomes(passed=1)
    text = files[0].read_text("utf-8")
    assert '"slow"' in text
    files[0].write_text(text.replace('"tool_name": "slow"', '"tool_name": "slwo"'), "utf-8")
    changed = play()
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*SNAPSHOT cycles/late-return in*, server*", "*slwo*", "*, client*"])


def test_a_scenario_that_is_cut_everywhere_is_refused(pytester: pytest.Pytester) -> None:
    """A sweep has no thread of its own; silence would be a pass."""
    pytester.makepyfile(PLAYS.replace("cycles/late-return", "carriers/none").format(
        server="reference", compare=None
    ))  # fmt: skip
    result = pytester.runpytest_inprocess(*OPTIONS, "--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*has no threads to compare with a snapshot*"])


def test_a_snapshot_of_something_else_is_left_to_syrupy(pytester: pytest.Pytester) -> None:
    """The plugin does not compare it once more, which would count as another snapshot."""
    pytester.makepyfile("import tpharness.findings\n\ndef test_it(snapshot):\n    assert {'a': 1} == snapshot\n")
    result = pytester.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*num_executions=1*", "*'a': 1,*"])


THREAD: dict[str, Any] = {
    "version": "0.0.4",
    "turns": [
        {"turn_type": "user", "parts": [{"content": "Hi"}]},
        {"turn_type": "agent", "messages": [{"parts": [{"content": {"reference": "a1", "a/b": 1}}, {"content": "x"}]}]},
    ],
}


def test_what_differs_at_every_run_is_masked() -> None:
    """Every place that the pointer names, in a copy; nothing else."""
    masked = mask(THREAD, "/turns/*/messages/*/parts/*/content/reference", "/turns/1/messages/0/parts/0/content/a~1b")
    (user, agent) = masked["turns"]
    assert user == THREAD["turns"][0]
    assert agent["messages"][0]["parts"] == [{"content": {"reference": MASKED, "a/b": MASKED}}, {"content": "x"}]
    assert "a1" in str(THREAD)


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/turns/*/messages/*/parts/*/content/referenze", "nothing at"),
        ("/turns/7/parts", "nothing at"),
        ("turns", "not a JSON pointer"),
        ("", "not a JSON pointer"),
    ],
)
def test_a_pointer_that_masks_nothing_is_an_error(pointer: str, words: str) -> None:
    """It says so at once, and not when the value differs."""
    with pytest.raises(UsageError, match=words):
        mask(THREAD, pointer)


def test_a_masked_thread_equals_its_snapshot_whatever_the_value_was(pytester: pytest.Pytester) -> None:
    """Without it the snapshot differs."""
    result = run(pytester, "--snapshot-update", extension="ContentSnapshotExtension", pointer=POINTER)
    result.assert_outcomes(passed=1)
    run(pytester, extension="ContentSnapshotExtension", temp=19, pointer=POINTER).assert_outcomes(passed=1)
    run(pytester, extension="ContentSnapshotExtension", temp=19).assert_outcomes(failed=1)
