"""The traced cases of a chat application → sections of HTML that need no script.

In: a case of a trace that `tpharness app` left. Out: for each turn what the user wrote, what the model was sent and
said, the cut, and a table of what became of each thing: what the model said, what the user saw of it, and what the
model is sent of it on the next turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tpharness.findings import shorten
from tpharness.ordinals import nth
from tpharness.picture.page import finding_html, table_html, text_html
from tpharness.picture.traces import finding_of_trace
from tpharness.printable import counted
from tpharness.trace.fates import FATE_WORDS, Fact, Fate, call_words, cut_words, turn_facts
from tpharness.trace.read import Trace, TracedCase, TracedEntry
from tpharness.trace.tool_times import tool_moments

__all__ = ["application_sections", "applications_of_trace"]

Line = Mapping[str, Any]

_MOST_CASES = 300
_MOST_TEXT = 4000
_COLOURS = {"whole": "good", "beginning": "warn", "nothing": "warn", "other": "bad", "new": "warn", "": "muted"}


def applications_of_trace(
    trace: Trace, only: TracedEntry | None = None, *, unfolded: bool = False
) -> dict[str, tuple[TracedCase, str]]:
    """Return the cases of chat applications in a trace, or `only` one, each with its turns as HTML, by their ids.

    `unfolded` has what the model was sent stand there without a click.
    """
    found: dict[str, tuple[TracedCase, str]] = {}
    for one in trace.entries:
        if one.file and only in (None, one) and len(found) < _MOST_CASES:
            case = trace.case(one)
            if case.turns:
                found[one.case] = (
                    case,
                    "".join(
                        [*(part for turn in case.turns for part in _turn(case, turn, unfolded=unfolded)), _times(case)]
                    ),
                )
    return found


def application_sections(title: str, found: Iterable[tuple[TracedCase, str]]) -> list[str]:
    """Return a section of these cases: the verdict of each, what was found, its turns; none if there are no cases."""
    cases = "".join(_case(case, turns, opened=number < 3) for number, (case, turns) in enumerate(found))
    return [f"<section><h2>{text_html(title)}</h2>{cases}</section>"] if cases else []


def _case(case: TracedCase, turns: str, *, opened: bool) -> str:
    about = case.about
    green = not any(finding["level"] == "must" for finding in case.findings) or about["outcome"] == "expected"
    verdict = f'<span class="{"good" if green else "bad"}">{text_html(about["outcome"])}</span>'
    blocks = "".join(finding_html(finding_of_trace(finding)) for finding in case.findings)
    left = "".join(f'<p class="note">Left out: {text_html(cut)}.</p>' for cut in case.cuts)
    head = f"<summary>{verdict} {text_html(about['id'])}</summary><p>{text_html(about.get('description', ''))}</p>"
    return f'<details class="result"{" open" if opened and not green else ""}>{head}{blocks}{turns}{left}</details>'


def _turn(case: TracedCase, turn: Line, *, unfolded: bool) -> Iterator[str]:
    yield f"<h3>{nth(turn['turn'] - 1, 'turn').capitalize()}</h3><ol class='steps'>"
    yield f"<li class='user'><span class='who'>The user writes</span> {_said(turn['says'])}</li>"
    for asked in case.asked:
        if asked["turn"] == turn["turn"]:
            yield from _asked(asked, unfolded=unfolded)
    if "cut" in turn:
        yield f"<li class='cut'><strong>Cut:</strong> {text_html(cut_words(turn['cut']))}</li>"
    yield "</ol>"
    facts = turn_facts(case, turn)
    if facts and ("cut" in turn or any(fact.sent.word not in ("whole", "") for fact in facts)):
        rows = [_fact_cells(fact) for fact in facts]
        heads = ("what", "the model said", "the user saw of it", "the model is told of it on the next turn")
        yield table_html(heads, rows, caption=f"What became of {nth(turn['turn'] - 1, 'turn')}")


def _times(case: TracedCase) -> str:
    rows = [(f"{at * 1000:,.1f}", text_html(words)) for at, words in tool_moments(case)]
    return table_html(("ms", "what happened"), rows, caption="When the tools ran") if rows else ""


def _asked(asked: Line, *, unfolded: bool) -> Iterator[str]:
    """Yield what the model was sent, folded away unless that is said, and what it said then."""
    rows = [(text_html(line["role"]), _line(line)) for line in asked["told"]]
    refused = "".join(f"<p class='bad'>Refused: {text_html(why)}</p>" for why in asked.get("refused", ()))
    messages = counted(len(rows), "message")
    words = f"request {asked['number']} to the model, {asked['t'] * 1000:,.0f} ms: it is sent {messages}"
    table = table_html(("role", "what it is sent"), rows, caption=words)
    state = " open" if unfolded else ""
    yield f"<li><details{state}><summary>{text_html(words)}</summary>{table}</details>{refused}</li>"
    ended = "" if asked["outcome"] == "completed" else f" <em class='warn'>({text_html(asked['outcome'])})</em>"
    said = [asked["said"]] if asked["said"] else []
    said += [call_words(call) for call in asked["calls"]]
    texts = " ".join(map(_said, said)) or "<span class='muted'>nothing</span>"
    yield f"<li class='model'><span class='who'>The model says</span> {texts}{ended}</li>"


def _line(line: Line) -> str:
    said = [_said(line["text"])] if line["text"] else []
    said += [f"calls {_said(call_words(call))}" for call in line.get("calls", ())]
    said += [
        f"result of <code>{text_html(one['id'])}</code> {_said(one['content'])}" for one in line.get("results", ())
    ]
    return "<br>".join(said)


def _fact_cells(fact: Fact) -> tuple[str, str, str, str]:
    unsaid = "not sent in this turn" if fact.is_result else "nothing"
    said = f"<span class='muted'>{unsaid}</span>" if fact.said is None else _said(fact.said)
    cut = "" if fact.whole or fact.said is None else " <em class='warn'>cut here</em>"
    return f"<strong>{text_html(fact.what)}</strong>", said + cut, _fate(fact, fact.shown), _fate(fact, fact.sent)


def _fate(fact: Fact, one: Fate) -> str:
    colour = "bad" if one.word == "new" and not fact.is_result else _COLOURS[one.word]
    words = f"<span class='{colour}'>{FATE_WORDS[one.word]}</span>"
    return words if one.word in ("whole", "nothing", "") else f"{words}<br>{_said(one.text)}"


def _said(text: str) -> str:
    return f"<span class='quoted'>{text_html(shorten(text, _MOST_TEXT))}</span>"
