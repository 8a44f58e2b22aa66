"""npm packages that a peer needs: installed on first use into a cache folder, by the peer's own lock file.

In: the folder of a peer with its scripts, `package.json` and `package-lock.json`, and folders of other peers whose
scripts it shares. Out: the Node binary and a folder with all these scripts, from where they find their packages.
Nothing is downloaded that is there already; what is half installed never counts as there. TargetError says what is
missing: Node, npm, or the network.

The folder is `$TPHARNESS_CACHE`, or `tpharness` in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.findings import shorten

__all__ = ["CACHE_VARIABLE", "NodeProgram", "cache_folder", "node_program"]

CACHE_VARIABLE = "TPHARNESS_CACHE"
_LOG = logging.getLogger("tpharness.install")
_OLDEST, _WANTED = 20, 22  # to install with; to run with: an older Node gets the one of the npm package `node`
_LOCK = ("package.json", "package-lock.json", ".npmrc")
_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProgram:
    """What runs a peer's scripts: the binary, and the folder where they lie."""

    node: Path
    scripts: Path


def cache_folder() -> Path:
    """Return the folder that packages are installed into."""
    told = os.environ.get(CACHE_VARIABLE)
    if told:
        return Path(told)
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    return Path(base or Path.home() / ".cache") / "tpharness"


def node_program(source: Path, shared: Sequence[Path] = ()) -> NodeProgram:
    """Return the program of a peer whose files lie in `source`, its packages installed if they are not yet.

    The scripts in `shared` lie beside its own, which win where a name is the same.
    """
    node, major = _node()
    lock = _digest([source / name for name in _LOCK])
    packages = cache_folder() / f"{source.name}-{lock}-node{'' if major >= _WANTED else 22}"
    if not (packages / "node_modules").is_dir():
        _install(source, packages, own_node=major < _WANTED)
    if major < _WANTED:
        node = packages / "node_modules" / ".bin" / "node"
    return NodeProgram(node=node, scripts=_scripts([*shared, source], packages))


def _node() -> tuple[Path, int]:
    found = shutil.which("node")
    if found is None:
        raise TargetError(
            "Node.js is not installed: `node` is not on the PATH",
            hint=f"install Node {_OLDEST} or newer, or run without this peer (pytest --without-node)",
        )
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    match = re.match(r"v(\d+)\.", said)
    if match is None or int(match[1]) < _OLDEST:
        raise TargetError(
            f"{found} is Node {shorten(said.strip(), 40) or 'of no version'}", hint=f"install Node {_OLDEST} or newer"
        )
    return Path(found), int(match[1])


def _install(source: Path, packages: Path, *, own_node: bool) -> None:
    """Install into a folder of its own, and move it into place when it is whole."""
    npm = shutil.which("npm")
    if npm is None:
        raise TargetError("npm is not installed: it installs the packages of this peer", hint="it comes with Node.js")
    packages.parent.mkdir(parents=True, exist_ok=True)
    _LOG.warning("tpharness: installing the npm packages of %s into %s …", source.name, packages)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=packages.parent) as folder:
        for name in _LOCK:
            shutil.copy(source / name, Path(folder, name))
        # Without its script the package `node` is empty. Optional packages stay: binaries for this platform are such.
        scripts = [] if own_node else ["--ignore-scripts"]
        command = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error", *scripts]
        try:
            done = subprocess.run(  # noqa: S603
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise TargetError(f"npm ci takes longer than {_SECONDS} s", hint="is the network there?") from None
        if done.returncode:
            said = " | ".join(line for line in done.stderr.splitlines() if line.strip())
            raise TargetError(
                f"npm ci exits with {done.returncode}: {shorten(said, 400)}",
                hint=f"it needs the network once; {CACHE_VARIABLE} names a folder where everything is there already",
            )
        Path(folder, "whole").touch()
        try:
            Path(folder).rename(packages)
        except OSError:  # somebody else was faster
            if not (packages / "node_modules").is_dir():
                raise
            return
        Path(folder).mkdir()  # for the context to take away
    _LOG.warning("tpharness: installed")


def _scripts(sources: Sequence[Path], packages: Path) -> Path:
    """Copy the scripts below the packages, where Node looks for them; each state of them has a folder of its own."""
    found = {path.name: path for source in sources for path in source.iterdir()}
    files = [found[name] for name in sorted(found) if found[name].suffix in (".mjs", ".html", ".jsx")]
    folder = packages / f"scripts-{_digest(files)}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(prefix="copying-", dir=packages) as made:
            for path in files:
                shutil.copy(path, Path(made, path.name))
            try:
                Path(made).rename(folder)
            except OSError:  # somebody else was faster
                if not folder.is_dir():
                    raise
            else:
                Path(made).mkdir()
    return folder


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
