"""What other people's CI runs of ours: the action, the hooks, the recipes of docs/CI.md."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Call, call

from tpharness.cli.app import COMMANDS
from tpharness.report.spec import FORMATS

__all__ = ["call"]  # a fixture

TOP = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
HOOKS: list[dict[str, str]] = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text("utf-8"))
PAGE = (TOP / "docs" / "CI.md").read_text("utf-8")
RECIPES = re.findall(r"```yaml ([\w-]+)\n(.*?)```", PAGE, re.DOTALL)
STUB = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


USING = (
    *sorted((TOP / ".github" / "workflows").glob("*.yml")),
    *sorted((TOP / "examples").glob("*/.github/workflows/*.yml")),
    *sorted((TOP / "src" / "tpharness" / "cli" / "starter").glob("*.yml")),
    TOP / "action.yml",
    TOP / "docs" / "CI.md",
)
"""What names actions of others, and is run, or copied and run."""


@pytest.mark.parametrize("file", USING, ids=lambda file: file.relative_to(TOP).as_posix())
def test_an_action_of_others_is_named_by_its_commit(file: Path) -> None:
    """Whoever owns an action can move its tags. The release stands beside the hash, for people and for updates."""
    text = file.read_text("utf-8")
    used = re.findall(r"^\s*-?\s*uses:[ ]*(.*)$", text, re.MULTILINE)
    assert len(used) == text.count("uses:")
    own = re.compile(r"\./|OWNER/REPOSITORY@TAG$")
    pinned = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
    assert [one for one in used if not own.match(one) and not pinned.fullmatch(one)] == []


def test_an_action_has_one_version_everywhere() -> None:
    """A hash that is updated in one file and forgotten in another would be two releases."""
    found = {
        match.groups()
        for file in USING
        for match in re.finditer(r"uses: ([\w./-]+)@([0-9a-f]{40})  # (\S+)", file.read_text("utf-8"))
    }
    assert len(found) > 5
    assert len({action for action, _, _ in found}) == len(found)


@pytest.fixture
def given(tmp_path: Path) -> Any:
    """Return a function that runs what the action runs, and returns the words that tpharness gets."""
    (stub := tmp_path / "tpharness").write_text(STUB, "utf-8")
    stub.chmod(0o755)

    def run(**values: str) -> list[str]:
        env = {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]]), **values}
        done = subprocess.run(
            [str(TOP / "scripts" / "action")],
            capture_output=True,
            text=True,
            check=False,
            env=env,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_the_action_gives_each_input_to_its_option(given: Any) -> None:
    """One value a line; what is empty is left out."""
    assert given() == ["run", "--report=console", "--report=github:-", "--"]
    words = given(
        TP_SERVER="stdio:python target.py --stdio\nreference\n",
        TP_CLIENT="reference",
        TP_IDS="cycles\nbasics/*",
        TP_SCENARIOS="my scenarios\nbuilt-in",
        TP_PROFILES="stream\n\ncycles",
        TP_PROMPT="How warm is it?",
        TP_BASELINE="known.yaml",
        TP_REPORT="html:run.html",
        GITHUB_STEP_SUMMARY="summary.md",
    )
    assert words == [
        "run",
        "--scenarios=my scenarios",
        "--scenarios=built-in",
        "--baseline=known.yaml",
        "--report=html:run.html",
        "--report=console",
        "--report=github:-",
        "--report=markdown:summary.md",
        "--server=stdio:python target.py --stdio",
        "--server=reference",
        "--client=reference",
        "--profile=stream",
        "--profile=cycles",
        "--prompt=How warm is it?",
        "--",
        "cycles",
        "basics/*",
    ]


def test_the_action_judges_an_application(given: Any) -> None:
    """In place of a server and a client."""
    words = given(TP_APP="chat", TP_IDS="basic", TP_BASELINE="known.yaml")
    assert words == ["app", "--baseline=known.yaml", "--report=console", "--report=github:-", "--", "chat", "basic"]


def test_the_action_leaves_what_an_artifact_and_a_comment_need(given: Any, tmp_path: Path) -> None:
    """Reports, page and trace, and the difference to the report of the base branch where it was fetched."""
    report = tmp_path / "tpharness-report"
    words = given(TP_APP="chat", TP_ARTIFACT="judged", RUNNER_TEMP=str(tmp_path))
    assert words[3:-2] == [
        f"--report=markdown:{report}/report.md",
        f"--report=json:{report}/report.json",
        f"--report=html:{report}/report.html",
        "--trace=failed",
        f"--trace-to={report}/trace.zip",
    ]
    (tmp_path / "tpharness-base").mkdir()
    (tmp_path / "tpharness-base" / "base-branch.json").write_text("{}", "utf-8")
    assert f"--compare-to={tmp_path}/tpharness-base/base-branch.json" in given(TP_APP="chat", RUNNER_TEMP=str(tmp_path))


@pytest.mark.parametrize(
    "hostile", ["$(touch owned)", "`touch owned`", "x; touch owned", "--write-baseline=owned", "*"]
)
def test_no_input_is_obeyed(hostile: str, given: Any, tmp_path: Path) -> None:
    """Neither by the shell nor as an option."""
    words = given(TP_IDS=hostile, TP_SERVER=hostile)
    assert words[-1] == hostile
    assert words[-2] == "--"
    assert f"--server={hostile}" in words
    assert not (tmp_path / "owned").exists()


def test_the_inputs_of_the_action_are_those_of_its_script() -> None:
    """Each is used, and nothing is put into the text of a command."""
    (play,) = [step for step in ACTION["runs"]["steps"] if step.get("name") == "Play"]
    script = (TOP / "scripts" / "action").read_text("utf-8")
    assert set(re.findall(r"TP_[A-Z]+", script)) == {name for name in play["env"] if name.startswith("TP_")}
    text = yaml.safe_dump(ACTION["runs"])
    assert set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text)) == set(ACTION["inputs"])
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


def test_the_hooks_check_what_they_are_for(call: Call) -> None:
    """Their patterns find scenarios and threads; the command takes several files."""
    patterns = {hook["id"]: re.compile(hook["files"]) for hook in HOOKS}
    assert {hook["entry"] for hook in HOOKS} == {"tpharness check"}
    scenarios = ["scenarios/basics/tool-call-and-answer.yaml", "scenarios/cycles/three-steps.yaml"]
    assert all(patterns["tpharness-scenarios"].search(name) for name in [*scenarios, "interop/scenarios/a/b.yml"])
    every = [path.relative_to(TOP).as_posix() for path in (TOP / "scenarios").rglob("*.yaml")]
    assert [
        name for name in every if not patterns["tpharness-scenarios"].search(name)
    ] == []  # of any depth, as run has it
    assert not patterns["tpharness-scenarios"].search("scenarios/recorded/streams/x.sse")
    assert patterns["tpharness-threads"].search("tests/threads/deep/one.json")
    assert not patterns["tpharness-threads"].search("package.json")
    assert call("check", *(str(TOP / name) for name in scenarios)).code == 0


@pytest.mark.parametrize(("kind", "text"), RECIPES)
def test_each_recipe_is_yaml_with_commands_that_are_there(kind: str, text: str, call: Call) -> None:
    """The inputs, hooks, commands and reports that it names exist."""
    recipe = yaml.safe_load(text)
    if kind == "pre-commit":
        assert [hook["id"] for hook in recipe["repos"][0]["hooks"]] == [hook["id"] for hook in HOOKS]
        return
    job = recipe["jobs"]["tpharness"] if kind == "github-workflow" else recipe["tpharness"]
    steps = job.get("steps", [{"run": line} for line in job.get("script", [])])
    ours = [step for step in steps if step.get("uses", "").startswith("OWNER/")]
    assert all(set(step["with"]) <= set(ACTION["inputs"]) for step in ours)
    commands = [shlex.split(step["run"]) for step in steps if step.get("run", "").startswith("tpharness")]
    assert ours or commands
    for words in commands:
        assert words[1] in COMMANDS
        told = call(words[1], *words[2:], "--help")
        assert (told.code, "Usage:" in told.out) == (0, True)


def test_the_page_names_every_report() -> None:
    """And no other."""
    named = set(re.findall(r"^\| `(\w+)[:`]", PAGE, re.MULTILINE))
    assert named == {*FORMATS, "console"}
