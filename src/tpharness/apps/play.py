"""Playing a case: the I/O. In: a case, the provider, the client. Out: evidence.

A cut is made when the model holds and the client's stream is quiet. Afterwards the application may leave the model's
answer or go on; it is given `stop_within` seconds for the first, then the model goes on to the end, and the next turn
begins when nothing happens any more. Every wait has a limit, which is longer on a busy machine: what an application
does late because nobody has let it run is no fault of its.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import replace

import aiohttp

from tpharness.apps.cases.case import TOGETHER, AppCase, Approves, Cut, CutBy, Need, Turn
from tpharness.apps.checks.truth import args_of
from tpharness.apps.checks.view import messages_in
from tpharness.apps.client import ChatClient, Client, End, Fetched, Limits, Profile, RealClients, Reply, keeps_history
from tpharness.apps.client.profile import make_translator
from tpharness.apps.client.use_chat import waits_for_approval
from tpharness.apps.config import AppConfig
from tpharness.apps.effects import CaseTools, EffectLedger, count_effects
from tpharness.apps.evidence import (
    AppEvidence,
    Asked,
    CutSeen,
    ReplySeen,
    TurnSeen,
    has_seen,
    shows_running,
    streams_of,
    with_late_requests,
)
from tpharness.apps.looking import until
from tpharness.apps.marks import call_id, new_mark
from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.apps.provider.server import Provider
from tpharness.apps.stage import Stage
from tpharness.errors import UsageError
from tpharness.model_apis.plan import Break

__all__ = ["NotPlayedError", "Player"]

_CATCH_UP = 10  # times the quiet time that the client may lag behind the model
_SILENT = 5  # times the quiet time after which a call that is whole counts as running, shown or not
_QUIET_LIMIT = 2.0
_SETTLE = 0.03  # seconds without a new request after which a run that nobody reads counts as over
_SETTLE_READ = 0.01  # the same for a run that was read to its end, or that has left the model
_ONCE_MORE = "Are you still there?"
_LEAVES = (CutBy.LEAVE, CutBy.STOP, CutBy.RELOAD)


class NotPlayedError(Exception):
    """The case cannot be played on this application; the text says why."""


class Player:
    """Plays cases on one application. `real` makes the clients that post, which are ours for None.

    `ledger` is the one that the application has mounted, None for none. `tool_seconds` is how long its tools were seen
    to take, which bounds the wait for a tool that nobody waits for; `tool_has_run` is whether one was seen to run since
    the application was started, so that there is something to count; `shows_answers` whether it was seen to show its
    user an answer of the model word for word; `wants_thoughts` whether it asks its model to think; `known_result` what
    its model was sent as a tool's result, and `tells_references` whether that names the run of the ledger;
    `names_calls` is whether its tool said to the ledger which call of the model it ran for; `shows_reloads` whether a
    page that is loaded anew finds the chat, by an address or in what the page keeps itself; `shows_running` whether it
    was seen to show its user a call while the tool ran.
    """

    def __init__(
        self,
        config: AppConfig,
        provider: Provider,
        session: aiohttp.ClientSession,
        profile: Profile,
        ledger: EffectLedger | None = None,
        *,
        real: RealClients | None = None,
    ) -> None:
        self._config = config
        self._provider = provider
        self._session = session
        self._profile = profile
        self._ledger = ledger
        self._real = real
        self.tool_seconds: float | None = None
        self.tool_has_run = False
        self.shows_answers = self.wants_thoughts = self.tells_references = self.names_calls = False
        self.shows_running = False
        self.known_result: str | None = None
        self.keeps_history = keeps_history(profile)
        self.shows_calls = bool(getattr(profile, "shows_calls", True)) or not self.keeps_history
        kept = real is None and hasattr(profile, "thread")  # by the page, as in the browser's storage
        self.shows_reloads = config.thread is not None or kept
        self.is_foreign = config.history.startswith("python:") and make_translator(profile) is not None

    async def play(self, case: AppCase, mark: str) -> AppEvidence:
        """Play a case; `mark` is the token that its messages carry. NotPlayedError where it does not apply."""
        runs_before = await self.count_effects()
        stage = self._stage(case, mark)
        try:
            while len(stage.turns) < len(case.turns) and not stage.blank:
                await self._next_turn(stage)
            turns = stage.turns
            if len(turns) > 1 and not turns[-1].asked and turns[-2].asked:  # one lost turn, or every later one?
                stage.case = replace(case, turns=(*case.turns, Turn(says=_ONCE_MORE, plans=())))
                await self._next_turn(stage)
            while stage.beside is not None and len(stage.beside.turns) < len(case.beside):
                await self._next_turn(stage.beside)
        except UsageError as error:  # a method of the user's own profile, mostly
            raise UsageError(f"{case.id}: {error}", hint=error.hint) from error
        finally:
            for one in (stage, *([stage.beside] if stage.beside is not None else [])):
                if one.tools is not None:
                    one.tools.close()
                for client in one.clients:
                    await client.close()
        beside = stage.beside
        seen = self._evidence(stage, case, runs_before)
        return seen if beside is None else replace(seen, beside=self._evidence(beside, beside.case, None))

    def _stage(self, case: AppCase, mark: str, *, first: Stage | None = None) -> Stage:
        """Return what a chat is played with: that of the case, or one beside the `first`, which calls no tools."""
        client = self._client(other_user=first is not None and case.other_user)
        tools = CaseTools(self._ledger, call_id(mark)) if self._ledger is not None and first is None else None
        said = self._provider.conversation(mark)
        return Stage(case=case, mark=mark, client=client, conversation=said, clients=[client], tools=tools, first=first)

    async def _next_turn(self, stage: Stage) -> None:
        stage.turns = with_late_requests(stage.turns, await self._turn(stage, len(stage.turns)))

    def _evidence(self, stage: Stage, case: AppCase, runs_before: int | None) -> AppEvidence:
        """Return what was seen of one chat."""
        return AppEvidence(
            case=case,
            turns=tuple(stage.turns),
            differences=tuple(dict.fromkeys(words for client in stage.clients for words in client.differences)),
            on_disconnect=self._config.on_disconnect,
            trims=self._config.trims,
            stop_within=self._config.stop_within,
            shows_answers=self.shows_answers,
            goes_on=self.tool_seconds is not None,
            tells_references=self.tells_references,
            known_result=self.known_result,
            outcome_unknown=self._config.outcome_unknown,
            shows_calls=self.shows_calls,
            runs_before=runs_before,
            tool_runs=stage.tools.seen() if stage.tools is not None else None,
            streams=streams_of(reply for client in stage.clients for reply in client.replies),
            posts=tuple(reply.posted for client in stage.clients for reply in client.replies if reply.posted),
            chat_id=stage.client.chat.id,
        )

    async def count_effects(self) -> int | None:
        """Return what the effects command prints, None without one."""
        config = self._config
        if config.effects_command is None:
            return None
        return await count_effects(config.effects_command, config.run_folder, config.answer, has_run=self.tool_has_run)

    # ------------------------------------------------------------------------------------------------ a turn

    async def _turn(self, stage: Stage, index: int) -> list[TurnSeen]:
        """Play a turn, or two of them where the second begins while the first goes on."""
        turn, later = stage.case.turns[index], stage.case.turns[index + 1 : index + 2]
        stage.begin(self._provider)
        if turn.reloads and self.shows_reloads:
            await self._load_anew(stage)
        together = turn.cut is not None and turn.cut.by in TOGETHER
        words = f"{stage.mark} {stage.case.words(index)}"
        stage.conversation.plans((*turn.plans, *(later[0].plans if together else ())), user_text=words)
        if stage.tools is not None and (turn.last_first or (turn.cut is not None and turn.cut.in_tool)):
            stage.tools.hold(before_effect=turn.cut is not None and turn.cut.before_effect)
        if stage.tools is not None:
            stage.tools.answer_next(turn.tools)
        reply = stage.post(turn, words)
        later_words = stage.case.words(index + 1) if later else ""
        cut, reply = await self._cut(stage, turn, reply, later_words)
        if stage.tools is not None:
            if turn.last_first:
                await stage.tools.reach(len(turn.plans[0].calls), self._config.stop_within)
                await stage.tools.end_last_first(self._config.answer, pause=self._config.quiet)
            stage.tools.release()
        if cut is None or cut.cut.by not in _LEAVES:
            reply = await self._to_the_end(stage, turn, reply)
        if turn.stops_late:
            await stage.client.stop()
        if stage.second is not None:
            await stage.second.ended(self._config.answer)
        asks = any(one.has("tool-approval-request") for client in stage.clients for one in client.replies)
        if Need.APPROVAL in stage.case.needs and not asks:
            raise NotPlayedError(Need.APPROVAL.value)
        replies = [reply, *([stage.second] if stage.second is not None else [])]
        seen = [ReplySeen.of(one) for one in replies]
        self.shows_running |= any(shows_running(one, _SILENT * self._config.quiet) for one in replies)
        for one in replies:
            await one.leave()
        await self._settled(stage, later_words)
        if cut is not None:
            cut = self._after(cut, stage.new())
        groups = self._by_turn(stage, later_words)
        runs, screen = await self.count_effects(), tuple(await stage.client.screen())
        view = await stage.client.view()
        return [
            TurnSeen(
                number=index + 1 + offset,
                says=stage.case.words(index + offset),
                asked=tuple(Asked.of(exchange, i) for i, exchange in enumerate(exchanges, 1)),
                reply=seen[offset],
                cut=None if offset else cut,
                screen=screen,
                left=() if offset else stage.left,
                page=None if offset else stage.page,
                resumed=None if offset else stage.resumed,
                runs=runs,
                view=view,
                others=sum(e.mark is None for e in self._provider.others[stage.others :]),
                strays=tuple(self._provider.strays[stage.strays :]),
            )
            for offset, exchanges in enumerate(groups)
        ]

    def _by_turn(self, stage: Stage, later: str) -> list[list[Exchange]]:
        """Return the requests of the turn; those that know the second message belong to the second of two turns."""
        if stage.second is None:
            return [stage.new()]
        knows = [exchange.knows(later) for exchange in stage.new()]
        return [[e for e, known in zip(stage.new(), knows, strict=True) if known is wanted] for wanted in (False, True)]

    async def _to_the_end(self, stage: Stage, turn: Turn, reply: Reply) -> Reply:
        """Read an answer to its end, and those that follow it when approvals are asked for; return the last one."""
        await reply.ended(self._config.answer)
        while (answered := await self._approved(stage, turn, reply)) is not None:
            reply = answered
            await reply.ended(self._config.answer)
        if stage.late is not None and turn.approve is not None:
            again = stage.late.answer_approvals(approved=turn.approve)
            if again is not None:
                await again.ended(self._config.answer)
        return reply

    async def _approved(self, stage: Stage, turn: Turn, reply: Reply) -> Reply | None:
        """Answer the requests for approval that an answer ended with; return the next answer, None without any."""
        if turn.approve is None or reply.end is not End.ENDED:
            return None
        before = await stage.client.screen()
        waits = any(waits_for_approval(part) for message in before for part in message.get("parts", ()))
        if waits and turn.approves is Approves.RELOADED and stage.page is None:
            await self._load_anew(stage)
        if waits and turn.approves is Approves.TWICE and stage.late is None:
            stage.late = self._another_client(stage)
            stage.late.chat.messages = before
        return stage.client.answer_approvals(approved=turn.approve)

    async def _load_anew(self, stage: Stage) -> None:
        """Open the page anew when no answer streams: with the messages that the application shows.

        Where it shows none that a page could read, the user stays on the page before.
        """
        client = self._another_client(stage)
        view = await client.view()
        messages = messages_in(view.value) if view is not None else None
        if messages is not None:
            stage.left, stage.page = tuple(await stage.client.screen()), tuple(messages)
            client.chat.messages = [dict(message) for message in deepcopy(stage.page)]
            stage.client = client

    async def _cut(self, stage: Stage, turn: Turn, reply: Reply, later: str) -> tuple[CutSeen | None, Reply]:
        """Wait for the place of the cut, and cut; return the answer that was cut. No cut where the run ended before."""
        cut = turn.cut
        if cut is None:
            return None, reply
        loop = asyncio.get_running_loop()
        reached, asking = await self._reached(stage, turn, cut, reply), reply
        waited = loop.time()
        while True:
            unshown = cut.in_tool and stage.tools is None and not asking.has("tool-input-available")
            if reached is not None and turn.plans[cut.request].breaks is not Break.STATUS and not unshown:
                await self._quiet(stage, reply)
            answered = await self._approved(stage, turn, reply)
            if answered is None:
                break
            reply = answered  # the call was approved: its tool runs now, or the next answer comes
            await reply.until(lambda reply: reply.status != 0, self._config.answer)
            if reached is None or not cut.in_tool:
                reached = await self._reached(stage, turn, cut, reply)
            waited = loop.time()
        if reached is None:
            return None, reply
        if cut.one_ends and stage.tools is not None:
            await self._end_one(stage, stage.tools, len(turn.plans[cut.request].calls), reply)
        if cut.in_tool and (self._later(stage, reached) or reply.end is not End.OPEN):
            raise NotPlayedError((Need.SLOW_TOOL if stage.tools is None else Need.HELD_TOOL).value)
        seen = CutSeen(cut=cut, at=loop.time(), pieces=reached.pieces_written, lag=loop.time() - waited)
        answer = await self._act(stage, cut, reply, reached, later)
        if cut.by not in _LEAVES:
            return replace(seen, answered=answer), reply
        await until(lambda: reached.is_over, self._config.stop_within)
        left = reached.outcome is ExchangeOutcome.DISCONNECTED and reached.ended_at is not None
        reached.release()
        tools = await self._let_tools_go_on(stage) if cut.in_tool and stage.tools is not None else ""
        if stage.second is not None:
            await stage.second.ended(self._config.answer)
            stage.resumed, stage.second = ReplySeen.of(stage.second), None
        left_after = max(0.0, (reached.ended_at or seen.at) - seen.at) if left else None
        return replace(seen, left_after=left_after, answered=answer, tools=tools), reply

    async def _reached(self, stage: Stage, turn: Turn, cut: Cut, reply: Reply) -> Exchange | None:
        """Wait until the answer holds at the place of the cut, or is whole and its tools run; None if it never does."""
        plan, loop, quiet = turn.plans[cut.request], asyncio.get_running_loop(), self._config.quiet

        def found() -> Exchange | None:
            exchange = next((e for e in reversed(stage.conversation.exchanges) if e.plan is plan), None)
            if exchange is None:
                return None
            if cut.in_tool and stage.tools is not None:
                return exchange if stage.tools.are_held() else None
            if cut.in_tool:
                # Some send a call together with its result, or not at all: then it counts that nothing else comes.
                since = max(reply.latest_at, exchange.ended_at or loop.time())
                silent = not self.shows_running and loop.time() - since >= _SILENT * quiet
                shown = reply.has("tool-input-available") or self._later(stage, exchange) or silent
                return exchange if exchange.outcome is ExchangeOutcome.COMPLETED and shown else None
            return exchange if exchange.outcome is ExchangeOutcome.HELD or exchange.is_over else None

        await until(lambda: found() is not None or reply.end is not End.OPEN, self._config.answer)
        exchange = found()
        held = exchange is not None and (
            cut.in_tool or plan.breaks is not None or exchange.outcome is ExchangeOutcome.HELD
        )
        return exchange if held else None

    async def _act(self, stage: Stage, cut: Cut, reply: Reply, exchange: Exchange, later: str) -> Fetched | None:
        match cut.by:
            case CutBy.LEAVE:
                await reply.leave()
            case CutBy.STOP:
                answered = await stage.client.stop()
                await reply.ended(self._config.stop_within)
                await reply.leave()
                for _ in range(cut.presses - 1):
                    await stage.client.stop()
                return answered
            case CutBy.STOP_AND_WRITE:
                return await self._stop_and_write(stage, reply, exchange, later)
            case CutBy.RELOAD:
                await reply.leave()
                stage.left = tuple(await stage.client.screen())
                return await self._reload(stage)
            case CutBy.SECOND_MESSAGE | CutBy.SECOND_TAB:
                client = stage.client
                if cut.by is CutBy.SECOND_TAB:
                    client = self._another_client(stage)
                    client.chat.messages = await stage.client.screen()
                stage.second = client.submit(f"{stage.mark} {later}")
                if stage.tools is not None or not cut.in_tool:
                    # What is held goes on when the message has reached the model, or waits for the run to end.
                    await until(
                        lambda: any(exchange.knows(later) for exchange in stage.new()), _CATCH_UP * self._config.quiet
                    )
                exchange.release()
            case CutBy.OTHER_CHAT:
                other = replace(stage.case, turns=stage.case.beside, beside=())
                stage.beside = beside = self._stage(other, new_mark(), first=stage)
                await self._next_turn(beside)
                if reply.end is End.LEFT:  # its user has stopped it or left it meanwhile
                    await until(lambda: exchange.is_over, self._config.stop_within)
                exchange.release()
            case CutBy.STOP_FIRST | CutBy.LEAVE_FIRST if stage.first is not None:
                return await self._end_first(stage.first, cut.by, exchange)
            case CutBy.WAIT:
                await asyncio.sleep(self._config.stop_within)
                exchange.release()
            case CutBy.MODEL:
                exchange.release()
        return None

    async def _end_first(self, first: Stage, by: CutBy, exchange: Exchange) -> Fetched | None:
        """End the run of the chat that was opened first; that of the other one, which is held, goes on at once."""
        answered = await first.client.stop() if by is CutBy.STOP_FIRST else None
        left = first.client.replies[-1]
        if by is CutBy.LEAVE_FIRST:
            await left.leave()
            held = first.new()[-1]
            await until(lambda: held.is_over, self._config.stop_within)
        exchange.release()
        if by is CutBy.STOP_FIRST:
            await left.ended(self._config.stop_within)
            await left.leave()
        return answered

    async def _stop_and_write(self, stage: Stage, reply: Reply, exchange: Exchange, later: str) -> Fetched | None:
        """Press the stop button, and write when the run has stopped or the address has answered, whichever is first."""
        pressed = asyncio.create_task(stage.client.stop())
        await until(lambda: pressed.done() or exchange.is_over, _CATCH_UP * self._config.quiet)
        await reply.leave()
        stage.second = stage.client.submit(f"{stage.mark} {later}")
        await until(lambda: any(one.knows(later) for one in stage.new()), _CATCH_UP * self._config.quiet)
        exchange.release()
        return await pressed

    async def _reload(self, stage: Stage) -> Fetched | None:
        """Open the page anew: with the messages that the application shows, and the answer that still streams."""
        stage.client = self._another_client(stage)
        view = await stage.client.view()
        messages = messages_in(view.value) if view is not None else None
        stage.blank = messages is None and self.keeps_history
        stage.client.chat.messages = [dict(m) for m in messages or ()]
        stage.second = stage.client.resume()
        return view

    async def _end_one(self, stage: Stage, tools: CaseTools, count: int, reply: Reply) -> None:
        """Let the last of so many tools end, and its user see that; another that starts then is awaited, and held."""
        await tools.reach(count, self._config.stop_within)
        for run in tools.held[-1:]:
            await tools.end(run, self._config.answer)
        await until(lambda: tools.are_held() or reply.end is not End.OPEN, self._config.answer)
        await self._quiet(stage, reply)

    async def _let_tools_go_on(self, stage: Stage) -> str:
        """Give the application the time in which it is to stop, then let its tools go on; say what became of them."""
        if stage.tools is None:
            return ""
        cancelled = await until(stage.tools.are_over, self._config.stop_within)
        stage.tools.release()
        await until(stage.tools.are_over, self._config.answer)
        return "the application cancelled its tool" if cancelled else "the application let its tool run to its end"

    def _after(self, cut: CutSeen, exchanges: list[Exchange]) -> CutSeen:
        """Add what was said and asked after the cut."""
        said = sum(e.pieces_written for e in exchanges if e.started_at > cut.at)
        first = next((e for e in exchanges if e.started_at <= cut.at and (e.ended_at or cut.at) >= cut.at), None)
        if first is not None and cut.cut.by is not CutBy.MODEL:
            said += max(0, first.pieces_written - cut.pieces)
        return replace(cut, pieces_after=said, asked_after=sum(e.started_at > cut.at for e in exchanges))

    # ------------------------------------------------------------------------------------------------ waiting

    async def _quiet(self, stage: Stage, reply: Reply) -> None:
        """Wait until the client has seen what the model has said, then until its stream is quiet.

        An application may hold something back: after a while its stream only has to be quiet. On a busy machine a pause
        is not the end of what is on its way.
        """
        said = stage.new()[-1] if stage.new() else None
        if said is not None:
            asked = Asked.of(said, 1)
            limit = _CATCH_UP * self._config.quiet
            await until(lambda: reply.end is not End.OPEN or has_seen(stage.client.messages, asked), limit)
        await reply.quiet(self._config.quiet, _QUIET_LIMIT)

    async def _settled(self, stage: Stage, later: str) -> None:
        """Wait until the application asks the model nothing more in this turn, and its tools have had their effects."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.answer
        while loop.time() < deadline:
            count = len(stage.conversation.exchanges)
            await until(lambda: all(e.is_over for e in stage.conversation.exchanges), self._config.answer)
            wait = self._tool_wait(stage, later)
            if not await until(lambda count=count: len(stage.conversation.exchanges) > count, wait):  # type: ignore[misc]
                return

    def _tool_wait(self, stage: Stage, later: str) -> float:
        """Return how long a next request may take: long where a tool of a run's last answer may still run.

        The end of the stream does not end a tool: one that a stop button leaves running has its effect later. The tools
        of several calls may run one after the other.
        """
        last = [Asked.of(run[-1], 1) for run in self._by_turn(stage, later) if run]
        calls = max((sum(args_of(call) is not None for call in asked.called) for asked in last), default=0)
        if calls:
            seconds = self.tool_seconds if self.tool_seconds is not None else self._config.stop_within
            return 4 * _SETTLE + (calls + 1) * seconds
        read = bool(stage.client.replies) and stage.client.replies[-1].end is End.ENDED
        left = bool(last) and last[-1].outcome is ExchangeOutcome.DISCONNECTED
        return _SETTLE_READ if read or left else _SETTLE

    # ------------------------------------------------------------------------------------------------ small things

    def _client(self, chat_id: str | None = None, *, other_user: bool = False) -> Client:
        limits = Limits(headers=self._config.answer, answer=2 * self._config.answer)
        addresses, extra = self._config.addresses_of(other_user=other_user), self._config.body
        if self._real is not None:
            return self._real.client(self._session, addresses, chat_id=chat_id, limits=limits, extra=extra)
        return ChatClient(self._session, addresses, self._profile, chat_id=chat_id, limits=limits, extra=extra)

    def _another_client(self, stage: Stage) -> Client:
        """Open the chat in another page."""
        client = self._client(stage.client.chat.id)
        stage.clients.append(client)
        return client

    def _later(self, stage: Stage, exchange: Exchange) -> bool:
        """Whether the application has asked the model again since, and not the same again."""
        last = stage.conversation.exchanges[-1]
        return last is not exchange and last.history != exchange.history
