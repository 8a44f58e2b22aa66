"""`tpharness hash`: the canonical hashes of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, document_thread
from tpharness.cli.options import Argument, Option
from tpharness.protocol.canonical import canonical_thread, thread_hash
from tpharness.protocol.jcs import CanonicalError, jcs
from tpharness.protocol.migrate import version_of

__all__ = ["hash_"]


@dataclass(frozen=True, slots=True)
class HashOf:
    """Hashes a document."""

    canonical: bool

    def __call__(self, document: BatchDocument) -> DocumentDone:
        thread, notes = document_thread(document)
        version_of(thread)
        try:
            if self.canonical:
                return DocumentDone(outcome="canonical", raw=jcs(canonical_thread(thread)), notes=tuple(notes))
            digest = thread_hash(thread, safe=not notes)  # nothing was odd about what was read
        except CanonicalError as error:
            said = (f"{document.name} has no canonical form: {error}", f"  {error.hint}")
            return DocumentDone(
                outcome="without a hash",
                code=1,
                notes=(*notes, *(BatchNote(line=line) for line in said)),
                facts={"error": said[0]},
            )
        line = digest if document.alone else f"{digest}  {document.name}"
        return DocumentDone(outcome="hashed", lines=(line,), notes=tuple(notes), facts={"hash": digest})


def hash_(
    files: Annotated[list[str], Argument(help="Threads: files, folders, JSON Lines; - is standard input.")],
    canonical: Annotated[bool, Option("--canonical", help="Print the canonical bytes instead.")] = False,
    output: Annotated[str, Option("-o", "--output", help="FILE.jsonl or a folder, instead of printing.")] = "-",
    json: Annotated[bool, Option("--json", help="Print JSON, a line for each document.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Print the canonical hash of a thread.

    It is the sha256 over RFC 8785 of version and turns (R37). Of several documents each line has the hash and the name.
    """
    options = BatchOptions(output=output, as_json=json, jobs=jobs, resume=resume, force=force, makes=canonical)
    each_document(files, HashOf(canonical), options)
