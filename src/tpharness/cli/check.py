"""`tpharness check`: threads, scenarios and recorded streams, without playing anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tpharness.checking import check_data, check_json, check_scenario, input_beside
from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.work import Document, Done, Note
from tpharness.cli.files import check_stdin_once, read_bytes
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level
from tpharness.printable import counted

__all__ = ["check"]

_WRONG, _DOUBTFUL = "wrong", "doubtful"
_ENDINGS = (".json", ".jsonl", ".ndjson", ".sse", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class CheckAs:
    """Checks a document."""

    major: int | None
    level: Level
    posted: bytes | None = None

    def __call__(self, document: Document) -> Done:
        found = self._findings(document)
        shown = [finding for finding in found if finding.level.rank <= self.level.rank]
        # of many documents what breaks no rule is printed once a kind
        single = [finding for finding in shown if document.alone or finding.level is Level.MUST]
        notes = [_note(finding) for finding in shown if finding not in single]
        report = [finding.as_json() for finding in shown]
        return Done(
            outcome=_outcome(found),
            code=int(_outcome(found) == _WRONG),
            lines=tuple(_lines(document, found, single)),
            notes=(*notes, *_hidden(found, shown)),
            facts={"findings": report},
            report=report,
        )

    def _findings(self, document: Document) -> list[Finding]:
        name, data = document.name, document.data
        if Path(name).suffix in (".yaml", ".yml"):
            return check_scenario(Path(name))
        if Path(name).suffix in (".jsonl", ".ndjson") and data.startswith(b"["):  # the lines of a conversation
            return check_json(data, name)
        posted = self.posted if self.posted is not None else input_beside(Path(name), data)
        return check_data(data, name, major=self.major, posted=posted)


def _note(finding: Finding) -> Note:
    return Note(line=f"{finding.line()}; {finding.kind.remedy}", why=finding.code)


def _hidden(found: list[Finding], shown: list[Finding]) -> Iterator[Note]:
    for finding in found:
        if finding not in shown:
            yield Note(line=f"{finding.level.name} {finding.code} is not printed (--level)", why=finding.code)


def _lines(document: Document, found: list[Finding], shown: list[Finding]) -> Iterator[str]:
    for finding in shown:
        yield finding.line()
        yield f"  {finding.kind.remedy}"
    if document.alone and _outcome(found) != _WRONG:
        yield f"{counted(1, 'file')} checked, {_verdict([_outcome(found)])}"


def _outcome(found: list[Finding]) -> str:
    levels = {finding.level for finding in found}
    return _WRONG if Level.MUST in levels else _DOUBTFUL if Level.SHOULD in levels else "valid"


def _verdict(outcomes: Collection[str]) -> str:
    return "nothing at MUST" if _DOUBTFUL in outcomes else "nothing wrong"


def check(
    files: Annotated[
        list[str],
        Argument(
            help="Threads (.json), scenarios (.yaml), streams (.sse), events or threads (.jsonl), folders of them;"
            " - is standard input."
        ),
    ],
    json: Annotated[bool, Option("--json", help="Print JSON, of several documents a line each.")] = False,
    major: Annotated[int | None, Option(min=5, max=7, help="Check streams for this major of the AI SDK.")] = None,
    input: Annotated[  # noqa: A002  # the name of the option
        str | None, Option(help="The RunAgentInput that a stream of AG-UI answers; else NAME.input.json beside it.")
    ] = None,
    level: Annotated[Level, Option(help="The weakest findings that are printed.")] = Level.MAY,
    output: Annotated[str, Option("-o", "--output", help="FILE.jsonl or a folder, instead of printing.")] = "-",
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Check threads, scenarios and streams without playing them.

    Threads are checked against schema and rules, scenarios against their language, streams against the order of chunks.
    A stream of AG-UI is known by its content, and held to the rules of AG-UI 1.0 (`tpharness docs AG_UI`).
    """
    check_stdin_once([*files, *([input] if input else [])])
    if input is not None and (len(files) > 1 or Path(files[0]).is_dir()):
        raise UsageError("--input is the input of one stream", hint="check the streams one after the other")
    posted = read_bytes(input) if input is not None else None
    options = BatchOptions(
        output=output, as_json=json, jobs=jobs, resume=resume, force=force, verdict=_verdict, endings=_ENDINGS
    )
    each_document(files, CheckAs(major, level, posted), options)
