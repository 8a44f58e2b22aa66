"""`tpharness fuzz`: a campaign of generated cases, or one of its failures again."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from tpharness.cli.files import print_findings, print_json
from tpharness.cli.options import Exit, Option
from tpharness.cli.stop_signals import STOP
from tpharness.cli.tracing import DEFAULT_TRACE, TracedRun, TraceOption, TraceToOption, tracing
from tpharness.cli.wires import over
from tpharness.errors import UsageError, did_you_mean
from tpharness.explore.campaigns.campaign import Campaign, CampaignOptions
from tpharness.explore.campaigns.judging import CampaignJudge
from tpharness.explore.campaigns.replaying import play_saved
from tpharness.explore.campaigns.state import CampaignState, load_state
from tpharness.explore.campaigns.subject_files import load_subject
from tpharness.explore.generate.kinds import FuzzKind
from tpharness.printable import counted, say
from tpharness.run.options import side_options
from tpharness.run.session import Session
from tpharness.run.workers import Workers
from tpharness.trace.format import Traced
from tpharness.wires.registry import DEFAULT_WIRE, wire_named

__all__ = ["fuzz"]

_LINE_EVERY = 10.0


def fuzz(
    seconds: Annotated[float | None, Option(min=0, help="Stop after this many seconds [default: 60].")] = None,
    cases: Annotated[
        int | None,
        Option(min=1, help="Stop when this many cases are judged; those of one program are judged together."),
    ] = None,
    seed: Annotated[int | None, Option(min=0, help="Seed of the cases [default: the folder's, or 0].")] = None,
    db: Annotated[Path, Option(metavar="FOLDER", help="Folder of the campaign; an existing one is continued.")] = Path(
        "tpharness-fuzz"
    ),
    kind: Annotated[
        list[str] | None,
        Option(
            help="Only this kind: programs, streams, bytes, scenarios, threads or documents; may be given again "
            "[default: the folder's, or all]."
        ),
    ] = None,
    server: Annotated[
        str | None, Option(metavar="TARGET", help="The server to play [default: the folder's, or reference].")
    ] = None,
    client: Annotated[
        str | None, Option(metavar="TARGET", help="The client to play [default: the folder's, or reference].")
    ] = None,
    wire: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="What the streams of generated programs are: vsp or ag-ui [default: the folder's, or vsp].",
        ),
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Judge on Dask workers: local, local:N, or tcp://HOST:PORT."),
    ] = None,
    shrink: Annotated[float, Option(min=0, help="Seconds to spend on shrinking each new failure.")] = 10.0,
    replay: Annotated[
        Path | None, Option(metavar="FILE", help="Judge one saved failure again instead of generating cases.")
    ] = None,
    trace: TraceOption = Traced.FAILED,
    trace_to: TraceToOption = DEFAULT_TRACE,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Generate cases, judge them by every check, and shrink what fails.

    Failures are saved as scenario files. Those that are new leave a trace; with --trace all, those found before too.
    """
    held = None if replay is not None else load_state(db)
    targets = dict(zip(held.sides[::2], held.sides[1::2], strict=True)) if held is not None else {}
    wire = wire_named(wire or targets.get("--wire", DEFAULT_WIRE)).name
    kinds = _kinds(kind or (held.kinds if held is not None else ()), wire)
    server = server or targets.get("--server", "reference")
    client = client or targets.get("--client", "reference")
    show_trace = partial(tracing, trace_to, trace, targets=(server, client), quiet=as_json)
    targets_opened = partial(Session, server=server, client=client, trace=trace, wire=wire)
    if replay is not None:
        with show_trace() as traced, targets_opened() as session:
            code = _judge_again(replay, session, traced, as_json=as_json)
            traced.remove_old()
        raise Exit(code)
    with show_trace() as traced, targets_opened() as session:
        limit = 60.0 if seconds is None and cases is None else seconds
        options = CampaignOptions(
            kinds=kinds,
            seconds=limit,
            cases=cases,
            seed=seed,
            db=db,
            workers=Workers.from_options(jobs, cluster),
            sides=side_options(server, client, wire),
            shrink_seconds=shrink,
        )
        campaign = Campaign(session, options)
        before, begun = campaign.state.cases, time.monotonic()
        if not as_json:
            again = f", case {campaign.state.next} on" if campaign.state.next else ""
            say(f"seed {campaign.state.seed}, {', '.join(campaign.state.kinds)}{over(wire)}, kept in {db}{again}")
            sys.stdout.flush()
        progress = _Progress(before, begun)
        stopped = ""
        try:
            campaign.run(progress.show)
        except KeyboardInterrupt:
            stopped = STOP.note().name
        finally:
            progress.clear()
        state = campaign.state
        failures = state.failures.values() if trace is Traced.ALL else campaign.new
        _trace([Path(failure.file) for failure in failures], session, traced)
        traced.remove_old()
        _tell(campaign, state.cases - before, time.monotonic() - begun, stopped, wire, as_json=as_json)
    if stopped:
        raise KeyboardInterrupt
    raise Exit(1 if state.failures else 0)


def _judge_again(file: Path, session: Session, traced: TracedRun, *, as_json: bool) -> int:
    """Judge a saved failure, say what is wrong with it and leave its trace; return the exit code."""
    what, subject = load_subject(file)
    findings = list(CampaignJudge(session).findings(what, subject))
    if findings:
        _trace([file], session, traced)
    elif not as_json:
        say(f"PASSED {file}: nothing is wrong with it any more")
    return print_findings(findings, as_json=as_json)


def _trace(files: Sequence[Path], session: Session, traced: TracedRun) -> None:
    """Play saved failures once more, each as small as it was made, and write what they do into the trace."""
    server, client = session.specs
    if session.trace is not Traced.NONE:
        for file in files:
            result = play_saved(file, session)
            traced.add(result, result.record, server=server, client=client)


def _kinds(names: Sequence[str], wire: str) -> tuple[FuzzKind, ...]:
    """Return the kinds with these names, all that are played over the wire if none is named."""
    known = [kind.value for kind in FuzzKind]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, "`tpharness docs FUZZING` says what each generates")
            raise UsageError(f"--kind takes {', '.join(known)}, not {name!r}", hint=hint)
    every = tuple(FuzzKind) if wire == DEFAULT_WIRE else (FuzzKind.PROGRAMS,)
    chosen = tuple(kind for kind in FuzzKind if kind.value in names) or every
    if set(chosen) - set(every):
        raise UsageError(
            f"over {wire} programs alone are generated: other kinds give streams of {DEFAULT_WIRE}, or none",
            hint="leave --kind away, or --wire",
        )
    return chosen


class _Progress:
    """Shows how far a campaign is on standard error: one line that changes on a terminal, a line now and then else."""

    def __init__(self, before: int, begun: float) -> None:
        self._before = before
        self._begun = self._told = begun
        self._terminal = sys.stderr.isatty()

    def show(self, state: CampaignState) -> None:
        """Show where the campaign is."""
        now = time.monotonic()
        done, took = state.cases - self._before, now - self._begun
        causes = counted(len(state.failures), "cause")
        line = f"{counted(done, 'case')}, {done / max(took, 0.001):.0f}/s, {causes}, {took:.0f} s"
        if self._terminal:
            self._rewrite(line)
        elif now - self._told >= _LINE_EVERY:
            self._told = now
            say(line, err=True, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._terminal:
            self._rewrite("")

    def _rewrite(self, line: str) -> None:
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()


def _tell(campaign: Campaign, cases: int, took: float, stopped: str, wire: str, *, as_json: bool) -> None:
    """Print what the campaign has found; `stopped` is the signal that has ended this sitting early, if one has."""
    state, wanted = campaign.state, campaign.options.cases
    if as_json:
        early = {"incomplete": {"played": cases, "signal": stopped}} if stopped else {}
        passed = not state.failures and not stopped
        now = {"passed": passed, **early, "cases_now": cases, "seconds_now": round(took, 3)}
        print_json({**state.as_json(), **now})
        return
    for failure in state.failures.values():
        known = "" if failure in campaign.new else " (found before)"
        say(f"FAILED {failure.cause}{known}")
        say(f"  wrong     {failure.message}")
        others = [key for key in failure.beside if key not in failure.cause]
        if others:
            say(f"  with      {'; '.join(others)} (no smaller case has one without the other)")
        say(f"  cases     {failure.count}, the first is {failure.case} of seed {state.seed} ({failure.kind})")
        say(f"  play it   {failure.command}")
    word = "INCOMPLETE" if stopped else "FAILED" if state.failures else "PASSED"
    done = f"{cases} of {counted(wanted, 'case')}" if stopped and wanted is not None else counted(cases, "case")
    why = f", interrupted by {stopped}" if stopped else ""
    rate, causes = f"{cases / max(took, 0.001):.0f} a second", counted(len(state.failures), "cause")
    say(f"{word} {done}{over(wire)} in {took:.1f} s ({rate}), {causes}, seed {state.seed}{why}")
    so_far = f"{counted(state.cases, 'case')} so far in {state.seconds:.0f} s"
    say(f"continue with: tpharness fuzz --db {shlex.quote(str(campaign.options.db))}; {so_far}")
