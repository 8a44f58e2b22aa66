"""Interrupted runs by the thousand, faults on the wire, and a server that is killed again and again.

A real `tpharness serve` with its store on disk. Workers play generated runs on threads of one to three turns, each run
interrupted in a way that chance chooses: cancelled, disconnected, out of time, told in the script, or struck by a fault
on its way; some come back for the rest of their stream. Meanwhile the server is ended with SIGKILL and started again.
Streams are folded by the harness's own client. After every run the thread is fetched, and

- is valid: schema and rules of its version;
- still has every turn that it had before, unchanged (what is canonical is never lost);
- holds at least what the client saw become canonical (the server stores before it tells), and exactly that where
  nothing was lost on the way;
- a stream that was gone on with has each frame once.

In the end neither process has more descriptors, tasks or threads than at its beginning. Everything follows from the
seed but for when the kernel does what. Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.table import Row, report, shown

from tpharness.checks import CHECKS, Delivery, Evidence, Side
from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.errors import TargetError
from tpharness.faults.plan import Fin, Pass, Rechunk, RelayPlan, Reset, Wait
from tpharness.findings import Level
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.records import Compare
from tpharness.server_events import shift
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.net import Http
from tpharness.targets.relay import FaultRelay
from tpharness.targets.remote import Patience
from tpharness.targets.resume import data_frames, join_resumed
from tpharness.targets.server_process import ServerProcess
from tpharness.wires.vsp.assembler import Assembler

START = "2025-01-20T10:00:00Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "provider_name": "test", "created_at": START}}
WORKERS = 16
KINDS = (
    "whole",
    "cancel",
    "disconnect",
    "limit",
    "told",
    "fin",
    "reset",
    "resume",
    "resume-from-start",
    "drip",
    "stall",
)
HELD = ("cancel", "disconnect", "limit")
STRUCK = ("fin", "reset", "resume", "resume-from-start", "drip", "stall")
JUDGED = tuple(check for check in CHECKS if check.name in ("identity", "validity", "prefix"))


# ------------------------------------------------------------------------------------------------ what is played


def events(chance: random.Random, at: str, most_steps: int = 3) -> tuple[list[dict[str, Any]], str]:
    """Return the events of a whole run of one step or more, and when the last of them happens."""
    told: list[dict[str, Any]] = []

    def say(kind: str, **more: Any) -> None:
        told.append({"event_kind": kind, **more, "at": shift(at, 0.001 * (len(told) + 1))})

    def text(index: int, kind: str, field_: str) -> None:
        words = [f"word {chance.randrange(1000)} é " for _ in range(chance.randrange(1, 6))]
        say("part_start", index=index, part={"part_kind": kind, "content": words[0]})
        for word in words[1:]:
            say("part_delta", index=index, delta={"part_delta_kind": kind, field_: word})
        say("part_end", index=index, part={"part_kind": kind, "content": "".join(words)})

    steps = chance.randint(1, most_steps)
    for step in range(steps):
        index = 0
        if chance.random() < 0.3:
            text(index, "thinking", "content_delta")
            index += 1
        if chance.random() < 0.7 or step == steps - 1:
            text(index, "text", "content_delta")
            index += 1
        calls = [] if step == steps - 1 else [f"c{step}-{n}" for n in range(chance.randrange(1, 4))]
        for call in calls:
            part = {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": call}
            say("part_start", index=index, part={**part, "args": '{"q":'})
            say("part_delta", index=index, delta={"part_delta_kind": "tool_call", "args_delta": f'"{call}"}}'})
            say("part_end", index=index, part={**part, "args": f'{{"q":"{call}"}}'})
            index += 1
        usage = {"input_tokens": chance.randrange(100), "output_tokens": chance.randrange(100)}
        say("model_response_end", finish_reason="tool_call" if calls else "stop", usage=usage)
        for call in calls:
            say("function_tool_call", part={"part_kind": "tool-call", "tool_name": "get", "tool_call_id": call})
        for call in chance.sample(calls, len(calls)):
            result = {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": call, "content": {"of": call}}
            say("function_tool_result", part=result)
    say("agent_run_result")
    return told, told[-1]["at"]


# ------------------------------------------------------------------------------------------------ the soak


@dataclass
class Soak:
    """Everything that the workers share."""

    process: ServerProcess
    http: Http
    chance: random.Random
    runs: int
    kills: int
    up: asyncio.Event = field(default_factory=asyncio.Event)
    epoch: int = 0
    begun: int = 0
    ended: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def endpoint(self) -> Endpoint:
        """Where the server is."""
        return Endpoint(base=f"http://127.0.0.1:{self.process.port}")

    async def killer(self) -> None:
        """Kill the server when so many more runs have ended, and start it again."""
        for number in range(1, self.kills + 1):
            due = self.runs * number // (self.kills + 1)
            while self.ended < due:  # noqa: ASYNC110  # sixteen workers count
                await asyncio.sleep(0.002)
            await asyncio.sleep(self.chance.random() * 0.02)
            self.up.clear()
            self.epoch += 1
            await self.process.kill()
            await self.process.start()
            self.counts["kills"] += 1
            self.up.set()

    async def worker(self, seed: int) -> None:
        """Play runs until there are enough."""
        chance = random.Random(seed)
        async with FaultRelay("127.0.0.1", self.process.port) as relay:
            number = 0
            while self.begun < self.runs:
                number += 1
                conversation = Conversation(self, relay, chance, f"t-{seed}-{number}")
                for _ in range(chance.randrange(1, 4)):
                    if self.begun >= self.runs or conversation.over:
                        break
                    self.begun += 1
                    try:
                        await conversation.turn()
                    except (TargetError, ConnectionError, TimeoutError) as error:
                        self.wrong.append(f"{conversation.id}: {type(error).__name__}: {error}")
                        break
                    finally:
                        self.ended += 1


class Conversation:
    """One thread: runs on it, the client that hears them, and what is known to be canonical."""

    def __init__(self, soak: Soak, relay: FaultRelay, chance: random.Random, name: str) -> None:
        self.id = name
        self._soak = soak
        self._relay = relay
        self._chance = chance
        self._client = Assembler(agent_id="a", providers={"a": "test"})
        self._at = START
        self._known: list[Any] = []
        self._lost = self._lost_before = False
        self._over = False
        self._path = f"/threads/{name}"

    @property
    def over(self) -> bool:
        """Whether server and client no longer have the same user turns: a kill came before the server knew the last."""
        return self._over

    async def turn(self) -> None:
        """Play a user turn and a run, and look at the thread then."""
        soak, chance = self._soak, self._chance
        kind = chance.choice(KINDS)
        user: dict[str, Any] = {"turn_type": "user", "submitted_at": shift(self._at, 0.5), "parts": [_prompt(chance)]}
        began = shift(self._at, 1)
        told, last = events(chance, began)
        self._at = shift(last, 1)
        request = self._request(kind, user, began, told)
        await soak.up.wait()
        epoch = soak.epoch
        self._client.add_user_turn(UserTurn(at=user["submitted_at"], parts=tuple(user["parts"])))
        self._client.begin(began, agent_id="a")
        data, end = await self._stream(kind, request)
        killed = soak.epoch != epoch
        if kind.startswith("resume") and end is not None and not killed:
            data, end = await self._back(kind, data)
            killed = soak.epoch != epoch
        self._client.feed(data, began)
        self._client.close(end, self._at)
        soak.counts[kind] += 1
        soak.counts["struck by a kill"] += killed
        if end is not None and not killed and kind in ("whole", "cancel", "limit", "told", "drip", "stall"):
            soak.wrong.append(f"{self.id}: a run ({kind}) broke off ({end}) though nobody broke it")
        self._lost_before = self._lost
        self._lost = self._lost or (end is not None and kind != "disconnect")
        if kind == "disconnect" and not killed:
            await self._until_noticed()
        await self._look(epoch)

    async def _until_noticed(self) -> None:
        """Wait until the server has seen that its client is gone: who asks for its stream before keeps it going."""
        for _ in range(40):
            try:
                answer = await self._soak.http.ask("GET", self._soak.endpoint, self._path, passes=(404,))
            except TargetError:
                return
            turns = answer.value["turns"] if answer.status == 200 else []
            if len(turns) > len(self._known) + 1 and "interruption" in turns[-1]:
                return
            await asyncio.sleep(0.005)  # nothing may be left of the run to show (R24)

    def _request(self, kind: str, user: dict[str, Any], began: str, told: list[dict[str, Any]]) -> dict[str, Any]:
        held = kind in HELD or kind == "told"
        played = told[: self._chance.randrange(1, len(told))] if held else told
        run: dict[str, Any] = {"turn_type": "agent", "agent_id": "a", "started_at": began, "events": played}
        cut = shift(played[-1]["at"], 0.0005)
        request: dict[str, Any] = {"created_at": START, "agents": AGENTS, "user": [user], "run": run, "carriers": True}
        if kind == "told":
            run["interruption"] = {"reason": "safety_halt", "at": cut, "tell": "abort"}
        if kind in HELD:
            request |= {"hold": {"at": cut}, "marks": True}
        if kind == "limit":
            request["limits"] = {"stream_seconds": 0.02}
        request["on_disconnect"] = "stop" if kind == "disconnect" else "continue"
        return request

    async def _stream(self, kind: str, request: dict[str, Any]) -> tuple[bytes, str | None]:
        """Start the run and read its stream; return what came and how it ended, None for a plain end."""
        soak, chance = self._soak, self._chance
        endpoint = soak.endpoint
        if kind in STRUCK:
            at = chance.randrange(1, 3000)
            plans = {"drip": (Rechunk((701,)),), "stall": (Pass(at), Wait(0.02)), "reset": (Pass(at), Reset())}
            self._relay.plan(RelayPlan(plans.get(kind, (Pass(at), Fin()))))
            endpoint = Endpoint(base=f"http://127.0.0.1:{self._relay.port}", relay=True)
        data = bytearray()
        last = b": tp %d\n" % len(request["run"]["events"])
        stop = None
        try:
            async with soak.http.stream("POST", endpoint, f"{self._path}/runs", request) as reading:
                while piece := await reading.read():
                    data += piece
                    if kind == "disconnect" and last in data:
                        reading.abandon()
                        return bytes(data), "network_failure"
                    if kind == "cancel" and stop is None and last in data:
                        stop = asyncio.ensure_future(self._cancel())
        except (TargetError, ConnectionError, TimeoutError):
            return bytes(data), "network_failure"
        finally:
            if stop is not None:
                await asyncio.gather(stop, return_exceptions=True)
        return bytes(data), None

    async def _cancel(self) -> None:
        await self._soak.http.ask("POST", self._soak.endpoint, f"{self._path}/cancel", {"reason": "user_cancelled"})

    async def _back(self, kind: str, data: bytes) -> tuple[bytes, str | None]:
        """Come back for the rest of the stream (R31)."""
        soak = self._soak
        frames, whole = data_frames(data)
        named = frames[-1].id if frames and kind == "resume" else None
        epoch = soak.epoch
        try:
            rest = await soak.http.resume(soak.endpoint, f"{self._path}/stream", after=named)
            told = await soak.http.resume(soak.endpoint, f"{self._path}/stream", after=None)
        except TargetError as error:
            if soak.epoch == epoch and "404" not in str(error):
                soak.wrong.append(f"{self.id}: cannot be resumed: {error}")
            return data, "network_failure"
        soak.counts["streams gone on with"] += 1
        joint, findings = join_resumed(data[:whole], rest, told, named=named)
        soak.wrong += [f"{self.id}: {finding.line()}" for finding in findings]
        return joint, None

    async def _look(self, begun: int) -> None:
        """Fetch the thread once its run has ended, and hold it against everything that is known.

        `begun` is how often the server had been killed before the run: a kill at any time until now is a loss, also one
        that came when the client had gone already.
        """
        soak = self._soak
        for attempt in range(200):
            await soak.up.wait()
            epoch = soak.epoch
            try:
                await soak.http.resume(soak.endpoint, f"{self._path}/stream", after=None)
                answer = await soak.http.ask("GET", soak.endpoint, f"{self._path}?version=0.0.4", passes=(404,))
            except TargetError as error:
                if "answers 404" in str(error) and not self._known:
                    answer = None  # the run was never begun: it was killed before
                elif soak.epoch == epoch and attempt == 199:
                    soak.wrong.append(f"{self.id}: its thread cannot be had: {error}")
                    return
                else:
                    await asyncio.sleep(0.005)
                    continue
            break
        killed = soak.epoch != begun
        self._lost = self._lost or killed
        thread = answer.value if answer is not None and answer.status == 200 else None
        soak.counts["threads looked at"] += 1
        header = ThreadHeader(thread_id=self.id, created_at=START, agents=AGENTS)
        mine = DIALECTS[Version.V0_0_4].renderer(header, Readings()).render(self._client.journal())
        never_begun = killed and len(thread["turns"] if thread is not None else ()) == len(self._known)
        if thread is None or never_begun:  # it was killed before it had taken the run in
            self._over = True
            if thread is None and self._known:
                soak.wrong.append(f"{self.id}: the thread is gone")
            if len(mine["turns"]) > len(self._known) + 1 and not self._lost_before:
                soak.wrong.append(f"{self.id}: the client saw a turn that the server does not have")
            mine = {**mine, "turns": mine["turns"][:-1]}
        if thread is None:
            return
        if thread["turns"][: len(self._known)] != self._known:
            soak.wrong.append(f"{self.id}: turns that were canonical have changed")
        soak.counts["turns kept"] += len(self._known)
        self._known = thread["turns"]
        evidence = Evidence(
            case=self.id,
            version=Version.V0_0_4,
            mode=Compare.CONTENT,
            delivery=Delivery.PART if self._lost else Delivery.WHOLE,
            server=Side(name="server", thread=thread),
            client=Side(name="client", thread=mine),
        )
        for check in JUDGED:
            judged = [] if check.not_applicable(evidence) else check.judge(evidence)
            found = [f for f in judged if f.level is Level.MUST]
            soak.wrong += [f"{finding.with_place(case=self.id).line()}" for finding in found[:2]]
        messages = [turn.get("messages", ()) for turn in thread["turns"] if turn["turn_type"] == "agent"]
        soak.counts["interrupted turns"] += sum(
            t.get("completion_status") == "interrupted" for t in thread["turns"][-1:]
        )
        soak.counts["messages"] += sum(map(len, messages[-1:]))


def _prompt(chance: random.Random) -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": f"question {chance.randrange(1000)}"}


# ------------------------------------------------------------------------------------------------ leaks


@dataclass(frozen=True)
class Held:
    """What a process holds: descriptors, threads, memory in MiB."""

    descriptors: int
    threads: int
    memory: float

    @classmethod
    def by(cls, pid: int | str) -> Held:
        """Look at a process."""
        status = Path(f"/proc/{pid}/status").read_text("ascii")
        values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
        return cls(descriptors, int(values["Threads"]), int(values["VmRSS"].split()[0]) / 1024)

    def __str__(self) -> str:
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.memory:.0f} MiB"


async def settled(pid: int | str, most: Held) -> Held:
    """Look again until no more is held than before, for 5 s at most."""
    for _ in range(100):
        gc.collect()
        held = Held.by(pid)
        if held.descriptors <= most.descriptors and held.threads <= most.threads:
            break
        await asyncio.sleep(0.05)
    return held


async def soak(args: argparse.Namespace, folder: Path) -> int:
    """Do it, print; return the exit code."""
    command = [sys.executable, "-m", "tpharness", "serve", "--port", "{port}", "--store", str(folder / "threads.db")]
    patience = Patience(connect=5.0, answer=20.0, silence=20.0, total=60.0)
    async with Http(patience=patience) as http, ServerProcess(command) as process:
        shared = Soak(process, http, random.Random(args.seed), runs=args.runs, kills=args.kills)
        shared.up.set()
        tasks, mine = len(asyncio.all_tasks()), Held.by("self")
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(shared.killer())
            for number in range(WORKERS):
                group.create_task(shared.worker(args.seed * 1000 + number))
        took = time.perf_counter() - begun
        await process.kill()
        await process.start()  # what a server holds that has just begun, with all that the store has
        await http.ask("GET", shared.endpoint, "/capabilities")
        fresh = Held.by(process.pid or 0)
        again = Soak(process, http, random.Random(args.seed + 1), runs=min(args.runs, 400), kills=0)
        again.up.set()
        async with asyncio.TaskGroup() as group:
            for number in range(WORKERS):
                group.create_task(again.worker(args.seed * 1000 + 500 + number))
        await http.close()
        held = {
            "server": (fresh, await settled(process.pid or 0, fresh)),
            "harness": (mine, await settled("self", mine)),
        }
        left = len(asyncio.all_tasks()) - tasks
    wrong = shared.wrong + again.wrong
    rows = [shown("seed", str(args.seed)), shown("runs", str(shared.ended)), shown("all of them took", took, "s")]
    for name, (before, after) in held.items():
        rows += [shown(f"{name}, before", str(before)), shown(f"{name}, after", str(after))]
        if after.descriptors > before.descriptors or after.threads > before.threads + _POOL:
            wrong.append(f"the {name} holds more than before")
    if left:
        wrong.append(f"{left} tasks are left")
    if threading.active_count() > 1 + _POOL:
        wrong.append(f"{threading.active_count()} threads are left")
    rows += [shown(name, str(count)) for name, count in sorted(shared.counts.items())]
    rows.append(Row(name="violations", value=str(len(wrong)), target="0", passed=not wrong))
    code = report(rows)
    for line in wrong[:20]:
        print(f"  {line}")
    return code


_POOL = 8  # threads that the interpreter keeps for work that blocks, once there was some


@contextmanager
def store(path: str | None) -> Iterator[Path]:
    """Give the folder of the store, one that goes away when none is named."""
    if path is not None:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> int:
    """Run with the options of the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20_000, help="interrupted runs (20000)")
    options.add_argument("--kills", type=int, default=200, help="SIGKILLs of the server among them (200)")
    options.add_argument("--seed", type=int, default=1, help="what chance begins with (1)")
    options.add_argument("--store", metavar="FOLDER", help="keep the store here")
    args = options.parse_args()
    with store(args.store) as folder:
        return asyncio.run(soak(args, folder))


if __name__ == "__main__":
    sys.exit(main())
