"""`tpharness import`: other programs' messages → threads."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.levels import split_by_level
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, parse_document
from tpharness.cli.options import Argument, Option
from tpharness.document_files import parse_log
from tpharness.errors import ThreadError, TpharnessError, UsageError, did_you_mean
from tpharness.findings import Finding, Level
from tpharness.histories.conversations import READERS
from tpharness.histories.exchange.ai_sdk_4 import are_version_4
from tpharness.histories.stored.formats import check_messages, check_stored, format_of, messages_of, why_not_imported
from tpharness.histories.thread_log.read import id_of_log
from tpharness.protocol.parse import unreadable
from tpharness.scenario.fields import normalize_time

__all__ = ["import_"]

_THOUGH_WRONG = "imported though wrong"
_LOG = "thread-log"
_THREAD = "thread"
_ALREADY = "a thread already"
_BEGINNING = 10
"""Messages among which the first one of the user is looked for."""


@dataclass(frozen=True, slots=True)
class ImportFrom:
    """Makes a thread of a document."""

    source: str | None
    agent: str
    thread_id: str | None
    at: str
    strict: bool
    level: Level = field(default=Level.MAY, repr=False)  # decides what is printed, and no result
    folder: str = ""
    """The name of the folder that was given, if there was only one: two folders have equal names of files."""

    def __call__(self, document: BatchDocument) -> DocumentDone:
        parsed = parse_document(document) if self.source != _LOG else parse_log(document.data, file=document.name)[0]
        value, messages = parsed.value, messages_of(parsed.value)
        if not parsed.ok:
            raise unreadable(parsed)
        source = self.source or format_of(value)
        if source == _THREAD:
            return _as_it_is(value, document, findings=parsed.findings)
        if source is None or source not in READERS:
            return _not_recognised(document, source)
        named = self._thread_id(document, value if source != _LOG else messages, messages)
        judged = [*parsed.findings, *check_messages(messages, source)]
        found = [finding for finding in judged if finding.level is Level.MUST]
        shown, hidden = split_by_level([one for one in judged if one.level is not Level.MUST], self.level)
        try:
            options: Any = {"agent_id": self.agent, "thread_id": named, "at": self.at, "safe": not parsed.findings}
            imported = READERS[source](messages, **options)
        except TpharnessError as error:  # what `check` finds is said, also where it is not why there is no thread
            error.findings = tuple(found or why_not_imported(error))
            if isinstance(error, ThreadError):
                error.hint = "correct the messages at these places; `tpharness repair` says what it can mend"
            raise
        losses = [BatchNote.of_loss(loss) for loss in imported.losses]
        if source == "ai-sdk" and are_version_4(messages, certain=False):
            losses.insert(
                0, BatchNote(line="messages of the AI SDK 4, read as the AI SDK 5 stores them", why="version 4")
            )
        said = (*map(_note, (*found, *shown)), *hidden, *losses)
        facts: dict[str, Any] = {
            "thread_id": named,
            "left_out": [loss.as_json() for loss in imported.losses],
            "findings": [one.as_json() for one in (*found, *shown)],
        }
        if self.strict and (imported.losses or found or parsed.incomplete):
            takes = "takes no messages that break rules (`tpharness repair`)"
            why = takes if found else "allows nothing to be left out"
            refusal = BatchNote(line=f"{document.name}: not imported, since --strict {why}")
            return DocumentDone(outcome="incomplete", code=1, notes=(*said, refusal), facts=facts)
        outcome = _THOUGH_WRONG if found else "imported"
        return DocumentDone(outcome=outcome, value=imported.thread, notes=said, facts=facts)

    def _thread_id(self, document: BatchDocument, value: Any, messages: Any) -> str:
        """Return the id that is given, that of a row or a log, or one of the document's path and its first messages."""
        place = document.place.removesuffix(".json")
        if self.thread_id is not None:
            return self.thread_id.replace("{name}", Path(document.name).name if document.alone else place)
        row = value.get("id") if isinstance(value, Mapping) else id_of_log(value)
        if isinstance(row, str | int) and row != "":
            return str(row)
        return f"import:{Path(self.folder, place)}-{_digest_of_beginning(messages)}"


def _as_it_is(value: Any, document: BatchDocument, *, findings: Sequence[Finding]) -> DocumentDone:
    """Pass a thread on, so that a store in which some are threads already is whole. ThreadError for an invalid one."""
    wrong = [one for one in (*findings, *check_stored(value, _THREAD)) if one.level is Level.MUST]
    if wrong:
        error = ThreadError(f"{document.name} is a thread already, and not a valid one", findings=tuple(wrong))
        error.hint = f"`tpharness repair {shlex.quote(document.name)}` says what it can mend"
        raise error
    line = f"{document.name}: {_ALREADY}, passed on as it is"
    return DocumentDone(outcome=_ALREADY, value=value, notes=(BatchNote(line=line, what=line, why=_ALREADY),))


def _not_recognised(document: BatchDocument, found: str | None) -> DocumentDone:
    """Say of one among several what it is; UsageError for one alone."""
    known = "|".join(READERS)
    if found is None:
        wrong = f"{document.name} could be in several formats, or in none that is known"
        error = UsageError(wrong, hint=f"name it: --from {known}")
    else:
        hint = f"it takes {', '.join(READERS)}; name one with --from {known} if this is one"
        error = UsageError(f"{document.name} looks like {found}, and import has no reader for it", hint=hint)
    if document.alone:
        raise error
    return DocumentDone(
        outcome="not recognised", code=2, notes=(BatchNote(line=error.line),), facts={"error": error.line}
    )


def _note(finding: Finding) -> BatchNote:
    return BatchNote(line=f"{finding.line()}; {finding.remedy}", why=finding.code)


def _digest_of_beginning(messages: Any) -> str:
    """Return what tells conversations apart whose files have one name; it stays when a conversation goes on.

    It is made of the messages up to the user's first.
    """
    if isinstance(messages, list):
        asked = (n for n, one in enumerate(messages[:_BEGINNING], 1) if isinstance(one, Mapping) and _is_of_user(one))
        messages = messages[: next(asked, 1)]
    return hashlib.blake2b(json.dumps(messages, sort_keys=True).encode(), digest_size=4).hexdigest()


def _is_of_user(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" or message.get("kind") == "request"


def import_(
    files: Annotated[list[str], Argument(help="Messages as JSON: files, folders, JSON Lines; - is standard input.")],
    source: Annotated[str | None, Option("--from", help=f"{', '.join(READERS)}; else it is recognised.")] = None,
    agent: Annotated[str, Option(help="The agent that answered.")] = "assistant",
    thread_id: Annotated[
        str | None,
        Option(help="The id of the thread, {name} for the document's; else that of a row or log, or one that is made."),
    ] = None,
    at: Annotated[str, Option(help="The time of messages that have none.")] = "1970-01-01T00:00:00Z",
    strict: Annotated[bool, Option("--strict", help="Fail where something is wrong or would be left out.")] = False,
    level: Annotated[Level, Option(help="The weakest findings that are printed.")] = Level.MAY,
    output: Annotated[str, Option("-o", "--output", help="A file; for several, a folder or FILE.jsonl.")] = "-",
    rejected: Annotated[
        str, Option("--rejected", help="A folder for the documents of which nothing is made, untouched, and why.")
    ] = "",
    json: Annotated[bool, Option("--json", help="Print a report for each document, a line each.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Make a thread of another program's messages.

    What the thread does not have is reported on standard error, each kind once.
    """
    if source == _THREAD:
        hint = "leave out --from: then each document is recognised, and threads are passed on as they are"
        raise UsageError("--from: a thread needs no import", hint=hint)
    if source is not None and source not in READERS:
        hint = did_you_mean(source, READERS, f"one of {', '.join(READERS)}")
        raise UsageError(f"--from: nothing is called {source!r}", hint=hint)
    if not agent or thread_id == "":
        raise UsageError("--agent and --thread-id take ids, which are not empty")
    time = normalize_time(at)
    if time is None:
        raise UsageError(f"--at: {at!r} is not a time", hint="write it as 2025-01-20T10:00:15Z, with Z or an offset")
    folder = Path(files[0]).resolve().name if len(files) == 1 and Path(files[0]).is_dir() else ""
    work = ImportFrom(source, agent, thread_id, time, strict, level, folder)
    one_id = thread_id is not None and "{name}" not in thread_id
    options = BatchOptions(
        output=output,
        as_json=json,
        jobs=jobs,
        resume=resume,
        force=force,
        makes=True,
        rejected=rejected,
        named=_THOUGH_WRONG,
        one_only=(
            f"--thread-id {thread_id} would be the id of several threads",
            f"write {{name}} where the name of the document goes: --thread-id '{thread_id}-{{name}}'",
        )
        if one_id
        else None,
    )
    each_document(files, work, options)
