"""`tpharness check`: threads, scenarios and recorded streams, without playing anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tpharness.checking import check_data, check_json, check_scenario, input_beside, is_input
from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.levels import split_by_level
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone
from tpharness.cli.files import check_stdin_once, read_bytes
from tpharness.cli.options import Argument, Option
from tpharness.document_files import sort_of
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level

__all__ = ["check"]

_WRONG, _DOUBTFUL = "wrong", "doubtful"
_ENDINGS = (".json", ".jsonl", ".ndjson", ".sse", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class CheckAs:
    """Checks a document."""

    source: str | None
    major: int | None
    level: Level
    posted: bytes | None = None

    def __call__(self, document: BatchDocument) -> DocumentDone:
        format_, found = self._findings(document)
        shown, hidden = split_by_level(found, self.level)
        # of many documents what breaks no rule is printed once a kind
        single = [finding for finding in shown if document.alone or finding.level is Level.MUST]
        notes = [_note(finding) for finding in shown if finding not in single]
        report = [finding.as_json() for finding in shown]
        return DocumentDone(
            outcome=_outcome(found),
            code=int(_outcome(found) == _WRONG),
            lines=tuple(_lines(document, format_, found, single)),
            notes=(*notes, *hidden),
            facts={"format": format_, "findings": report} if format_ else {"findings": report},
            report=report,
        )

    def _findings(self, document: BatchDocument) -> tuple[str, list[Finding]]:
        """Return the format of a document, "" where its name says it, and what is wrong with it."""
        name, data = document.name, document.data
        if name.endswith((".yaml", ".yml")):
            return "", check_scenario(Path(name))
        are_messages = name.endswith((".jsonl", ".ndjson")) and data.startswith(b"[")
        if self.source is None and not are_messages and (sort_of(name, data) != "json" or is_input(name)):
            posted = self.posted if self.posted is not None else input_beside(Path(name), data)
            return "", check_data(data, name, major=self.major, posted=posted)
        return check_json(data, name, self.source)


def _note(finding: Finding) -> BatchNote:
    # Of one document every place is printed; of a batch the first of a kind stands for the others.
    return BatchNote(line=f"{finding.line()}; {finding.remedy}", what=finding.line(), why=finding.code)


def _lines(document: BatchDocument, format_: str, found: list[Finding], shown: list[Finding]) -> Iterator[str]:
    for finding in shown:
        yield finding.line()
        yield f"  {finding.remedy}"
    if document.alone and _outcome(found) != _WRONG:
        named = "" if format_ in ("", "thread") else f" as {format_}"
        yield f"1 file checked{named}, {_verdict([_outcome(found)])}"


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
    source: Annotated[
        str | None,
        Option(
            "--from", help="thread, ai-sdk, pydantic-ai or a model's API, such as openai-chat; else it is recognised."
        ),
    ] = None,
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

    Threads are checked against schema and rules, scenarios against their language, streams against the order of chunks,
    messages of other programs against their format, and for calls and answers that do not belong together. A stream of
    AG-UI is known by its content, and held to the rules of AG-UI 1.0 (`tpharness docs AG_UI`).
    """
    check_stdin_once([*files, *([input] if input else [])])
    if input is not None and (len(files) > 1 or Path(files[0]).is_dir()):
        raise UsageError("--input is the input of one stream", hint="check the streams one after the other")
    posted = read_bytes(input) if input is not None else None
    options = BatchOptions(
        output=output,
        as_json=json,
        jobs=jobs,
        resume=resume,
        force=force,
        verdict=_verdict,
        endings=_ENDINGS,
        named=_DOUBTFUL,
    )
    each_document(files, CheckAs(source, major, level, posted), options)
