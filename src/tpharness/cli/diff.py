"""`tpharness diff`: where two threads differ, in words; of two folders, where the files of the same name do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.batch.sources import Sources
from tpharness.cli.batch.work import JSON_FILES
from tpharness.cli.files import check_stdin_once, print_json, read_thread
from tpharness.cli.options import Argument, Exit, Option
from tpharness.errors import TpharnessError, UsageError
from tpharness.output import json_bytes, write_bytes
from tpharness.printable import say
from tpharness.protocol.compare import Mode
from tpharness.protocol.diff import ThreadDifference
from tpharness.protocol.diff import diff as differences

__all__ = ["diff"]


def diff(
    a: Annotated[str, Argument(help="A thread, or a folder; - is standard input.")],
    b: Annotated[str, Argument(help="Another one.")],
    content: Annotated[bool, Option("--content", help="Compare only what the stream carries (R39).")] = False,
    json: Annotated[bool, Option("--json", help="Print JSON, for folders a line for each name.")] = False,
) -> None:
    """Describe where two threads differ.

    The output names turn, message, part and first character, and the ruling that decides.
    """
    check_stdin_once((a, b))
    mode: Mode = "content" if content else "exact"
    folders = [name != "-" and Path(name).is_dir() for name in (a, b)]
    if all(folders):
        raise Exit(_diff_folders(a, b, mode, as_json=json))
    if any(folders):
        raise UsageError(
            f"{a if folders[0] else b} is a folder, the other is not", hint="name two files or two folders"
        )
    found = differences(read_thread(a), read_thread(b), names=("A", "B"), mode=mode)
    if json:
        print_json(_as_json(found))
    else:
        _print(found)
        if not found:
            say("the threads are equal" + (" in content" if content else ""))
    raise Exit(1 if found else 0)


def _print(found: list[ThreadDifference]) -> None:
    for difference in found:
        say(difference.pointer)
        say(f"  {difference.text}{f' [{difference.cites}]' if difference.cites else ''}")


def _as_json(found: list[ThreadDifference]) -> list[dict[str, Any]]:
    return [{"pointer": d.pointer, "text": d.text, "cites": d.cites} for d in found]


def _diff_folders(a: str, b: str, mode: Mode, *, as_json: bool) -> int:
    """Compare the files of the same name; return the code: 2 if one is missing or unreadable, 1 if two differ."""
    names = sorted({source.place for folder in (a, b) for source in Sources([folder], JSON_FILES)})
    outcomes: Counter[str] = Counter()
    for name in names:
        found: list[ThreadDifference] = []
        error = ""
        try:
            found = differences(
                read_thread(str(Path(a) / name)), read_thread(str(Path(b) / name)), names=("A", "B"), mode=mode
            )
        except TpharnessError as wrong:
            error = wrong.line
        outcome = "unreadable" if error else "different" if found else "equal"
        outcomes[outcome] += 1
        if as_json:
            facts = {"error": error} if error else {"differences": _as_json(found)}
            write_bytes("-", json_bytes({"document": name, "outcome": outcome, **facts}) + b"\n")
        elif found:
            say(name)
            _print(found)
        if error:
            say(f"{name}: {error}", err=True)
    words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    say(f"{len(names):,} names: {words}", err=as_json)
    return 2 if outcomes["unreadable"] else 1 if outcomes["different"] else 0
