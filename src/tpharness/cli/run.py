"""`tpharness run`: play scenarios and give a verdict."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from tpharness import report as reporting
from tpharness import run as runner
from tpharness.cli.options import Argument, Exit, FollowLinksOption, Option
from tpharness.cli.reports import shown_on_every_way_out, take_all, written_on_every_way_out
from tpharness.cli.tracing import DEFAULT_TRACE, TracedRun, TraceOption, TraceToOption, tracing
from tpharness.cli.wires import over
from tpharness.errors import TargetError, UsageError
from tpharness.printable import make_printable, say
from tpharness.profiles import parse_profiles
from tpharness.report import ConsoleReport, Destination, Report, parse_reports, report_words
from tpharness.report.terminal import make_console
from tpharness.run import RunOptions
from tpharness.run.configured import Configured, read_configured
from tpharness.run.last_failed import LastFailed
from tpharness.run.pairs import plan_runs, play_run
from tpharness.run.requests import parse_clauses, parse_compare, parse_faults
from tpharness.scenario_files import BUILT_IN, is_built_in
from tpharness.targets.remote import Patience
from tpharness.trace.format import Traced
from tpharness.verdict.pair import Pair

if TYPE_CHECKING:
    from tpharness.run.keyword import Keyword
    from tpharness.run.order import Order
    from tpharness.run.shard import Shard

__all__ = ["run"]

_POSTS = "of --server ag-ui+…"
_SIDE = "may be given again: every server then plays every client. `tpharness list targets` lists the targets."


def run(
    ids: Annotated[list[str] | None, Argument(help="Scenario ids, themes or patterns with * [default: all].")] = None,
    server: Annotated[
        list[str] | None, Option(metavar="TARGET", help=f"The server to play [default: reference]; {_SIDE}")
    ] = None,
    client: Annotated[
        list[str] | None, Option(metavar="TARGET", help=f"The client to play [default: reference]; {_SIDE}")
    ] = None,
    dialect: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Only this version, such as 0.0.4; or a history, such as langchain; may be given again.",
        ),
    ] = None,
    compare: Annotated[str | None, Option(help="exact or content, for all scenarios.")] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    wire: Annotated[
        str,
        Option(
            metavar="NAME", help="What the streams are: vsp (the AI SDK's), ag-ui, or all; a target declares which."
        ),
    ] = "vsp",
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Play on Dask workers: local, local:N, or a scheduler's tcp://HOST:PORT."),
    ] = None,
    report: Annotated[
        list[str] | None, Option(metavar="REPORT", help=f"One of {report_words()}; may be given again.")
    ] = None,
    baseline: Annotated[Path | None, Option(help="A YAML file of known failures.")] = None,
    fault: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Play with this fault on the wire, or all; may be given again. `tpharness list faults`.",
        ),
    ] = None,
    shard: Annotated[
        str | None, Option(metavar="I/N", help="Only part I of N; `tpharness merge` merges the reports.")
    ] = None,
    order: Annotated[
        str | None,
        Option(
            metavar="ORDER",
            help="random, random:SEED, or a JSON report whose order to play again [default: by id].",
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Only scenarios of this profile; may be given again. `tpharness list profiles`."),
    ] = None,
    clause: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Only what cites this clause; may be given again. `tpharness list clauses`."),
    ] = None,
    keyword: Annotated[
        str | None,
        Option("-k", metavar="EXPR", help="Only ids that fit, such as 'cycles and not (byte or reset)'."),
    ] = None,
    last_failed: Annotated[
        bool, Option("--lf", "--last-failed", help="Only what failed last on these targets; all if nothing did.")
    ] = False,
    first: Annotated[bool, Option("-x", "--exitfirst", help="End after the first failure.")] = False,
    maxfail: Annotated[int, Option(metavar="N", min=0, help="End after N failures.", show_default=False)] = 0,
    write_baseline: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write what fails as a baseline, with reasons to be filled in."),
    ] = None,
    watching: Annotated[
        bool, Option("--watch", help="Play again what a changed scenario or target touches, until Ctrl-C.")
    ] = False,
    only: Annotated[list[str] | None, Option(hidden=True, help="What a round of --watch plays.")] = None,
    verbose: Annotated[
        bool, Option("-v", "--verbose", help="Show every case as it ends, and every failure in full.")
    ] = False,
    quiet: Annotated[bool, Option("-q", "--quiet", help="Show a line for each cause, and the verdict.")] = False,
    trace: TraceOption = Traced.FAILED,
    trace_to: TraceToOption = DEFAULT_TRACE,
    scenarios: Annotated[
        list[Path] | None,
        Option(help="Folders or files with your own scenarios, in place of the built-in ones; `built-in` means those."),
    ] = None,
    follow_links: FollowLinksOption = False,
    no_config: Annotated[bool, Option("--no-config", help="Leave the table [run] of tpharness.toml alone.")] = False,
    prompt: Annotated[
        list[str] | None,
        Option(help=f"What the user says {_POSTS}; may be given again, each is a chat [default: Hello]."),
    ] = None,
    header: Annotated[list[str] | None, Option(help=f"A header {_POSTS}, 'Name: value'; may be given again.")] = None,
    forwarded_props: Annotated[Path | None, Option(metavar="FILE", help=f"JSON: forwardedProps {_POSTS}.")] = None,
    state: Annotated[Path | None, Option(metavar="FILE", help=f"JSON: the state {_POSTS}.")] = None,
    tools: Annotated[Path | None, Option(metavar="FILE", help=f"JSON: the page's tools {_POSTS}.")] = None,
    context: Annotated[Path | None, Option(metavar="FILE", help=f"JSON: the context {_POSTS}.")] = None,
    resume: Annotated[Path | None, Option(metavar="FILE", help=f"JSON: the payload {_POSTS} for an interrupt.")] = None,
    patience: Annotated[
        float | None,
        Option(metavar="SECONDS", min=0, help="Seconds until an answer begins, and of silence in it [default: 10]."),
    ] = None,
    badge: Annotated[Path | None, Option(metavar="FILE", help=f"Write a badge {_POSTS}: .svg or .json.")] = None,
    own_host: Annotated[
        str | None, Option("--i-own-this-host", metavar="HOST", help=f"Allow a server {_POSTS} on this host.")
    ] = None,
) -> None:
    """Play scenarios on a server and a client.

    Both have to end up with the same canonical thread. The table [run] of tpharness.toml may say what is not said here.
    A server ag-ui+http://HOST:PORT/PATH has nothing but its AG-UI endpoint: it gets posts, and its streams are judged
    (tpharness docs AG_UI).
    """
    configured = Configured() if no_config else read_configured()
    server, client = server or [*configured.server], client or [*configured.client]
    dialect, profile = dialect or [*configured.dialect], profile or [*configured.profile]
    scenarios, baseline = scenarios or [*configured.scenarios], baseline or configured.baseline
    built_in = [is_built_in(root) for root in scenarios]
    if configured.said and not quiet:
        say(configured.said, err=True)
    wants_console, destinations = parse_reports(report or [])
    posted = (prompt, header, forwarded_props, state, tools, context, resume, own_host, badge)
    if any(posted) or any(one.startswith("ag-ui+") for one in server):
        from tpharness.cli.ag_ui_server import run_ag_ui_server  # noqa: PLC0415

        run_ag_ui_server(server, baseline, console=wants_console, destinations=destinations)
    shared = RunOptions(
        ids=tuple(ids or ()),
        roots=() if all(built_in) else tuple(scenarios),
        follow_links=follow_links,
        compare=parse_compare(compare),
        jobs=jobs,
        baseline=baseline,
        faults=parse_faults(fault or []),
        shard=None if shard is None else _parse_shard(shard),
        cluster="" if cluster is None else runner.check_address(cluster),
        order=None if order is None else _parse_order(order),
        profiles=parse_profiles(profile),
        clauses=parse_clauses(clause or []),
        trace=trace,
        keyword=None if keyword is None else _parse_keyword(keyword),
        maxfail=1 if first else maxfail,
        only=tuple(only or ()),
        wire=wire,
        patience=Patience().waiting(patience),
    )
    if watching:
        if write_baseline is not None:
            raise UsageError("--write-baseline is for one whole run", hint="leave --watch away")
        from tpharness.cli.watch import watch_run  # noqa: PLC0415

        watch_run(shared, [*server, *client], [word for word in sys.argv[1:] if word != "--watch"])
    plays = plan_runs(shared, servers=server, clients=client, dialects=dialect)
    reports = {pair: Report(trace=None if trace is Traced.NONE else trace_to) for pair in plays}
    if write_baseline is not None:
        if len(plays) > 1 or shared.maxfail or shared.shard is not None or last_failed:
            hint = "run one pair, without -x, --maxfail, --lf and --shard"
            raise UsageError("--write-baseline is for one whole run", hint=hint)
        from tpharness.verdict.baseline_write import check_new_baseline  # noqa: PLC0415

        check_new_baseline(write_baseline, baseline)
    pipe = any(destination.path == "-" for destination in destinations)
    how = _Display(
        wanted=wants_console,
        stderr=pipe,
        verbosity=int(verbose) - int(quiet),
        last_failed=last_failed,
        words=(*_words_of_suite(configured, scenarios), *(("--follow-links",) if follow_links else ())),
    )
    names = tuple(name for one in plays.values() for name in (one.server, one.client))
    show_trace = partial(tracing, trace_to, trace, targets=names, quiet=not wants_console, stderr=pipe)
    if len(plays) == 1:
        (options,), (played,) = plays.values(), reports.values()
        with (
            written_on_every_way_out(destinations, lambda destination: destination.write(played)),
            show_trace() as traced,
        ):
            _play(options, played, traced, how)
            if write_baseline is not None:
                from tpharness.cli.after_run import write_new_baseline  # noqa: PLC0415

                write_new_baseline(write_baseline, played, baseline)
        _end(destinations, [played], quiet=not wants_console)

    def show() -> None:
        if wants_console:
            reporting.print_matrix(make_console(stderr=pipe), reports)

    def write(destination: Destination) -> None:
        destination.write_matrix(_by_name(reports))

    with (
        written_on_every_way_out(destinations, write),
        show_trace() as traced,
        shown_on_every_way_out(reports.values(), show),
    ):
        for pair, one in plays.items():
            _play_of_several(pair, one, reports[pair], traced, how)
    _end(destinations, reports.values(), quiet=not wants_console)


def _end(destinations: Sequence[Destination], reports: Collection[Report], *, quiet: bool) -> NoReturn:
    """End the command with its exit code; without the console it says where a page is."""
    if quiet:
        from tpharness.cli.after_run import say_where_pages_are  # noqa: PLC0415

        say_where_pages_are(destinations, reports)
    raise Exit(0 if all(played.passed for played in reports) else 1)


def _by_name(reports: Mapping[Pair, Report]) -> dict[str, Report]:
    """Return the reports by the name of their pair, numbered where pairs differ in their tokens only."""
    named: dict[str, Report] = {}
    for pair, played in reports.items():
        alike = [name for name in named if name.partition(" #")[0] == str(pair)]
        named[f"{pair} #{len(alike) + 1}" if alike else str(pair)] = played
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class _Display:
    """What is shown of a run, and where; and whether only what failed last is played.

    `words` are those that a command needs to play the same scenarios, beside the folders of the run.
    """

    wanted: bool
    stderr: bool
    verbosity: int
    last_failed: bool
    words: tuple[str, ...] = ()


def _words_of_suite(configured: Configured, scenarios: Sequence[Path]) -> tuple[str, ...]:
    """Return how to ask for the built-in scenarios where tpharness.toml names others."""
    return ("--scenarios", BUILT_IN) if configured.scenarios and all(map(is_built_in, scenarios)) else ()


def _play(
    options: RunOptions, report: Report, traced: TracedRun, how: _Display, *, one_of_several: bool = False
) -> None:
    console = None
    if how.wanted:
        console = ConsoleReport(
            stderr=how.stderr,
            verbosity=how.verbosity,
            roots=options.roots,
            played_on=(*options.target_words, *how.words),
            one_of_several=one_of_several,
        )
    memory = LastFailed.of(options)
    if how.last_failed:
        options = replace(options, last_failed=memory.read())
        if not options.last_failed:
            say(f"nothing failed last on these targets{over(options.wire)}, so everything is played", err=True)
    try:
        trace = partial(traced.feed, server=options.server, client=options.client)
        take_all(play_run(options), report, console, trace)
    finally:
        memory.update(report.results)


def _play_of_several(pair: Pair, options: RunOptions, report: Report, traced: TracedRun, how: _Display) -> None:
    """Play one pair. A target that is unavailable does not affect the other pairs."""
    try:
        _play(options, report, traced, how, one_of_several=True)
    except TargetError as error:
        if how.wanted:
            out = make_console(stderr=how.stderr, markup=False, soft_wrap=True)
            for line in ("", f"COULD NOT RUN {pair}", f"  {error}", f"  {error.hint}"):
                out.print(make_printable(line))


def _parse_shard(text: str) -> Shard:
    from tpharness.run.shard import Shard  # noqa: PLC0415

    return Shard.parse(text)


def _parse_order(text: str) -> Order:
    from tpharness.run.order import Order  # noqa: PLC0415

    return Order.parse(text)


def _parse_keyword(text: str) -> Keyword:
    from tpharness.run.keyword import Keyword  # noqa: PLC0415

    return Keyword.parse(text)
