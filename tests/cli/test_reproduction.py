"""`tpharness app --reproduction`: a failure as a program that somebody without tpharness can run."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call
from tests.cli.test_application import table

from tpharness.apps.cases.case import AppCase, Cut, CutBy
from tpharness.apps.config import AppConfig
from tpharness.apps.evidence import AppEvidence, CutSeen, TurnSeen
from tpharness.apps.reproduction import Reproduction
from tpharness.errors import UsageError

CASE = "user-leaves/in-arguments"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with applications, in which the command runs."""
    tables = (table("safe"), table("broken", "REPAIRS_ARGUMENTS"), table("dated", "REPAIRS_ARGUMENTS", "DATES_PROMPT"))
    (tmp_path / "tpharness.toml").write_text("".join(tables), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_failure_is_a_program_that_shows_it_without_tpharness(call: Call, folder: Path) -> None:
    """It is run as somebody else would run it: the model is sent arguments that it has never said."""
    done = call("app", "broken", CASE, "--reproduction", "shown.py", "--trace", "none")
    assert (done.code, "the reproduction, which needs no tpharness: shown.py" in done.err) == (1, True), done.err
    program = (folder / "shown.py").read_text("utf-8")
    assert "arguments-invented" in program.partition("import")[0]
    assert "import tpharness" not in program
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENAI"))}
    command = [sys.executable, "-I", "-S", "shown.py"]
    ran = subprocess.run(command, env=env, capture_output=True, check=True, timeout=120)
    lines: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    sent = [line["the model was sent"] for line in lines if line.get("turn") == 2 and "the model was sent" in line]
    calls = [c["function"]["arguments"] for m in sent[0]["messages"] for c in m.get("tool_calls", ())]
    assert calls == ["{}"]
    said = "".join(piece for answer in _literal(program, "ANSWERS")[:1] for piece in answer["pieces"])
    assert '{}"' not in said


def _literal(program: str, name: str) -> Any:
    """Return the value of a name in a program."""
    values = (node for node in ast.parse(program).body if isinstance(node, ast.Assign))
    return next(ast.literal_eval(one.value) for one in values if ast.unparse(one.targets[0]) == name)


def test_where_no_case_fails_there_is_no_program(call: Call, folder: Path) -> None:
    """That is said, and the run passes."""
    done = call("app", "safe", CASE, "--reproduction", "shown.py")
    assert (done.code, "no case failed: there is nothing to reproduce" in done.err) == (0, True)
    assert not (folder / "shown.py").exists()


def test_a_program_that_does_not_show_it_is_not_written(call: Call, folder: Path) -> None:
    """The system prompt counts what was asked before the case, too: what the model was sent is something else."""
    done = call("app", "dated", CASE, "--reproduction", "shown.py")
    assert done.code == 2
    assert f"{CASE}: the program does not show what the case has shown, and was not written" in done.err
    assert "is what differs a time or an id of the application?" in done.err
    assert not (folder / "shown.py").exists()


def test_a_path_that_cannot_be_written_is_refused_before_anything_is_played(call: Call) -> None:
    """Nobody waits for a run whose result is lost."""
    done = call("app", "broken", CASE, "--reproduction", "nowhere/shown.py")
    assert (done.code, "nowhere" in done.err, "FAILED" in done.out) == (2, True, False)


COMMAND = ("app", "{port}")


@pytest.mark.parametrize(
    ("config", "by", "words"),
    [
        ({"command": ()}, CutBy.LEAVE, "how the application is started"),
        ({"client": "peer:ai-sdk-client"}, CutBy.LEAVE, "a real client posts"),
        ({"history": "langgraph"}, CutBy.LEAVE, "a thread is made first"),
        ({"url": "http://127.0.0.1:{port}/chats/{id}"}, CutBy.LEAVE, "their address names the chat"),
        ({}, CutBy.RELOAD, "its cut is none of leaving, pressing stop"),
    ],
)
def test_what_cannot_be_written_as_a_program_is_refused_with_the_reason(
    config: dict[str, Any], by: CutBy, words: str
) -> None:
    """And with what to do."""
    turn = TurnSeen(number=1, says="Hello", cut=CutSeen(cut=Cut(by=by)))
    seen = AppEvidence(case=AppCase(id="a/b", title="t", turns=()), turns=(turn,), posts=(b"{}",), chat_id="c")
    known = AppConfig(**({"name": "chat", "url": "http://127.0.0.1:{port}/", "command": COMMAND} | config))
    one = Reproduction(evidence=seen, config=known, environment={}, tool_seconds=0.0, about="")
    with pytest.raises(UsageError, match=words) as raised:
        one.program()
    assert "docs/reproductions" in str(raised.value.hint)
