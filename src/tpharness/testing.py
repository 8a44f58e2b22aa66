"""What a test of somebody's own server or client calls: play scenarios, and assertions that say what is wrong.

In: names of scenarios and targets, or two threads. Out: results, or an AssertionError that a person can act on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tpharness.checking import check
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level, json_type, shorten
from tpharness.folding import Folded
from tpharness.printable import make_printable
from tpharness.profiles import parse_profiles
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.diff import ThreadDifference, diff
from tpharness.protocol.reading import fill_agents
from tpharness.protocol.shape import find_shape_problem
from tpharness.protocol.versions import Version, parse_version
from tpharness.report import failure_lines
from tpharness.report.failures import finding_lines
from tpharness.run import Result, ResultReady, RunFinished, RunOptions, run_suite
from tpharness.run.pairs import parse_compare, parse_faults

__all__ = ["Played", "assert_passed", "assert_same_thread", "assert_valid", "describe_failures", "play"]

_MOST_DIFFERENCES = 6
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What `play` has found: the results, problems of the run itself such as a stale baseline, and the verdict.

    `passed` is True if something was judged, everything that was is green, and there is no problem. `options` are what
    was played, on whom.
    """

    results: tuple[Result, ...]
    problems: tuple[Finding, ...]
    passed: bool
    options: RunOptions

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results that are not green."""
        return tuple(result for result in self.results if not result.outcome.green)


def play(
    *ids: str,
    scenarios: Sequence[Path | str] = (),
    server: str = "reference",
    client: str = "reference",
    dialects: Sequence[Version | str] = (),
    compare: str | None = None,
    faults: Sequence[str] = (),
    profiles: Sequence[str] = (),
    baseline: Path | str | None = None,
) -> Played:
    """Play scenarios on a server and a client and return what was found, as `tpharness run` does.

    `ids` are ids, folders or patterns of scenarios, all if there are none; `scenarios` are files and folders of your
    own, the built-in ones if empty. `server` and `client` are targets as for `--server`; they are started for this call
    and ended after it. `dialects` are versions such as `0.0.4`, all if empty. The others are the options of the same
    names.

    UsageError for what does not exist or fit together, also where an event loop is running in this thread; InputError
    for a file that cannot be read; TargetError for a target that does not answer.
    """
    if _in_a_loop():
        raise UsageError(
            "play() waits until everything is played, and an event loop is running in this thread",
            hint="in an async test: played = await asyncio.to_thread(play, …)",
        )
    options = RunOptions(
        ids=ids,
        roots=tuple(map(Path, scenarios)),
        server=server,
        client=client,
        versions=tuple(v if isinstance(v, Version) else parse_version(v) for v in dialects) or None,
        compare=parse_compare(compare),
        faults=parse_faults(list(faults)),
        profiles=parse_profiles(list(profiles)),
        baseline=None if baseline is None else Path(baseline),
    )
    results: list[Result] = []
    for event in run_suite(options):
        if isinstance(event, ResultReady):
            results.append(event.result)
        elif isinstance(event, RunFinished):
            finished = event
    return Played(results=tuple(results), problems=finished.problems, passed=finished.passed, options=options)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def assert_passed(played: Played) -> None:
    """Raise AssertionError unless everything passed; its text is that of the failures on the command line."""
    __tracebackhide__ = True
    if played.passed:
        return
    options = played.options
    told = describe_failures(played.failed, roots=options.roots, played_on=options.target_words)
    blocks = [told] if told else []
    blocks += [make_printable(problem.line()) for problem in played.problems]
    if not blocks:
        reasons = dict.fromkeys(f"  {result.id}: {result.reason or result.outcome.value}" for result in played.results)
        blocks = ["\n".join(["nothing was judged, which is not a pass:", *map(make_printable, reasons)])]
    raise AssertionError("\n\n".join(blocks))


def describe_failures(
    results: Sequence[Result], *, roots: Sequence[Path] = (), played_on: Sequence[str] = (), again: str = ""
) -> str:
    """Return the failure blocks of results as the command line has them; arguments are those of `failure_lines`."""
    blocks = []
    for result in results:
        lines = failure_lines(result, roots=roots, played_on=played_on, again=again)
        blocks.append("\n".join([f"{result.outcome.value.upper()} {result.id}", *(f"  {line}" for _, line in lines)]))
    return "\n\n".join(blocks)


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
    mode: Literal["exact", "content"] = "exact",
) -> None:
    """Raise AssertionError if two sides hold different threads: each difference with its place, values and ruling.

    `mode` "exact" compares everything that has a canonical form; "content" only what a stream without carriers can say:
    times, generated ids, models, usage and the like may differ (R39). Threads are read as a reader has to (R3). What
    `fold` returns may be given as it is.
    """
    __tracebackhide__ = True
    threads = {"server": _thread_of("server", server), "client": _thread_of("client", client)}
    same = same_exact if mode == "exact" else same_content
    if same(threads["server"], threads["client"]):
        return
    found = diff(threads["server"], threads["client"], names=("server", "client"), mode=mode)
    lines = [f"server and client hold different threads: {_count(found)} ({mode}, R39)"]
    for difference in found[:_MOST_DIFFERENCES]:
        lines += ["", *_difference_lines(difference)]
    if len(found) > _MOST_DIFFERENCES:
        lines += ["", f"  … and {len(found) - _MOST_DIFFERENCES} more differences"]
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


def _count(found: Sequence[ThreadDifference]) -> str:
    return "1 difference" if len(found) == 1 else f"{len(found)} differences"


def _difference_lines(difference: ThreadDifference) -> Iterator[str]:
    yield f"  {difference.pointer}"
    yield f"    {difference.text}"
    for side in ("server", "client"):
        if side in difference.values:
            value = difference.values[side]
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value
            yield f"    {side:<9} {shorten(text, _SHOWN)} ({json_type(value)})"
        else:
            yield f"    {side:<9} nothing"
    if difference.rulings:
        yield f"    decided   by {', '.join(difference.rulings)} (tpharness explain {difference.rulings[0]})"
