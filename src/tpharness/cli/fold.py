"""`tpharness fold`: a recorded stream → the thread that it produces."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

from tpharness.cli.files import print_json, read_bytes
from tpharness.cli.options import Argument, Exit, Option
from tpharness.document_files import NO_TIME, sort_of
from tpharness.errors import UsageError
from tpharness.folding import RunCut, fold_stream, render
from tpharness.printable import say
from tpharness.protocol.reasons import refuse_misspelt_reason
from tpharness.protocol.versions import newest_version, parse_version
from tpharness.scenario.fields import normalize_time
from tpharness.scenario_files import SUFFIXES
from tpharness.server_folding import fold_events

__all__ = ["fold"]

_QUOTED = re.compile(r'\A"(.*)"\Z', re.DOTALL)


def fold(
    file: Annotated[str, Argument(help="A stream (.sse) or server events (.jsonl); - is standard input.")],
    interrupt: Annotated[
        str | None,
        Option(help="REASON@TIME: how and when the run was cut; error@TIME=TEXT with the text of the error."),
    ] = None,
    after: Annotated[int | None, Option(min=0, help="Only the first N events.")] = None,
    version: Annotated[str, Option(help="The version to write.")] = newest_version().value,
    agent: Annotated[str, Option(help="The agent that ran.")] = "assistant",
    at: Annotated[str, Option(help="When the run began, for a stream without times.")] = NO_TIME,
) -> None:
    """Fold a recorded stream into a thread.

    The thread is printed on standard output; findings go to standard error.
    """
    wanted = parse_version(version)
    if not agent:
        raise UsageError("--agent takes the id of an agent, which is not empty")
    at = _time("--at", at)
    cut = _cut(interrupt)
    data = read_bytes(file)
    if Path(file).suffix in SUFFIXES:
        raise UsageError(
            f"{file} is a scenario, not a recorded stream",
            hint=f"`tpharness view {shlex.quote(file)}` shows its stream and threads",
        )
    sort = sort_of(file, data)
    if sort == "log":
        hint = f"`tpharness import --from thread-log {shlex.quote(file)}` makes a thread of it"
        raise UsageError(f"{file} is a thread log, not a recorded stream", hint=hint)
    folded = fold_events if sort == "events" else fold_stream
    journal, findings = folded(data, file, after, cut, agent, at)
    print_json(render(journal, wanted, f"fold:{Path(file).name}", at))
    for finding in findings:
        say(finding.with_place(file=file).line(), err=True)
    raise Exit(1 if any(f.level.value == "must" for f in findings) else 0)


def _cut(text: str | None) -> RunCut | None:
    if text is None:
        return None
    where, stated, error = text.partition("=")
    reason, _, time = where.partition("@")
    if not reason:
        raise UsageError(
            f"--interrupt takes REASON@TIME, not {text!r}", hint="for example user_cancelled@2025-01-20T10:00:15Z"
        )
    refuse_misspelt_reason(reason)
    if stated and reason != "error":
        raise UsageError(f"--interrupt: {reason} has no text", hint="only an error has one, as in error@TIME=TEXT")
    return RunCut(
        reason=reason,
        at=_time("--interrupt", time) if time else None,
        error=_QUOTED.sub(r"\1", error) if stated else None,
    )


def _time(option: str, text: str) -> str:
    time = normalize_time(text)
    if time is None:
        raise UsageError(
            f"{option}: {text!r} is not a time", hint="write it as 2025-01-20T10:00:15Z, with Z or an offset"
        )
    return time
