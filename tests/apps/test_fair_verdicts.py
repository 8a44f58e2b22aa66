"""Applications that keep every clause in another way than most pass; the nearest one that breaks it does not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.apps.by_hand import ASKS, FIRST, HISTORY, SECOND, asked, evidence, found
from tests.apps.chat_app import SYSTEM, TOOLS, ChatApp, Defect, Json, Stored, Writer
from tests.apps.chat_model import ModelError
from tests.apps.chat_told import cleared, last_before, last_whole, merged, without_calls
from tests.apps.playing import THREAD, codes_of, count_lines, play

from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Turn
from tpharness.apps.cases.long_chats import long_cases
from tpharness.apps.evidence import CutSeen, ReplySeen
from tpharness.model_apis.messages import HistoryMessage
from tpharness.model_apis.plan import Finish, Plan
from tpharness.resources import scenarios_dir
from tpharness.verdict import Outcome


class Busy(ChatApp):
    """Refuses a message while a run goes on, as LangGraph's server does with the strategy `reject`."""

    status = 409

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Look first whether a run goes on."""
        chat = self.chats.setdefault((await request.json())["id"], Stored())
        if chat.busy.locked():
            return web.json_response({"error": "a run goes on"}, status=self.status)
        return await super().post(request)


class Failing(Busy):
    """Fails at a message that comes while a run goes on."""

    status = 500


def test_a_message_may_be_refused_while_a_run_goes_on() -> None:
    """With a status that says so, and the user knows it: the report names it. The message after it is answered."""
    ids = ("second-message", "second-tab")
    results = play(Busy(), *ids, thread=THREAD)
    assert codes_of(results) == set()
    assert {result.outcome for result in results} == {Outcome.PASSED}
    assert all("was refused with status 409" in result.reason for result in results)
    assert codes_of(play(Failing(), *ids)) == {"next-turn-failed"}


@pytest.mark.parametrize(
    ("status", "wanted"), [(409, []), (423, []), (429, []), (400, ["next-turn-failed"]), (500, ["next-turn-failed"])]
)
def test_only_a_status_of_one_who_is_busy_refuses_a_message(status: int, wanted: list[str]) -> None:
    """And only while a run goes on: in a turn after an interruption it is a chat that does not answer."""
    for by, expected in ((CutBy.SECOND_MESSAGE, wanted), (CutBy.LEAVE, ["next-turn-failed"])):
        first, second = evidence(*HISTORY, ASKS, cut=CutSeen(cut=Cut(by=by))).turns
        refused = replace(second, asked=(), reply=ReplySeen(status=status, content_type="application/json"))
        third = replace(second, number=3, says="(3) Well?")
        assert found("alive", replace(evidence(), turns=(first, refused, third))) == expected, by


class Notes(ChatApp):
    """Takes back a call that was cut while its tool ran, and tells the model of it in the user's next message."""

    note = "The tool book_hotel was interrupted; whether it has run is not known."

    def told(self, chat: Stored) -> list[Json]:
        """Put the note before the last message of the user."""
        messages = super().told(chat)
        if chat.interrupted:
            last = next(message for message in reversed(messages) if message["role"] == "user")
            last["content"] = f"{self.note}\n\n{last['content']}"
        return messages


@pytest.mark.parametrize(
    ("note", "wanted"),
    [
        (Notes.note, set()),
        ("The booking in Paris may have been made.", set()),
        ("Something was interrupted.", {"effect-forgotten"}),
    ],
)
def test_an_effect_may_be_told_in_the_applications_own_words(tmp_path: Path, note: str, wanted: set[str]) -> None:
    """They name the call, its tool or a value of its arguments, and stand in a message of the user or the system."""
    effects = tmp_path / "effects.txt"
    app = Notes(Defect.FORGETS_EFFECT, effects=effects)
    app.note = note
    results = play(app, "user-leaves/while-tool-runs", effects=count_lines(effects), args={"book_hotel": (ARGS,)})
    assert codes_of(results) == wanted


ARGS = {"city": "Paris", "nights": 2}


class FewTools(ChatApp):
    """Offers its tools in the first turn of a chat only."""

    @contextlib.asynccontextmanager
    async def _stream(self, chat: Stored) -> AsyncIterator[AsyncIterator[Json]]:
        async with self.model.stream(self.told(chat), TOOLS if chat.turns == 1 else None) as stream:
            yield stream


def test_tools_may_be_offered_in_some_turns_only() -> None:
    """A request without them that says what the user says is a turn, and no request for a title."""
    results = play(FewTools(), "user-leaves/in-text", "user-leaves/in-arguments", "model-drops/in-text")
    assert codes_of(results) == set()
    assert {result.outcome for result in results} == {Outcome.PASSED}


@pytest.mark.parametrize(
    ("tools", "wanted"), [(("book", "send"), []), (("book",), ["history-changed"])], ids=["others", "same"]
)
def test_agents_that_hand_over_have_prompts_of_their_own(tools: tuple[str, ...], wanted: list[str]) -> None:
    """They are known by their tools; the prompt of one agent stays."""
    seen = evidence(HistoryMessage(role="system", text="You send letters."), *HISTORY, ASKS)
    first, second = seen.turns
    prompt = HistoryMessage(role="system", text="You book hotels.")
    before = tuple(replace(one, history=(prompt, *one.history), tools={"book": {}}) for one in first.asked)
    after = replace(second.asked[0], tools={name: {} for name in tools})
    turns = (replace(first, asked=before), replace(second, asked=(after,)))
    assert found("history-grows", replace(seen, turns=turns)) == wanted


@pytest.mark.parametrize(
    ("plan", "wanted"), [(Plan(), []), (SECOND, ["model-asked-twice"]), (FIRST, ["model-asked-twice"])]
)
def test_an_empty_answer_may_be_asked_for_again(plan: Plan, wanted: list[str]) -> None:
    """The model was asked, and said nothing."""
    seen = evidence(*HISTORY, ASKS)
    first, _ = seen.turns
    again = (asked(1, plan, HISTORY[0]), asked(2, SECOND, HISTORY[0]))
    assert found("asked-once", replace(seen, turns=(replace(first, asked=again),))) == wanted


class Repeats(ChatApp):
    """Asks the model again where it fails: with the same request, or for the whole run from its beginning."""

    from_the_beginning = False

    async def _ask(self, chat: Stored, out: Writer) -> list[Json]:
        try:
            return await super()._ask(chat, out)
        except ModelError:
            if self.from_the_beginning:
                begun = max(index for index, message in enumerate(chat.messages) if message["role"] == "user")
                del chat.messages[begun + 1 :]
            return await super()._ask(chat, out)


def test_a_request_may_be_repeated_and_a_run_may_not_forget_what_it_has_done() -> None:
    """The model fails once, after the tool has run."""
    assert codes_of(play(Repeats(), "model-fails/once")) == set()
    app = Repeats()
    app.from_the_beginning = True
    assert codes_of(play(app, "model-fails/once")) == {"cycle-lost", "model-asked-twice"}
    assert codes_of(play(ChatApp(), "model-fails/once")) == set()


def test_one_of_two_calls_is_denied(tmp_path: Path) -> None:
    """Each call has an approval of its own."""

    class RunsBoth(ChatApp):
        async def _go_on(self, chat: Stored, approvals: Mapping[str, bool], out: Writer) -> None:
            await super()._go_on(chat, dict.fromkeys(approvals, any(approvals.values())), out)

    for kind, wanted in ((ChatApp, set()), (RunsBoth, {"tool-ran-unapproved"})):
        effects = tmp_path / f"{kind.__name__}.txt"
        app = kind(effects=effects, approvals=True)
        assert codes_of(play(app, "approval/one-of-two", effects=count_lines(effects))) == wanted
        app = kind(approvals=True)
        assert codes_of(play(app, "approval/one-of-two", effects="ledger")) == wanted


def test_an_answer_without_words_is_kept_or_left_out() -> None:
    """The application of the tests stores nothing of it; one that stores an empty message is refused."""

    class StoresNothing(ChatApp):
        def _store(self, chat: Stored, text: str, calls: list[Json], *, whole: bool) -> None:
            super()._store(chat, text, calls, whole=whole)
            if not text and not calls:
                chat.messages.append({"role": "assistant", "content": None})

    ids = ("model-stops/without-words",)
    assert codes_of(play(ChatApp(), *ids)) == set()
    assert codes_of(play(StoresNothing(), *ids)) == {"chat-assistant-empty"}


def test_the_new_cases_pass_on_the_safe_application(tmp_path: Path) -> None:
    """None of them is left out where the application has what it needs."""
    effects = tmp_path / "effects.txt"
    ids = (
        "user-leaves/twice",
        "second-message/in-text",
        "stop-button/before-first-byte",
        "model-stops/without-words",
        "model-fails/once",
    )
    config: dict[str, Any] = {"effects": count_lines(effects), "stop": "POST /api/chat/{id}/stop", "thread": THREAD}
    results = play(ChatApp(effects=effects), *ids, **config)
    assert codes_of(results) == set()
    assert {result.id: result.outcome for result in results} == dict.fromkeys(ids, Outcome.PASSED)


class StoresAgain(ChatApp):
    """Does not look at the trigger: the message is stored once more behind its answer."""

    def _store_message(self, chat: Stored, body: Json) -> None:
        chat.places.clear()
        super()._store_message(chat, body)


class KeepsCalls(ChatApp):
    """Takes back only the words of the last answer, and keeps the calls before them with their results."""

    def _store_message(self, chat: Stored, body: Json) -> None:
        kept: list[Json] = []
        if body["trigger"] == "regenerate-message":
            after = chat.messages[chat.places[body["message"]["id"]] + 1 :]
            kept = [message for message in after if message["role"] == "tool" or message.get("tool_calls")]
        super()._store_message(chat, body)
        chat.messages += kept


class ForgetsAll(ChatApp):
    """Takes back the whole chat where a message is edited."""

    def _store_message(self, chat: Stored, body: Json) -> None:
        if chat.places.get(body["message"]["id"]) is not None and body["trigger"] != "regenerate-message":
            chat.messages.clear()
        super()._store_message(chat, body)


class KeepsOldMessage(ChatApp):
    """Takes back what came after an edited message, and keeps the old words in front of the new ones."""

    def _store_message(self, chat: Stored, body: Json) -> None:
        place = chat.places.pop(body["message"]["id"], None)
        if place is not None:
            del chat.messages[place + 1 :]
        super()._store_message(chat, body)


def test_what_the_user_replaces_is_gone_and_nothing_else() -> None:
    """By another answer or by an edit; a server that keeps the history has to look at trigger and `messageId`."""
    apps = {
        ChatApp: (set(), set()),
        KeepsCalls: (set(), set()),
        StoresAgain: ({"user-turn-doubled", "replaced-told"}, {"replaced-told"}),
        ForgetsAll: (set(), {"user-turn-lost", "cycle-lost", "answer-lost"}),
        KeepsOldMessage: ({"user-turn-doubled"}, {"replaced-told"}),
    }
    for kind, wanted in apps.items():
        for theme, expected in zip(("regenerate", "edit"), wanted, strict=True):
            results = play(kind(), theme, regenerate=True, edit=True)
            assert codes_of(results) == expected, (kind, theme)
            assert Outcome.NOT_APPLICABLE not in {result.outcome for result in results}
    for theme in ("regenerate", "edit"):
        for result in play(ChatApp(), theme):
            assert (result.outcome, f"{theme} = true" in result.reason) == (Outcome.NOT_APPLICABLE, True)


def test_a_character_that_the_model_sends_in_two_halves_may_be_told_as_one() -> None:
    """As Python's JSON reader and writer make it (R43)."""
    results = play(ChatApp(), "sse/surrogates-split-by-the-model", options={"scenarios": (scenarios_dir(),)})
    assert codes_of(results) == set()
    assert [result.outcome for result in results] == [Outcome.PASSED]


def test_tools_that_run_one_after_the_other_are_waited_for() -> None:
    """The run goes on when the last of four has ended, long after its user has left."""
    app = ChatApp(Defect.RUNS_ON)
    options = {"scenarios": (scenarios_dir(),)}
    (result,) = play(app, "tools/every-status", options=options, on_disconnect="continue")
    assert codes_of([result]) == set()
    assert "more request" in result.reason


class Trims(ChatApp):
    """Tells its model so many of the last messages at most, or with `how` something else."""

    how: Callable[[list[Json]], list[Json]] = staticmethod(lambda messages: last_whole(messages, 4))

    def trimmed(self, messages: list[Json]) -> list[Json]:
        return type(self).how(messages)


class SumsUp(Trims):
    """Tells the beginning in a summary, for which it has asked its model with all that it leaves out."""

    role = "system"

    @contextlib.asynccontextmanager
    async def _stream(self, chat: Stored) -> AsyncIterator[AsyncIterator[Json]]:
        system, *whole = [{"role": "system", "content": SYSTEM}, *merged([dict(one) for one in chat.messages])]
        told = self.trimmed(whole)
        if len(told) < len(whole):
            order = {"role": "user", "content": "Write a summary of the conversation above."}
            answer = await self.model.ask([system, *whole[: len(whole) - len(told)], order])
            words = f"Summary of the conversation to date: {answer['choices'][0]['message']['content']}"
            told = merged([{"role": self.role, "content": words}, *told])
        async with self.model.stream([system, *told], TOOLS) as stream:
            yield stream


class SumsUpAsUser(SumsUp):
    """As a message of the user, which LangChain's middleware writes."""

    role = "user"


class Clears(Trims):
    """Tells a word in place of each result of an earlier turn."""

    how = staticmethod(cleared)


class LeavesCallsOut(Trims):
    """Tells no calls of earlier turns, as `pruneMessages` of the AI SDK does."""

    how = staticmethod(without_calls)


class TellsTheFirst(Trims):
    """Tells the first messages, as `slice(0, 10)` gives them in place of `slice(-10)`."""

    how = staticmethod(lambda messages: messages[:10])


class AsksAgain(ChatApp):
    """Answers a second approval of the same call with an empty stream, and runs nothing."""

    async def post(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["message"]["role"] == "user" or self.chats[body["id"]].waiting:
            return await super().post(request)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n')
        return response


@pytest.mark.parametrize("kind", [ChatApp, AsksAgain])
def test_an_approval_may_come_after_a_reload_and_a_second_one_runs_nothing(kind: type[ChatApp], tmp_path: Path) -> None:
    """Whether the second one is refused, or answered with nothing."""
    effects = tmp_path / "effects.txt"
    for counted in (count_lines(effects), "ledger"):
        results = play(kind(effects=effects, approvals=True), "approval", thread=THREAD, effects=counted)
        assert codes_of(results) == set()
        assert [result.outcome for result in results] == [Outcome.PASSED] * 5


class EndsWithItsTool(ChatApp):
    """Ends a run whose tool has failed, and says so to its user, as frameworks do that pass the exception on."""

    async def _run_tools(self, calls: list[tuple[Json, Json]], out: Writer) -> None:
        await super()._run_tools(calls, out)
        if any(str(answer["content"]).startswith("It has failed") for _, answer in calls):
            raise ModelError("the tool has failed")


def test_a_tool_may_return_anything_and_may_end_its_run_with_a_failure_that_is_told() -> None:
    """Nothing, very much, an error alone and beside a result: the model is told, or the user is."""
    for app in (ChatApp(), ChatApp(cancels_tools=True, says_call_ids=False), EndsWithItsTool()):
        results = play(app, "tool-returns", "tool-fails", effects="ledger")
        assert codes_of(results) == set()
        assert {one.id: one.outcome for one in results} == dict.fromkeys(
            [
                *("tool-fails/refused-arguments", "tool-fails/unknown-tool"),
                *("tool-returns/empty-text", "tool-returns/nothing", "tool-returns/very-much"),
                *("tool-fails/with-an-error", "tool-fails/one-of-two"),
            ],
            Outcome.PASSED,
        )


def test_a_run_that_was_never_seen_to_go_on_after_a_tool_may_end_with_it() -> None:
    """An application that allows its model one step shows the result, and that is all."""
    first, second = evidence(*HISTORY, ASKS).turns
    case = AppCase(id="a/b", title="t", turns=(Turn(says="Do it.", plans=()), Turn(says="And?", plans=())))
    seen = replace(evidence(), case=case, turns=(replace(first, asked=first.asked[:1]), second))
    assert found("answered", replace(seen, goes_on=True)) == ["run-broken-off"]
    assert found("answered", replace(seen, shows_answers=True)) == []
    left = replace(case, turns=(replace(case.turns[0], approve=None), case.turns[1]))
    assert found("answered", replace(seen, goes_on=True, case=left)) == []


class ShowsAPage(ChatApp):
    """Shows only a part of the messages after a reload: the newest, as a page does that loads the others on demand."""

    part = slice(-5, None)

    async def view(self, request: web.Request) -> web.Response:
        answer = await super().view(request)
        shown = json.loads(answer.text or "")["messages"]
        return web.json_response(shown[self.part] if len(shown) > 6 else shown)


@pytest.mark.parametrize(
    ("part", "wanted"),
    [(slice(-5, None), set()), (slice(5), {"view-differs"}), (slice(0), {"view-differs"})],
    ids=["the end", "the beginning", "nothing"],
)
def test_a_page_may_load_only_the_end_of_a_long_chat(part: slice, wanted: set[str]) -> None:
    """What it shows is whole all the same."""
    app = ShowsAPage()
    app.part = part
    assert codes_of(play(app, "long-chat/many-turns", thread=THREAD)) == wanted


TRIMMED = ("uncut", "user-leaves/in-answer", "long-chat")


@pytest.mark.parametrize(
    ("kind", "trims"),
    [
        (Trims, ("messages",)),
        (SumsUp, ("messages",)),
        (SumsUpAsUser, ("messages",)),
        (Clears, ("tools",)),
        (LeavesCallsOut, ("tools",)),
    ],
)
def test_an_application_may_leave_out_the_beginning_of_a_chat(kind: type[Trims], trims: tuple[str, ...]) -> None:
    """As it declares. A long chat may be trimmed without a word, but for its calls; a short one may not."""
    declared, not_declared = (play(kind(), *TRIMMED, trims=one) for one in (trims, ()))
    assert codes_of(declared) == set()
    assert Outcome.NOT_APPLICABLE not in {one.outcome for one in declared if one.id != "uncut/thinking"}
    accused = {one.id for one in not_declared if codes_of([one])}
    assert ("long-chat/many-turns" in accused) is (trims == ("tools",))
    assert "uncut/tool-call" in accused
    shown = {f.code for one in declared if one.id.startswith("long-chat") for f in one.findings}
    assert ("history-trimmed" in shown) is (trims == ("messages",))


def test_what_is_left_out_is_the_beginning() -> None:
    """Never the message that is to be answered, nor what stands between two that are told."""
    assert "user-turn-lost" in codes_of(play(TellsTheFirst(), "long-chat/many-turns", trims=("messages", "tools")))
    forgets = play(ChatApp(Defect.FORGETS_CYCLE), "user-leaves/in-answer", trims=("messages",))
    assert codes_of(forgets) == {"cycle-lost"}


@pytest.mark.parametrize("window", range(3, 24))
@pytest.mark.parametrize("how", [last_before, lambda messages, count: messages[-count:]], ids=["in front", "all"])
def test_a_long_chat_finds_every_window_that_begins_inside_a_cycle(
    window: int, how: Callable[[list[Json], int], list[Json]]
) -> None:
    """Played on paper: of each turn the requests that an application makes in it."""
    (case, *_) = long_cases(CaseTool(name="book_hotel", args={"city": "Paris"}), "call")
    messages: list[Json] = []
    begins = set()
    for turn in case.turns:
        messages.append({"role": "user"})
        for plan in turn.plans:
            begins.add(how(messages, window)[0]["role"])
            messages += [{"role": "assistant"}, *[{"role": "tool"} for _ in plan.calls]]
    assert "tool" in begins


def test_an_answer_that_was_not_said_to_its_end_may_be_left_out() -> None:
    """At the limit of tokens, or where a filter ended it; one that was finished may not."""
    for finish, wanted in ((Finish.STOP, ["answer-lost"]), (Finish.LENGTH, []), (Finish.CONTENT_FILTER, [])):
        first, second = evidence(*HISTORY, ASKS).turns
        cut = replace(first.asked[1], plan=replace(SECOND, finish=finish))
        turns = (replace(first, asked=(first.asked[0], cut)), second)
        assert found("cycles-kept", replace(evidence(), turns=turns)) == wanted, finish
