"""Assertions about threads and streams for tests of somebody's own. Nothing that plays is imported for them.

In: two threads, or a document. Out: nothing, or an AssertionError that says what is wrong, where, and what decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tpharness.checking import check
from tpharness.findings import Level, json_type, shorten, tell_apart
from tpharness.folding import Folded
from tpharness.printable import counted, make_printable
from tpharness.protocol.compare import Mode, refuse_unknown_mode, same_content, same_exact
from tpharness.protocol.diff import ThreadDifference, diff
from tpharness.protocol.reading import fill_agents
from tpharness.protocol.shape import find_shape_problem
from tpharness.verdict.finding_lines import finding_lines
from tpharness.wires.checked import NO_EVENTS
from tpharness.wires.vsp.violations import NOTHING_KNOWN

__all__ = ["assert_same_thread", "assert_valid", "difference_lines"]

_MOST_DIFFERENCES = 6
_SHOWN = 300
_TIMES = ("timestamp", "started_at", "completed_at", "submitted_at", "interrupted_at")
_GENERATED = (*_TIMES, "usage", "model_name", "provider_name", "provider_response_id", "finish_reason")
_OF_SOMEBODY_ELSE = re.compile("/(?:args|content|event_data|metadata|client_metadata)/")
"""Data of tools and applications, whose names are theirs."""
"""The last steps of places whose values are generated: a difference there is seldom the cause of another one."""


def assert_valid(document: Mapping[str, Any] | Folded | bytes | Path | Sequence[Mapping[str, Any]]) -> None:
    """Raise AssertionError if a document breaks a rule at MUST; its text has every finding, as `check` gives them.

    Of what `fold` returns both the streams and the thread are judged.
    """
    __tracebackhide__ = True
    found = [*document.findings, *check(document.thread)] if isinstance(document, Folded) else check(document)
    if any(finding.level is Level.MUST for finding in found):
        lines = [line for finding in found for _, line in finding_lines(finding)]
        raise AssertionError("\n".join(map(make_printable, ["a rule is broken", *(f"  {line}" for line in lines)])))


def assert_same_thread(
    server: Mapping[str, Any] | Folded,
    client: Mapping[str, Any] | Folded,
    *,
    mode: Mode = "exact",
) -> None:
    """Raise AssertionError if two sides hold different threads: each difference with its place, values and ruling.

    Two threads without a turn agree about nothing, and fail. UsageError for another `mode`.

    `mode` "exact" compares everything that has a canonical form; "content" only what a stream without carriers can say:
    times, generated ids, models, usage and the like may differ (R39). Threads are read as a reader has to (R3). What
    `fold` returns may be given as it is; without a chunk that is known, as of an error page or of a stream of another
    protocol, it agrees with nothing.
    """
    __tracebackhide__ = True
    refuse_unknown_mode(mode)
    threads = {"server": _thread_of("server", server), "client": _thread_of("client", client)}
    for side, given in (("server", server), ("client", client)):
        missing = (
            [f for f in given.findings if f.kind in (NO_EVENTS, NOTHING_KNOWN)] if isinstance(given, Folded) else []
        )
        if missing:  # then neither side may have answered, which is not agreement
            lines = [f"the {side} has nothing to compare: {missing[0].line()}", f"  do        {missing[0].remedy}"]
            raise AssertionError("\n".join(map(make_printable, lines)))
    if not threads["server"]["turns"] and not threads["client"]["turns"]:
        raise AssertionError(
            "neither the server nor the client holds a turn, so there is nothing to compare\n"
            "  do        compare the threads after the user and the agent have said something"
        )
    same = same_exact if mode == "exact" else same_content
    if same(threads["server"], threads["client"]):
        return
    found = diff(threads["server"], threads["client"], names=("server", "client"), mode=mode)
    found.sort(key=lambda difference: _is_generated(difference, mode))  # what was said comes before when
    lines = [f"server and client hold different threads: {counted(len(found), 'difference')} ({mode}, R39)"]
    for difference in found[:_MOST_DIFFERENCES]:
        lines += ["", *difference_lines(difference, ("server", "client"), mode)]
    if len(found) > _MOST_DIFFERENCES:
        lines += ["", f"  … and {counted(len(found) - _MOST_DIFFERENCES, 'more difference')}"]
    if mode == "exact" and same_content(threads["server"], threads["client"]):
        lines += ["", '  They agree in what a stream without carriers can say: mode="content" compares that (R39).']
    for side, given in (("server", server), ("client", client)):
        if isinstance(given, Folded) and given.findings:
            lines += ["", f"  found while the {side}'s stream was folded:"]
            lines += [f"    {finding.line()}" for finding in given.findings[:_MOST_DIFFERENCES]]
    raise AssertionError("\n".join(map(make_printable, lines)))


def _thread_of(side: str, given: Mapping[str, Any] | Folded) -> dict[str, Any]:
    __tracebackhide__ = True
    value: Any = given.thread if isinstance(given, Folded) else given
    value = dict(value) if isinstance(value, Mapping) else value
    problem = find_shape_problem(value)
    if problem is not None:
        raise AssertionError(
            make_printable(f"what the {side} holds is not a thread: {problem}; it is {shorten(value, _SHOWN)}")
        )
    filled, _ = fill_agents(value)
    return dict(filled)


def difference_lines(difference: ThreadDifference, sides: tuple[str, str], mode: Mode) -> Iterator[str]:
    """Yield the lines of a difference between two sides, as a failed assertion shows it."""
    yield f"  {difference.pointer}"
    yield f"    {difference.text}"
    values = [difference.values.get(side) for side in sides]
    texts = [json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value for value in values]
    shown = tell_apart(*(shorten(text, _SHOWN) for text in texts))
    for side, value, text in zip(sides, values, shown, strict=True):
        yield f"    {side:<9} {f'{text} ({json_type(value)})' if side in difference.values else 'nothing'}"
    if difference.rulings:
        yield f"    decided   by {', '.join(difference.rulings)} (tpharness explain {difference.rulings[0]})"
    yield f"    to do     {_to_do(difference, mode)}"


def _is_generated(difference: ThreadDifference, mode: Mode) -> bool:
    """Whether a place has what a stream without carriers cannot say; by content an agent is a number, which it can."""
    names = _GENERATED if mode == "content" else (*_GENERATED, "agent_id")
    return difference.pointer.endswith(names) and _OF_SOMEBODY_ELSE.search(difference.pointer) is None


def _to_do(difference: ThreadDifference, mode: Mode) -> str:
    generated = _is_generated(difference, mode)
    if generated and difference.pointer.endswith(_TIMES):
        return 'send the time with the stream (a carrier), or compare with mode="content", which leaves times out'
    if generated:
        return 'send it with the stream (a carrier), or compare with mode="content", which leaves it out'
    has = [side for side in ("server", "client") if side in difference.values]
    if len(has) == 1:
        other = "client" if has == ["server"] else "server"
        return f"if it was sent, the {other} has to keep it; if it was not, or was cut, the {has[0]} must not"
    return "look at what was sent: the side that holds something else has lost or changed it"
