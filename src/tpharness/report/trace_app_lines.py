"""A traced case of a chat application as lines for a person: first what is wrong, then the turns in order.

In: a case of a trace. Out: lines with a style of `rich`, as `trace_lines` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import quote, shorten
from tpharness.ordinals import nth
from tpharness.printable import counted
from tpharness.trace.fates import FATE_WORDS, Fact, Fate, call_words, cut_words, turn_facts
from tpharness.trace.read import TracedCase
from tpharness.trace.tool_times import tool_moments

__all__ = ["app_lines"]

Line = tuple[str, str]

_WIDE = 110
_STYLES = {"whole": "green", "beginning": "yellow", "nothing": "yellow", "other": "red", "new": "yellow", "": "dim"}


def app_lines(case: TracedCase) -> Iterator[Line]:
    """Yield the turns: what the user wrote, what the model was sent and said, the cut, and what became of it all."""
    before: Mapping[str, Any] | None = None
    for turn in case.turns:
        yield "", ""
        yield "bold", nth(turn["turn"] - 1, "turn")
        yield "magenta", f"  the user writes {quote(turn['says'], _WIDE)}"
        for asked in case.asked:
            if asked["turn"] == turn["turn"]:
                yield from _asked_lines(asked, before)
                before = asked
        if "cut" in turn:
            yield "bold yellow", f"  CUT {cut_words(turn['cut'])}"
        facts = turn_facts(case, turn)
        if "cut" in turn and facts:
            yield "", "  what became of it"
            for fact in facts:
                yield from _fact_lines(fact)
        yield from (("red", f"  asked an address that no model API has: {stray}") for stray in turn["strays"])
    moments = tool_moments(case)
    if moments:
        yield "", ""
        yield "bold", "when the tools ran"
        yield from (("", f"  {at * 1000:>9.1f} ms  {words}") for at, words in moments)


def _asked_lines(asked: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Line]:
    """Yield a request: what it adds to the one before it, and what of that one it does not have any more."""
    again = " (a retry)" if asked.get("retry") else ""
    against = "" if before is None else f", against request {before['number']} of {nth(before['turn'] - 1, 'turn')}"
    yield "", f"  request {asked['number']} to the model{again}, {asked['t'] * 1000:.1f} ms: it is sent{against}"
    now, earlier = _messages(asked), _messages(before) if before is not None else []
    same = next((i for i, (a, b) in enumerate(zip(earlier, now, strict=False)) if a != b), min(len(earlier), len(now)))
    if same:
        yield "dim", f"      … {counted(same, 'message')} as before"
    kept = set(now[same:])
    yield from (("red", f"    - {one[0]:<10}{shorten(one[1], _WIDE)}") for one in earlier[same:] if one not in kept)
    known = set(earlier[same:])
    for role, words in now[same:]:
        sign, style = (" ", "") if before is None or (role, words) in known else ("+", "green")
        yield "dim" if role == "system" else style, f"    {sign} {role:<10}{shorten(words, _WIDE)}"
    yield from (("red", f"      refused: {why}") for why in asked.get("refused", ()))
    said = [*([asked["said"]] if asked["said"] else []), *(f"calls {call_words(call)}" for call in asked["calls"])]
    ended = "" if asked["outcome"] == "completed" else f" ({asked['outcome']})"
    yield "cyan", f"    the model says {shorten(' · '.join(said), _WIDE) or 'nothing'}{ended}"


def _messages(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the messages of a request: who says what."""
    found = []
    for line in asked["told"]:
        said = [line["text"]] if line["text"] else []
        said += [f"calls {call_words(call)}" for call in line.get("calls", ())]
        said += [f"result of {one['id']}: {one['content']}" for one in line.get("results", ())]
        found.append((line["role"], " · ".join(said)))
    return found


def _fact_lines(fact: Fact) -> Iterator[Line]:
    cut = "" if fact.whole or fact.said is None else " (cut here)"
    unsaid = "not sent to the model in this turn" if fact.is_result else "the model did not say it"
    said = unsaid if fact.said is None else f"{shorten(fact.said, _WIDE)}{cut}"
    yield "", f"      {fact.what}: {said}"
    for name, one in (("the user saw", fact.shown), ("the model is told", fact.sent)):
        yield _STYLES[one.word], f"        {name:<18}{_fate_words(one)}"


def _fate_words(one: Fate) -> str:
    words = FATE_WORDS[one.word]
    return words if one.word in ("whole", "nothing", "") else f"{words}: {shorten(one.text, _WIDE)}"
