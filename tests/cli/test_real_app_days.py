"""Two days in the CI of real applications: a route of the AI SDK, and a chat with FastAPI and OpenAI's SDK.

Release 1 of each keeps a call whose tool was interrupted, so that the next message cannot be answered; its maintainer
adopts a baseline. Release 2 leaves the call out: one case passes, and in two the effect of the tool is forgotten.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.ci_steps import Event, Played, play_action, play_github, play_gitlab
from tests.cli.conftest import Call
from tests.cli.test_app_days import FILES, MARK, TOP

from tpharness.targets.node_packages import node_program

DAYS = TOP / "tests" / "apps" / "days"
PASSES, FORGOTTEN = "user-leaves/before-effect", ("user-leaves/while-tool-runs", "user-leaves/while-two-tools-run")
CASES = ("user-leaves/in-text", PASSES, *FORGOTTEN)
ARGUMENTS = 'book_hotel=[{"city": "Paris", "nights": 2}, {"city": "Rome", "nights": 3}]'
KNOWN = "tpharness-known-chat.yaml"
BROKEN = {"ai-sdk": "chat-bricked", "fastapi": "chat-call-unanswered"}
"""What becomes of a call without a result: the AI SDK refuses to send it, and what FastAPI sends the API refuses."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the application, below the top of its repository."""
    (folder := tmp_path / "repository" / "apps" / "chat").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (folder / "requirements.txt").write_text("", "utf-8")
    (folder / "release").write_text("1", "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{TOP}{os.pathsep}{TOP / 'src'}")
    return folder


def start_command(app: str) -> str:
    """Return what starts an application."""
    if app == "fastapi":
        return f"{sys.executable} -m uvicorn tests.apps.days.fastapi_chat:app --port {{port}} --log-level warning"
    program = node_program(TOP / "tests" / "apps" / "provider" / "sdk_readers", [DAYS])
    return f"{program.node} {program.scripts / 'ai_sdk_route.mjs'}"


@pytest.mark.long
@pytest.mark.parametrize("app", [pytest.param("ai-sdk", marks=pytest.mark.node), "fastapi"])
def test_two_days_of_a_real_application(call: Call, folder: Path, tmp_path: Path, app: str) -> None:
    """What somebody reads who types what the documentation says: annotations, summary, comment, baseline."""
    broken, top = BROKEN[app], tmp_path / "repository"
    url, options = "http://127.0.0.1:{port}/api/chat", ("--effects", "ledger", "--on-disconnect", "stop")
    tool = ("--allow-tool", "book_hotel", "--tool-args", ARGUMENTS)
    written = call("app", "init", url, "--command", start_command(app), *tool, *options, "--ci", "github")
    assert written.code == 0, written.err
    workflow = top / FILES["github"]
    workflow.write_text(workflow.read_text("utf-8").replace("app chat ", f"app chat {' '.join(CASES)} "), "utf-8")
    table = folder / "tpharness.toml"

    def day(event: Event) -> Played:
        for left in ("app-report", "main-report", ".tpharness"):
            shutil.rmtree(folder / left, ignore_errors=True)
        return play_github(workflow, top, tmp_path / "store", event, below="apps/chat")

    first = day(Event())
    assert not first.passed
    assert "**Not interruption-safe**: 3 of 4 cases failed." in first.summary
    (annotation,) = [line for line in first.steps["Play"].splitlines() if line.startswith("::error ")]
    title = f"failed {PASSES} and 2 more"
    assert annotation.startswith(f"::error file=apps/chat/tpharness.toml,line=1,title={title}::")
    assert broken in annotation

    call("app", "chat", *CASES, "--write-baseline", KNOWN, "--trace", "none")
    baseline = (folder / KNOWN).read_text("utf-8").replace("reason: ''", "reason: until issue 12")
    (folder / KNOWN).write_text(baseline, "utf-8")
    table.write_text(re.sub(r"# (baseline = \S+) .*", r"\1", table.read_text("utf-8")), "utf-8")
    adopted = day(Event())
    assert adopted.passed, adopted.steps
    assert "| until issue 12 |" in adopted.summary
    assert "::error" not in adopted.steps["Play"]

    (folder / "release").write_text("2", "utf-8")
    second = day(Event(pull=True))
    assert not second.passed
    failed, stale = [line for line in second.steps["Play"].splitlines() if line.startswith("::error ")]
    new = "NEW failed" if app == "ai-sdk" else "failed"  # the other one had forgotten the effects as well
    assert failed.startswith(f"::error file=apps/chat/tpharness.toml,line=1,title={new} {FORGOTTEN[0]} and 1 more::")
    assert "effect-forgotten: a tool ran" in failed
    line = next(n for n, one in enumerate(baseline.splitlines(), 1) if one.startswith("- "))
    assert stale.startswith(f"::error file=apps/chat/{KNOWN},line={line},title=stale {PASSES}::")
    lines = second.comment.removesuffix(MARK).splitlines()
    assert second.comment == f"{second.summary}{MARK}"
    assert len(lines) <= 60
    assert lines[2] == "**Not interruption-safe**: 2 of 4 cases failed."
    words = "**new**" if app == "ai-sdk" else "still"
    assert f"| {words} | effect-forgotten | {', '.join(FORGOTTEN)} |" in lines
    assert f"| gone | {broken} | {', '.join((*FORGOTTEN, PASSES))} |" in lines
    assert lines[-1] == f"- Passes now, take it out of the baseline: {PASSES}"
    assert f" of {', '.join(FORGOTTEN)}, which fail otherwise now: correct that, or" in lines[-2]

    call("app", "chat", *CASES, "--write-baseline", KNOWN, "--trace", "none")
    (entry,) = yaml.safe_load((folder / KNOWN).read_text("utf-8"))
    assert (entry["reason"], entry["cases"]) == ("", {"effect-forgotten": list(FORGOTTEN)})


@pytest.mark.long
@pytest.mark.node
@pytest.mark.parametrize("ci", ["gitlab", "action"])
def test_two_days_of_a_route_of_the_ai_sdk_elsewhere(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    """In a job of GitLab, and with the action and its inputs: verdict, baseline, and the comment on the change."""
    (folder := tmp_path / "repository").mkdir()
    (folder / "release").write_text("1", "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{TOP}{os.pathsep}{TOP / 'src'}")
    url, options = "http://127.0.0.1:{port}/api/chat", ("--effects", "ledger", "--on-disconnect", "stop")
    tool = ("--allow-tool", "book_hotel", "--tool-args", ARGUMENTS)
    written = call("app", "init", url, "--command", start_command("ai-sdk"), *tool, *options, "--ci", "gitlab")
    assert written.code == 0, written.err
    job, store = folder / FILES["gitlab"], tmp_path / "store"
    job.write_text(job.read_text("utf-8").replace("app chat ", f"app chat {' '.join(CASES)} "), "utf-8")
    inputs = {"app": "chat", "ids": "\n".join(CASES), "artifact": "judged", "comment": "true"}
    step = {"gitlab": "script", "action": "Play"}[ci]

    def day(event: Event) -> Played:
        for left in (folder / "app-report", folder / ".tpharness", store / "temp"):
            shutil.rmtree(left, ignore_errors=True)
        (folder / "main-app.json").unlink(missing_ok=True)
        if ci == "gitlab":
            return play_gitlab(job, folder, store, event)
        return play_action(TOP / "action.yml", inputs, folder, store, event)

    first = day(Event())
    assert (first.passed, first.comment) == (False, "")
    assert "chat-bricked" in first.steps[step]

    call("app", "chat", *CASES, "--write-baseline", KNOWN, "--trace", "none")
    baseline = (folder / KNOWN).read_text("utf-8").replace("reason: ''", "reason: until issue 12")
    (folder / KNOWN).write_text(baseline, "utf-8")
    table = folder / "tpharness.toml"
    table.write_text(re.sub(r"# (baseline = \S+) .*", r"\1", table.read_text("utf-8")), "utf-8")
    adopted = day(Event())
    assert adopted.passed, adopted.steps

    (folder / "release").write_text("2", "utf-8")
    second = day(Event(pull=True))
    assert not second.passed
    *lines, mark = second.comment.rstrip("\n").splitlines()
    assert mark.startswith("<!-- tpharness")
    assert len(lines) <= 60
    assert lines[2] == "**Not interruption-safe**: 2 of 4 cases failed."
    assert f"| **new** | effect-forgotten | {', '.join(FORGOTTEN)} |" in lines
    assert f"| gone | chat-bricked | {', '.join((*FORGOTTEN, PASSES))} |" in lines
    assert f"- Passes now, take it out of the baseline: {PASSES}" in lines
