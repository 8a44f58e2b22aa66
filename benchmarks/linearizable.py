"""Histories of one thread on the reference server: requests of several clients, and whether they can be in order.

Clients start runs, add turns, cancel, fetch, read the stream and delete, on one thread, at times that a seed decides,
while other histories are played on the same server, in virtual time (`virtual_serve`). Each request is recorded with
when it was sent, when its answer came, and what that said. A history holds if its requests can be put into one order,
each somewhere between its two times, in which a model of a thread gives just these answers (linearizability). The
model is thirty lines and knows nothing of the server; the search is that of Wing and Gong, with what Lowe added: no
state is looked at twice.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.table import at_most, report, shown
from benchmarks.virtual_serve import CLIENT, Call, Server, be_client
from benchmarks.virtual_time import run_virtually

AT = "2025-01-20T10:00:0{}Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": AT.format(0)}}
AT_ONCE = 8
SLOWEST = 3.0
"""Seconds that a client waits between two requests, at most."""
_MARKER = re.compile(rb'"toolCallId":"c(\d+)"')


# ---------------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class State:
    """What a thread is: its turns, the run in progress (None: no run), and the latest run; `begun` outlives it."""

    exists: bool = False
    turns: tuple[tuple[str, int, str], ...] = ()
    running: int | None = None
    latest: int | None = None
    begun: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """A request: when it was sent and answered, and what was answered. `number` names a run or a turn."""

    kind: str
    number: int
    sent: int
    answered: int
    answer: Any


def next_states(state: State, one: Request) -> Iterator[State]:
    """Yield the states that a thread can be in after a request that was answered like this; none: it cannot be so."""
    answer, running = one.answer, state.running
    match one.kind:
        case "run" if answer == 200 and running is None:
            turns = (*state.turns, ("user", one.number, ""))
            begun = state.begun | {one.number}
            yield State(exists=True, turns=turns, running=one.number, latest=one.number, begun=begun)
        case "run" if answer == 409 and running is not None:
            yield state
        case "turn" if answer == 204 and state.exists and running is None:
            yield replace(state, turns=(*state.turns, ("user", one.number, "")))
        case "turn" if (answer, state.exists, running is None) in ((404, False, True), (409, True, False)):
            yield state
        case "end" if answer == "finished" and running == one.number:
            yield replace(state, turns=(*state.turns, ("agent", one.number, "complete")), running=None)
        case "end" if answer == "aborted" and running != one.number and one.number in state.begun:
            yield state
        case "cancel" if answer is True and running is not None:
            yield replace(state, running=None)  # nothing was complete
            yield replace(state, turns=(*state.turns, ("agent", running, "interrupted")), running=None)
        case "cancel" if (answer is False and state.exists and running is None) or (answer == 404 and not state.exists):
            yield state
        case "fetch" if answer == (state.turns if state.exists else 404):
            yield state
        case "read" if answer == (404 if not state.exists else 204 if state.latest is None else state.latest):
            yield state
        case "read" if answer == 200 and state.latest is not None:  # a stream that ended before it named its run
            yield state
        case "delete" if answer == 204:
            yield State(begun=state.begun)


def can_be_ordered(requests: Sequence[Request]) -> bool:
    """Whether the requests can be put into one order that the model allows."""
    everything = (1 << len(requests)) - 1
    waiting, seen = [(0, State())], {(0, State())}
    while waiting:
        done, state = waiting.pop()
        if done == everything:
            return True
        left = [n for n in range(len(requests)) if not done >> n & 1]
        first_answer = min(requests[n].answered for n in left)
        for n in left:
            if requests[n].sent > first_answer:  # another one was answered before this was sent
                continue
            for after in next_states(state, requests[n]):
                one = (done | 1 << n, after)
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
    return False


# ----------------------------------------------------------------------------------------------------------- playing


@dataclass(slots=True)
class History:
    """The requests on one thread, as they are recorded."""

    name: str
    server: Server
    chance: random.Random
    ticks: itertools.count[int]
    requests: list[Request] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def play(self) -> None:
        """Play two to four clients, and in the end cancel and fetch, so that nothing is left open."""
        clients = [asyncio.create_task(self._client(), name=CLIENT) for _ in range(self.chance.randrange(2, 5))]
        readers = [one for group in await asyncio.gather(*clients) for one in group]
        await self._ask("cancel")
        await asyncio.gather(*readers)
        await self._ask("fetch")
        await self._ask("delete")

    async def _client(self) -> list[asyncio.Task[None]]:
        reading = []
        for _ in range(self.chance.randrange(1, 4)):
            await asyncio.sleep(self.chance.choice((0.0, 0.0, self.chance.random() * SLOWEST)))
            kind = self.chance.choice(("run", "run", "turn", "cancel", "fetch", "fetch", "read", "delete"))
            task = await (self._run() if kind == "run" else self._ask(kind))
            if task is not None:
                reading.append(task)
        return reading

    def _note(self, kind: str, number: int, sent: int, answer: Any) -> None:
        self.requests.append(Request(kind, number, sent, next(self.ticks), answer))

    async def _run(self) -> asyncio.Task[None] | None:
        number, sent = next(self.numbers), next(self.ticks)
        call = Call(self.server, "POST", f"/threads/{self.name}/runs", self._script(number))
        status = await call.begun()
        self._note("run", number, sent, status)
        if status != 200:
            return None
        return asyncio.create_task(self._read_to_end(call, number, sent), name=CLIENT)

    async def _read_to_end(self, call: Call, number: int, sent: int) -> None:
        """Read the stream of a run, whose end is somewhere between the start of the run and the end of the stream."""
        data = b""
        while piece := await call.read():
            data += piece
        self._note("end", number, sent, "finished" if b'"type":"finish"' in data else "aborted")

    def _script(self, number: int) -> dict[str, Any]:
        """Return a run with a cycle and a text, which ends by itself or waits to be cancelled, and stalls somewhere."""
        call = {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": f"c{number}", "args": {}}
        back = {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": f"c{number}", "content": "sunny"}
        events: list[dict[str, Any]] = [
            {"event_kind": "part_start", "index": 0, "part": call, "at": AT.format(2)},
            {"event_kind": "model_response_end", "at": AT.format(2)},
            {"event_kind": "function_tool_result", "part": back, "at": AT.format(3)},
            {
                "event_kind": "part_start",
                "index": 0,
                "part": {"part_kind": "text", "content": "Sun"},
                "at": AT.format(4),
            },
            {"event_kind": "model_response_end", "at": AT.format(4)},
            {"event_kind": "agent_run_result", "at": AT.format(5)},
        ]
        more: dict[str, Any] = {}
        if self.chance.random() < 0.4:
            del events[-2:]
            more = {"hold": {"at": AT.format(6)}}
        for _ in range(self.chance.randrange(3)):
            stall = {"event_kind": "stall", "seconds": round(self.chance.random() * 2, 3), "at": AT.format(2)}
            events.insert(self.chance.choice((1, 2, 3)), stall)
        run = {"turn_type": "agent", "agent_id": "a", "started_at": AT.format(1), "events": events}
        return {
            "created_at": AT.format(0),
            "agents": AGENTS,
            "user": [_turn(number)],
            "run": run,
            "time_scale": 1,
            **more,
        }

    async def _ask(self, kind: str) -> None:
        number, sent = 0, next(self.ticks)
        path = f"/threads/{self.name}"
        match kind:
            case "turn":
                number = next(self.numbers)
                answer: Any = await Call(self.server, "POST", f"{path}/user-turns", _turn(number)).begun()
            case "cancel":
                call = Call(self.server, "POST", f"{path}/cancel", {"reason": "user_cancelled"})
                answer = await call.begun()
                answer = (await call.value())["cancelled"] if answer == 200 else answer
            case "fetch":
                call = Call(self.server, "GET", path)
                answer = await call.begun()
                answer = tuple(map(_as_model, (await call.value())["turns"])) if answer == 200 else answer
            case "read":
                answer = await self._read_start(Call(self.server, "GET", f"{path}/stream"))
            case "delete":
                answer = await Call(self.server, "DELETE", path).begun()
        self._note(kind, number, sent, answer)

    async def _read_start(self, call: Call) -> int:
        """Return the number of the run whose stream this is, 200 if it ends before it says so, or another status."""
        status = await call.begun()
        data = b""
        while status == 200 and (piece := await call.read()):
            data += piece
            if (found := _MARKER.search(data)) is not None:
                status = int(found[1])
        call.leave()
        return status


def _turn(number: int) -> dict[str, Any]:
    parts = [{"part_kind": "user-prompt", "content": str(number)}]
    return {"turn_type": "user", "submitted_at": AT.format(0), "parts": parts}


def _as_model(turn: dict[str, Any]) -> tuple[str, int, str]:
    if turn["turn_type"] == "user":
        return ("user", int(turn["parts"][0]["content"]), "")
    call = turn["messages"][0]["parts"][0]["tool_call_id"]
    return ("agent", int(call.removeprefix("c")), turn["completion_status"])


async def _play_all(folder: Path, count: int, seed: int, wrong: list[str]) -> list[History]:
    server = Server(folder, random.Random(seed), wrong)
    be_client()
    await server.start()
    chance, ticks, played = random.Random(seed + 1), itertools.count(), []
    for first in range(0, count, AT_ONCE):
        some = [
            History(f"t{n}", server, random.Random(chance.random()), ticks)
            for n in range(first, min(count, first + AT_ONCE))
        ]
        await asyncio.gather(*(asyncio.create_task(one.play(), name=CLIENT) for one in some))
        played += some
    await server.stop(1.0)
    return played


def play(folder: Path, count: int, seed: int) -> tuple[list[History], list[str]]:
    """Play so many histories; return them, and what the server did that it must not whatever it is asked."""
    wrong: list[str] = []
    return run_virtually(_play_all(folder, count, seed, wrong)), wrong


def main() -> int:
    """Play, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--histories", type=int, default=10_000, metavar="N", help="histories of each seed (10,000)")
    options.add_argument("--seed", type=int, action="append", metavar="N", help="may be given again (1 and 2)")
    args = options.parse_args()
    rows = []
    for seed in args.seed or (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            played, wrong = play(Path(folder), args.histories, seed)
        answers = Counter(f"{one.kind} {_word(one.answer)}" for history in played for one in history.requests)
        rows += [shown(f"seed {seed}: {what}", count) for what, count in sorted(answers.items())]
        bad = [history for history in played if not can_be_ordered(history.requests)]
        for history in bad[:3]:
            print(history.name, *sorted(history.requests, key=lambda one: one.sent), *wrong[:3], sep="\n  ")
        rows.append(at_most(f"seed {seed}: of {len(played):,} histories cannot be ordered", len(bad), 0, ""))
        rows.append(at_most(f"seed {seed}: other violations", len(wrong), 0, ""))
    return report(rows)


def _word(answer: Any) -> str:
    if isinstance(answer, tuple):
        return "a thread"
    return "a run" if isinstance(answer, int) and not isinstance(answer, bool) and answer < 200 else str(answer)


if __name__ == "__main__":
    raise SystemExit(main())
