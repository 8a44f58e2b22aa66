"""`tpharness convert`: convert threads to another version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, read_thread, require_shape
from tpharness.cli.options import Argument, Option
from tpharness.protocol.migrate import convert as migrate
from tpharness.protocol.schema import schema_findings
from tpharness.protocol.versions import Version, parse_version

__all__ = ["convert"]


@dataclass(frozen=True, slots=True)
class ConvertTo:
    """Converts a document."""

    to: Version

    def __call__(self, document: BatchDocument) -> DocumentDone:
        thread, notes = read_thread(document)
        fits = not schema_findings(thread)
        if not fits:
            require_shape(thread, document)
        migration = migrate(thread, self.to, fits=fits, safe=not notes)  # nothing was odd about what was read
        dropped = [BatchNote.of_loss(loss, "dropped") for loss in migration.dropped]
        unsaid = [BatchNote.of_loss(loss, "not understood") for loss in migration.unsaid]
        facts = {
            "dropped": [loss.as_json() for loss in migration.dropped],
            "not_understood": [loss.as_json() for loss in migration.unsaid],
        }
        return DocumentDone(outcome="converted", value=migration.thread, notes=(*notes, *dropped, *unsaid), facts=facts)


def convert(
    files: Annotated[list[str], Argument(help="Threads: files, folders, JSON Lines; - is standard input.")],
    to: Annotated[str, Option("--to", help="2.0.0, 0.0.3 or 0.0.4.")],
    output: Annotated[str, Option("-o", "--output", help="A file; for several, a folder or FILE.jsonl.")] = "-",
    rejected: Annotated[
        str, Option("--rejected", help="A folder for the documents that are not converted, untouched, and why.")
    ] = "",
    json: Annotated[bool, Option("--json", help="Print a report for each document, a line each.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Convert a thread to another version.

    What the version cannot say is reported on standard error (R1). The thread has to keep the rules of its version.
    """
    options = BatchOptions(
        output=output, as_json=json, jobs=jobs, resume=resume, force=force, makes=True, rejected=rejected
    )
    each_document(files, ConvertTo(parse_version(to)), options)
