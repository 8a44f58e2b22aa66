"""The CI of a chat application: the files that GitHub or GitLab need to judge it, as `app init --ci` writes them.

In: the application's table, and its folder, which says how it is installed and in which repository it is. Out: paths
and texts. Files go to the top of the repository. Nothing that is there is replaced; a second application has a file of
its own.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from tpharness.apps.config import AppConfig
from tpharness.errors import UsageError
from tpharness.output import write_atomically

__all__ = ["Ci", "CiPlace", "find_place", "require_new_workflow", "write_workflow"]

Ci = Literal["github", "gitlab"]

_STARTER = Path(__file__).parent / "starter"
_FILES: Mapping[Ci, tuple[str, str]] = {
    "github": ("app-github.yml", ".github/workflows/tpharness-app.yml"),
    "gitlab": ("app-gitlab.yml", ".gitlab/tpharness-app.yml"),
}
"""By CI server the template, and the file that it becomes for the first application of a repository."""
_NAME = "tpharness-app"
"""What the job, its artifact and its comment are called, with the name of a second application behind it."""
_GITLAB_ROOT = ".gitlab-ci.yml"
_BLOCK = re.compile(r"# (begin|end) (node|python|subfolder)")
_NODE = frozenset({"bun", "next", "node", "npm", "npx", "pnpm", "yarn"})
_LOCKS = {
    "pnpm-lock.yaml": "corepack enable && pnpm install --frozen-lockfile && pnpm run --if-present build",
    "yarn.lock": "corepack enable && yarn install --immutable && yarn run build",
    "package-lock.json": "npm ci && npm run build --if-present",
}


def require_new_workflow(ci: Ci, config: AppConfig, folder: Path) -> None:
    """UsageError where the file is there, or where CI would not know how to start the application."""
    if not config.command:
        raise UsageError(
            "CI has to start the application, and no command is given",
            hint="--command 'npm start', or `command` in its table; it has to listen on the port of the variable PORT",
        )
    place = find_place(ci, config, folder)
    if place.file.exists():
        raise UsageError(f"{place.file} is there already", hint="nothing was written; rename it, or change it by hand")


def write_workflow(ci: Ci, config: AppConfig, folder: Path) -> list[str]:
    """Write the file, and return lines that say what was written, and what is left to do."""
    place = find_place(ci, config, folder)
    template = (_STARTER / _FILES[ci][0]).read_text("utf-8")
    place.file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(str(place.file), _filled(template, config, folder, place))
    shown = place.file.relative_to(place.top).as_posix()
    where = "" if not place.below else f" of {place.top}"
    lines = [
        f"written to {shown}{where}: put the repository that you have tpharness from into HOST/OWNER/REPOSITORY@TAG"
    ]
    if ci == "github":
        lines.append(f"the report of a push to {place.branch} is what pull requests are compared with")
    root, include = place.top / _GITLAB_ROOT, f"include:\n  - local: {shown}\n"
    if ci == "gitlab" and not root.exists():
        write_atomically(str(root), include)
        lines.append(f"written to {_GITLAB_ROOT}, which includes it")
    elif ci == "gitlab":
        lines.append(f"include it in {_GITLAB_ROOT}: {' '.join(include.split())}")
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class CiPlace:
    """Where a file of CI goes: the `top` of the repository, the application's folder `below` it, "" for the top."""

    top: Path
    below: str
    branch: str
    file: Path
    name: str


def find_place(ci: Ci, config: AppConfig, folder: Path) -> CiPlace:
    """Return the place of the file for this application: one of its own where another application has the usual one."""
    here = folder.resolve()
    top = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    below = "" if top == here else here.relative_to(top).as_posix()
    name, file = _NAME, top / _FILES[ci][1]
    if file.exists() and not _is_of(file.read_text("utf-8"), config, below):
        name = f"{_NAME}-{re.sub(r'[^A-Za-z0-9_-]', '-', config.name)}"
        file = file.with_name(f"{name}.yml")
    return CiPlace(top=top, below=below, branch=_default_branch(top), file=file, name=name)


def _is_of(text: str, config: AppConfig, below: str) -> bool:
    """Whether a file judges this application, in its folder."""
    folders = (f"working-directory: {json.dumps(below)}", f"cd {shlex.quote(below)}")
    there = any(one in text for one in folders) if below else not re.search(r"working-directory: |- cd ", text)
    return there and f"tpharness app {shlex.quote(config.name)} " in text


def _default_branch(top: Path) -> str:
    """Return the branch that pull requests are merged into; main where the repository does not know it."""
    remote = _git(top, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    if remote:
        return remote
    known = _git(top, "for-each-ref", "--format=%(refname:short)", "refs/heads/main", "refs/heads/master").split()
    return next(iter(known), "") or _git(top, "symbolic-ref", "--short", "HEAD") or "main"


def _git(top: Path, *words: str) -> str:
    """Return what git prints, "" where it fails or is not installed."""
    try:
        command = ["git", "-C", str(top), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # words of ours
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _filled(text: str, config: AppConfig, folder: Path, place: CiPlace) -> str:
    node = Path(config.command[0]).name in _NODE
    left_out = {"python" if node else "node", *(() if place.below else ("subfolder",))}
    lines, skipping = [], False
    for line in text.splitlines():
        mark = _BLOCK.fullmatch(line.strip())
        if mark is not None:
            skipping = mark[1] == "begin" and mark[2] in left_out
        elif not skipping:
            lines.append(line)
    report = f"{place.below}/app-report" if place.below else "app-report"
    values = {
        "tpharness-app": place.name,
        "name: tpharness app": "name: tpharness app" if place.name == _NAME else f"name: {json.dumps(place.name)}",
        "INSTALL": _install(folder, place.top, node=node),
        "tpharness app NAME": f"tpharness app {shlex.quote(config.name)}",
        "working-directory: FOLDER": f"working-directory: {json.dumps(place.below)}",
        "cd FOLDER": f"cd {shlex.quote(place.below)}",
        "[BRANCH]": f"[{_plain(place.branch)}]",
        "REPORT_URL": quote(report),
        "path: REPORT": f"path: {_plain(report)}",
        "[REPORT]": f"[{_plain(report)}]",
        "REPORT/app.xml": _plain(f"{report}/app.xml"),
    }
    found = re.compile("|".join(map(re.escape, values)))
    return found.sub(lambda one: values[one[0]], "\n".join(lines) + "\n")


def _plain(text: str) -> str:
    """Return a text as a value of YAML, in quotes where it would be read as something else."""
    return text if re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text) else json.dumps(text)


def _install(folder: Path, top: Path, *, node: bool) -> str:
    """Return the command that installs the application, by the files that its folder has, or its workspace's."""
    if node:
        locks = ((command, place / lock) for place in (folder, top) for lock, command in _LOCKS.items())
        return next((command for command, lock in locks if lock.exists()), "npm install")
    if (folder / "requirements.txt").exists():
        return "pip install -r requirements.txt"
    return "pip install ."
