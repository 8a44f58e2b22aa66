"""What the README shows is what happens."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from tpharness.report import failure_lines
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one
from tpharness.scenario import load_text
from tpharness.scenario_files import find_files
from tpharness.verdict import Outcome

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SCENARIO = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)


def test_the_suite_has_as_many_scenarios_as_its_runs_are_shown_with() -> None:
    """In the README and in every page."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    verdicts = re.compile(r"^    (?:PASSED|FAILED|INCOMPLETE \d+ of) (\d+) scenarios, .* cases", re.MULTILINE)
    shown = [(page.name, int(number)) for page in pages for number in verdicts.findall(page.read_text("utf-8"))]
    assert len(shown) > 2
    suite = len(find_files([scenarios_dir()]))
    outdated = [page for page, number in shown if number != suite]
    assert outdated == [], f"the suite has {suite} scenarios; write this number in these pages"


def test_the_first_scenario_of_the_readme_passes() -> None:
    """A newcomer who copies it sees it pass."""
    assert SCENARIO
    results = play_one(load_text(SCENARIO[1], id="chat/cancelled"), RunOptions())
    assert [r.outcome for r in results] == [Outcome.PASSED]


def test_it_passes_in_an_empty_folder_to_the_letter(tmp_path: Path) -> None:
    """The file that the README names, and the command, with nothing else in the folder."""
    named = re.search(r"put this into `([^`]+)`", README)
    command = re.search(r"and play it:\n\n    tpharness (.*)\n", README)
    assert SCENARIO
    assert named
    assert command
    (file := tmp_path / named[1]).parent.mkdir(parents=True)
    file.write_text(SCENARIO[1], "utf-8")
    line = [sys.executable, "-P", "-m", "tpharness", *shlex.split(command[1])]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("PASSED 1 scenario, 1 case (1 passed)")


def test_tests_are_installed_by_one_command() -> None:
    """With the tested versions, which the command itself names; CONTRIBUTING has it to the letter."""
    (command,) = re.findall(r"^    (pip install .*\[test\].*)$", README, re.MULTILINE)
    assert command == "pip install -c constraints.txt -e '.[test]' && pytest"
    assert f"\n    {command}\n" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"), ROOT / "Containerfile"]
    files += [*ROOT.glob(".github/workflows/*.yml"), ROOT / ".devcontainer" / "devcontainer.json"]
    installs = [line for file in files for line in re.findall(r"pip install .*\[test\]'", file.read_text("utf-8"))]
    assert set(installs) == {command.partition(" &&")[0]}
    assert len(installs) > 5


def test_ci_sets_nothing_that_the_readme_does_not_say() -> None:
    """But an empty cache: a setting that only CI has hides what a reader of the README sees."""
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert [line for line in lines if re.search(r"\bexport\b|\bPIP_\w+=", line)] == [
        'export XDG_CACHE_HOME="$work/cache"'
    ]
    (inside,) = (line for line in lines if line.startswith("inside()"))
    assert re.findall(r"\b([A-Z_]+)=", inside) == ["PATH", "VIRTUAL_ENV"]


def test_the_thread_of_the_readme_is_that_of_its_scenario() -> None:
    """What it leaves out are times and the model's name; a scenario expects the rest of both sides."""
    shown = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert SCENARIO
    assert shown
    scenario = yaml.safe_load(SCENARIO[1])
    scenario["expect"] = {"thread": {"0.0.4": json.loads(shown[1])}}
    results = play_one(load_text(json.dumps(scenario), id="chat/cancelled"), RunOptions())
    assert [(r.outcome, r.findings) for r in results] == [(Outcome.PASSED, ())]


def test_the_sweep_that_the_readme_suggests_passes() -> None:
    """Without interrupt and expect, and with a cut after every event."""
    assert SCENARIO
    text = re.sub(r"    interrupt:.*\n", "", SCENARIO[1].partition("expect:")[0]) + "cut: every-event\n"
    results = play_one(load_text(text, id="chat/cancelled"), RunOptions())
    assert {r.outcome for r in results} == {Outcome.PASSED}
    assert sum(r.cases for r in results) > 20


def test_the_failure_of_the_readme_reads_so() -> None:
    """Had the scenario expected the half text to stay, these are the lines."""
    assert SCENARIO
    wrong = SCENARIO[1].replace("request(tool-return:c1)", "request(tool-return:c1) response(text)")
    (result,) = play_one(load_text(wrong, id="chat/cancelled"), RunOptions())
    block = README.partition("FAILED chat/cancelled\n")[2].partition("\n\n")[0]
    shown = {line.strip() for line in block.splitlines()}
    told = {line.strip() for _, line in failure_lines(result, roots=(Path("scenarios"),))}
    assert shown <= told


def test_what_was_tried_is_held_by_tests_that_there_are() -> None:
    """Whoever renames one of them finds the row."""
    tests = Path(__file__).parent
    table = (tests / "README.md").read_text("utf-8").partition("## What was tried against it")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "| file, test |" not in line]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)`(?: `(test_\w+)`)?", row.split(" | ")[1])
        assert named, row
        for file, test in named:
            assert re.search(rf"def {test or 'test_'}", (tests / file).read_text("utf-8")), row
