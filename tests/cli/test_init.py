"""`tpharness init` writes a folder in which everything passes, and never replaces what is there."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Call
from tests.golang import build

from tpharness.targets.forms import CONTRACT
from tpharness.targets.nodejs import find_node

ROOT = Path(__file__).parents[2]
EVERYWHERE = {"tpharness.toml", "scenarios/chat/greeting.yaml", ".github/workflows/tpharness.yml"}
LANGUAGES = ["python", pytest.param("node", marks=pytest.mark.node), pytest.param("go", marks=pytest.mark.go)]
TARGETS = {"python": "target.py", "node": "target.mjs", "go": "target.go"}
BUILD_GO = "go build -o target target.go"
KEEPS_TOO_MUCH = {
    "python": ('if interruption is None or not turn["messages"]:', "if interruption is None:"),
    "node": ("if (interruption === undefined || turn.messages.length === 0)", "if (interruption === undefined)"),
    "go": ("if run.Interruption == nil || len(messages) == 0 {", "if run.Interruption == nil {"),
}
"""In each server: what leaves an empty turn out, and what keeps it (R24)."""


def files(folder: Path) -> dict[str, str]:
    """Return the files below a folder, by name."""
    return {str(f.relative_to(folder)): f.read_text("utf-8") for f in folder.rglob("*") if f.is_file()}


def make_ready(folder: Path, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the program on the PATH, as it is in an environment that is activated, or compile the server."""
    if language == "go":
        build(folder / "target.go", folder / "target")
        return
    program = Path(sys.executable) if language == "python" else find_node().executable
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))


EXAMPLES = [f"examples/plain_{name}" for name in ("python.py", "node.mjs", "go.go")]


@pytest.mark.parametrize("file", [*(f"src/tpharness/cli/starter/{name}" for name in TARGETS.values()), *EXAMPLES])
def test_a_target_declares_the_contract_that_the_documentation_describes(file: str) -> None:
    """Each is written for the newest minor version, and says so."""
    declared = re.findall(r"""contract"?: "([^"]*)\"""", (ROOT / file).read_text("utf-8"))
    assert declared == [CONTRACT]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_it_writes_passes(language: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command that it names, on the server that it has written."""
    monkeypatch.chdir(tmp_path)
    written = call("init", "--language", language)
    assert set(files(tmp_path)) == EVERYWHERE | {TARGETS[language]}
    assert written.out.startswith("wrote tpharness.toml\n")
    before = f"{BUILD_GO} && " if language == "go" else ""
    assert f"now: {before}tpharness run\n" in written.out
    make_ready(tmp_path, language, monkeypatch)
    played = call("run")
    assert (played.code, played.out.splitlines()[-1].partition(",")[0]) == (0, "PASSED 1 scenario"), played.out
    assert "1 scenario, server mine, client reference" in played.out
    assert played.err.startswith("tpharness.toml says server, scenarios")
    first = call("run", "--scenarios", "built-in", "histories/l-01-text")  # where docs/CONTROL.md begins
    assert first.code == 0, first.out


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_server_is_judged(language: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it keeps what a cancelled turn must not keep, the first scenario fails; a call it cannot play yet."""
    monkeypatch.chdir(tmp_path)
    call("init", "--language", language)
    target = tmp_path / TARGETS[language]
    text = target.read_text("utf-8").replace(*KEEPS_TOO_MUCH[language])
    assert text != target.read_text("utf-8")
    target.write_text(text, "utf-8")
    make_ready(tmp_path, language, monkeypatch)
    assert call("run").code == 1
    cannot = call("run", "--scenarios", "built-in", "basics/tool-call-and-answer", "-v")
    assert (cannot.code, "texts only so far" in cannot.out) == (1, True)


ODD_EVENTS = """\
description: A text of another index, and a response that does not say why it ended.
clauses: [cycle.kept]
turns:
  - user: Hi
  - agent: assistant
    server:
      - {event_kind: part_start, index: 2, part: {part_kind: text, content: Hel}}
      - {event_kind: part_delta, index: 2, delta: {part_delta_kind: text, content_delta: lo}}
      - {event_kind: part_end, index: 2, part: {part_kind: text, content: Hello}}
      - {event_kind: model_response_end}
      - {event_kind: agent_run_result}
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_server_does_not_end_at_events_that_it_does_not_know(
    language: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it cannot play it says; a response without its reason it keeps without one, as the reference does."""
    monkeypatch.chdir(tmp_path)
    call("init", "--language", language)
    make_ready(tmp_path, language, monkeypatch)
    own = tmp_path / "own" / "odd"
    own.mkdir(parents=True)
    (own / "gap.yaml").write_text(ODD_EVENTS, "utf-8")
    gap = call("run", "--scenarios", "own", "-v")
    assert ("errored" in gap.out.lower(), "a delta of no part" in gap.out) == (False, True), gap.out
    (own / "gap.yaml").write_text(ODD_EVENTS.replace("index: 2", "index: 0"), "utf-8")
    ended = call("run", "--scenarios", "own")
    assert ended.code == 0, ended.out


def test_nothing_is_replaced(tmp_path: Path, call: Call) -> None:
    """What is there is named, and nothing else is written either."""
    (tmp_path / "target.py").write_text("mine", "utf-8")
    refused = call("init", str(tmp_path))
    assert (refused.code, files(tmp_path)) == (2, {"target.py": "mine"})
    assert f"{tmp_path / 'target.py'} is there already" in refused.err
    assert "--force" in refused.err
    forced = call("init", str(tmp_path), "--force")
    assert (forced.code, f"replaced {tmp_path / 'target.py'}" in forced.out) == (0, True)
    assert files(tmp_path)["target.py"] != "mine"


def test_a_folder_is_made_where_its_parent_is(tmp_path: Path, call: Call) -> None:
    """A mistyped path is not."""
    made = call("init", str(tmp_path / "new"))
    assert (made.code, f"now: cd {tmp_path / 'new'} && tpharness run" in made.out) == (0, True)
    refused = call("init", str(tmp_path / "no" / "new"))
    assert (refused.code, "make it first" in refused.err) == (2, True)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("language", TARGETS)
def test_its_workflow_says_what_a_user_would_type(
    language: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of its steps are those of tpharness, and those that check files find them."""
    monkeypatch.chdir(tmp_path)
    call("init", "--language", language)
    workflow: dict[Any, Any] = yaml.safe_load((tmp_path / ".github/workflows/tpharness.yml").read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[0] in (ROOT / "docs" / "CI.md").read_text("utf-8")
    assert f"{commands[0]}\n" in (ROOT / "README.md").read_text("utf-8")
    if language == "go":
        assert commands.pop(1) == BUILD_GO
    checked = commands[1].split()
    assert checked[:2] == ["tpharness", "check"]
    assert call("check", *map(str, tmp_path.glob(checked[2]))).code == 0
    assert commands[2].split()[:2] == ["tpharness", "run"]


def test_a_full_disk_leaves_nothing_and_names_the_file(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty tpharness.toml would have `run` play something else."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    done = call("init", str(tmp_path))
    assert done.code == 2
    assert f"cannot write {tmp_path / 'tpharness.toml'}: No space left on device" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_project_file_without_a_table_is_refused(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has written it for another run than that of the built-in suite on the reference."""
    (tmp_path / "tpharness.toml").write_text("# [run]\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    done = call("run", "cycles/late-return")
    assert done.code == 2
    assert "tpharness.toml has no table" in done.err
