"""The real agent of klaude-code beside `message-parts`: what its store holds after each place where the user can stop.

Not among the tests that `pytest` collects, because the package needs Python 3.13 and libraries of its own; run as
`oracle_klaude` says. Each scenario is played through the program's own loop (`klaude_agent`), whole and stopped before
the first and after each event of each run, and the lines of the session's file are held to those that our history
predicts. What the loop cannot play is counted by reason; what differs has a reason in KNOWN; a reason that nothing
needs any more fails.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from klaude_code.tool.core.abc import ToolConcurrencyPolicy
from tests.histories.message_parts.klaude_agent import AgentDriver, NotPlayableError, driver

from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.message_parts.releases import PROGRAMS
from tpharness.histories.moments import Moment, case_moments, every_moment, has_server
from tpharness.journal import UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.plan import Case, base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import AgentRun, Scenario, load_scenario, load_text

RELEASE = version("klaude-code")
(VARIANT,) = [variant for variant, program in PROGRAMS.items() if program.release == RELEASE]
HISTORY = MESSAGE_PARTS[f"message-parts/{VARIANT}"]
Line = dict[str, Any]

PLACE = re.compile(r"@cancelled-turn-(\d+)-event-(\d+)$")
NOT_OURS = ("CacheHitRateEntry",)
"""Lines that only the program writes: they tell how well the provider's cache did."""

CANNOT_PLAY = (
    "a call whose arguments come when it starts",
    "a delta that is not a text",
    *(f"a part of the kind {kind}" for kind in ("builtin-tool-call", "builtin-tool-return", "file", "text")),
    *(f"a part of the kind custom:{kind}" for kind in ("mock.bare", "planning-step")),
    "a part that ends twice",
    "a prompt in a run",
    "a result of a call that does not run",
    "a result of a tool that did not end",
    "a result with a file",
    *(f"an event {name}" for name in ("app-developer", "app-retract", "data-tp-error")),
    *(f"an event of the kind {kind}" for kind in ("agent_start", "enqueued_messages", "response_reset")),
    "an event of the kind output_tool_call",
    "an answer ends before one of its parts",
    "an answer ends for a reason that no adapter gives",
    "an interruption that the user did not make",
    "half of a character",
    "the model speaks when the program does not ask it",
    "the program goes on where the run ends",
    "the user says something else than one text",
)
"""What the loop of this program cannot do, so that there is nothing to compare."""

KNOWN: Mapping[str, Callable[[list[Line], list[Line]], bool]] = {
    "token counts that come with the end of a run, and not with a model call, are told nobody in the program": (
        lambda ours, real: kinds(ours) == kinds(real) and held(without_usage(ours), real)
    ),
    "of a long result the program keeps the beginning and the end, and writes all of it to a file of its own": (
        lambda ours, real: kinds(ours) == kinds(real) and held(without_long_results(ours), real)
    ),
    "an answer without a part is not in the journal, where the program keeps it and asks again": (
        lambda _, real: any(line["data"].get("parts") == [] for line in real if line["type"] == "AssistantMessage")
    ),
}
"""What differs and stays so: the reason, and how such a difference is told from both lists of lines."""


def kinds(lines: list[Line]) -> list[str]:
    """Return the kinds of lines."""
    return [line["type"] for line in lines]


def held(ours: Any, real: Any) -> bool:
    """Whether all that we write, but for times, is in what the program writes."""
    if isinstance(ours, Mapping):
        return isinstance(real, Mapping) and all(
            held(value, real.get(name)) for name, value in ours.items() if name != "created_at"
        )
    if isinstance(ours, list):
        return isinstance(real, list) and len(ours) == len(real) and all(map(held, ours, real))
    return bool(ours == real)


def without_usage(lines: list[Line]) -> list[Line]:
    """Return lines whose metadata have no token counts."""
    metadata = [line["data"].get("main_agent", {}) for line in lines]
    kept = [{name: value for name, value in agent.items() if name != "usage"} for agent in metadata]
    return [
        {**line, "data": {**line["data"], **({"main_agent": agent} if agent else {})}}
        for line, agent in zip(lines, kept, strict=True)
    ]


def without_long_results(lines: list[Line]) -> list[Line]:
    """Return lines whose results have no text of more than 16 KiB."""
    return [
        {**line, "data": {name: value for name, value in line["data"].items() if name != "output_text"}}
        if len(line["data"].get("output_text", "")) > 1 << 14
        else line
        for line in lines
    ]


def moments() -> Iterator[tuple[Case, Moment]]:
    """Yield each place of each scenario that has server events, and its end."""
    for one in select_scenarios((), (scenarios_dir(),)):
        case = base_case(load_scenario(one.path, root=one.root))
        if has_server(case.scenario):
            *_, end = case_moments(case)
            for moment in (*every_moment(case), end):
                yield case, moment


async def play(case: Case, moment: Moment, work_dir: Path) -> list[Line]:
    """Return what the program has stored when a scenario was stopped at a place, or played to its end."""
    found = PLACE.search(moment.id)
    stop = (int(found[1]), int(found[2])) if found else None
    runs = dict(case.scenario.runs)
    async with driver(work_dir, dict.fromkeys(tools(runs.values()), ToolConcurrencyPolicy.CONCURRENT)) as playing:
        for index, turn in enumerate(make_script(case).turns):
            if isinstance(turn, UserTurn):
                playing.user(turn.parts)
                continue
            here = stop is not None and index == stop[0]
            events = (runs[index].events or ())[: stop[1]] if here and stop is not None else turn.events
            await begin(playing, runs[index])
            for event in events:
                await playing.feed(event)
            if not here and turn.interruption is not None and turn.interruption.reason != "user_cancelled":
                raise NotPlayableError("an interruption that the user did not make")
            if here or turn.interruption is not None:
                await playing.interrupt()
            if here:
                break
        return [line for line in await playing.stored() if line["type"] not in NOT_OURS]


async def begin(playing: AgentDriver, run: AgentRun) -> None:
    """Start a task with the model that the run asks first."""
    requests = [event for event in run.events or () if event["event_kind"] == "model_request"]
    await playing.begin(next((str(event["model_name"]) for event in requests if event.get("model_name")), ""))


def tools(runs: Any) -> set[str]:
    """Return the names of the tools that are called."""
    parts = [event.get("part") for run in runs for event in run.events or ()]
    return {part["tool_name"] for part in parts if isinstance(part, Mapping) and part.get("part_kind") == "tool-call"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program keeps its sessions under the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))


def test_every_place_is_stored_by_the_program_as_we_say(tmp_path: Path) -> None:
    """Nothing differs without a reason, and no reason is left over."""
    counts: Counter[str] = Counter()
    unplayed: Counter[str] = Counter()
    used: Counter[str] = Counter()
    wrong: list[str] = []
    for case, moment in moments():
        try:
            real = asyncio.run(play(case, moment, tmp_path / "work"))
        except NotPlayableError as error:
            unplayed[str(error)] += 1
            continue
        ours = HISTORY.store(moment.seen_by(HISTORY).after)
        counts["places"] += 1
        if kinds(ours) == kinds(real) and held(ours, real):
            continue
        known = next((reason for reason, is_such in KNOWN.items() if is_such(ours, real)), None)
        if known is not None:
            used[known] += 1
            continue
        counts["wrong"] += 1
        if counts["wrong"] <= 12:
            wrong.append(f"at {moment.id}\n  ours {kinds(ours)}\n  program {kinds(real)}")
            wrong += [
                f"  {json.dumps(a)}\n  {json.dumps(b)}" for a, b in zip(ours, real, strict=False) if not held(a, b)
            ][:1]
    sys.stdout.write(f"\nklaude-code {RELEASE}: {counts['places']} places, {sum(unplayed.values())} cannot be played\n")
    for reason, count in (*used.most_common(), *unplayed.most_common()):
        sys.stdout.write(f"{count:5} {reason}\n")
    assert wrong == [], f"{counts['wrong']} differ\n" + "\n".join(wrong)
    assert set(used) == set(KNOWN), f"nothing differs any more because: {set(KNOWN) - set(used)}"
    assert set(unplayed) == set(CANNOT_PLAY), set(unplayed) ^ set(CANNOT_PLAY)
    assert counts["places"] > 3000


def commands(first: str, output: Mapping[str, str]) -> Scenario:
    """Return a script in which the first of two commands runs and has put something out when the user stops it."""
    calls = [
        {"part_kind": "tool-call", "tool_name": "Bash", "tool_call_id": key, "args": json.dumps({"command": command})}
        for key, command in (("c1", first), ("c2", "ls"))
    ]
    events: list[Line] = [
        {"event_kind": "model_request", "model_name": "test-model", "provider_name": "test"},
        *({"event_kind": "part_start", "index": index, "part": call} for index, call in enumerate(calls)),
        {"event_kind": "model_response_end", "finish_reason": "tool_call"},
        {"event_kind": "function_tool_call", "part": calls[0]},
        {"event_kind": "tool_progress", "tool_call_id": "c1", "content": output},
    ]
    run = {"server": events, "interrupt": {"reason": "user_cancelled", "after": "end"}}
    script = {"description": "A command runs.", "clauses": ["cycle.kept"], "turns": [{"user": "q"}, run]}
    return load_text(json.dumps(script), id="test/bash")


SECONDS = re.compile(r"after [0-9.]+ seconds")


@pytest.mark.parametrize("output", [{"stdout": "one\ntwo\n"}, {"stderr": "oops\n"}, {"stdout": "1\n", "stderr": "2\n"}])
def test_an_interrupted_command_tells_its_output(tmp_path: Path, output: dict[str, str]) -> None:
    """The program's own Bash: the first of two is stopped when it has put all of that out; the second never began."""
    echo = [f"printf {text!r}{' >&2' if name == 'stderr' else ''}" for name, text in output.items()]
    played = commands("; ".join([*echo, "sleep 60"]), output)

    async def stopped() -> list[Line]:
        ((_, run),) = played.runs
        async with driver(tmp_path, {"Bash": None}) as playing:
            playing.user([{"content": "q"}])
            await begin(playing, run)
            for event in run.events or ():
                await playing.feed(event)
            async with asyncio.timeout(30):
                while any(text not in playing.output for text in output.values()):
                    playing.told.clear()
                    await playing.told.wait()
            await playing.interrupt()
            return [line for line in await playing.stored() if line["type"] not in NOT_OURS]

    *_, moment = case_moments(base_case(played))
    told = [HISTORY.store(moment.after), asyncio.run(stopped())]
    ours, real = (json.loads(SECONDS.sub("after N seconds", json.dumps(lines))) for lines in told)
    assert kinds(ours) == kinds(real)
    assert held(ours, real), f"{ours}\n{real}"
