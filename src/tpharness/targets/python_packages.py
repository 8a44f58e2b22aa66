"""Python packages of a peer at another release: in a virtual environment of their own in the cache folder.

In: requirements as pip takes them. Out: the command that runs a module of tpharness on them. What they do not bring is
found in the environment that tpharness itself runs in, after theirs. An unfinished installation does not count; of
several processes one installs, and the others wait. Downloads are logged as `tpharness.install`. TargetError says what
is missing: pip, the release, or the network.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.file_lock import hold_lock
from tpharness.findings import shorten
from tpharness.targets.node_packages import CACHE_VARIABLE, cache_folder

__all__ = ["python_command", "released_python"]

_LOG = logging.getLogger("tpharness.install")
_SECONDS = 600.0
_OURS = ("PIP_CONSTRAINT", "PYTHONPATH")  # these would say which versions, or hide those that were asked for
_RUN = "import runpy, sys; sys.path += {paths!r}; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"


def released_python(requirements: Sequence[str]) -> Path:
    """Return the Python of an environment with these packages, installed if they are not there yet."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256("\0".join((version, *requirements)).encode()).hexdigest()[:12]
    name = requirements[0].partition("[")[0].partition("=")[0]
    folder = cache_folder() / f"python-{name}-{digest}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder.parent / "install.lock", seconds=_SECONDS):
            if not folder.is_dir():
                _install(requirements, folder)
    return _python_in(folder)


def python_command(python: Path, module: str) -> tuple[str, ...]:
    """Return the words that run a module of ours with the packages of an environment before those of this one."""
    ours = [str(Path(__file__).parents[2])]
    ours += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages") and path not in ours]
    return (str(python), "-P", "-c", _RUN.format(paths=ours, module=module))


def _install(requirements: Sequence[str], folder: Path) -> None:
    """Install into a folder of its own, and move it into place when it is whole."""
    started = time.monotonic()
    _LOG.warning("tpharness: fetching %s and what it needs with pip, once", requirements[0])
    with tempfile.TemporaryDirectory(prefix="installing-", dir=folder.parent) as made:
        environment = Path(made, "env")
        try:
            venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(environment)
        except (OSError, subprocess.CalledProcessError) as error:
            raise TargetError(f"cannot make a virtual environment in {folder.parent}: {error}") from error
        _run_pip(_python_in(environment), requirements)
        environment.rename(folder)
    _LOG.warning("tpharness: installed into %s in %.0f s", folder, time.monotonic() - started)


def _run_pip(python: Path, requirements: Sequence[str]) -> None:
    words = ["install", "--quiet", "--no-input", "--disable-pip-version-check", *requirements]
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pip", "--python", str(python), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            env={name: value for name, value in os.environ.items() if name not in _OURS},
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"pip takes longer than {_SECONDS:g} s", hint="is the network there?") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = " | ".join([line for line in lines if line.startswith("ERROR")] or lines)
        raise TargetError(
            f"pip cannot install {', '.join(requirements)}: {shorten(said, 400)}",
            hint=f"is there such a release? It needs pip, and the network once; {CACHE_VARIABLE} names a folder where "
            "everything is there already",
        )


def _python_in(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
