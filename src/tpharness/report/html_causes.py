"""What failed, by its cause, as cards: what is wrong, got beside expected, the one change, and what to do next.

In: groups of failures, the run that they are of, and how a page names the places of cases. Out: HTML that needs no
script; with scripts its buttons copy a command, or the text of an issue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from urllib.parse import quote

from tpharness.checks.expectations import ABSENT
from tpharness.findings import Finding, load_kinds
from tpharness.picture import text_html
from tpharness.printable import counted
from tpharness.report.failures import case_command, failure_lines, first_to_read
from tpharness.report.html_find import seconds_words
from tpharness.report.html_tables import folded_html
from tpharness.report.summary import Report
from tpharness.verdict import Outcome
from tpharness.verdict.grouping import Group

__all__ = ["cause_cards", "counts_bar"]

_MOST_SHOWN = 2000
_MOST_CARDS = 30
_MOST_OPEN = 3
"""So few causes are all open; of more the first, and the others say their change in the line that opens them."""
_MOST_UNFOLDED = 5
_MOST_CLAUSES = 3
_OF_THE_STREAM = "stream does not say what its thread does"
_DEPARTS = ("identity-differs", "thread-departs")


def counts_bar(report: Report) -> str:
    """Return the outcomes of the cases in one line, with a bar of them."""
    counts = report.counts
    green = {"passed": "good", "expected": "known"}
    kinds = [(n, green.get(o.value, "left" if o.green else "wrong")) for o, n in counts.items()]
    words = ", ".join(outcome.counted(cases) for outcome, cases in counts.items())
    total = sum(counts.values())
    took = f", in {seconds_words(report.finished.seconds)}" if report.finished is not None else ""
    text = f"{counted(total, 'case')}: {words}{took}" if total else "nothing was played"
    pieces, start = "", 0
    for count, kind in kinds:
        pieces += f'<rect class="bar-{kind}" x="{start}" y="0" width="{count}" height="1"/>'
        start += count
    box = f'class="bar" role="img" aria-label="{text_html(text)}" viewBox="0 0 {total} 1" preserveAspectRatio="none"'
    return f"<p>{text_html(text)}</p>" + (f"<svg {box}>{pieces}</svg>" if total else "")


def cause_cards(groups: Sequence[Group], report: Report, anchor: Callable[[str], str], shown: Collection[str]) -> str:
    """Return a card for each cause, that of the most cases first. `shown` are the scenarios that have a timeline."""
    failed = sum(group.cases for group in groups)
    cards = [
        _card(number, group, report, failed, anchor, shown, opened=number == 1 or len(groups) <= _MOST_OPEN)
        for number, group in enumerate(groups[:_MOST_CARDS], 1)
    ]
    more = groups[_MOST_CARDS:]
    return folded_html(cards, _MOST_UNFOLDED, "cause") + (
        f"<p>and {counted(len(more), 'more cause')}: their cases are below</p>" if more else ""
    )


def _card(
    number: int,
    group: Group,
    report: Report,
    failed: int,
    anchor: Callable[[str], str],
    shown: Collection[str],
    *,
    opened: bool,
) -> str:
    cause, smallest = group.cause, group.smallest
    lead = first_to_read(group)
    cites = [*cause.clauses, *(cause.rulings if lead is None else lead.rulings)]
    if not cause.clauses and smallest.clauses:
        further = len(smallest.clauses) - _MOST_CLAUSES
        named = ", ".join(smallest.clauses[:_MOST_CLAUSES]) + (f" and {further} more" if further > 0 else "")
        cites.append(f"the case is about {named}")
    where = f" at {cause.where}" if cause.where else ""
    about = [
        f"{group.cases} of {counted(failed, 'failed case')}",
        f"{' + '.join(cause.codes)}{where}",
        ", ".join(cites),
    ]
    about.append("" if lead is None or lead.place.pointer is None else f"at {lead.place.pointer}")
    about.append("" if lead is None or not lead.versions else f"in {', '.join(lead.versions)}")
    known = [load_kinds()[code].remedy for code in cause.codes if code in load_kinds()]
    users = [load_kinds()[code].for_user for code in cause.codes if code in load_kinds()]
    meant = "; ".join(dict.fromkeys(filter(None, users)))
    change = lead.remedy if lead is not None else "; ".join(dict.fromkeys(known))
    if not change and smallest.outcome is Outcome.ERRORED:
        change = "correct what raised this error: nothing could be judged of these cases"
    count = "" if opened else f' <span class="muted">{counted(group.cases, "case")}</span>'
    said = f'<span class="change"><strong>Change:</strong> {text_html(change)}</span>' if change else ""
    return (
        f'<details class="cause" id="{anchor(f"cause-{number}")}" data-outcome="{smallest.outcome.value}"'
        f"{' open' if opened else ''}>"
        f"<summary><h3>{number}. {text_html(_sentence(group, lead))}</h3>{count}{'' if opened else said}</summary>"
        f'<p class="muted">{text_html(" · ".join(filter(None, about)))}</p>'
        f"{'' if lead is None else _two(lead)}"
        f"{f'<p><strong>For the user:</strong> {text_html(meant)}</p>' if meant else ''}"
        f"{said if opened else ''}"
        f"{_next_steps(group, report, anchor, shown)}</details>"
    )


def _sentence(group: Group, lead: Finding | None) -> str:
    """Return what is wrong, without what differs from case to case."""
    if lead is None:
        said = group.smallest.reason or group.smallest.outcome.value
    elif lead.code in _DEPARTS and lead.symptom and lead.place.side:
        stream = "'s stream" if _OF_THE_STREAM in lead.message else ""
        said = f"{lead.symptom}: the {lead.place.side}{stream} is wrong"
    elif lead.symptom and lead.symptom.startswith("at /"):
        field = next((step for step in reversed(lead.symptom.split("/")) if step != "*"), "thread")
        item = "an item of " if lead.symptom.endswith("/*") else ""
        differs = f"lacks {item}" if lead.got == ABSENT else "does not have the expected value of "
        said = f"the thread {differs}{'' if lead.got == ABSENT else item}{field}"
    else:
        said = lead.symptom or lead.kind.title
    return said[:1].upper() + said[1:] if said.partition(" ")[0].isalpha() else said  # and not a name of a program


def _two(finding: Finding) -> str:
    """Return got and expected side by side, with what differs marked; what was found, if neither is given."""
    given = finding.shown(_MOST_SHOWN)
    if not given and finding.message == finding.kind.title:
        return ""  # the card is called so
    if not given:
        return f'<div class="two"><div><strong>Found</strong><pre>{text_html(finding.message)}</pre></div></div>'
    got, expected = given.get("got"), given.get("expected")
    start, end = _common(got or "", expected or "")
    columns = (("Got", got, "del"), ("Expected", expected, "ins"))
    return '<div class="two">' + "".join(_column(*column, start, end) for column in columns) + "</div>"


def _column(title: str, text: str | None, mark: str, start: int, end: int) -> str:
    if not text:
        words = "nothing" if text is None else "an empty text"
        return f'<div><strong>{title}</strong><pre><span class="muted">{words}</span></pre></div>'
    middle = text[start : len(text) - end]
    inner = f"<{mark}>{text_html(middle)}</{mark}>" if middle else ""
    return (
        f"<div><strong>{title}</strong>"
        f"<pre>{text_html(text[:start])}{inner}{text_html(text[len(text) - end :])}</pre></div>"
    )


def _common(one: str, other: str) -> tuple[int, int]:
    """Return how many characters two texts begin and, behind that, end with alike."""
    most = min(len(one), len(other))
    start = next((n for n in range(most) if one[n] != other[n]), most)
    end = next((n for n in range(most - start) if one[-1 - n] != other[-1 - n]), most - start)
    return start, end


def _next_steps(group: Group, report: Report, anchor: Callable[[str], str], shown: Collection[str]) -> str:
    smallest, started = group.smallest, report.started
    steps = []
    if smallest.id.partition("@")[0] in shown:
        address = quote(smallest.id, safe="/@:", errors="backslashreplace")
        steps.append(f'<a class="scripts-only" href="#view/{address}">See it on the timeline</a>')
    more = group.cases - smallest.cases
    cases = f"The case, and {more} more" if more else "The case"
    steps.append(f'<a href="#{anchor(smallest.id)}">{text_html(cases)}</a>')
    roots = () if started is None else started.roots or ()
    words = () if started is None else started.target_words
    history = "" if started is None else started.history
    lines = [line for _, line in failure_lines(smallest, roots=roots, played_on=words, history=history)]
    command = ""
    if started is not None and started.roots is not None:
        command = case_command(smallest, roots=roots, played_on=words, history=history)
        steps.append(_copying("Copy the command", command))
    steps.append(_copying("Copy as an issue", _issue(group, lines)))
    shown_command = f"<p><code>{text_html(command)}</code></p>" if command else ""
    return f'<p class="steps-next">{" ".join(steps)}</p>{shown_command}'


def _copying(title: str, text: str) -> str:
    lines = "&#10;".join(map(text_html, text.splitlines()))  # what is not printable is an escape, but line ends
    return f'<button type="button" class="scripts-only" data-copy="{lines}">{title}</button>'


def _issue(group: Group, lines: Sequence[str]) -> str:
    """Return a cause as the text of an issue."""
    head = f"### {group.cause}: {group.smallest.id}"
    return "\n".join((head, "", f"{counted(group.cases, 'case')} of ThreadProtocol's suite.", "", "```", *lines, "```"))
