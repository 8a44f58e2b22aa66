"""What failed when the same targets played last, for `--lf`.

Kept in the user's folder for state (`$XDG_STATE_HOME/tpharness/last-failed`, or `~/.local/state`), never in a checkout:
one small file for each combination of targets, wire and folders of scenarios, and of the folder in which a target is
started, since `stdio:node client.mjs` is another client elsewhere. A run does not fail because it cannot be read or
written. Secrets of addresses are left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpharness.errors import InputError
from tpharness.file_lock import hold_lock
from tpharness.output import write_atomically
from tpharness.printable import without_credentials
from tpharness.run.options import RunOptions
from tpharness.verdict.result import Result
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["LastFailed", "played_part", "state_folder"]


def played_part(case: str) -> str:
    """Return what is played again for a case: its scenario with the whole sweep, or its scenario with its fault."""
    base, fault, name = case.partition("@fault-")
    return f"{base.partition('@')[0]}{fault}{name}"


_LOCKED = 5.0  # seconds that another run may take to write
_STARTED_HERE = ("stdio:", "python:")
"""Targets whose names say something only together with the folder that they are started in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastFailed:
    """The file of one combination of targets, wire and scenarios."""

    path: Path

    @classmethod
    def of(cls, options: RunOptions) -> LastFailed:
        """Return the file for these options."""
        named = [without_credentials(options.server), without_credentials(options.client), options.history]
        named += [] if options.wire == DEFAULT_WIRE else [options.wire]
        roots = sorted(str(root.resolve()) for root in options.roots)
        started = any(one.startswith(_STARTED_HERE) for one in (options.server, options.client))
        here = [str(Path.cwd())] if started else []
        key = hashlib.sha256(json.dumps([named, roots, *here]).encode()).hexdigest()[:24]
        return cls(path=state_folder() / "tpharness" / "last-failed" / f"{key}.json")

    def read(self) -> frozenset[str]:
        """Return the ids of the cases that failed last, none if that is not known."""
        try:
            return frozenset(map(str, json.loads(self.path.read_bytes())["failed"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return frozenset()

    def update(self, results: Iterable[Result]) -> None:
        """Take in a run: what it has not played stays as it was. Of two runs that end together both are taken in."""
        results = list(results)
        if not self.path.exists() and all(result.outcome.green for result in results):
            return
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError, InputError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(hold_lock(self.path.parent.with_suffix(".lock"), seconds=_LOCKED))
            self._take_in(results)

    def _take_in(self, results: Sequence[Result]) -> None:
        before = self.read()
        played = {played_part(result.id) for result in results}
        failed = {result.id for result in results if not result.outcome.green}
        self._write(failed | {case for case in before if played_part(case) not in played}, before)

    def _write(self, failed: Collection[str], before: Collection[str]) -> None:
        if set(failed) == set(before):
            return
        with contextlib.suppress(OSError):
            if failed:
                with contextlib.suppress(InputError):
                    write_atomically(str(self.path), json.dumps({"failed": sorted(failed)}, indent=1) + "\n")
            else:
                self.path.unlink(missing_ok=True)


def state_folder() -> Path:
    """Return the user's folder for what programs remember between runs."""
    base = os.environ.get("XDG_STATE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    return Path(base) if base else Path.home() / ".local" / "state"
