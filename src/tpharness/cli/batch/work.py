"""One document and the result of a command on it, as they go to a worker process and back.

What goes there for each document is a named tuple, which is pickled in a third of the time that a dataclass takes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tpharness.document_files import is_log, parse_log
from tpharness.errors import InputError
from tpharness.protocol.losses import Loss
from tpharness.protocol.parse import Parsed, parse_json, unreadable
from tpharness.protocol.reading import fill_agents
from tpharness.protocol.shape import find_shape_problem

__all__ = [
    "JSON_FILES",
    "BatchDocument",
    "BatchNote",
    "BatchOptions",
    "DocumentDone",
    "Work",
    "document_json",
    "document_thread",
    "parse_document",
    "read_thread",
    "require_shape",
]

JSON_FILES = (".json", ".jsonl", ".ndjson")
"""The endings of the files that are taken from a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDocument:
    """The bytes of one document; errors call it `name`, and its result in a folder has the path `place`.

    It is `alone` if the command was given no other.
    """

    name: str
    data: bytes
    place: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """The options that every command on documents has."""

    output: str = "-"
    as_json: bool = False
    jobs: int = 1
    resume: bool = False
    force: bool = False
    makes: bool = False
    """Whether the command makes documents; otherwise the results are what it says about them."""
    verdict: Callable[[Collection[str]], str] | None = None
    """For a command that judges: what is said of the outcomes where the code is 0. The total is part of its output."""
    endings: tuple[str, ...] = JSON_FILES
    rejected: str = ""
    """A folder for the documents of which nothing is made, as they are, each with what is wrong with it."""
    one_only: tuple[str, str] | None = None
    """What is wrong with the options where there are several documents, and what to write instead."""
    named: str = ""
    """The outcome whose documents are named before the total, because nothing else names each of them."""


class BatchNote(NamedTuple):
    """Something that a person should know beside the result, such as what was left out.

    Of several that say the same thing the first is printed, with the number of the others: the same by `what` and `why`
    in one document, by `why` in a batch.
    """

    line: str
    what: str = ""
    why: str = ""

    @classmethod
    def of_loss(cls, loss: Loss, begin: str = "left out", *, of: str = "") -> BatchNote:
        """Return the note about something that the result does not have."""
        return cls(line=f"{begin} {loss.pointer}{of}: {loss.what}; {loss.why}", what=loss.what, why=loss.why)


class DocumentDone(NamedTuple):
    """What a command has done with one document.

    `outcome` is the word that the total counts. `value` is the JSON value that was made, or `raw` its bytes where they
    matter. `lines` are for people, on standard output, where no result is printed; `facts` are what `--json` says
    beside them, `report` is all that it says of a document that is alone.
    """

    outcome: str
    code: int = 0
    value: Any = None
    raw: bytes | None = None
    lines: tuple[str, ...] = ()
    notes: tuple[BatchNote, ...] = ()
    facts: Mapping[str, Any] = {}  # nobody changes it
    report: Any = None


Work = Callable[[BatchDocument], DocumentDone]
"""What is done with each document: a dataclass of the options that decide its result (`command`). It is pickled."""


def document_json(document: BatchDocument) -> tuple[Any, list[BatchNote]]:
    """Return the JSON value of a document, and what was odd about its text. InputError if there is none."""
    parsed = parse_document(document)
    return parsed.value, [BatchNote(line=finding.line()) for finding in parsed.findings]


def parse_document(document: BatchDocument) -> Parsed:
    """Return the JSON value of a document, with what readers could disagree about. InputError if there is none."""
    name, data = document.name, document.data
    if data.startswith((b"data:", b"event:", b":")):
        hint = f"`tpharness fold {shlex.quote(name)}` makes a thread of a stream"
        raise InputError(f"{name} is a stream, not JSON", hint=hint)
    if is_log(data):
        return parse_log(data, file=name)[0]
    parsed = parse_json(data, file=name)
    if not parsed.ok:
        raise unreadable(parsed)
    return parsed


def document_thread(document: BatchDocument) -> tuple[dict[str, Any], list[BatchNote]]:
    """Return the thread in a document, with what a reader fills in (R3), and notes about it.

    InputError if there is no JSON value, or one that does not have a thread's shape.
    """
    thread, notes = read_thread(document)
    require_shape(thread, document)
    return thread, notes


def read_thread(document: BatchDocument) -> tuple[Any, list[BatchNote]]:
    """Do what `document_thread` does for a document of any shape."""
    value, notes = document_json(document)
    thread, filled = fill_agents(value)
    for finding in filled:
        line = finding.with_place(file=document.name).line()
        notes.append(
            BatchNote(line=line, what=line, why=finding.code)
        )  # each place of one document, once a kind in a batch
    return thread, notes


def require_shape(thread: Any, document: BatchDocument) -> None:
    """InputError for a value that does not have a thread's shape. One that fits the schema of threads has it."""
    problem = find_shape_problem(thread)
    if problem is not None:
        raise InputError(f"{document.name} is not a thread: {problem}", hint="`tpharness check` reports every problem")
