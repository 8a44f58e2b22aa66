"""Two days in the CI of a chat application, with the files that `tpharness app init` writes, played step by step.

On the first day the application fails, and its maintainer adopts a baseline. On the second an upgrade changes how it
fails: one case passes, one fails otherwise, and the pull request says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.cli.ci_steps import Event, Played, play_action, play_github, play_gitlab
from tests.cli.conftest import Call

TOP = Path(__file__).parents[2]
CASES = "user-leaves/in-text user-leaves/in-arguments model-drops/in-text"
START = f"""#!/bin/sh
exec {sys.executable} -m tests.apps.chat_app "$PORT" $(cat defects)
"""
MARK = "\n<!-- tpharness-app -->\n"
FILES = {"github": ".github/workflows/tpharness-app.yml", "gitlab": ".gitlab/tpharness-app.yml"}
PLAY: dict[str, Callable[[Path, Path, Path, Event], Played]] = {"github": play_github, "gitlab": play_gitlab}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of an application that a script starts."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "start").write_text(START, "utf-8")
    (folder / "start").chmod(0o755)
    (folder / "requirements.txt").write_text("", "utf-8")
    defects(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{TOP}{os.pathsep}{TOP / 'src'}")
    return folder


def defects(folder: Path, *names: str) -> None:
    """Write the application anew, with these defects."""
    (folder / "defects").write_text(" ".join(names), "utf-8")


def init(call: Call, ci: str, *more: str) -> str:
    """Describe the application and write its CI; return what is printed."""
    url = "http://127.0.0.1:{port}/api/chat"
    done = call("app", "init", url, "--command", "./start", "--allow-tool", "book_hotel", "--ci", ci, *more)
    assert done.code == 0, done.err
    return done.out


def test_init_ends_with_a_command_that_works(call: Call, folder: Path) -> None:
    """It starts the application itself, and the table has its command and the tool: nothing is left to do but HOST."""
    told = init(call, "github", "--tool-args", 'book_hotel={"city": "Rome", "nights": 2}')
    assert "put the repository that you have tpharness from into HOST/OWNER/REPOSITORY@TAG" in told
    *_, last = told.splitlines()
    assert last == "now: tpharness app chat"
    played = call(*last.removeprefix("now: tpharness ").split(" "), "user-leaves/in-arguments", "--trace", "none")
    assert (played.code, "interruption-safe in the one case that applies" in played.out) == (0, True), played.out
    assert 'args = {book_hotel = {city = "Rome", nights = 2}}' in (folder / "tpharness.toml").read_text("utf-8")


@pytest.mark.parametrize("ci", FILES)
def test_two_days(call: Call, folder: Path, tmp_path: Path, ci: str) -> None:
    """Verdict, annotations, summary, artifact and comment of each day, and the baseline."""
    init(call, ci)
    file = folder / FILES[ci]
    text = file.read_text("utf-8")
    file.write_text(text.replace("app chat ", f"app chat {CASES} "), "utf-8")  # all of them take minutes

    def day(event: Event) -> Played:
        for left in ("app-report", "main-report", "main-app.json", ".tpharness"):
            path = folder / left
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        return PLAY[ci](file, folder, tmp_path / "store", event)

    assert day(Event()).passed

    defects(folder, "BRICKS")
    first = day(Event())
    assert not first.passed
    assert first.artifacts is not None
    assert {"app.md", "app.json", "app.html", "trace.zip"} <= {path.name for path in first.artifacts.iterdir()}
    if ci == "github":
        assert "::error file=tpharness.toml,line=1,title=failed " in first.steps["Play"]
        assert "**Not interruption-safe**: 3 of 3 cases failed." in first.summary
    assert first.comment == ""

    known = "tpharness-known-chat.yaml"
    call("app", "chat", *CASES.split(" "), "--write-baseline", known, "--trace", "none")
    baseline = (folder / known).read_text("utf-8")
    (folder / known).write_text(baseline.replace("reason: ''", "reason: until issue 12"), "utf-8")
    table = (folder / "tpharness.toml").read_text("utf-8")
    (folder / "tpharness.toml").write_text(re.sub(r"# (baseline = \S+) .*", r"\1", table), "utf-8")
    adopted = day(Event())
    assert adopted.passed, adopted.steps

    defects(folder, "REPAIRS_ARGUMENTS")
    second = day(Event(pull=True))
    assert not second.passed
    if ci == "github":
        first_line, *_, last_line = [line for line in second.steps["Play"].splitlines() if line.startswith("::error ")]
        assert "title=NEW failed user-leaves/in-arguments" in first_line
        assert "arguments-invented" in first_line
        assert "title=stale " in last_line
        assert second.comment == f"{second.summary}{MARK}"
    lines = second.comment.removesuffix(MARK).splitlines()
    assert len(lines) <= 60
    assert lines[2] == "**Not interruption-safe**: 1 of 3 cases failed."
    assert "| **new** | arguments-invented | user-leaves/in-arguments |" in lines
    assert any(line.startswith("| gone | chat-bricked | ") for line in lines)
    assert lines[-1].startswith("- Passes now, take it out of the baseline: ")

    call("app", "chat", *CASES.split(" "), "--write-baseline", known, "--trace", "none")
    (entry,) = yaml.safe_load((folder / known).read_text("utf-8"))
    assert (entry["reason"], entry["cases"]) == ("", {"arguments-invented": ["user-leaves/in-arguments"]})
    report = json.loads((tmp_path / "store/artifacts/pull").glob("**/app.json").__next__().read_text("utf-8"))
    assert report["counts"] == {"stale": 3}


def test_the_action_does_it_with_inputs(call: Call, folder: Path, tmp_path: Path) -> None:
    """On the main branch a report is left; the comment on a pull request says what is new since then."""
    init(call, "github")
    inputs = {"app": "chat", "ids": CASES.replace(" ", "\n"), "artifact": "judged", "comment": "true"}
    days = []
    for event in (Event(), Event(pull=True)):
        shutil.rmtree(tmp_path / "store" / "temp", ignore_errors=True)
        days.append(play_action(TOP / "action.yml", inputs, folder, tmp_path / "store", event))
        defects(folder, "REPAIRS_ARGUMENTS")
    first, second = days
    assert (first.passed, first.comment, second.passed) == (True, "", False), first.steps
    assert "::error file=tpharness.toml,line=1,title=NEW failed user-leaves/in-arguments" in second.steps["Play"]
    assert "| **new** | arguments-invented | user-leaves/in-arguments |" in second.comment.splitlines()
    assert second.comment == f"{second.summary}\n<!-- tpharness judged chat -->\n"
    assert second.artifacts is not None
    assert {"report.md", "report.json", "report.html", "trace.zip"} == {
        path.name for path in second.artifacts.iterdir()
    }


def test_what_is_there_is_not_replaced_and_what_is_missing_is_said(call: Call, folder: Path) -> None:
    """Before the application is started or asked."""
    url = "http://127.0.0.1:1/api/chat"
    refused = call("app", "init", url, "--ci", "gitlab")
    assert (refused.code, refused.out) == (2, "")
    assert "CI has to start the application" in refused.err
    (folder / ".gitlab-ci.yml").write_text("x: {script: [true]}\n", "utf-8")
    told = init(call, "gitlab")
    assert "include it in .gitlab-ci.yml: include: - local: .gitlab/tpharness-app.yml" in told
    again = call("app", "init", "chat", "--ci", "gitlab")
    assert (again.code, "is there already" in again.err) == (2, True)
    assert call("app", "init", "chat", "--ci", "github").code == 0
    other = call("app", "chat", "--ci", "github")
    assert (other.code, "--ci goes with init" in other.err) == (2, True)
    unknown = call("app", "init", url, "--command", "./start {port}", "--allow-tool", "x")
    assert (unknown.code, "has a table [apps.chat] already" in unknown.err) == (2, True)


def make_repository(folder: Path) -> str:
    """Make a repository with the branch `master`; return the branch that is found: without git nobody can say."""
    if shutil.which("git") is None:
        (folder / ".git").mkdir()
        return "main"
    command = ["git", "-C", str(folder), "init", "-q", "-b", "master"]
    subprocess.run(command, check=True, capture_output=True)
    return "master"


@pytest.mark.parametrize("ci", FILES)
def test_the_files_are_those_of_the_repository(
    call: Call, folder: Path, ci: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its top, for its branch; the steps run in the folder of the application, and a second one has its own file."""
    branch = make_repository(folder)
    (below := folder / "apps" / "my chat").mkdir(parents=True)
    rows = "".join(
        f'[apps.{name}]\ncommand = "npm start"\nurl = "http://127.0.0.1:3000/{name}"\n' for name in ("chat", "support")
    )
    (below / "tpharness.toml").write_text(rows, "utf-8")
    (folder / "pnpm-lock.yaml").write_text("", "utf-8")
    monkeypatch.chdir(below)
    first = call("app", "init", "chat", "--ci", ci)
    assert first.code == 0, first.err
    assert list(below.glob(".git*")) == []
    assert (call("app", "init", "chat", "--ci", ci).code, call("app", "init", "support", "--ci", ci).code) == (2, 0)
    second = (folder / FILES[ci]).with_name("tpharness-app-support.yml")
    texts = [(folder / FILES[ci]).read_text("utf-8"), second.read_text("utf-8")]
    for name, text in zip(("tpharness-app", "tpharness-app-support"), texts, strict=True):
        document = yaml.safe_load(text)
        if ci == "gitlab":
            assert list(document) == [name]
            job = document[name]
            assert job["before_script"][0] == job["after_script"][0] == "cd 'apps/my chat'"
            assert job["artifacts"]["paths"] == ["apps/my chat/app-report"]
            assert f"raw/apps/my%20chat/app-report/app.json?job={name}" in text
            continue
        assert document[True]["push"]["branches"] == [branch]
        job = document["jobs"][name]
        assert job["defaults"] == {"run": {"working-directory": "apps/my chat"}}
        kept = job["steps"][-1]["with"]
        assert (kept["name"], kept["path"]) == (name, "apps/my chat/app-report")
        assert f"--workflow {name}.yml" in text
        assert f"<!-- {name} -->" in text
        assert "pnpm install --frozen-lockfile" in text


@pytest.mark.parametrize("ci", FILES)
def test_a_comment_is_edited_if_it_is_its_own(call: Call, folder: Path, tmp_path: Path, ci: str) -> None:
    """Known by its last line; that of another workflow stays as it is."""
    init(call, ci)
    store, file = tmp_path / "store", folder / FILES[ci]
    file.write_text(file.read_text("utf-8").replace("app chat ", "app chat model-drops/in-text "), "utf-8")
    store.mkdir()
    (store / "comment.md").write_text("of another workflow\n", "utf-8")
    for _ in range(2):
        shutil.rmtree(folder / "app-report", ignore_errors=True)
        assert PLAY[ci](file, folder, store, Event(pull=True)).comment.endswith(MARK)
    assert (store / "comments").read_text("utf-8").split() == ["made", "edited"]


@pytest.mark.parametrize(("exits", "said"), [("", "has no tool"), ("exit", "no database")])
def test_an_application_that_exits_gets_the_advice_for_an_exit(call: Call, folder: Path, exits: str, said: str) -> None:
    """And not to start it; a tool that it does not offer is named with those that it does."""
    if exits:
        server = (
            "import http.server, os\\nclass Chat(http.server.BaseHTTPRequestHandler):\\n"
            "    def do_POST(self):\\n        print('no database', flush=True)\\n        os._exit(4)\\n"
            "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Chat).serve_forever()\\n"
        ).replace("\\n", "\n")
        (folder / "app.py").write_text(server, "utf-8")
        (folder / "start").write_text(f"#!/bin/sh\nexec {sys.executable} app.py\n", "utf-8")
    done = call("app", "init", "http://127.0.0.1:{port}/api/chat", "--command", "./start", "--allow-tool", "fly")
    assert done.code == 2
    if exits:
        assert f"status 4; the end of its output: {said}" in done.err
        assert "an exception that nobody catches ends it" in done.err
    else:
        assert "does not offer its model the tool 'fly'\n  it offers book_hotel" in done.err
    assert not (folder / "tpharness.toml").exists()


@pytest.mark.parametrize(
    ("command", "lock", "install", "setup"),
    [
        ("npm start", "package-lock.json", "npm ci && npm run build --if-present", "actions/setup-node"),
        ("pnpm start", "pnpm-lock.yaml", "pnpm install --frozen-lockfile", "actions/setup-node"),
        ("uvicorn app:app", "pyproject.toml", "pip install .", ""),
    ],
)
def test_the_workflow_installs_what_the_folder_has(
    call: Call, folder: Path, command: str, lock: str, install: str, setup: str
) -> None:
    """Node.js only where the command needs it; the permissions are those of the comment and the report."""
    (folder / "requirements.txt").unlink()
    (folder / lock).write_text("", "utf-8")
    table = f'[apps."my chat"]\ncommand = "{command}"\nurl = "http://127.0.0.1:3000/chat"\n'
    (folder / "tpharness.toml").write_text(table, "utf-8")
    assert call("app", "init", "my chat", "--ci", "github").code == 0
    workflow = yaml.safe_load((folder / FILES["github"]).read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    (step,) = [step for step in job["steps"] if step.get("name") == "Install the application"]
    assert install in step["run"]
    used = {step.get("uses", "").partition("@")[0] for step in job["steps"]}
    assert ("actions/setup-node" in used) == bool(setup)
    assert workflow["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "actions": "read", "pull-requests": "write"}
    assert ".tpharness/bin/tpharness app 'my chat' " in (folder / FILES["github"]).read_text("utf-8")
