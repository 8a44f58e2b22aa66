"""`tpharness repair`: stored conversations without what is wrong with them, as far as that can be done mechanically."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.levels import split_by_level
from tpharness.cli.batch.not_judged import not_judged
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, parse_document
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level, quote
from tpharness.histories.stored.formats import STORED_FORMATS, Repaired, format_of, repair_stored, require_format
from tpharness.histories.stored.problems import DROPPED_KINDS
from tpharness.histories.stored.sequence import Change
from tpharness.model_apis.check import is_refused
from tpharness.model_apis.request import read_request

__all__ = ["RepairBy", "repair", "repair_each"]

_REPAIRED, _LEFT = "repaired", "not repaired"
_DOUBTFUL, _UNCERTAIN = "doubtful", "uncertain"
"""What `check` calls a document in which something may be wrong, and `accept` one that only some servers refuse."""
_SHOWN = 80
"""So much of a text is printed that somebody knows which one it was; --json has all of it."""
_DROPPED = {kind.code for kind in DROPPED_KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBy:
    """What documents are repaired by.

    The document is a request to a model's API, whatever else it might be, if it is `of_request`. Then what somebody
    might refuse is not good enough.
    """

    source: str | None = None
    model: str | None = None
    server: str | None = None
    drop_results: bool = False
    of_request: bool = False

    def format_of(self, value: Any, name: str) -> str:
        """Return the format of a document. UsageError where it is not plain."""
        if self.of_request:
            read = read_request(value, provider=self.source, model=self.model, server=self.server)
            return require_format(read.provider)
        if self.source is not None:
            return require_format(self.source)
        if (plain := format_of(value)) is not None:
            return plain
        raise UsageError(
            f"{name} could be in several formats, or in none that is known",
            hint=f"name it: --from {'|'.join(STORED_FORMATS)}",
        )


@dataclass(frozen=True, slots=True)
class RepairIn:
    """Repairs a document."""

    by: RepairBy
    writes: bool
    prints: bool
    level: Level = field(default=Level.MAY, repr=False)  # decides what is printed, and no result

    def __call__(self, document: BatchDocument) -> DocumentDone:
        parsed = parse_document(document)
        try:
            found = self.by.format_of(parsed.value, document.name)
        except UsageError as error:
            if document.alone:
                raise
            return not_judged(error)
        if parsed.incomplete:  # what is not in the value, such as the first of two equal keys, would be lost
            repaired = Repaired(value=parsed.value, left=parsed.incomplete)
        else:
            by = self.by
            repaired = repair_stored(
                parsed.value,
                found,
                model=by.model,
                server=by.server,
                certain=by.of_request,
                drop_results=by.drop_results,
            )
        odd = [finding for finding in parsed.findings if finding not in parsed.incomplete]
        shown, notes = split_by_level(odd, self.level)
        notes += [BatchNote(line=finding.line(), what=finding.line(), why=finding.code) for finding in shown]
        named = "" if document.alone else f"{document.name}: "
        lines = [f"{named}{_words(change)}" for change in repaired.changes]
        outcome = _LEFT if parsed.incomplete else self._outcome(repaired, found)
        if outcome == _LEFT or self.by.of_request:
            word = _LEFT if outcome == _LEFT else _UNCERTAIN
            lines += [f"{named}{word}: {_left(finding, repaired.refused)}" for finding in repaired.left]
        else:  # as `check` does: each place of one document, of several the first of a kind
            doubtful = [one for one in (*repaired.left, *repaired.doubtful) if one.level is Level.SHOULD]
            shown, hidden = split_by_level(doubtful, self.level)
            said = [(finding.code, f"{named}doubtful: {_left(finding, ())}") for finding in shown]
            notes += [BatchNote(line=line, what=line, why=code) for code, line in said] + hidden
        if document.alone:
            lines.append(f"{document.name}: {found}, {outcome}")
        code = int(outcome not in ("valid", _DOUBTFUL) and not (self.writes and outcome == _REPAIRED))
        facts = {
            "format": found,
            "changes": [_as_json(change) for change in repaired.changes],
            "left": [finding.as_json() for finding in repaired.left],
            "refused": [_as_json(change) for change in repaired.refused],
        }
        result = None if outcome == _LEFT or not self.writes else repaired.value
        if self.prints:
            notes += [BatchNote(line=line) for line in lines]
            lines = []
        return DocumentDone(
            outcome=outcome, code=code, value=result, lines=tuple(lines), notes=tuple(notes), facts=facts
        )

    def _outcome(self, repaired: Repaired, name: str) -> str:
        if any(self._is_refused(finding, name) for finding in repaired.left):
            return _LEFT
        changed = "" if not repaired.changes else _REPAIRED if self.writes else "to be repaired"
        uncertain = _UNCERTAIN if self.by.of_request and repaired.left else ""
        return ", ".join(filter(None, (changed, uncertain))) or (_DOUBTFUL if repaired.doubtful else "valid")

    def _is_refused(self, finding: Finding, name: str) -> bool:
        if self.by.of_request:
            return is_refused(finding, name, self.by.server)
        return finding.level is Level.MUST


def _words(change: Change) -> str:
    decided = f" [{change.ruling}]" if change.ruling else ""
    said = f"; it said {quote(_beginning(change.said))}" if change.said else ""
    return f"{change.pointer or '(root)'}: {change.kind.title}{_named(change)}: {change.done}{said}{decided}"


def _beginning(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _named(change: Change) -> str:
    """Return the call that a change is about, and what its tool has returned."""
    if not change.call_id:
        return ""
    returned = f", returned {quote(change.content)}" if change.content is not None else ""
    return f" (call {change.call_id}{f' of {change.tool}' if change.tool else ''}{returned})"


def _left(finding: Finding, refused: tuple[Change, ...]) -> str:
    about = next((c for c in refused if c.pointer == finding.place.pointer and c.kind.code == finding.code), None)
    drop = about is not None and about.kind.code in _DROPPED
    hint = "; --drop-results leaves it out" if drop else ""
    return f"{finding.line()}{_named(about) if about is not None else ''}; {finding.remedy}{hint}"


def _as_json(change: Change) -> dict[str, Any]:
    return {
        "code": change.kind.code,
        "pointer": change.pointer,
        "wrong": change.kind.title,
        "done": change.done,
        "ruling": change.ruling,
        "call_id": change.call_id,
        "tool": change.tool,
        "content": change.content,
        "said": change.said,
    }


def _verdict(outcomes: Collection[str]) -> str:
    if _DOUBTFUL in outcomes:
        return "nothing at MUST"
    return "all of them are valid now" if _REPAIRED in outcomes else "nothing to repair"


def repair(
    files: Annotated[
        list[str], Argument(help="Conversations as JSON: files, folders, JSON Lines; - is standard input.")
    ],
    source: Annotated[str | None, Option("--from", help=f"{', '.join(STORED_FORMATS)}; else it is recognised.")] = None,
    model: Annotated[str | None, Option(help="The model, for a request that does not name it.")] = None,
    drop_results: Annotated[
        bool, Option("--drop-results", help="Leave out what tools returned, where it has no place; it is named.")
    ] = False,
    level: Annotated[Level, Option(help="The weakest of what may be wrong that is printed.")] = Level.MAY,
    output: Annotated[
        str, Option("-o", "--output", help="A file, for several a folder or FILE.jsonl; without it nothing is written.")
    ] = "",
    rejected: Annotated[
        str, Option("--rejected", help="A folder for the documents that are not repaired, untouched, and why.")
    ] = "",
    json: Annotated[bool, Option("--json", help="Print a report for each document, a line each.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Repair stored conversations: what is wrong, and what can be done about it.

    Without -o only what would be changed is printed. What is written is valid; a document that cannot be made so is not
    written, and what is left to do by hand is printed.
    """
    if rejected and not output:
        raise UsageError("--rejected keeps what is not repaired, and without -o nothing is", hint="name an -o")
    options = BatchOptions(output=output or "-", as_json=json, jobs=jobs, resume=resume, force=force, rejected=rejected)
    by = RepairBy(source=source, model=model, drop_results=drop_results)
    repair_each(files, by, options, writes=bool(output), level=level)


def repair_each(files: list[str], by: RepairBy, options: BatchOptions, *, writes: bool, level: Level) -> None:
    """Repair the documents, and exit; also for `tpharness accept --repair`."""
    prints = writes and options.output == "-" and not options.as_json
    work = RepairIn(by, writes, prints, level)
    each_document(files, work, replace(options, makes=writes, verdict=None if prints else _verdict))
