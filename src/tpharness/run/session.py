"""Play scenarios on a server and a client, which share one event loop.

In: the values of `--server` and `--client`. Out: results. A `Session` is a context manager: entering it opens remote
targets, leaving it closes them. A case that needs an undeclared capability is not applicable. After five consecutive
cases without an answer from a target, the remaining ones are not tried.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tpharness import run as runner
from tpharness import targets
from tpharness.checks import Evidence
from tpharness.errors import TargetError
from tpharness.findings import Kind, Place
from tpharness.judging_time import JudgedTooLongError, allow_judging, ctrl_c_ends_judging
from tpharness.protocol.versions import Version
from tpharness.run import sweeps, tracing
from tpharness.run.applicable import (
    adapt_scenario,
    expect_nothing_carried,
    find_undeclared_wire,
    leave_out_given_carriers,
    needs_carriers,
    over_wire,
    without_carrier_clauses,
)
from tpharness.run.judge import judge
from tpharness.run.judge_played import judge_played, leave_out_scripted
from tpharness.run.loop_lag import LoopLag
from tpharness.run.plan import Case, case_size, cut_case, cut_places
from tpharness.run.play import Observer, Players, comparison_mode, play
from tpharness.scenario.records import Compare, CutAt, Scenario
from tpharness.targets import remote
from tpharness.targets.contract import SteppableClient, SteppableServer
from tpharness.targets.reference import Reference, is_foreign
from tpharness.targets.spec import resolve_client, resolve_server
from tpharness.trace.format import Traced
from tpharness.trace.tape import recording
from tpharness.verdict.result import Outage, Outcome, Result
from tpharness.wires.registry import DEFAULT_WIRE

if TYPE_CHECKING:
    from tpharness.run.fault_cases import FaultCase
    from tpharness.run.judged_before import JudgedBefore

__all__ = ["Session"]

_MOST_OUTAGES = 5
"""The number of consecutive cases without an answer after which no more are tried."""

_STOOD_STILL = 0.1
"""Seconds of timer delay above which this machine is taken to have stood still during a case."""

_MOST_PLAYS = 3

TOO_LONG = Kind("judging-too-long")
_SLOW = (remote.STALLED, remote.ENDLESS, remote.LINE_TOO_LONG)
_TICK = 0.5  # seconds
_T = TypeVar("_T")
_Playing = Callable[[], Awaitable[list[Evidence] | Result]]


class Session:
    """A server and a client, and the event loop on which they play.

    `specs` are the values of `--server` and `--client`, `wire` is the name of what runs between them; `versions`
    restricts the versions, None means all. `alone` plays one case at a time. `trace` says which results have a record.
    `judged_before` has the results of earlier runs on the same targets.
    """

    def __init__(
        self,
        *,
        server: str = "reference",
        client: str = "reference",
        versions: Sequence[Version] | None = None,
        compare: Compare | None = None,
        patience: remote.Patience | None = None,
        faults: Sequence[str] = (),
        trace: Traced = Traced.NONE,
        alone: bool = False,
        wire: str = "vsp",
        judged_before: JudgedBefore | None = None,
    ) -> None:
        if wire != DEFAULT_WIRE or any(spec.startswith("peer:") for spec in (server, client)):
            targets.require_wire(wire, (server, client))
        self._patience = patience or remote.Patience()
        self.players = Players(
            server=resolve_server(server, patience=patience),
            client=resolve_client(client, patience=patience),
            compare=compare,
        )
        self.specs = (server, client)
        self.versions = versions
        self.wire = wire
        self.trace = trace
        self.judged_before = judged_before
        self._playing = play if judged_before is None else judged_before.play
        self._faults = faults
        self._runner = asyncio.Runner()
        # A fault that kills the server kills it for every case in progress.
        self._at_once = 1 if alone else min((target.at_once for target in self._remotes), default=1)
        self._gate = asyncio.Semaphore(self._at_once)
        self._outages = 0
        self._outage = ""

    def __enter__(self) -> Self:
        self._tick()
        try:
            self.run(self._open())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._remotes:
                self.run(self._close())
        finally:
            self._runner.close()

    @property
    def has_remote(self) -> bool:
        """Whether a target is outside this process, so that several cases are played concurrently."""
        return bool(self.players.remote)

    @property
    def _remotes(self) -> list[remote.Remote]:
        return [getattr(self.players, side) for side in ("server", "client") if side in self.players.remote]

    async def _open(self) -> None:
        await _run_all([target.open() for target in self._remotes])  # at once, since each may start a process

    async def _close(self) -> None:
        await _run_all([target.close() for target in self._remotes])

    def _tick(self) -> None:
        """Let the loop run now and then, also when it waits for ever.

        A signal that comes after Python has looked for signals, and just before the loop begins to wait, is heeded when
        the loop wakes: without this, never.
        """
        self._runner.get_loop().call_later(_TICK, self._tick)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the session's loop and return its result.

        Asyncio handles SIGINT only where remote targets have to be left in order, because installing its handler for
        each scenario takes 3 % of a run in this process.
        """
        if not self.has_remote:
            return _run_or_close(self._runner.get_loop().run_until_complete, work)
        with ctrl_c_ends_judging() as heed_ctrl_c:
            return _run_or_close(self._runner.run, _run_heeding(heed_ctrl_c, work), work)

    def run_concurrently(self, work: Sequence[Callable[[], Coroutine[Any, Any, _T]]]) -> Iterator[_T]:
        """Run coroutine functions concurrently; yield their results, in order.

        In this process one runs after the other, each as the loop's only task: a KeyboardInterrupt in a task that
        another waits for would end the loop with both unfinished.
        """
        if not self.has_remote:
            yield from (self.run(one()) for one in work)
            return
        loop = self._runner.get_loop()
        begun = asyncio.Semaphore(self._at_once)
        tasks = [loop.create_task(_run_within(begun, one)) for one in work]
        try:
            for task in tasks:
                yield self.run(asyncio.wait_for(task, None))
        finally:
            for task in tasks:
                task.cancel()
            self.run(_gather(tasks))

    # ------------------------------------------------------------------------------------------------ scenarios

    async def play(self, scenario: Scenario, place: str | None = None, faults: Sequence[str] = ()) -> list[Result]:
        """Play one scenario with its sweep, or one place of the sweep; the first result has the seconds it took.

        With `faults`, or those of the session, it is played with each of them instead.
        """
        begun = time.perf_counter()
        faults = (place.partition("@fault-")[2],) if place and "@fault-" in place else faults or self._faults
        unasked = self.find_no_part(scenario)
        if unasked:
            unplayed = Result(id=scenario.id, outcome=Outcome.NO_PART, reason=unasked, clauses=scenario.clauses)
            return runner.for_each_fault(unplayed, faults)
        case, reason = await self.adapt(scenario)
        if reason:
            unplayed = Result(id=scenario.id, outcome=Outcome.NOT_APPLICABLE, reason=reason, clauses=scenario.clauses)
            return runner.for_each_fault(unplayed, faults)
        if faults:
            return await self._with_faults(case, faults)
        whole = case if case.wire == DEFAULT_WIRE else runner.cite_any_wire(case, self.players)
        playing = partial(self._playing, whole, self.players)
        results = [] if place is not None else [await self._play_judged(whole, playing)]
        if case.scenario.cut is not None:
            results += await self._sweep(case, place)
        seconds = time.perf_counter() - begun
        results = [r if r.outcome.green else replace(r, size=case_size(case.scenario, r.id)) for r in results]
        return [replace(results[0], seconds=seconds), *results[1:]] if results else []

    def find_no_part(self, scenario: Scenario) -> str:
        """Return why the scenario asks nothing of the target under test; "" if it takes part."""
        unasked = not scenario.scripted and is_foreign(self.players.server) and not is_foreign(self.players.client)
        return "the scenario gives the stream itself, so the server is asked nothing" if unasked else ""

    async def adapt(self, scenario: Scenario) -> tuple[Case, str]:
        """Return the scenario as a case for these targets, and why it does not apply ("" if it applies)."""
        case, reason = adapt_scenario(scenario, self.players, self.versions)
        if self.wire != case.wire:
            case, given = over_wire(case, self.wire)
            reason = reason or given
        reason = reason or find_undeclared_wire(self.wire, self.players)
        if not reason and needs_carriers(case, self.players):
            if not await self._wire_suffices(case):
                return case, "it needs carriers, and these two do not both have them"
            case = without_carrier_clauses(case)
        bare = None if reason else leave_out_given_carriers(case, self.players)
        if bare is not None:
            unread = expect_nothing_carried(case)
            if not await self._stream_suffices(unread, bare):
                return case, "its stream has carriers that decide, and the client does not read carriers"
            case = unread
        return case, reason

    async def play_case(self, case: Case, *, thorough: bool = False, observe: Observer | None = None) -> Result:
        """Play one case once, without a sweep, and with the variants of a whole run if `thorough`."""
        return await self._play_judged(case, partial(play, case, self.players, thorough=thorough, observe=observe))

    async def _sweep(self, case: Case, place: str | None) -> list[Result]:
        scenario, players = case.scenario, self.players
        if isinstance(players.server, SteppableServer) and isinstance(players.client, SteppableClient):
            mode = comparison_mode(scenario, players)
            found = sweeps.sweep(case, players.server, players.client, compare=mode, only=place, record=self.recorder)
            passed = found.tried - len(found.failed)
            word = "event" if scenario.cut is not None and scenario.cut.at is CutAt.EVERY_EVENT else "byte"
            name = place or f"{scenario.id}@{word}-*"
            good = Result(
                id=name,
                outcome=Outcome.PASSED,
                checks=found.checks,
                not_judged=found.not_judged,
                cases=passed,
                clauses=scenario.clauses,
            )
            return [*([good] if passed else []), *(result for _, result in found.failed)]
        cuts = [cut_case(case, one) for one in cut_places(scenario) if place in (None, one.id)]
        playing = [self._play_judged(cut, partial(self._playing, cut, players, thorough=False)) for cut in cuts]
        return list(await asyncio.gather(*playing))

    async def _with_faults(self, case: Case, faults: Sequence[str]) -> list[Result]:
        """Play a case once with each fault."""
        reason = runner.find_obstacle(case, self.players)
        if reason:
            clauses = case.scenario.clauses
            unplayed = Result(id=case.id, outcome=Outcome.NOT_APPLICABLE, reason=reason, clauses=clauses)
            return runner.for_each_fault(unplayed, faults)
        found: list[FaultCase] = []

        async def unharmed() -> list[Evidence]:
            found[:] = await runner.plan_faults(case, self.players, faults)
            return []

        first = await self._play_judged(case, unharmed)
        if not found:
            return runner.for_each_fault(first, faults)
        results = []
        for one in found:
            if one.plan is None:
                results.append(runner.unplayed_result(one, case))
                continue
            result = await self._play_judged(
                replace(case, id=one.id), partial(runner.play_fault, case, self.players, one)
            )
            results.append(result if result.outcome.green else replace(result, reason=result.reason or one.where))
        return results

    async def _play_judged(self, case: Case, playing: _Playing) -> Result:
        """Play and judge one case, and leave out of its findings what the script itself brings about."""
        return await leave_out_scripted(case, await self._play_patiently(case, playing), self.players)

    async def _play_patiently(self, case: Case, playing: _Playing) -> Result:
        """Play and judge one case, up to three times.

        A case on remote targets that did not pass while this machine stood still is played again, since the delay may
        have been this machine's.
        """
        async with self._gate:
            if not self.has_remote:
                with allow_judging(self._patience.total):
                    return await self._play_recorded(case, playing)
            for again in range(_MOST_PLAYS):
                with allow_judging(self._patience.total) as judged:
                    async with LoopLag(judged) as lag:
                        result = replace(await self._play_recorded(case, playing), played_again=again)
                ran = lag.max_delay < _STOOD_STILL
                gone = result.outage is not None and result.outage.gone
                if result.outcome.green or ran or gone or self._outages >= _MOST_OUTAGES:
                    break
        return result

    async def _play_recorded(self, case: Case, playing: _Playing) -> Result:
        """Play a case once; its result has a record if a trace wants it."""
        if self.trace is Traced.NONE:
            return await self._play_once(case, playing)
        begun = time.perf_counter()
        with recording() as tape:
            result = await self._play_once(case, playing)
        wanted = self.trace is Traced.ALL or not result.outcome.green
        if not wanted or (tape.played is None and not tape.notes):
            return result
        return replace(result, record=tracing.make_record(case, self.players, tape, time.perf_counter() - begun))

    @property
    def recorder(self) -> tracing.PlaceRecorder | None:
        """What makes records of the places of a sweep; None if no trace wants them."""
        return None if self.trace is Traced.NONE else partial(tracing.record_place, self.players)

    async def _play_once(self, case: Case, playing: _Playing) -> Result:
        async def judged() -> Result:
            played = await playing()
            return played if isinstance(played, Result) else judge_played(case, played)

        return await self.attempt(case, judged)

    async def attempt(self, case: Case, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of work on a target, or the one that says what the target did instead of answering.

        After five consecutive cases without an answer nothing is tried any more.
        """
        clauses = case.scenario.clauses
        if self._outages >= _MOST_OUTAGES:
            reason = f"not tried: {_MOST_OUTAGES} cases in a row had no answer: {self._outage}"
            outage = Outage(what=self._outage)
            return Result(id=case.id, outcome=Outcome.COULD_NOT_RUN, reason=reason, outage=outage, clauses=clauses)
        try:
            result = await work()
        except JudgedTooLongError as error:
            self._outages = 0
            finding = TOO_LONG.at(Place(case=case.id), f"{error} of computing", expected=f"at most {error.seconds:g} s")
            return Result(id=case.id, outcome=Outcome.FAILED, findings=(finding,), clauses=clauses)
        except remote.UnreachableError as error:
            return self._unanswered(case, error)
        except remote.BrokenContractError as error:
            if error.finding.kind in _SLOW:
                self._count_outage(str(error))
            else:
                self._outages = 0
            finding = error.finding.with_place(case=case.id)
            return Result(id=case.id, outcome=Outcome.FAILED, findings=(finding,), clauses=clauses)
        except remote.CannotPlayError as error:
            self._outages = 0
            return Result(id=case.id, outcome=Outcome.NOT_APPLICABLE, reason=str(error), clauses=clauses)
        except TargetError as error:
            self._outages = 0
            return _errored_result(case, error)
        except Exception as error:
            raised = self.raised_by_target(error)
            if not raised:
                raise
            return Result(id=case.id, outcome=Outcome.ERRORED, reason=raised, clauses=clauses)
        self._outages = 0
        return result

    def raised_by_target(self, error: Exception) -> str:
        """Say which target in this process has raised, and where; nothing if the error is not one of its code."""
        sides = zip(self.specs, (self.players.server, self.players.client), strict=True)
        own = {name: spec for spec, target in sides if (name := type(target).__module__).split(".")[0] != "tpharness"}
        frames = [one for one in walk_tb(error.__traceback__) if one[0].f_globals.get("__name__") in own]
        if not frames:
            return ""
        frame, line = frames[-1]
        where = f"{Path(frame.f_code.co_filename).name}:{line}"
        return f"{own[frame.f_globals['__name__']]} raised {type(error).__name__}: {error}, in {where}"

    async def _wire_suffices(self, case: Case) -> bool:
        """Whether the case can be judged without carriers: whether the reference passes it without them."""
        scenario = case.scenario
        bare = replace(scenario, carriers=False, expect=replace(scenario.expect, thread={}))
        if await self._reference_passes(case, bare):
            return True
        return not await self._reference_passes(case, scenario)  # it expects what is not so, which carriers do not mend

    async def _stream_suffices(self, case: Case, bare: Case) -> bool:
        """Whether a client that does not read the carriers of a given stream and is right otherwise passes the case."""
        both = Players(server=Reference(), client=Reference())
        read = await play(case, both, thorough=False)
        left = await play(bare, both, thorough=False)
        pieces = [
            replace(with_them, mode=Compare.CONTENT, client=replace(one, thread=other.thread, truth=one.thread))
            for with_them, without in zip(read, left, strict=True)
            if (one := with_them.client) is not None and (other := without.client) is not None
        ]
        return judge(case.id, pieces).outcome is Outcome.PASSED

    async def _reference_passes(self, case: Case, scenario: Scenario) -> bool:
        both = Players(server=Reference(), client=Reference())
        evidence = await play(replace(case, scenario=scenario), both, thorough=False)
        return judge(case.id, evidence).outcome is Outcome.PASSED

    def _unanswered(self, case: Case, error: remote.UnreachableError) -> Result:
        """Return the result of a case without an answer; with all others of the same row it has one cause."""
        result = _errored_result(case, error)
        if isinstance(error, remote.GoneError):
            self._count_outage(f"nothing listens at {error.address} any more; does it crash?", known=True)
            return replace(result, outage=Outage(what=self._outage, began=error.asked, gone=True))
        self._count_outage(result.reason)
        return replace(result, outage=Outage(what=self._outage, began=self._outages == 1))

    def _count_outage(self, reason: str, *, known: bool = False) -> None:
        """Count a case without an answer. The reason of the first case in a row counts for all until one is `known`."""
        if known or not self._outages:
            self._outage = reason
        self._outages += 1


def _errored_result(case: Case, error: TargetError) -> Result:
    return Result(
        id=case.id, outcome=Outcome.ERRORED, reason=error.line, symptom=error.symptom, clauses=case.scenario.clauses
    )


async def _run_within(gate: asyncio.Semaphore, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    async with gate:
        return await work()


def _run_or_close(run: Callable[[Coroutine[Any, Any, _T]], _T], *work: Coroutine[Any, Any, _T]) -> _T:
    """Run the first; close what has not begun, since Ctrl-C came before it: Python would warn of it."""
    try:
        return run(work[0])
    finally:
        for one in work:
            if inspect.getcoroutinestate(one) == inspect.CORO_CREATED:
                one.close()


async def _run_heeding(heed_ctrl_c: Callable[[], None], work: Awaitable[_T]) -> _T:
    heed_ctrl_c()
    return await work


async def _run_all(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run everything to its end, then raise the first error, so that one that fails leaves no other half done."""
    for error in await asyncio.gather(*work, return_exceptions=True):
        if error is not None:
            raise error


async def _gather(tasks: Sequence[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
