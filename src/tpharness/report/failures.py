"""A failure as lines for people: what is wrong, where, got and expected, why, what to do; many failures by cause."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tpharness.findings import Finding
from tpharness.printable import counted, make_printable
from tpharness.protocol.versions import newest_version
from tpharness.verdict import Outcome, Result
from tpharness.verdict.causes import by_change, independent_codes
from tpharness.verdict.finding_lines import finding_lines
from tpharness.verdict.grouping import Group

__all__ = [
    "case_command",
    "failure_lines",
    "first_to_read",
    "group_heading",
    "group_line",
    "other_cases_line",
    "wrap_line",
]

_LABEL = re.compile(r" *(?:\S+(?: \S+)? {2,})?")
_COMMAND = re.compile(r": tpharness ")
_MOST_FINDINGS = 6
_MOST_CLAUSES = 5
_MOST_IDS = 3


def failure_lines(
    result: Result,
    *,
    roots: Sequence[Path] = (),
    played_on: Sequence[str] = (),
    history: str = "",
    again: str = "",
    hint: bool = True,
) -> list[tuple[str, str]]:
    """Return what went wrong as lines with a level: what, where, got and expected, why, what to do.

    `roots` are the folders of scenarios that are not built in; `played_on` are the options that name the targets;
    `history` is the history that was played, if one was; `again` is the command that plays the case alone, with `{id}`
    for its id, where that is not `tpharness run`. `hint` adds the command that shows more.
    """
    lines: list[tuple[str, str]] = []
    if result.reason and not (result.findings and result.outcome is Outcome.ERRORED):  # the findings say it better
        of_entry = result.outcome is Outcome.STALE and not result.fails_otherwise
        lines.append(("", f"{result.reason} (the reason of its entry in the baseline)" if of_entry else result.reason))
    findings = _of_both_sides(by_change(result.findings))
    mixed = len({finding.level for finding in findings}) > 1
    for finding in findings[:_MOST_FINDINGS]:
        lines += finding_lines(finding, labelled=mixed)
    if len(findings) > _MOST_FINDINGS:
        more = counted(len(findings) - _MOST_FINDINGS, "more finding")
        lines.append(("", f"… and {more} (--report json:PATH has them all)"))
    lines += _about_lines(result) if hint and not (history or again) else []
    _, fault, name = result.id.partition("@fault-")
    command = case_command(result, roots=roots, played_on=played_on, history=history)
    if not hint:
        pass
    elif again:
        lines.append(("may", f"alone: {again.replace('{id}', shlex.quote(result.id))}"))
    elif fault:
        lines.append(("may", f"what the fault does: tpharness explain {name}; alone: {command}"))
    elif history:
        lines.append(("may", f"alone: {command}"))
    elif result.outcome is not Outcome.ERRORED:
        lines.append(("may", f"see both sides step by step: {command}"))
    return [(level, make_printable(line)) for level, line in lines]


def case_command(result: Result, *, roots: Sequence[Path], played_on: Sequence[str], history: str = "") -> str:
    """Return the command that plays a case alone: `replay`, which shows both sides, where it can play it.

    It plays neither faults nor histories. `roots`, `played_on` and `history` are those of `failure_lines`. It shows the
    newest version; where what comes first is not wrong there, the command names a version in which it is.
    """
    options = [*played_on, *(word for root in roots for word in ("--scenarios", str(root)))]
    if history and "@fault-" not in result.id:
        return shlex.join(["tpharness", "run", result.id, "--dialect", history, *options])
    wrong_in = by_change(result.findings)[0].versions if result.findings else ()
    if wrong_in and newest_version().value not in wrong_in:
        options = ["--dialect", wrong_in[-1], *options]
    return shlex.join(["tpharness", "run" if "@fault-" in result.id else "replay", result.id, *options])


def _of_both_sides(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with one in place of two that say the same of the server's thread and of the client's."""
    found: dict[Finding, Finding] = {}
    for finding in findings:
        key = finding.with_place(side=None)
        other = found.get(key)
        if other is not None and {other.place.side, finding.place.side} == {"server", "client"}:
            found[key] = finding.with_place(side="server and client")
        else:
            found[key if other is None else finding] = finding
    return list(found.values())


def _about_lines(result: Result) -> list[tuple[str, str]]:
    """Return what the scenario is about, if no finding cites a clause: its clauses are then what is broken."""
    if not result.clauses or not result.findings or any(finding.kind.clauses for finding in result.findings):
        return []
    more = len(result.clauses) - _MOST_CLAUSES
    named = ", ".join(result.clauses[:_MOST_CLAUSES]) + (f" and {more} more" if more > 0 else "")
    return [("", f"the scenario is about {named} (tpharness explain {result.clauses[0]})")]


def first_to_read(group: Group) -> Finding | None:
    """Return the finding of a cause's smallest case whose change is to be made first, None if nothing was found."""
    found = by_change(group.smallest.findings)
    return next((finding for finding in found if finding.fails or finding.code in group.cause.codes), None)


def group_heading(group: Group) -> str:
    """Return what stands above the smallest case of a cause: the outcome, the case, and how many others there are."""
    more = group.cases - group.smallest.cases
    return f"{group.smallest.id}{f' and {more} more' if more else ''}"


def other_cases_line(group: Group, *, verbose: str = "-v shows every case, ") -> str:
    """Return the other cases of a cause in one line, "" if there are none.

    `verbose` names the option that shows them, "" for a command without one.
    """
    others = [result.id for result in group.results[1:]]
    if not others:
        return ""
    some = ", ".join(others[:_MOST_IDS]) + (", …" if len(others) > _MOST_IDS else "")
    tangled = sum(result.cases for result in group.results[1:] if len(independent_codes(result.findings)) > 1)
    besides = f"; {tangled} of them fail for other causes, too" if tangled else ""
    return make_printable(f"the same in {some} ({verbose}--report json:PATH has them all){besides}")


def group_line(group: Group) -> str:
    """Return a cause in one line: how many cases, what is wrong, what decides, the smallest case."""
    cites = ", ".join((*group.clauses[:1], *group.cause.rulings[:1]))
    lead = f"{' + '.join(group.cause.codes)}{f' at {group.cause.where}' if group.cause.where else ''}"
    return make_printable(f"{group.cases:>5}  {lead}{f' [{cites}]' if cites else ''}, smallest {group.smallest.id}")


def wrap_line(line: str, width: int) -> list[str]:
    """Return a line as lines of whole words; what does not fit stands below its text, or two columns further in.

    A line that ends in a command to copy stays one line, and so does a word that is longer than the width.
    """
    found = _LABEL.match(line)
    lead = "" if found is None else found[0]
    below = " " * (len(lead) if lead.strip() else len(lead) + 2)
    if len(line) <= width or _COMMAND.search(line) or len(below) > width // 2:
        return [line]
    return textwrap.wrap(
        line[len(lead) :],
        width,
        initial_indent=lead,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
