"""`tpharness import`: other programs' messages → threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, document_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError, did_you_mean
from tpharness.histories.conversations import READERS
from tpharness.histories.stored.formats import messages_of
from tpharness.scenario.fields import normalize_time

__all__ = ["import_"]


@dataclass(frozen=True, slots=True)
class ImportFrom:
    """Makes a thread of a document."""

    source: str
    agent: str
    thread_id: str | None
    at: str
    strict: bool

    def __call__(self, document: BatchDocument) -> DocumentDone:
        value, notes = document_json(document)
        name = Path(document.name).name if document.alone else document.place.removesuffix(".json")
        named = self.thread_id or f"import:{name}"
        imported = READERS[self.source](messages_of(value), agent_id=self.agent, thread_id=named, at=self.at)
        losses = [BatchNote.of_loss(loss) for loss in imported.losses]
        facts: dict[str, Any] = {"left_out": [loss.as_json() for loss in imported.losses]}
        if self.strict and losses:
            refusal = BatchNote(line=f"{document.name}: not imported, since --strict allows nothing to be left out")
            return DocumentDone(outcome="incomplete", code=1, notes=(*notes, *losses, refusal), facts=facts)
        return DocumentDone(outcome="imported", value=imported.thread, notes=(*notes, *losses), facts=facts)


def import_(
    files: Annotated[list[str], Argument(help="Messages as JSON: files, folders, JSON Lines; - is standard input.")],
    source: Annotated[str, Option("--from", help=f"{', '.join(READERS)}.")],
    agent: Annotated[str, Option(help="The agent that answered.")] = "assistant",
    thread_id: Annotated[str | None, Option(help="The id of the thread; import:FILE by default.")] = None,
    at: Annotated[str, Option(help="The time of messages that have none.")] = "1970-01-01T00:00:00Z",
    strict: Annotated[bool, Option("--strict", help="Fail where something would be left out.")] = False,
    output: Annotated[str, Option("-o", "--output", help="A file; for several, a folder or FILE.jsonl.")] = "-",
    json: Annotated[bool, Option("--json", help="Print a report for each document, a line each.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Make a thread of another program's messages.

    What the thread does not have is reported on standard error, each kind once.
    """
    if source not in READERS:
        hint = did_you_mean(source, READERS, f"one of {', '.join(READERS)}")
        raise UsageError(f"--from: nothing is called {source!r}", hint=hint)
    if not agent or thread_id == "":
        raise UsageError("--agent and --thread-id take ids, which are not empty")
    time = normalize_time(at)
    if time is None:
        raise UsageError(f"--at: {at!r} is not a time", hint="write it as 2025-01-20T10:00:15Z, with Z or an offset")
    work = ImportFrom(source, agent, thread_id, time, strict)
    options = BatchOptions(output=output, as_json=json, jobs=jobs, resume=resume, force=force, makes=True)
    each_document(files, work, options)
