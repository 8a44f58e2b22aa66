"""`tpharness compare-targets`: implementations of several authors agree, one that departs is named and shown small."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.examples.test_plain_suite import EXAMPLES, SOURCES, spec

from tpharness.explore.disagreement.campaign import compare_scenarios, generated_scenarios
from tpharness.explore.disagreement.panel import KEEPS, SENDS, Panel, View
from tpharness.explore.disagreement.parting import find_disagreements
from tpharness.protocol.versions import Version
from tpharness.scenario import load_scenario

PYTHON = EXAMPLES / SOURCES["python"]
NAMES = ("reference", "plain-python", "plain-node", "plain-go")
CASES, SEED = "150", "20261127"
MISTAKES = {
    "order of returns": (
        "        item.answers.sort(key=lambda answer: answer[0].order)  # R11: in order of the calls\n",
        "",
    ),
    "a prompt that repeats": ('said = [plain(p.get("content")) for', 'said = [p.get("content") for'),
}
"""What is changed in a copy of the plain Python example: one line each."""


def broken(folder: Path, mistake: str) -> str:
    """Return a target that is the plain Python example with one mistake."""
    was, now = MISTAKES[mistake]
    text = PYTHON.read_text()
    assert was in text
    copy = folder / "broken.py"
    copy.write_text(text.replace(was, now, 1).replace('"name": "plain-python"', '"name": "broken"'))
    return f"stdio:{shlex.join([sys.executable, str(copy), '--stdio'])}"


@pytest.mark.long
@pytest.mark.node
@pytest.mark.go
def test_the_reference_and_the_examples_agree(call: Call, tmp_path: Path) -> None:
    """Four authors make the same of generated conversations with events in odd orders, on both sides."""
    examples = {name: spec(EXAMPLES / source, tmp_path) for name, source in SOURCES.items()}
    sides = [word for one in ("reference", *examples.values()) for word in ("--server", one)]
    clients = [word for one in ("reference", examples["python"], examples["node"]) for word in ("--client", one)]
    ended = call("compare-targets", *sides, *clients, "--cases", CASES, "--seed", SEED, "--shrink", "0")
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [f"AGREE: {CASES} cases, seed {SEED}, servers {', '.join(NAMES)}; clients {', '.join(NAMES[:3])}"],
    )


@pytest.mark.long
@pytest.mark.node
def test_the_reference_and_an_example_agree_over_ag_ui(call: Call, tmp_path: Path) -> None:
    """Two authors of the other wire make the same of it; one that ends a stopped run as a success departs (R27)."""
    right = spec(EXAMPLES / SOURCES["node"], tmp_path)
    words = ("--cases", "50", "--seed", SEED, "--wire", "ag-ui", "--shrink", "0")
    sides = ("--server", "reference", "--server", right, "--client", "reference", "--client", right)
    ended = call("compare-targets", *sides, *words)
    names = "reference, plain-node"
    expected = f"AGREE: 50 cases over ag-ui, seed {SEED}, servers {names}; clients {names}"
    assert (ended.code, ended.out.splitlines()) == (0, [expected])
    cheerful = tmp_path / "cheerful.mjs"
    text = (EXAMPLES / SOURCES["node"]).read_text("utf-8")
    for was, now in (('{ type: "cancelled" }', '{ type: "success" }'), ('"plain-node"', '"cheerful"')):
        assert was in text
        text = text.replace(was, now)
    cheerful.write_text(text, "utf-8")
    servers = ("--server", "reference", "--server", right, "--server", spec(cheerful, tmp_path))
    case = "interruptions/abort-with-known-reason"
    departs = call("compare-targets", *servers, case, "--wire", "ag-ui", "--shrink", "0")
    assert departs.code == 1
    assert f"DISAGREEMENT 1: {SENDS}\n  cheerful departs from reference, plain-node\n" in departs.out
    assert " over ag-ui, seed 0, servers reference, plain-node, cheerful\n" in departs.out
    tied = call("compare-targets", *servers[:2], *servers[4:], case, "--wire", "ag-ui", "--shrink", "0")
    assert f"DISAGREEMENT 1: {SENDS}\n  cheerful parts from reference, with no majority\n" in tied.out


def test_one_that_departs_is_named_and_its_scenario_is_small(call: Call, tmp_path: Path) -> None:
    """The majority holds, the departure cites the ruling, and the saved scenario shows it again, by itself."""
    plain = spec(PYTHON, tmp_path)
    sides = ("--server", "reference", "--server", plain, "--server", broken(tmp_path, "order of returns"))
    ended = call(
        "compare-targets", *sides, "cycles/parallel*", "--shrink", "300", "--save", str(tmp_path / "found"), "--json"
    )
    told = json.loads(ended.out)
    assert ended.code == 1
    assert not told["agree"]
    assert told["servers"] == ["reference", "plain-python", "broken"]
    for one in told["disagreements"]:
        assert (one["departing"], one["majority"]) == (["broken"], ["reference", "plain-python"])
    kept = next(one for one in told["disagreements"] if one["about"] == KEEPS)
    assert "R11" in kept["rulings"] or "tool-return" in kept["differs"]
    file = Path(kept["file"])
    play_again = f"# Play it again: tpharness compare-targets --scenarios {shlex.quote(str(file))} --server reference "
    assert play_again in file.read_text("utf-8")
    assert sum(len(run.events or ()) for _, run in load_scenario(file, root=file.parent.parent).runs) <= 5
    again = call("compare-targets", *sides, "--scenarios", str(file), "--shrink", "0")
    assert again.code == 1
    assert "  broken departs from reference, plain-python\n" in again.out


def test_a_mistake_that_no_scenario_shows_is_found_in_generated_ones(tmp_path: Path) -> None:
    """What the server keeps differs, and what it sends differs, each reported as what it is."""
    with Panel(("reference", broken(tmp_path, "a prompt that repeats")), ()) as panel:
        _, found = compare_scenarios(panel, generated_scenarios(3, 120), shrink_seconds=0)
    assert {one.disagreement.about for one in found} <= {KEEPS, SENDS}
    assert any("user-prompt" in one.disagreement.message for one in found)
    assert all(one.disagreement.tied for one in found)


def test_a_target_that_dies_departs(call: Call, tmp_path: Path) -> None:
    """Whoever does not answer where others do is one of the disagreements."""
    dying = tmp_path / "dying.py"
    dying.write_text(
        PYTHON.read_text().replace('        case "serve":', '        case "serve":\n            sys.exit(3)')
    )
    target = f"stdio:{shlex.join([sys.executable, str(dying), '--stdio'])}"
    ended = call("compare-targets", "--server", "reference", "--server", target, "tools/second-result", "--shrink", "0")
    assert ended.code == 1
    assert "does not answer" in ended.out
    play_again = f"tpharness compare-targets --server reference --server {shlex.quote(target)} tools/second-result"
    assert f"  play it   {play_again}\n" in ended.out


def test_a_scenario_of_ones_own_is_played_again_as_it_was_given(call: Call, tmp_path: Path) -> None:
    """Without `--save` the line has the folder or file in which the scenario is: its id alone is not built in."""
    own = tmp_path / "own" / "chat"
    own.mkdir(parents=True)
    steps = (
        "{steps: [{response: [{call: look, id: c1, args: {}}]}, {returns: {c1: {temp: 18}}}, {response: [{text: A}]}]}"
    )
    text = f"description: A call that returns.\nclauses: [cycle.kept]\nturns: [{{user: Hi}}, {steps}]\n"
    (own / "look.yaml").write_text(text, "utf-8")
    dying = tmp_path / "dying.py"
    text = PYTHON.read_text().replace('        case "serve":', '        case "serve":\n            sys.exit(3)')
    dying.write_text(text)
    target = f"stdio:{shlex.join([sys.executable, str(dying), '--stdio'])}"
    sides = ("--server", "reference", "--server", target, "--shrink", "0")
    ended = call("compare-targets", *sides, "--scenarios", str(tmp_path / "own"))
    assert ended.code == 1
    (line,) = {line for line in ended.out.splitlines() if line.startswith("  play it   tpharness ")}
    again = call(*shlex.split(line.removeprefix("  play it   tpharness ")), "--shrink", "0")
    assert (again.code, again.out) == (1, ended.out)


def test_a_generated_case_is_played_again_by_its_seed(call: Call, tmp_path: Path) -> None:
    """Without a folder for scenarios the line has the cases and the seed."""
    sides = ("--server", "reference", "--server", broken(tmp_path, "a prompt that repeats"))
    ended = call("compare-targets", *sides, "--cases", "60", "--seed", "3", "--shrink", "0")
    again = [line for line in ended.out.splitlines() if line.startswith("  play it   ")]
    assert ended.code == 1
    assert again
    assert {line.removeprefix("  play it   ") for line in again} == {
        f"{shlex.join(['tpharness', 'compare-targets', *sides])} --cases 60 --seed 3"
    }


def test_who_differs_from_the_reference_is_unseen_and_not_the_reference() -> None:
    """Two implementations with one mistake are the majority: the suite misses what they hold, not the reference."""

    def view(target: str, text: str) -> View:
        turn = {"turn_type": "user", "parts": [{"part_kind": "user-prompt", "content": text}]}
        thread = {"version": "0.0.4", "thread_id": "t", "turns": [turn]}
        return View(target=target, about=KEEPS, threads={Version.V0_0_4: thread})

    (held,) = find_disagreements([view("reference", "a"), view("mine", "b"), view("copied", "b")])
    assert (held.departing, held.majority, held.unseen) == (("reference",), ("mine", "copied"), ("mine", "copied"))
    (held,) = find_disagreements([view("reference", "a"), view("mine", "a"), view("other", "b")])
    assert (held.departing, held.unseen) == (("other",), ("other",))


def test_one_target_alone_is_wrong_usage(call: Call) -> None:
    """There is nothing to compare, and the message says what to type."""
    ended = call("compare-targets", "--server", "reference")
    assert ended.code == 2
    assert "name at least two of a side" in ended.err
