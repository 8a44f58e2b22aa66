"""`tpharness sweep`: cut scenarios everywhere, or play their events in every legal order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Exit, FollowLinksOption, Option
from tpharness.cli.reports import EarlyEnd
from tpharness.cli.tracing import DEFAULT_TRACE, TracedRun, TraceOption, TraceToOption, tracing
from tpharness.cli.wires import WireOption, over
from tpharness.errors import UsageError, did_you_mean
from tpharness.printable import counted, say, without_credentials
from tpharness.protocol.reasons import KNOWN_REASONS, refuse_misspelt_reason
from tpharness.protocol.versions import parse_version
from tpharness.report.progress import watch_items
from tpharness.resources import scenarios_dir
from tpharness.rooms import explore_room
from tpharness.run.citing import choose_citing
from tpharness.run.options import side_options
from tpharness.run.requests import parse_clauses
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.shard import Shard
from tpharness.run.sweeps.failures import Failure
from tpharness.run.sweeps.places import SideCut
from tpharness.run.sweeps.report import sweep_document
from tpharness.run.sweeps.scenarios import ScenarioReport, SweepOptions, sweep_scenarios
from tpharness.run.workers import Workers
from tpharness.scenario import CutAt
from tpharness.trace.format import Traced

__all__ = ["sweep"]

_CUTS = {"events": CutAt.EVERY_EVENT, "bytes": CutAt.EVERY_BYTE}


def sweep(
    ids: Annotated[list[str] | None, Argument(help="Scenario ids, themes or patterns [default: all].")] = None,
    clause: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Only what cites this clause; may be given again. `tpharness list clauses`."),
    ] = None,
    cuts: Annotated[str, Option(help="Where to cut: after all events or all bytes.")] = "events",
    reasons: Annotated[
        str, Option(help="Reasons of the interruption, separated by commas; all for the five of the protocol.")
    ] = "network_failure",
    side: Annotated[
        str, Option(help="Which side is cut: both, server, client or apart (the server further).")
    ] = "both",
    orders: Annotated[bool, Option("--orders", help="Play the events in other legal orders instead.")] = False,
    bound: Annotated[int, Option(min=1, help="The most orders to play of one run.")] = 1000,
    server: Annotated[str, Option(metavar="TARGET", help="The server to play.")] = "reference",
    client: Annotated[str, Option(metavar="TARGET", help="The client to play.")] = "reference",
    wire: WireOption = "vsp",
    dialect: Annotated[list[str] | None, Option(help="Only this version of the protocol; repeatable.")] = None,
    budget: Annotated[
        int | None,
        Option(min=1, help="Try a sample of this many places or orders [default: all; 200 places on other targets]."),
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Sweep on Dask workers: local, local:N, or tcp://HOST:PORT."),
    ] = None,
    shard: Annotated[
        str | None, Option(metavar="INDEX/OF", help="Only this part of the scenarios: 2/5 is the second of five.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the sample that --budget or --bound tries.")] = 0,
    save: Annotated[
        Path, Option(metavar="FOLDER", help="Folder for scenario files of failures that have no id.")
    ] = Path("tpharness-failures"),
    trace: TraceOption = Traced.FAILED,
    trace_to: TraceToOption = DEFAULT_TRACE,
    scenarios: Annotated[
        list[Path] | None, Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
    follow_links: FollowLinksOption = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Cut scenarios at every event or byte, or play them in every legal order.

    Every place and every order is judged by every check.
    """
    if cuts not in _CUTS:
        hint = did_you_mean(cuts, _CUTS, "after all events, or after all bytes")
        raise UsageError(f"--cuts takes events or bytes, not {cuts!r}", hint=hint)
    sides_cut = [one.value for one in SideCut]
    if side not in sides_cut:
        hint = did_you_mean(side, sides_cut, "`tpharness docs FUZZING` says what each means")
        raise UsageError(f"--side takes {', '.join(sides_cut)}, not {side!r}", hint=hint)
    named = _parse_reasons(reasons)
    roots = tuple(scenarios or ())
    part = None if shard is None else Shard.parse(shard)
    everything = select_scenarios(ids or (), roots or (scenarios_dir(),), follow_links=follow_links)
    everything = choose_citing(everything, parse_clauses(clause or []))
    selected = everything if part is None else part.select_from(everything)
    spared = part is not None and part.is_spared(everything)
    if any(one.place for one in selected):
        raise UsageError("a sweep takes scenarios, not places of them", hint="`tpharness run ID` plays one place")
    versions = tuple(map(parse_version, dialect)) if dialect else None
    sides = side_options(server, client, wire)
    workers = Workers.from_options(jobs, cluster)
    ended = EarlyEnd(len(selected))
    with (
        tracing(trace_to, trace, targets=(server, client), stderr=as_json) as traced,
        Session(server=server, client=client, versions=versions, trace=trace, wire=wire) as session,
    ):
        found: Iterator[ScenarioReport]
        if orders:
            room = explore_room()
            if room is None:
                raise UsageError("--orders needs the package tpharness.explore, which was removed")
            found = room.play_orders(
                selected,
                session,
                room.OrderOptions(bound=bound, budget=budget, seed=seed, save=save, sides=sides, workers=workers),
            )
        else:
            options = SweepOptions(
                at=_CUTS[cuts],
                reasons=named,
                side=SideCut(side),
                budget=budget,
                seed=seed,
                save=save,
                roots=roots,
                sides=sides,
                workers=workers,
            )
            found = sweep_scenarios(selected, session, options)
        found = watch_items(_traced(found, traced, server=server, client=client), len(selected), printed=True)
        if orders and not as_json:
            say("law: every invariant holds, and the thread is that of the scenario's own order in all but time")
            say("     (R11: parts by their starts, returns by their calls; R25: events by time; R39: content)")
        word = "orders" if orders else "places"
        if as_json:
            about: dict[str, Any] = {"server": without_credentials(server), "client": without_credentials(client)}
            if part is not None:
                settings = {
                    "cuts": cuts,
                    "reasons": named,
                    "side": side,
                    "orders": orders,
                    "bound": bound,
                    "budget": budget,
                    "seed": seed,
                    "dialect": [one.value for one in versions or ()],
                    "wire": wire,
                }
                about["shard"] = part.as_json(everything, settings)
            taken = list(ended.until_stopped(found))
            document = sweep_document(taken, counts=word, seed=seed, incomplete=ended.as_json("scenarios"), **about)
            passed = spared or bool(document["passed"])
            print_json({**document, "passed": passed})
        elif spared:
            say(f"PASSED 0 scenarios: this shard has no scenario, the sweep has {len(everything)}")
            passed = True
        else:
            passed = _in_words(ended.until_stopped(found), word, seed, ended, over(wire))
        traced.remove_old()
    ended.interrupt_again()
    raise Exit(0 if passed else 1)


def _parse_reasons(text: str) -> tuple[str, ...]:
    """Return the reasons that are named with commas between them, each once, or all. UsageError if none is named."""
    named = KNOWN_REASONS if text == "all" else tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not named:
        raise UsageError(
            "--reasons does not name a reason", hint=f"for example {KNOWN_REASONS[0]},{KNOWN_REASONS[1]}, or all"
        )
    for reason in named:
        refuse_misspelt_reason(reason)
        if reason not in KNOWN_REASONS:
            say(f"{reason} is a word of your own, none of {', '.join(KNOWN_REASONS)} (R27)", err=True)
    return named


def _traced(
    found: Iterator[ScenarioReport], traced: TracedRun, *, server: str, client: str
) -> Iterator[ScenarioReport]:
    """Write the trace of what failed, one case for each cause of a scenario, while it comes."""
    for one in found:
        for failure in one.failures:
            traced.add(failure.result, failure.result.record, server=server, client=client, name=failure.id)
        yield one


def _in_words(found: Iterator[ScenarioReport], word: str, seed: int, ended: EarlyEnd, over_wire: str) -> bool:
    total = tried = failed = swept = refused = 0
    apart: list[ScenarioReport] = []
    for one in found:
        if one.note:
            apart.append(one)
        swept += bool(one.tried) or not one.note
        total, refused = total + one.places, refused + one.refused
        tried, failed = tried + one.tried, failed + one.tried - one.passed
        for failure in one.failures:
            _tell(failure, word)
    for one in apart:
        say(f"not swept: {one.id}: {one.note}")
    left = total - tried - refused
    sampled = f", a sample of seed {seed}; {left} were not tried" if left else ""
    more = f"{f'; {refused} cannot be played' if refused else ''}{f'; {failed} failed' if failed else ''}"
    tally = f"tried {tried} of {total} {word}{' in these' if ended.signal else ''}{sampled}{more}"
    if ended.signal:
        say(f"INCOMPLETE {ended.taken} of {counted(ended.wanted, 'scenario')}, {tally}, interrupted by {ended.signal}")
        return False
    say(f"{'PASSED' if tried and not failed else 'FAILED'} {counted(swept, 'scenario')}{over_wire}, {tally}")
    if not tried:
        say("nothing was tried, so nothing has passed")
    return bool(tried) and not failed


def _tell(failure: Failure, word: str) -> None:
    say(f"FAILED {failure.id}")
    say(f"  cause     {failure.cause}")
    if failure.result.reason:
        say(f"  reason    {failure.result.reason}")
    for finding in failure.result.findings[:2]:
        say(f"  {finding.line()}")
    if failure.count > 1:
        fail = "fails" if failure.count == 2 else "fail"
        say(f"  also      {counted(failure.count - 1, f'more {word[:-1]}')} {fail} for the same cause")
    say(f"  play it   {failure.command}")
    if not failure.replays:
        say("  note      played by itself this place does not fail in this way: what came before it matters")
