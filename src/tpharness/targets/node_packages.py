"""npm packages that a peer needs: installed on first use into a cache folder, by the peer's own lock file.

In: the folder of a peer with its scripts, `package.json` and `package-lock.json`, and folders of other peers whose
scripts it shares. Without a lock file npm chooses the newest packages that `package.json` allows. A file `install.mjs`
there is run once, in the folder that is installed. Out: the Node binary and a folder with all these scripts, from where
they find their packages. Packages that are installed are not downloaded again; an unfinished installation does not
count; of several processes one installs, and the others wait. Downloads are logged as `tpharness.install`, with the
size that `package.json` gives under `tpharness`. TargetError says what is missing: Node, npm, or the network.

The folder is `$TPHARNESS_CACHE`, or `tpharness` in the user's cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.file_lock import hold_lock
from tpharness.findings import shorten
from tpharness.targets.nodejs import Node, find_node

__all__ = ["CACHE_VARIABLE", "NodeProgram", "cache_folder", "installed_packages", "node_program"]

CACHE_VARIABLE = "TPHARNESS_CACHE"
_LOG = logging.getLogger("tpharness.install")
_INSTALLS = "install.mjs"
_LOCK = ("package.json", "package-lock.json", ".npmrc", _INSTALLS)
_SECONDS = 600.0
_PROGRESS_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProgram:
    """What runs a peer's scripts: the Node binary, and the folder of the scripts."""

    node: Path
    scripts: Path


def cache_folder() -> Path:
    """Return the folder that packages are installed into."""
    configured = os.environ.get(CACHE_VARIABLE)
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    return Path(base or Path.home() / ".cache") / "tpharness"


def node_program(source: Path, shared: Sequence[Path] = ()) -> NodeProgram:
    """Return the program of a peer whose files lie in `source`, its packages installed if they are not yet.

    The scripts in `shared` lie beside its own, which win where a name is the same.
    """
    node = find_node()
    packages = installed_packages(source, node)
    return NodeProgram(node=node.executable, scripts=_scripts([*shared, source], packages))


def installed_packages(source: Path, node: Node) -> Path:
    """Return the folder with the npm packages that `source` locks, installed if they are not there yet."""
    files = [source / name for name in _LOCK if (source / name).is_file()]
    packages = cache_folder() / f"{source.name}-{_digest(files)}"
    _require_ours(packages)
    if not (packages / "node_modules").is_dir():
        packages.parent.mkdir(parents=True, exist_ok=True)
        # Without the lock nothing breaks: what is installed is moved into place as a whole, and may be fetched twice.
        with hold_lock(packages.parent / "install.lock", seconds=_SECONDS):
            if not (packages / "node_modules").is_dir():
                _install(files, packages, node)
    return packages


def _require_ours(packages: Path) -> None:
    """Refuse packages, and a cache to install them into, that another user has or everybody may change.

    What is there is run, and npm has compared it with the lock file only when it was installed. TargetError.
    """
    for folder in (packages, packages.parent):
        with contextlib.suppress(FileNotFoundError):
            status = folder.stat()
            if os.name == "posix" and (status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH):
                raise TargetError(
                    f"{folder} is of another user, or everybody may write into it: packages in it would be run",
                    hint=f"remove it, or name a folder of your own: export {CACHE_VARIABLE}=~/.cache/tpharness",
                )


def _install(files: Sequence[Path], packages: Path, node: Node) -> None:
    """Install into a folder of its own, and move it into place when it is whole."""
    started = time.monotonic()
    _LOG.warning("tpharness: fetching the npm packages of %s%s", packages.name.rpartition("-")[0], _size(files))
    with tempfile.TemporaryDirectory(prefix="installing-", dir=packages.parent) as folder:
        for file in files:
            shutil.copy(file, Path(folder, file.name))
        # Optional packages stay: binaries for this platform are such. Scripts of packages are not run.
        way = "ci" if any(file.name == "package-lock.json" for file in files) else "install"
        flags = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"]
        _run([*node.npm, way, *flags], folder, f"npm {way}")
        if Path(folder, _INSTALLS).is_file():
            _run([str(node.executable), _INSTALLS], folder, _INSTALLS)
        try:
            Path(folder).rename(packages)
        except OSError:  # another process was faster
            if not (packages / "node_modules").is_dir():
                raise
            return
        Path(folder).mkdir()  # for the context to take away
    _LOG.warning("tpharness: installed into %s in %.0f s", packages, time.monotonic() - started)


def _run(command: Sequence[str], folder: str, name: str) -> None:
    """Run a step of an installation, and log how much there is of it every few seconds."""
    deadline = time.monotonic() + _SECONDS
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while True:
            try:
                _, output = process.communicate(timeout=max(0.0, min(_PROGRESS_SECONDS, deadline - time.monotonic())))
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() >= deadline:
                    process.kill()
                    raise TargetError(
                        f"{name} takes longer than {_SECONDS:g} s", hint="is the network there?"
                    ) from None
                _LOG.warning("tpharness: … %d MB are there", _weight(Path(folder)))
    if process.returncode:
        said = " | ".join(line for line in output.splitlines() if line.strip())
        raise TargetError(
            f"{name} exits with {process.returncode}: {shorten(said, 400)}",
            hint=f"it needs the network once; {CACHE_VARIABLE} names a folder where everything is there already",
        )


def _size(files: Sequence[Path]) -> str:
    """Return how much there is to fetch, as `package.json` says it."""
    for file in files:
        if file.name == "package.json":
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return f" ({json.loads(file.read_text('utf-8'))['tpharness']['megabytes']} MB, once)"
    return ""


def _weight(folder: Path) -> int:
    """Return the megabytes of what lies below a folder, which may change while it is counted."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size
    return total // 1_000_000


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
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise
            else:
                Path(made).mkdir()
    return folder


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
