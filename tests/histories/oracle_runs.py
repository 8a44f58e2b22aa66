"""What the oracles of agent frameworks share: the runs of the scenarios, and a script that stops at a place.

Must not import a framework, nor pytest's plugins: each oracle runs in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from typing import Any

from tpharness.histories.compare import DEFAULT_IDS
from tpharness.histories.langchain import UnsupportedError
from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.server_events import Recorder

__all__ = ["Event", "NotPlayableError", "Script", "hold", "is_of_tools", "journal_at", "text_of", "without_parts"]

IDS = (*DEFAULT_IDS, "cycles", "tools")
ASKED = UserTurn(at="2025-01-20T10:00:00Z", parts=({"part_kind": "user-prompt", "content": "q"},))
PLAYABLE = (
    *("model_request", "part_start", "part_delta", "part_end", "final_result", "model_response_end"),
    *("function_tool_call", "function_tool_result", "agent_run_result"),
)
Event = dict[str, Any]


class NotPlayableError(Exception):
    """What a run has that the program's loop never does, or that a scripted model cannot say through it."""


class Script:
    """The script of a model and its tools: what comes after the first `at` events waits until the run was stopped."""

    def __init__(self, events: list[Event], at: int, *, fails: bool) -> None:
        self.events, self._at, self._fails, self._asked = events, at, fails, 0
        self.reached, self.stopped = asyncio.Event(), asyncio.Event()

    async def _wait(self, index: int, *, fails: bool) -> None:
        if index < self._at:
            return
        self.reached.set()
        await self.stopped.wait()
        if fails and self._fails:
            raise ConnectionError("the model's server has died")

    async def response(self) -> AsyncIterator[tuple[int, Event]]:
        """Yield the events of the next response of the model, its end among them, with their numbers."""
        begins = [i for i, event in enumerate(self.events) if event["event_kind"] == "model_request"]
        if self._asked == len(begins):
            raise NotPlayableError("the program asks the model once more")
        start, self._asked = begins[self._asked], self._asked + 1
        for index in range(start, len(self.events)):
            await self._wait(index, fails=True)
            yield index, self.events[index]
            if self.events[index]["event_kind"] == "model_response_end":
                return

    async def returned(self, call_id: str) -> Event:
        """Return what a tool returns, once it has."""
        for index, event in enumerate(self.events):
            if event["event_kind"] == "function_tool_result" and event["part"]["tool_call_id"] == call_id:
                await self._wait(index, fails=False)
                return dict(event["part"])
        await asyncio.Event().wait()  # it never returns
        raise AssertionError

    def tools(self) -> list[str]:
        """Return the names of the tools that are called."""
        called = (event for event in self.events if event["event_kind"] == "function_tool_call")
        return sorted({event["part"]["tool_name"] for event in called})

    async def stop(self, run: asyncio.Task[None], how: Callable[[], object] | None) -> BaseException | None:
        """Let a run come to the place or to its end, stop it if it has not ended, and return what it raised."""
        reached = asyncio.create_task(self.reached.wait())
        await asyncio.wait({run, reached}, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(200):  # let what was said, and the tools that have returned, be noticed
            await asyncio.sleep(0)
        if not run.done() and how is not None:
            how()
        self.stopped.set()
        reached.cancel()
        await asyncio.wait([run])
        return None if run.cancelled() else run.exception()


def text_of(content: Any) -> str:
    """Return what a tool of the scripts returns, as the text that it gives."""
    return content if isinstance(content, str) else json.dumps(content)


def is_of_tools(event: Event) -> bool:
    """Whether an event comes while tools run, or ends the run."""
    return event["event_kind"] in ("function_tool_call", "function_tool_result", "agent_run_result")


def journal_at(events: Sequence[Event], at: int, reason: str = "user_cancelled") -> Journal:
    """Return what has happened after so many events of a run."""
    recorder = Recorder()
    recorder.add_user_turn(ASKED)
    recorder.begin("a", ASKED.at)
    for event in events[:at]:
        recorder.feed(event)
    cut = None if at == len(events) else Interrupted(reason=reason, at=ASKED.at)
    return recorder.journal(cut, partial=True)


def _runs() -> Iterator[tuple[str, list[Event]]]:
    """Yield the events of each agent run of the scenarios, with a name."""
    for one in select_scenarios(IDS, (scenarios_dir(),)):
        scenario = load_scenario(one.path, root=one.root)
        turns = [turn for turn in make_script(base_case(scenario)).turns if not isinstance(turn, UserTurn)]
        for number, turn in enumerate(turns):
            yield f"{scenario.id}:{number}", [dict(event) for event in turn.events]


def _why_not(events: list[Event], kinds: Collection[str], outcomes: Collection[str]) -> str:
    """Return why a run cannot be played through an agent's loop, "" if it can."""
    seen = [event["event_kind"] for event in events]
    for event in events:
        part = event.get("part") or event.get("delta") or {}
        kind = part.get("part_kind") or part.get("part_delta_kind") or ""
        if event["event_kind"] not in PLAYABLE:
            return "an event of another kind"
        if event["event_kind"] in ("part_start", "part_delta") and kind.replace("_", "-") not in kinds:
            return "a part of another kind"
        if event["event_kind"] == "part_delta" and not isinstance(part.get("args_delta") or "", str):
            return "arguments that come as values"
        if event["event_kind"] == "function_tool_result" and part.get("outcome", "success") not in outcomes:
            return "a tool that fails"
        if event["event_kind"] == "function_tool_result" and part.get("content") is None:
            return "a result without content"
    if not seen or seen[0] != "model_request" or seen[-1] != "agent_run_result":
        return "a run that does not begin with its model, or has no end"
    called = [event["part"] for event in events if event["event_kind"] == "part_start" and "tool_name" in event["part"]]
    returned = [event["part"]["tool_call_id"] for event in events if event["event_kind"] == "function_tool_result"]
    if sorted(part["tool_call_id"] for part in called) != sorted(returned):
        return "a call that does not return"
    if seen.count("part_start") != seen.count("part_end"):
        return "a part without its end"
    if seen.count("model_request") != seen.count("model_response_end"):
        return "a response without its end"
    if "function_tool_call" in seen[len(seen) - seen[::-1].index("model_request") :]:
        return "a run that ends with its tools"
    if any("function_tool_call" not in between for between in _between_responses(seen)):
        return "a run that goes on after an answer without calls"
    return ""


def without_parts(events: list[Event]) -> str:
    """Return the reason if a response of a run has no parts: programs keep it, and a journal has none."""
    said = False
    for event in events:
        said = event["event_kind"] == "part_start" or (said and event["event_kind"] != "model_request")
        if event["event_kind"] == "model_response_end" and not said:
            return "a response without parts, which the program keeps and the journal has not"
    return ""


def _between_responses(kinds: list[str]) -> Iterator[list[str]]:
    """Yield the kinds of events between the end of a response and the next request."""
    ends = [number for number, kind in enumerate(kinds) if kind == "model_response_end"]
    for end in ends[:-1]:
        yield kinds[end : kinds.index("model_request", end)]


def hold(
    store: Callable[[Journal], object],
    stops: Sequence[str],
    differences: Callable[[list[Event], int, str], list[str]],
    write: Callable[[str], object],
    *,
    kinds: Collection[str] = ("text", "tool-call"),
    outcomes: Collection[str] = ("success",),
    why_not: Callable[[list[Event]], str] = lambda _: "",
    apart: Callable[[list[Event], int], str] = lambda _, __: "",
) -> Counter[str]:
    """Hold a history to its program at every place of every run that can be played, however it is stopped.

    `differences` plays a run up to a place and returns in what both differ, `why_not` says why this program cannot play
    a run, and `apart` why a place is not compared. `write` gets the count, and how many runs were not
    played, and places not compared, for which reason. AssertionError names the places
    at which something differs. Returned is at how many places both are equal, by the way of stopping.
    """
    equal: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    passed_over: Counter[str] = Counter()
    wrong: dict[tuple[str, int, str], list[str]] = {}
    for name, events in _runs():
        reason = _why_not(events, kinds, outcomes) or why_not(events)
        try:
            store(journal_at(events, len(events)))
        except UnsupportedError as error:
            reason = reason or str(error)
        if reason:
            reasons[reason] += 1
            continue
        for at in range(len(events) + 1):
            why = apart(events, at)
            passed_over.update([why] if why else ())
            for stop in () if why else stops:
                different = differences(events, at, stop)
                equal[stop] += not different
                if different:
                    wrong[name, at, stop] = different
    said = [f"{count} places not compared: {reason}" for reason, count in passed_over.most_common()]
    said += [f"{count} runs not played: {reason}" for reason, count in reasons.most_common()]
    write("\n".join(["", f"{sum(equal.values())} places equal: {dict(equal)}", *said, ""]))
    shown = "\n".join(f"{place}: {different}" for place, different in list(wrong.items())[:5])
    assert not wrong, f"{len(wrong)} places differ, among them\n{shown}"
    return equal
