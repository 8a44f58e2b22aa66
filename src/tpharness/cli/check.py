"""`tpharness check`: threads, scenarios and recorded streams, without playing anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tpharness.cli.files import check_stdin_once, print_findings, read_bytes
from tpharness.cli.fold import NO_EVENTS, fold_events
from tpharness.errors import ScenarioError
from tpharness.findings import Finding, Kind, Level, Place, keep_first
from tpharness.printable import counted, say
from tpharness.protocol.parse import parse_json
from tpharness.protocol.reading import check_as_read
from tpharness.scenario import load_scenario
from tpharness.vsp import chunks
from tpharness.vsp.assembler import Assembler
from tpharness.vsp.majors import check_chunk
from tpharness.vsp.sse import SseParser

__all__ = ["check"]

UNFINISHED = Kind("stream-unfinished")

_MAJORS: dict[int, Literal[5, 6, 7]] = {5: 5, 6: 6, 7: 7}
_NO_TIME = "1970-01-01T00:00:00Z"


def check(
    files: Annotated[
        list[str],
        typer.Argument(help="Threads (.json), scenarios (.yaml), streams (.sse), events (.jsonl); - reads a thread."),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    major: Annotated[int | None, typer.Option(min=5, max=7, help="Check streams for this major of the AI SDK.")] = None,
) -> None:
    """Check threads, scenarios and streams without playing them.

    Threads are checked against schema and rules, scenarios against their language, streams against the order of chunks.
    """
    check_stdin_once(files)
    findings: list[Finding] = []
    for path in files:
        match Path(path).suffix:
            case ".yaml" | ".yml":
                findings += _scenario(path)
            case ".sse":
                findings += _stream(path, major)
            case ".jsonl":
                findings += _events(path)
            case _:
                findings += _thread(path)
    code = print_findings(findings, as_json=json)
    if not json and code == 0:
        verdict = "nothing at MUST" if any(f.level is Level.SHOULD for f in findings) else "nothing wrong"
        say(f"{counted(len(files), 'file')} checked, {verdict}")
    raise typer.Exit(code)


def _thread(path: str) -> list[Finding]:
    parsed = parse_json(read_bytes(path), file=path)
    found = list(parsed.findings)
    if parsed.ok:
        found += [finding.with_place(file=path) for finding in check_as_read(parsed.value, observations=True)]
    return found


def _scenario(path: str) -> list[Finding]:
    try:
        load_scenario(Path(path), root=Path(path).absolute().parent.parent)
    except ScenarioError as error:
        return list(error.findings)
    return []


def _events(path: str) -> list[Finding]:
    _, found = fold_events(read_bytes(path), path, None, None, "assistant", _NO_TIME)
    return [finding.with_place(file=path) for finding in found]


def _stream(path: str, major: int | None) -> list[Finding]:
    data = read_bytes(path)
    assembler = Assembler()
    assembler.begin(_NO_TIME)
    found = []
    if not assembler.feed(data, _NO_TIME) and data:
        found.append(NO_EVENTS.at(Place(file=path, byte=0), got=data[:40]))
    if (
        not assembler.turn_ended or next(iter(assembler.journal().turns()), None) is None
    ):  # a body without a chunk does not end a turn
        found.append(UNFINISHED.at(Place(file=path, byte=len(data))))
    assembler.close(None, _NO_TIME)
    found += [finding.with_place(file=path) for finding in assembler.findings]
    if major is not None:
        parser = SseParser()
        found += keep_first(
            finding
            for index, frame in enumerate(parser.feed(data))
            for finding in check_chunk(
                chunks.decode_chunk(frame.data), _MAJORS[major], place=Place(file=path, event=index)
            )
        )
    return found
