"""A program of Node that answers lines of JSON, so that one process serves every case of a test module."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tpharness.targets.node_packages import node_program

__all__ = ["NodeOracle"]


class NodeOracle:
    """`script` of the folder `scripts`, run where the npm packages that `packages` locks are installed."""

    def __init__(self, script: str, *, scripts: Path, packages: Path) -> None:
        shared = [] if scripts == packages else [scripts]
        self._program = node_program(packages, shared)
        self._script = script
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [str(self._program.node), str(self._program.scripts / self._script)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        self._process.__exit__(kind, error, at)

    def ask(self, question: Any) -> Any:
        """Return the answer to a line; AssertionError if the program has ended."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, f"{self._script} has ended; what it said is above"
        return json.loads(line)
