"""A conversation with the server of `virtual_serve`: runs that end as chance has it, and what has to hold then.

The client's thread is folded by the harness's own client from the bytes that came, over all connections.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.soak import AGENTS, JUDGED, START, events
from benchmarks.virtual_serve import CLIENT, BrokenOffError, Call, Server

from tpharness.checks import Delivery, Evidence, Side
from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.findings import Level
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.records import Compare
from tpharness.server_events import shift
from tpharness.targets.resume import data_frames, join_resumed
from tpharness.wires.vsp.assembler import Assembler

if TYPE_CHECKING:
    from benchmarks.week import Week

__all__ = ["Conversation", "ask"]

ENDS = ("itself", "itself", "itself", "cancelled", "cancelled", "told", "limit", "held")
PRESENCES = ("stays", "stays", "comes back", "comes back", "goes away")
MEDDLERS = ("nobody", "nobody", "nobody", "second run", "second reader", "looker", "deleter")
STALLS = (0.01, 1.0, 10.0, 20.0, 45.0)
LIMIT = 30.0
HEARTBEAT = 15.0
UNREAD = 60.0
DELAYS = 1.0
"""Seconds for which a store may keep somebody waiting."""
BETWEEN_TURNS = 10_000
"""Seconds on the clock of the scripts: longer than any run, since turns do not overlap."""


async def ask(server: Server, method: str, path: str, body: Any = None, *, patience: int = 100) -> tuple[int, Any]:
    """Ask until there is an answer that is no 503; return it. After so many tries the last one counts."""
    for _ in range(patience):
        await server.up.wait()
        try:
            call = Call(server, method, path, body)
            status = await call.begun()
            value = await call.value()
        except BrokenOffError:
            status, value = 503, None
        if status != 503:
            return status, value
        await asyncio.sleep(1.0)
    return 503, None


@dataclass(slots=True)
class Heard:
    """What a client has of a stream."""

    status: int = 0
    data: bytes = b""
    whole: bool = False
    """Whether it came to its end."""
    deaths: int = 0
    """How many connections the server broke off."""
    wrong: list[str] = field(default_factory=list)


class Conversation:
    """One thread: its runs, the client that hears them, and what was acknowledged."""

    def __init__(self, week: Week, chance: random.Random, name: str) -> None:
        self.id = name
        self._week = week
        self._server = week.server
        self._chance = chance
        self._path = f"/threads/{name}"
        self._client = Assembler(agent_id="a", providers={"a": "test"})
        self._at = START
        self._known: list[Any] = []
        self._thread: dict[str, Any] | None = None
        self._lost = self._over = False
        self._asked: Call | None = None
        """The request for the latest run."""
        self._deleted: int | None = None
        self._deletes_a_run = False
        """Whether the run had been answered when the deletion was asked for: else it may begin after the deletion."""
        self._foreign = False

    async def play(self) -> None:
        """Play one to three turns."""
        store = self._week.stores
        for _ in range(self._chance.randrange(1, 4)):
            await asyncio.sleep(self._chance.random())
            wrong = await self._turn()
            if store != self._week.stores or self._week.lied:
                self._week.counts["runs while the disk had lied"] += 1
                self._week.cut_off.add(self.id)
                return
            self._week.wrong += [f"{self.id}: {one}" for one in wrong]
            if self._over:
                break
        if self._thread is not None:
            self._week.kept[self.id] = self._thread

    async def _turn(self) -> list[str]:
        """Play a user turn and a run, look at the thread, and return what is wrong."""
        week, chance = self._week, self._chance
        week.begun += 1
        ends, presence, meddler = chance.choice(ENDS), chance.choice(PRESENCES), chance.choice(MEDDLERS)
        if ends == "held" and presence == "stays":
            presence = "comes back"
        request = self._request(ends, presence)
        user, began = request["user"][0], request["run"]["started_at"]
        self._client.add_user_turn(UserTurn(at=user["submitted_at"], parts=tuple(user["parts"])))
        self._client.begin(began, agent_id="a")
        await self._server.up.wait()
        heard = Heard()
        beside = [asyncio.create_task(self._meddle(meddler, request), name=f"{CLIENT} {meddler} {self.id}")]
        if ends == "cancelled":
            beside.append(asyncio.create_task(self._cancel(), name=f"{CLIENT} cancels {self.id}"))
        await self._listen(heard, request, presence)
        for found in await asyncio.gather(*beside):
            heard.wrong += found
        if heard.status == 200 and presence == "goes away" and not heard.whole:
            while True:  # a machine that was suspended has only begun to wait
                before = asyncio.get_running_loop().time()
                await asyncio.sleep(UNREAD + 3 * max(STALLS))
                if not self._server.suspended(before):
                    break
        self._client.feed(heard.data, began)
        self._client.close(None if heard.whole else "network_failure", self._at)
        for name in (ends, presence, meddler):
            week.counts[f"run: {name}"] += 1
        week.counts["connections that a death broke off"] += heard.deaths
        return heard.wrong + await self._look(heard, user)

    # ------------------------------------------------------------------- asking

    def _request(self, ends: str, presence: str) -> dict[str, Any]:
        chance = self._chance
        began = shift(self._at, 1)
        told, last = events(chance, began, most_steps=2)
        self._at = shift(last, BETWEEN_TURNS)
        user = {
            "turn_type": "user",
            "submitted_at": shift(began, -0.5),
            "parts": [{"part_kind": "user-prompt", "content": f"question {chance.randrange(1000)}"}],
        }
        played = told[: chance.randrange(1, len(told))] if ends in ("held", "told") else told
        cut = shift(played[-1]["at"], 0.0005)
        run: dict[str, Any] = {"turn_type": "agent", "agent_id": "a", "started_at": began, "events": played}
        request: dict[str, Any] = {"created_at": START, "agents": AGENTS, "user": [user], "run": run, "carriers": True}
        request |= {"time_scale": 1, "marks": chance.random() < 0.2}
        request["on_disconnect"] = "stop" if presence == "goes away" and chance.random() < 0.5 else "continue"
        if ends == "told":
            run["interruption"] = {"reason": "safety_halt", "at": cut, "tell": "abort"}
        if ends == "held":
            request["hold"] = {"at": cut}
        if ends == "limit":
            request["limits"] = {"stream_seconds": LIMIT}
        for _ in range(chance.randrange(4)):
            place = chance.randrange(len(played))
            stall = {"event_kind": "stall", "seconds": chance.choice(STALLS), "at": played[place]["at"]}
            played.insert(place, stall)
        return request

    async def _listen(self, heard: Heard, request: dict[str, Any], presence: str) -> None:
        """Begin the run and read its stream, over as many connections as it takes."""
        server, chance, week = self._server, self._chance, self._week
        epoch = server.epoch
        self._asked = call = Call(server, "POST", f"{self._path}/runs", request, slow=chance.random() < 0.1)
        leaves = None if presence == "stays" else chance.randrange(4000)
        heard.status = await self._read(call, heard, leaves)
        if heard.status not in (0, 200, 503):
            heard.wrong.append(f"its run is answered with {heard.status}")
        if heard.status == 503:
            week.counts["runs refused"] += 1
        if heard.status == 503 or presence == "goes away":
            return
        for _ in range(100):
            if heard.whole:
                return
            await asyncio.sleep(chance.choice((0.1, 5.0)))
            await server.up.wait()
            frames, size = data_frames(heard.data)
            rest = Heard(data=b"")
            last = frames[-1].id if frames else ""
            call = Call(server, "GET", f"{self._path}/stream", headers={"last-event-id": last} if last else None)
            leaves = chance.randrange(4000) if chance.random() < 0.3 else None
            status = await self._read(call, rest, leaves)
            if status == 204:
                rest.whole = True
            elif status in (400, 404) and heard.status != 200:
                return  # never begun
            elif status not in (0, 200, 503) and self._deleted is None:
                heard.wrong.append(f"its stream cannot be gone on with after {last!r}: {status}")
                return
            elif status == 404:
                return
            heard.deaths += rest.deaths
            heard.wrong += rest.wrong
            if heard.status == 0 and status == 200:
                self._lost = True  # it may be the stream of the run before
                return
            await self._join(heard, heard.data[:size], rest, last, epoch)
        heard.wrong.append("its stream never comes to its end")

    async def _join(self, heard: Heard, before: bytes, rest: Heard, last: str, epoch: int) -> None:
        """Add what came after `last`; hold the whole stream against one that is read again from its start."""
        heard.whole = rest.whole
        if not rest.whole:
            whole = rest.data[: data_frames(rest.data)[1]]
            heard.data = before + whole
            return
        again = Heard()
        await self._server.up.wait()
        status = await self._read(Call(self._server, "GET", f"{self._path}/stream"), again, None)
        if status != 200 or not again.whole:
            heard.data = before + rest.data
            return
        heard.data, findings = join_resumed(before, rest.data, again.data, named=last or None)
        died = self._server.epoch != epoch
        self._week.counts["streams gone on with" + (" after a death" if died else "")] += 1
        heard.wrong += [] if self._foreign else [finding.line() for finding in findings]

    async def _read(self, call: Call, heard: Heard, leaves: int | None) -> int:
        """Read a stream to its end, or leave after so many bytes; return the status, 0 if the server died before it."""
        loop = asyncio.get_running_loop()
        try:
            if await call.begun() != 200:
                await call.value()
                return call.status
            pieces, size = [heard.data], 0
            while True:
                before = loop.time()
                piece = await call.read()
                if not piece:
                    heard.whole = True
                    break
                if loop.time() - before > HEARTBEAT + DELAYS and not self._server.suspended(before):
                    heard.wrong.append(f"its stream is silent for {loop.time() - before:.1f} s")
                pieces.append(piece)
                size += len(piece)
                if leaves is not None and size > leaves:
                    call.leave()
                    break
                if self._chance.random() < 0.05:
                    await asyncio.sleep(self._chance.random())
        except BrokenOffError:
            heard.deaths += 1
            return call.status
        finally:
            if call.status == 200:
                heard.data = b"".join(pieces)
        return 200

    async def _cancel(self) -> list[str]:
        await asyncio.sleep(self._chance.expovariate(1 / 10))
        status, value = await ask(self._server, "POST", f"{self._path}/cancel", {"reason": "user_cancelled"})
        if status == 200:
            self._week.counts["cancelled" if value["cancelled"] else "cancelled too late"] += 1
        return [] if status in (200, 404, 503) else [f"its cancel is answered with {status}"]

    async def _meddle(self, who: str, request: dict[str, Any]) -> list[str]:
        """Do something else with the thread while its run goes on."""
        server = self._server
        await asyncio.sleep(self._chance.expovariate(1 / 10))
        if who == "second run":
            body = {**request, "user": [], "run": {**request["run"], "started_at": self._at}, "time_scale": 0}
            body = {k: v for k, v in body.items() if k not in ("hold", "limits")}
            at = shift(self._at, 1)
            body["run"] = {"turn_type": "agent", "agent_id": "a", "started_at": self._at, "events": []}
            body["run"]["interruption"] = {"reason": "error", "at": at}
            self._at = shift(self._at, BETWEEN_TURNS)
            await server.up.wait()
            self._foreign = True
            status = await self._read(Call(server, "POST", f"{self._path}/runs", body), Heard(), None)
            self._foreign = status != 409
            self._week.counts[f"second runs, answered with {status}"] += 1
            return [] if status in (0, 200, 409, 503) else [f"a second run is answered with {status}"]
        if who == "second reader":
            await server.up.wait()
            heard = Heard()
            status = await self._read(Call(server, "GET", f"{self._path}/stream", slow=True), heard, None)
            return heard.wrong if status in (0, 200, 204, 404, 503) else [f"a second reader is answered with {status}"]
        if who == "looker":
            return await self._watch()
        if who == "deleter":
            self._deleted = 0
            self._deletes_a_run = self._asked is not None and (self._asked.status != 0 or self._asked.task.done())
            self._deleted, _ = await ask(server, "DELETE", self._path)
            return [] if self._deleted == 204 else [f"its deletion is answered with {self._deleted}"]
        return []

    async def _watch(self) -> list[str]:
        """Look at the thread some times while it grows: what was there stays."""
        before: list[Any] = []
        for _ in range(5):
            status, thread = await ask(self._server, "GET", self._path)
            turns = thread["turns"] if status == 200 else []
            if not _grows(before, turns):
                return ["what was shown of a turn in progress has changed"]
            before = turns
            await asyncio.sleep(self._chance.expovariate(1 / 5))
        return []

    # ------------------------------------------------------------------- looking

    async def _look(self, heard: Heard, user: dict[str, Any]) -> list[str]:
        """Fetch the thread and hold it against everything that is known; return what is wrong."""
        status, thread = await ask(self._server, "GET", f"{self._path}?version=0.0.4")
        if self._deleted is not None:
            self._over, self._thread = True, thread if status == 200 else None
            gone = status == 404 or (status == 200 and not self._deletes_a_run)
            return ["it was deleted, and is there"] if self._deleted == 204 and not gone else []
        if status == 404:
            self._over, self._thread = True, None
            return ["the thread is gone"] if self._known or heard.status == 200 else []
        if status != 200:
            self._over = True
            return [f"the thread is answered with {status}"]
        turns, known = thread["turns"], len(self._known)
        wrong = [] if turns[:known] == self._known else ["turns that were canonical have changed"]
        if heard.status == 200 and (len(turns) <= known or turns[known].get("parts") != user["parts"]):
            wrong.append("the user's turn of a run that had begun is gone")
        self._known = turns
        self._over = self._over or heard.status != 200 or self._foreign
        self._thread = thread
        if heard.status == 200 and not self._foreign:
            self._lost = self._lost or not heard.whole
            wrong += self._judge(thread)
        return wrong

    def _judge(self, thread: dict[str, Any]) -> list[str]:
        header = ThreadHeader(thread_id=self.id, created_at=START, agents=AGENTS)
        mine = DIALECTS[Version.V0_0_4].renderer(header, Readings()).render(self._client.journal())
        evidence = Evidence(
            case=self.id,
            version=Version.V0_0_4,
            mode=Compare.CONTENT,
            delivery=Delivery.PART if self._lost else Delivery.WHOLE,
            server=Side(name="server", thread=thread),
            client=Side(name="client", thread=mine),
        )
        self._week.counts["threads judged" + (" of clients that lost a part" if self._lost else "")] += 1
        found = [f for check in JUDGED if not check.not_applicable(evidence) for f in check.judge(evidence)]
        return [finding.line() for finding in found if finding.level is Level.MUST][:2]


def _grows(before: list[Any], after: list[Any]) -> bool:
    """Whether every turn is there still, and the last one has at least the messages that it had."""
    if not before:
        return True
    last, then = before[-1], after[len(before) - 1 : len(before)]
    if after[: len(before) - 1] != before[:-1] or not then:
        return False
    if last["turn_type"] == "user":
        return bool(then[0] == last)
    messages = last["messages"]
    return bool(then[0]["messages"][: len(messages)] == messages)
