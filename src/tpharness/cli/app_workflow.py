"""The CI of a chat application: the files that GitHub or GitLab need to judge it, as `app init --ci` writes them.

In: the application's table, and the folder of the repository, which says how the application is installed. Out: paths
and texts. Nothing that is there is replaced.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tpharness.apps.config import AppConfig
from tpharness.errors import UsageError
from tpharness.output import write_atomically

__all__ = ["Ci", "require_new_workflow", "write_workflow"]

Ci = Literal["github", "gitlab"]

_STARTER = Path(__file__).parent / "starter"
_FILES: Mapping[Ci, tuple[str, str]] = {
    "github": ("app-github.yml", ".github/workflows/tpharness-app.yml"),
    "gitlab": ("app-gitlab.yml", ".gitlab/tpharness-app.yml"),
}
"""By CI server the template, and the file that it becomes."""
_GITLAB_ROOT = ".gitlab-ci.yml"
_INCLUDE = "include:\n  - local: .gitlab/tpharness-app.yml\n"
_NODE = frozenset({"bun", "next", "node", "npm", "npx", "pnpm", "yarn"})
_LOCKS = {
    "pnpm-lock.yaml": "corepack enable && pnpm install --frozen-lockfile && pnpm run --if-present build",
    "yarn.lock": "corepack enable && yarn install --immutable && yarn run build",
    "package-lock.json": "npm ci && npm run build --if-present",
}


def require_new_workflow(ci: Ci, config: AppConfig, folder: Path) -> None:
    """UsageError where the file is there, or where CI would not know how to start the application."""
    _, target = _FILES[ci]
    if not config.command:
        raise UsageError(
            "CI has to start the application, and no command is given",
            hint="--command 'npm start', or `command` in its table; it has to listen on the port of the variable PORT",
        )
    if (folder / target).exists():
        raise UsageError(
            f"{folder / target} is there already", hint="nothing was written; rename it, or change it by hand"
        )


def write_workflow(ci: Ci, config: AppConfig, folder: Path) -> list[str]:
    """Write the file, and return lines that say what was written, and what is left to do."""
    template, target = _FILES[ci]
    (folder / target).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(str(folder / target), _filled((_STARTER / template).read_text("utf-8"), config, folder))
    lines = [f"written to {target}: put the repository that you have tpharness from into HOST/OWNER/REPOSITORY@TAG"]
    if ci == "gitlab" and not (folder / _GITLAB_ROOT).exists():
        write_atomically(str(folder / _GITLAB_ROOT), _INCLUDE)
        lines.append(f"written to {_GITLAB_ROOT}, which includes it")
    elif ci == "gitlab":
        lines.append(f"include it in {_GITLAB_ROOT}: {' '.join(_INCLUDE.split())}")
    return lines


def _filled(text: str, config: AppConfig, folder: Path) -> str:
    node = Path(config.command[0]).name in _NODE
    left_out, lines, skipping = "python" if node else "node", [], False
    for line in text.splitlines():
        word = line.strip()
        if word in ("# begin node", "# begin python"):
            skipping = word == f"# begin {left_out}"
        elif word in ("# end node", "# end python"):
            skipping = False
        elif not skipping:
            lines.append(line)
    filled = "\n".join(lines) + "\n"
    filled = filled.replace("INSTALL", _install(folder, node=node))
    return filled.replace("tpharness app NAME", f"tpharness app {shlex.quote(config.name)}")


def _install(folder: Path, *, node: bool) -> str:
    """Return the command that installs the application, by the files that the folder has."""
    if node:
        return next((command for lock, command in _LOCKS.items() if (folder / lock).exists()), "npm install")
    if (folder / "requirements.txt").exists():
        return "pip install -r requirements.txt"
    return "pip install ."
