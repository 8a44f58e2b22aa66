"""What the attacks share: a folder in which commands of a checkout are called, and certificates to forge."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["HERE", "Done", "Place", "Seen", "cpu_of", "statements_of", "write_statement"]

HERE = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one attack, and whether it was withstood."""

    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What a command said. `code` is None if it did not end in time."""

    code: int | None
    text: str

    def lines(self) -> list[str]:
        """Return the lines that are not empty."""
        return [line.strip() for line in self.text.splitlines() if line.strip()] or ["nothing"]

    def last(self) -> str:
        """Return the end of the last line."""
        return self.lines()[-1][-100:]

    def seen(self, what: str, *codes: int) -> Seen:
        """Return what is seen of it: it holds if it ends with one of these codes (any of 0, 1, 2) and no traceback."""
        broken = "Traceback" in self.text or "itself failed" in self.text
        return Seen(
            f"{what}: exit {self.code}{', a traceback: ' + self.last() if broken else ''}",
            held=not broken and self.code in (codes or (0, 1, 2)),
        )


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for one row, and the checkout whose commands are called in it."""

    folder: Path
    checkout: Path

    def write(self, name: str, text: str) -> Path:
        """Write a file; return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def start(
        self,
        *words: str,
        cwd: Path | None = None,
        stderr: int = subprocess.STDOUT,
        early: Path | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.Popen[str]:
        """Start a command; `early` is a folder of modules that Python reads first."""
        paths = [str(path) for path in (early, self.checkout / "src") if path is not None]
        return subprocess.Popen(
            [sys.executable, "-m", "tpharness", *words],
            cwd=cwd or self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
        )

    def tpharness(
        self, *words: str, seconds: float = 300, cwd: Path | None = None, env: Mapping[str, str] = MappingProxyType({})
    ) -> Done:
        """Call a command and wait for its end, for so many seconds at most."""
        process = self.start(*words, cwd=cwd, env=env)
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            return Done(None, text)
        return Done(process.returncode, text)

    @staticmethod
    def has_ended(process: subprocess.Popen[str]) -> bool:
        """Whether a process has ended; it is not waited for, so that its processor time can still be read."""
        return Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"


def cpu_of(pid: int) -> float:
    """Return the seconds of processor time of a process that has not been waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def statements_of(place: Place) -> dict[str, Any]:
    """Make a certificate of the reference that nobody signed; return its statement."""
    done = place.tpharness("certify", "--server", "reference", "--profile", "carriers", "-o", "cert")
    if done.code != 0:
        raise RuntimeError(done.text)
    envelope = json.loads((place.folder / "cert/certificate.json").read_text("utf-8"))
    statement: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return statement


def write_statement(place: Place, statement: dict[str, Any] | str) -> None:
    """Write a certificate with another statement, which nobody signed."""
    text = statement if isinstance(statement, str) else json.dumps(statement)
    kind = "application/vnd.in-toto+json"
    envelope = {"payloadType": kind, "payload": base64.b64encode(text.encode()).decode(), "signatures": []}
    place.write("cert/certificate.json", json.dumps(envelope))
