"""An example program, asked over standard input and output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Ask", "asked"]

Ask = Callable[[bytes | dict[str, Any]], dict[str, Any]]
"""Writes one line and returns its answer."""


@contextmanager
def asked(*command: str | Path) -> Iterator[Ask]:
    """Start a program; it has to end by itself when it is asked to stop."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipes = process.stdin, process.stdout

        def ask(request: bytes | dict[str, Any]) -> dict[str, Any]:
            data = request if isinstance(request, bytes) else json.dumps(request, ensure_ascii=False).encode()
            pipes[0].write(data + b"\n")
            pipes[0].flush()
            answer: dict[str, Any] = json.loads(pipes[1].readline())
            return answer

        try:
            yield ask
            # its standard input stays open: the answer is what ends it
            assert ask({"op": "stop", "id": 99}) == {"id": 99, "stopped": True}
            assert process.wait(10) == 0
        finally:
            process.kill()
