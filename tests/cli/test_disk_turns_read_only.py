"""A disk that turns read-only while a run is played costs its reports, and not its verdict."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call

from tpharness import output


def test_each_report_that_cannot_be_written_is_named_after_the_verdict(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders could be written when the run began, so it was played."""

    def read_only(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(output, "_write", read_only)
    files = {name: tmp_path / f"run.{name}" for name in ("json", "junit", "html")}
    reports = [word for name, file in files.items() for word in ("--report", f"{name}:{file}")]
    done = call("run", "sse/line-ends", *reports, "--report", "console")
    assert done.code == 2
    assert done.out.splitlines()[-1].startswith("PASSED 1 scenario")
    for file in files.values():
        assert f"cannot write {file}: {os.strerror(errno.EROFS)}" in done.err
    assert list(tmp_path.iterdir()) == []
