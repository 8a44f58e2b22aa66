"""A workflow of GitHub, or a job of GitLab, played on this machine step by step, as their runners do.

What comes from elsewhere has a stand-in: the actions of others, what installs packages, `gh` and `curl`. The stand-ins
keep artifacts and comments in folders; all other commands are the real ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Event", "Played", "play_action", "play_github", "play_gitlab"]

_STUBS = {
    # `python -m venv .tpharness && .tpharness/bin/pip install …` makes the tpharness that is tested
    "python": """\
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/pip"
  printf '#!/bin/sh\\nexec "$TP_TEST_PYTHON" -m tpharness "$@"\\n' > "$3/bin/tpharness"
  chmod +x "$3/bin/pip" "$3/bin/tpharness"
  exit 0
fi
[ "$1 $2" != "-m pip" ] || exit 0
exec "$TP_TEST_PYTHON" "$@"
""",
    "tpharness": 'exec "$TP_TEST_PYTHON" -m tpharness "$@"\n',
    "pip": 'echo "pip $*" >> "$TP_TEST_STORE/installed"\n',
    "npm": 'echo "npm $*" >> "$TP_TEST_STORE/installed"\n',
    "apt-get": 'echo "apt-get $*" >> "$TP_TEST_STORE/installed"\n',
    "gh": """\
case "$1 $2" in
  "run list") [ ! -d "$TP_TEST_STORE/artifacts/main" ] || echo 17 ;;
  "run download") [ "$3" = 17 ] && cp -r "$TP_TEST_STORE/artifacts/main/$5" "$7" ;;
  "api --paginate")
    mark=$(tail -n 1 "$TP_TEST_STORE/comment.md" 2> /dev/null || echo none)
    if [[ "$5" = *"$mark"* ]]; then echo 33; fi ;;
  "api --silent")
    echo edited >> "$TP_TEST_STORE/comments"
    [ "$5" = repos/owner/chat/issues/comments/33 ] && cp "${7#body=@}" "$TP_TEST_STORE/comment.md" ;;
  "pr comment")
    echo made >> "$TP_TEST_STORE/comments"
    for file; do :; done; [ "$3" = 5 ] && cp "$file" "$TP_TEST_STORE/comment.md" ;;
  *) echo "gh $*: unknown" >&2; exit 1 ;;
esac
""",
    "curl": """\
for word; do
  case "$word" in
    body@*) body="${word#body@}" ;;
    POST | PUT) method="$word" ;;
    http*/notes*) notes="$word" ;;
    --output) next=output ;;
    *) [ "${next:-}" != output ] || output="$word"; next= ;;
  esac
done
if [ -n "${notes:-}" ]; then
  case "${method:-} ${notes#http://x/projects/3/merge_requests/5}" in
    " /notes?"*) exec "$TP_TEST_PYTHON" -c '
import json, pathlib, sys
note = pathlib.Path(sys.argv[1])
found = [{"id": 33, "body": note.read_text("utf-8")}] if note.exists() else []
print(json.dumps(found))' "$TP_TEST_STORE/comment.md" ;;
    "PUT /notes/33") echo edited >> "$TP_TEST_STORE/comments" ;;
    "POST /notes") echo made >> "$TP_TEST_STORE/comments" ;;
    *) exit 22 ;;
  esac
  exec cp "$body" "$TP_TEST_STORE/comment.md"
fi
[ -z "${output:-}" ] || cp "$TP_TEST_STORE/artifacts/main/app-report/app.json" "$output" 2> /dev/null || exit 22
""",
}
_KNOWN = {
    "github.token": "token",
    "github.base_ref": "main",
    "github.repository": "owner/chat",
    "github.event.pull_request.number": "5",
}
_ALWAYS = "always()"
_ON_PULL = "github.event_name == 'pull_request'"
_OWN = "github.event.pull_request.head.repo.full_name == github.repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A push to the main branch, or a pull request of the repository itself."""

    pull: bool = False


@dataclass(slots=True, kw_only=True)
class Played:
    """What a job has done: whether it passed, what its steps printed, the summary, the comment, the artifacts."""

    passed: bool = True
    steps: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    comment: str = ""
    artifacts: Path | None = None


def play_github(workflow: Path, folder: Path, store: Path, event: Event, *, below: str = "") -> Played:
    """Play the only job of a workflow in a repository that is checked out; its steps run in the folder `below`."""
    (job,) = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    assert job.get("defaults", {}).get("run", {}).get("working-directory", "") == below
    return _play_steps(job["steps"], {}, folder, store, event, below=below)


def play_action(action: Path, inputs: Mapping[str, str], folder: Path, store: Path, event: Event) -> Played:
    """Play the steps of a composite action with these inputs."""
    document = yaml.safe_load(action.read_text("utf-8"))
    given = {name: str(one.get("default", "")) for name, one in document["inputs"].items()} | dict(inputs)
    return _play_steps(document["runs"]["steps"], given, folder, store, event, action=action.parent)


def _play_steps(
    steps: Sequence[Mapping[str, Any]],
    inputs: Mapping[str, str],
    folder: Path,
    store: Path,
    event: Event,
    *,
    action: Path | None = None,
    below: str = "",
) -> Played:
    played = Played()
    store.mkdir(exist_ok=True)
    (temp := store / "temp").mkdir(exist_ok=True)
    summary = store / "summary.md"
    summary.write_text("", "utf-8")
    runner: dict[str, object] = {
        "GITHUB_STEP_SUMMARY": summary,
        "RUNNER_TEMP": temp,
        "GITHUB_BASE_REF": "main",
        "GITHUB_WORKFLOW": "w",
    }
    runner |= {"GITHUB_REPOSITORY": "owner/chat", "GITHUB_WORKSPACE": folder}
    known = _KNOWN | {"runner.temp": str(temp)} | {f"inputs.{name}": value for name, value in inputs.items()}
    for number, step in enumerate(steps):
        if not _applies(step.get("if", ""), event, inputs, passed=played.passed):
            continue
        name = step.get("name", step.get("uses", str(number)).partition("@")[0])
        if "uses" in step:
            played.steps[name] = ""
            if name == "actions/upload-artifact":
                path, kept = (_expression(step["with"][key], known) for key in ("path", "name"))
                played.artifacts = _keep(folder, [path], store, event, name=kept)
            continue
        values = {key: _expression(str(value), known) for key, value in step.get("env", {}).items()}
        values |= {key: str(value) for key, value in runner.items()}
        values |= {} if action is None else {"GITHUB_ACTION_PATH": str(action)}
        code, played.steps[name] = _shell(step["run"], folder / below, store, values)
        played.passed &= code == 0
    played.summary = summary.read_text("utf-8")
    played.comment = _comment(store)
    return played


def play_gitlab(job_file: Path, folder: Path, store: Path, event: Event) -> Played:
    """Play the only job of a file of GitLab."""
    (job,) = yaml.safe_load(job_file.read_text("utf-8")).values()
    values = {"CI_DEFAULT_BRANCH": "main", "CI_PROJECT_ID": "3", "CI_API_V4_URL": "http://x", "CI_JOB_TOKEN": "t"}
    if event.pull:
        values |= {"CI_MERGE_REQUEST_IID": "5", "TPHARNESS_COMMENT_TOKEN": "c"}
    played = Played()
    script = "\n".join([*job["before_script"], *job["script"]])
    code, played.steps["script"] = _shell(script, folder, store, values)
    played.passed = code == 0
    code, played.steps["after_script"] = _shell("\n".join(job["after_script"]), folder, store, values)
    assert code == 0, played.steps
    played.artifacts = _keep(folder, job["artifacts"]["paths"], store, event)
    played.comment = _comment(store)
    return played


def _applies(condition: str, event: Event, inputs: Mapping[str, str], *, passed: bool) -> bool:
    """Whether a step is played: after a failure only if it says so. KeyError for a condition that is not known."""
    known = {_ALWAYS: True, _ON_PULL: event.pull, _OWN: event.pull}
    for name, value in inputs.items():
        known |= {f"inputs.{name} == 'true'": value == "true", f"inputs.{name} != ''": value != ""}
    words = [word.strip() for word in condition.split("&&")] if condition else []
    return all(known[word] for word in words) and (passed or _ALWAYS in words)


def _expression(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text)


def _shell(script: str, folder: Path, store: Path, values: dict[str, str]) -> tuple[int, str]:
    stubs = store / "stubs"
    stubs.mkdir(parents=True, exist_ok=True)
    for name, text in _STUBS.items():
        for one in (name, "python3") if name == "python" else (name,):
            (stubs / one).write_text(f"#!/bin/bash\n{text}", "utf-8")
            (stubs / one).chmod(0o755)
    env = {
        **os.environ,
        **values,
        "PATH": os.pathsep.join([str(stubs), os.environ["PATH"]]),
        "TP_TEST_PYTHON": sys.executable,
        "TP_TEST_STORE": str(store),
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def _keep(folder: Path, paths: list[str], store: Path, event: Event, *, name: str = "") -> Path:
    """Keep what a job uploads, by the branch; a later run of the branch replaces it."""
    kept = store / "artifacts" / ("pull" if event.pull else "main")
    shutil.rmtree(kept, ignore_errors=True)
    for path in paths:
        shutil.copytree(folder / path, kept / (name or path))
    return kept / (name or paths[0])


def _comment(store: Path) -> str:
    comment = store / "comment.md"
    return comment.read_text("utf-8") if comment.exists() else ""
