"""What a test of somebody's own server or client calls to play scenarios.

In: names of scenarios and targets. Out: results, or an AssertionError that a person can act on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from tpharness.errors import TpharnessError, UsageError
from tpharness.findings import Finding
from tpharness.printable import make_printable
from tpharness.profiles import parse_profiles
from tpharness.protocol.compare import Mode
from tpharness.protocol.versions import Version, VersionName, parse_version
from tpharness.report import failure_lines
from tpharness.run import RunOptions, run_suite
from tpharness.run.requests import parse_clauses, parse_compare, parse_faults
from tpharness.run.tracing.files import CaseRecord
from tpharness.trace.format import Traced
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished
from tpharness.verdict.grouping import group_failures
from tpharness.waiting import in_event_loop
from tpharness.wires.registry import wire_named

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

__all__ = ["Played", "assert_passed", "describe_failures", "play"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What `play` has found: the results, problems of the run itself such as a stale baseline, and the verdict.

    `passed` is True if something was judged, everything that was is green, there is no problem, and no thread differs
    from its snapshot. `options` say what was played, and on which targets. `differing` has a text for each thread that
    differs from its snapshot.
    """

    results: tuple[Result, ...]
    problems: tuple[Finding, ...]
    passed: bool
    options: RunOptions
    differing: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results that are not green."""
        return tuple(result for result in self.results if not result.outcome.green)


def play(
    *ids: str,
    scenarios: Sequence[Path | str] = (),
    server: str = "reference",
    client: str = "reference",
    dialects: Sequence[Version | VersionName] | VersionName = (),
    compare: Mode | None = None,
    faults: Sequence[str] = (),
    profiles: Sequence[str] = (),
    clauses: Sequence[str] = (),
    baseline: Path | str | None = None,
    wire: str = "vsp",
    snapshot: SnapshotAssertion | None = None,
) -> Played:
    """Play scenarios on a server and a client and return what was found, as `tpharness run` does.

    `ids` are ids, folders or patterns of scenarios, all if there are none; `scenarios` are files and folders of your
    own, the built-in ones if empty. `server` and `client` are targets as for `--server`; they are started for this call
    and ended after it. `dialects` are versions such as `0.0.4`, all if empty. The others are the options of the same
    names. Where several may be given, one may stand alone.

    With `snapshot`, the fixture of syrupy, the threads of both sides are compared with one stored file for each case
    and version: exactly, or by content where a stream has no carriers or `compare="content"` (R39). A scenario that is
    cut at every place has no case of its own: name one place, such as `chat/cancelled@event-12`.

    UsageError for what does not exist or fit together, also where an event loop is running in this thread; InputError
    for a file that cannot be read; TargetError for a target that does not answer.
    """
    if in_event_loop():
        raise UsageError(
            "play() waits until everything is played, and an event loop is running in this thread",
            hint="in an async test: played = await asyncio.to_thread(play, …)",
        )
    _require_texts(ids)
    __tracebackhide__ = True
    try:
        options = RunOptions(
            ids=ids,
            roots=tuple(map(Path, _several(scenarios))),
            server=server,
            client=client,
            versions=tuple(v if isinstance(v, Version) else parse_version(v) for v in _several(dialects)) or None,
            compare=parse_compare(compare),
            faults=parse_faults(list(_several(faults))),
            profiles=parse_profiles(list(_several(profiles))),
            clauses=parse_clauses(_several(clauses)),
            baseline=None if baseline is None else Path(baseline),
            wire=wire_named(wire).name,
            trace=Traced.NONE if snapshot is None else Traced.ALL,
        )
        return _play(options, snapshot)
    except TpharnessError as error:
        raise error.with_traceback(None) from None  # what is wrong is in the call, and not in our files


def _play(options: RunOptions, snapshot: SnapshotAssertion | None) -> Played:
    results: list[Result] = []
    differing: list[str] = []
    for event in run_suite(options):
        if isinstance(event, ResultReady):
            results.append(event.result)
            if snapshot is not None and event.result.outcome.green:  # a case that failed says itself what is wrong
                differing += _compare_with_snapshots(event, snapshot)
        elif isinstance(event, RunFinished):
            finished = event
    passed = finished.passed and not differing
    return Played(
        results=tuple(results), problems=finished.problems, passed=passed, options=options, differing=tuple(differing)
    )


def _compare_with_snapshots(event: ResultReady, snapshot: SnapshotAssertion) -> Iterator[str]:
    """Yield a text for each thread of a case that differs from its snapshot."""
    compare = import_module("tpharness.snapshots").compare  # it needs an extra
    record, case = event.record, event.result.id
    if not isinstance(record, CaseRecord) or record.played is None:
        raise UsageError(
            f"{case} has no threads to compare with a snapshot",
            hint="name cases that are played whole; of a scenario that is cut at every place, one place",
        )
    served = record.played.served
    sides = {"server": {} if served is None else served.threads, "client": record.played.received.threads}
    for version in sorted({*sides["server"], *sides["client"]}, key=lambda one: one.value):
        for side, threads in sides.items():
            if version in threads:
                lines = compare(snapshot, f"{case} {version.value}", threads[version], mode=record.compare)
                if lines:
                    head = f"SNAPSHOT {case} in {version.value}, {side}"
                    yield "\n".join([head, *(f"  {make_printable(one)}" for one in lines)])


_Named = TypeVar("_Named")


def _several(given: Sequence[_Named]) -> Sequence[_Named]:
    """Return the names that were given; one that is given alone is one name, and not a list of its letters."""
    return [cast("_Named", given)] if isinstance(given, str | Path | Version) else given


def _require_texts(ids: Sequence[object]) -> None:
    for one in ids:
        if not isinstance(one, str):
            hint = 'write play("cycles", "tools"); a list is given as play(*ids)'
            raise UsageError(f"an id of a scenario is a text, not {type(one).__name__}", hint=hint)


def assert_passed(played: Played) -> None:
    """Raise AssertionError unless everything passed; its text is that of the failures on the command line."""
    __tracebackhide__ = True
    if played.passed:
        return
    options = played.options
    text = describe_failures(played.failed, roots=options.roots, played_on=options.target_words)
    blocks = [text] if text else []
    blocks += played.differing
    blocks += [make_printable(problem.line()) for problem in played.problems]
    if not blocks:
        reasons = dict.fromkeys(f"  {result.id}: {result.reason or result.outcome.value}" for result in played.results)
        blocks = ["\n".join(["nothing was judged, which is not a pass:", *map(make_printable, reasons)])]
    raise AssertionError("\n\n".join(blocks))


def describe_failures(
    results: Sequence[Result],
    *,
    roots: Sequence[Path] = (),
    played_on: Sequence[str] = (),
    again: str = "",
    grouped: bool = False,
) -> str:
    """Return the failure blocks of results as the command line has them; arguments are those of `failure_lines`.

    If they are `grouped`, of the cases that failed for one cause only the smallest, of these the first, has a block; it
    names the others.
    """
    blocks = []
    groups = [list(group.results) for group in group_failures(results)] if grouped else [[one] for one in results]
    for result, *others in (sorted(some, key=lambda one: (one.size, results.index(one))) for some in groups):
        lines = [line for _, line in failure_lines(result, roots=roots, played_on=played_on, again=again)]
        word = Outcome.FAILED if result.fails_now else result.outcome
        more = f" and {len(others)} more" if others else ""
        if others:
            lines.append(make_printable(f"the same in {', '.join(one.id for one in others)}"))
        blocks.append("\n".join([f"{word.value.upper()} {result.id}{more}", *(f"  {line}" for line in lines)]))
    return "\n\n".join(blocks)
