"""`tpharness record`: a live stream, or a case that a server under test plays → a scenario, or the stream alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.checking import input_file
from tpharness.cli.options import Argument, Option
from tpharness.cli.record_live import STREAM, Wanted, record_live, say_recorded, verdict_words, write_recorded
from tpharness.errors import UsageError
from tpharness.resources import scenarios_dir
from tpharness.run.case_ids import case_of
from tpharness.run.play import PlayedCase
from tpharness.run.record import record_case
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.scenario import Scenario, load_scenario, scenario_id
from tpharness.verdict.result import Result
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["record"]


def record(
    source: Annotated[
        str,
        Argument(help="The URL of a stream, ag-ui+URL of a server of AG-UI; with --play a server: peer:NAME, http://…"),
    ],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="The scenario to write, THEME/NAME.yaml, whose folder is made; or NAME.sse for the stream alone.",
        ),
    ],
    play_id: Annotated[
        str | None, Option("--play", metavar="ID", help="Let a server under test play this case.")
    ] = None,
    scenarios: Annotated[list[Path] | None, Option(help="Folders with your own scenarios, for --play.")] = None,
    prompt: Annotated[
        list[str] | None, Option(help="What the user says; posted as useChat posts it, or a page of AG-UI.")
    ] = None,
    body: Annotated[Path | None, Option(help="A JSON file to post instead.")] = None,
    header: Annotated[list[str] | None, Option(help="A header, 'Name: value'; may be given again.")] = None,
    cut_after: Annotated[int | None, Option(min=0, help="Disconnect after this many bytes.")] = None,
    cut_at: Annotated[str | None, Option(help="Disconnect right after the first occurrence of this text.")] = None,
    thread: Annotated[str | None, Option(metavar="URL", help="Fetch the server's thread from here afterwards.")] = None,
    wire: Annotated[
        str | None, Option(metavar="NAME", help="With --play: what the streams are, vsp or ag-ui [default: vsp].")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Record a live stream as a scenario.

    It prints the verdicts on the live stream and on its replay. Ctrl-C ends a stream and keeps what came of it.
    """
    _check_output(output, force)
    if play_id is None:
        if wire is not None:
            raise UsageError("--wire goes with --play", hint="a live stream says itself what it is; leave it away")
        record_live(
            Wanted(
                source=source,
                output=output,
                prompts=tuple(prompt or ()),
                body=body,
                headers=tuple(header or ()),
                cut_after=cut_after,
                cut_at=cut_at,
                thread=thread,
            )
        )
    _refuse_with_play(prompt=prompt, body=body, header=header, cut_after=cut_after, cut_at=cut_at, thread=thread)
    if output.suffix == STREAM:
        raise UsageError("a case is recorded as a scenario", hint="name it THEME/NAME.yaml")
    recorded, live = _played(source, play_id, scenarios, output, wire or DEFAULT_WIRE)
    write_recorded(recorded, output)
    say_recorded(recorded, output, live=verdict_words(live))


def _check_output(output: Path, force: bool) -> None:
    """Raise UsageError for a file that could not be written in the end, before anything is asked of anybody."""
    if output.suffix not in (".yaml", ".yml", STREAM):
        hint = "name it THEME/NAME.yaml, or NAME.sse for the stream alone"
        raise UsageError(f"{output} is not a scenario file", hint=hint)
    above = output.absolute().parent
    if output.suffix != STREAM:
        above = above.parent
    if not above.is_dir():
        raise UsageError(f"the folder {above} does not exist", hint="make the folder first, or correct the path")
    written = [output, input_file(output)] if output.suffix == STREAM else [output]
    for there in (one for one in written if one.exists() and not force):
        raise UsageError(f"{there} exists", hint="name another file, or replace it with --force")


def _refuse_with_play(**given: object) -> None:
    """Raise UsageError for an option that says what a case says."""
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} does not go with --play", hint="the case says what is asked and where it is cut"
            )


def _played(source: str, name: str, scenarios: list[Path] | None, output: Path, wire: str) -> tuple[Scenario, Result]:
    found = select_scenarios((name,), tuple(scenarios) if scenarios else (scenarios_dir(),))
    if len(found) != 1:
        some = ", ".join(one.id for one in found[:3])
        raise UsageError(f"{name!r} names {len(found)} scenarios, and one is recorded", hint=f"for example {some}")
    scenario = load_scenario(found[0].path, root=found[0].root)
    seen: list[PlayedCase] = []
    with Session(server=source, wire=wire) as session:
        adapted, reason = session.run(session.adapt(scenario))
        if reason:
            raise UsageError(f"{scenario.id} does not apply to {source}: {reason}")
        case = case_of(adapted.scenario, name, adapted.versions, session.players, wire=wire)
        live = session.run(session.play_case(case, observe=seen.append))
        declared = session.players.server.capabilities
    if not seen:
        raise UsageError(f"{source} did not play {case.id}: {verdict_words(live)}", hint="`tpharness run` says more")
    if seen[0].served is None or seen[0].recorded:
        raise UsageError(f"{case.id} gives the stream itself: a server has nothing to play")
    return record_case(case, declared, seen[0].served, scenario_id(output)), live
