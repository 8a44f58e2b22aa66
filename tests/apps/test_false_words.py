"""What was said wrongly of real applications, each rebuilt here: neither accused of what is right nor passed unread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.apps.ag_ui_app import AgUiApp, Stream
from tests.apps.chat_app import DENIED, INTERRUPTED, ChatApp, Defect, Json, Stored, Writer
from tests.apps.playing import STOP, THREAD, codes_of, count_lines, play

from tpharness.verdict import Outcome, Result

RUNNING = "user-leaves/while-tool-runs"
PARIS = {"city": "Paris", "nights": 2}


def all_codes(results: list[Result]) -> set[str]:
    """Return the codes of all findings, those of a policy too."""
    return {finding.code for result in results for finding in result.findings}


# ---------------------------------------------------------------------------------------------------- an answer unread


class Plain(ChatApp):
    """Answers as a stream of plain text or as one JSON object, as `toTextStreamResponse()` and many routes do."""

    content_type = "text/plain"

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        self._store_message(chat, body)
        response = web.StreamResponse(headers={"content-type": self.content_type})
        await response.prepare(request)
        await self._run(chat, Writer(response, only=()), {})
        await response.write(b'{"text": "I am here to help."}')
        return response


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_an_answer_that_nobody_has_read_is_no_green_case(content_type: str) -> None:
    """Nothing can be said of what its user sees, so the run ends after the first message."""
    app = Plain()
    app.content_type = content_type
    (result,) = play(app, "basic")
    assert (result.outcome, all_codes([result])) == (Outcome.ERRORED, {"answer-not-a-stream"})


# ---------------------------------------------------------------------------------------------------- where it is cut


class Late(Writer):
    """Sends a call with its result, as LangGraph's and Agno's streams do, or never."""

    held: list[Mapping[str, Any]]
    shows_calls = True

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Keep what begins a call until its result is there."""
        if str(chunk["type"]).startswith("tool-input"):
            self.held.append(chunk)
            return
        if chunk["type"] == "tool-output-available":
            for one in (*self.held, chunk) if self.shows_calls else ():
                await super().send(one)
            self.held = []
            return
        await super().send(chunk, done=done)


class ShowsLate(ChatApp):
    """Streams that show calls with their results, or without."""

    shows_calls = True

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Return such a writer."""
        del chat, body
        out = Late(response)
        out.held, out.shows_calls = [], self.shows_calls
        return out


@pytest.mark.parametrize("shows_calls", [True, False])
def test_a_tool_that_runs_is_left_whether_or_not_its_call_is_shown(shows_calls: bool, tmp_path: Path) -> None:
    """It takes 0.6 s, and the stream says nothing meanwhile: the place is reached, and what is lost is found."""
    for defects, wanted in (((), set()), ((Defect.FORGETS_EFFECT,), {"effect-forgotten"})):
        effects = tmp_path / f"{len(defects)}.txt"
        app = ShowsLate(*defects, effects=effects, tool_seconds=0.6)
        app.shows_calls = shows_calls
        (result,) = play(app, RUNNING, effects=count_lines(effects))
        assert result.reason.startswith("cut while the tools ran")
        assert codes_of([result]) == wanted


# ---------------------------------------------------------------------------------------------------- a denied effect

TOOLS_RUN = (RUNNING, "user-leaves/while-two-tools-run")


@pytest.mark.parametrize("words", [DENIED, "skipped", "Annulé : l'outil n'a pas été exécuté."])
def test_an_effect_that_is_denied_is_found_in_any_words(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that had its effect has its own result, or one that the application declares to say that nobody knows."""
    monkeypatch.setattr("tests.apps.chat_app.DENIED", words)
    for result in play(ChatApp(Defect.DENIES_EFFECT), *TOOLS_RUN, effects="ledger"):
        assert (result.outcome, codes_of([result])) == (Outcome.FAILED, {"effect-denied"}), result.id
    (before,) = play(ChatApp(Defect.DENIES_EFFECT, cancels_tools=True), "user-leaves/before-effect", effects="ledger")
    assert (before.outcome, all_codes([before])) == (Outcome.PASSED, set())


class Unknown(ChatApp):
    """A tool that is interrupted is told to be of unknown outcome for ever."""

    def _interrupted(self, chat: Stored, begun: int, step: int) -> None:
        super()._interrupted(chat, begun, step)
        chat.messages[begun:] = [dict(message) for message in chat.messages[begun:]]


def test_an_outcome_that_nobody_knows_is_declared() -> None:
    """Until then it is asked about, at SHOULD, with the words: they could say anything."""
    (declared,) = play(Unknown(), RUNNING, effects="ledger")
    assert (declared.outcome, all_codes([declared])) == (Outcome.PASSED, set())
    (silent,) = play(Unknown(), RUNNING, effects="ledger", outcome_unknown=())
    assert (silent.outcome, codes_of([silent])) == (Outcome.PASSED, {"effect-in-doubt"})
    assert [finding.got for finding in silent.findings] == [INTERRUPTED]
    (safe,) = play(ChatApp(), RUNNING, effects="ledger", outcome_unknown=())
    assert (safe.outcome, all_codes([safe])) == (Outcome.PASSED, set())


class Rewords(ChatApp):
    """Tells its model of every result in words of its own, as `toModelOutput` does."""

    def told(self, chat: Stored) -> list[Json]:
        """Leave the words of a result out."""
        return [{**m, "content": "It is done."} if m["role"] == "tool" else m for m in super().told(chat)]


def test_an_application_that_always_tells_results_in_its_own_words_denies_nothing() -> None:
    """It was seen to do so before any case."""
    assert codes_of(play(Rewords(), *TOOLS_RUN, effects="ledger")) == set()


def test_what_is_told_of_a_tool_that_ran_is_shown_without_the_ledger(tmp_path: Path) -> None:
    """It may be the result: a policy. What was a result before is not shown."""
    effects = tmp_path / "effects.txt"
    (denied,) = play(ChatApp(Defect.DENIES_EFFECT, effects=effects), RUNNING, effects=count_lines(effects))
    assert denied.outcome is Outcome.PASSED
    assert {f.code: f.got for f in denied.findings}["result-without-its-run"] == DENIED
    (uncut,) = play(ChatApp(effects=effects), "uncut/tool-call", effects=count_lines(effects))
    assert all_codes([uncut]) == set()


# ---------------------------------------------------------------------------------------------------- results as JSON


class Spaces(ChatApp):
    """Shows results as compact JSON, and tells them with other space and in quotes, otherwise in each turn."""

    def told(self, chat: Stored) -> list[Json]:
        """Write results anew."""
        messages = super().told(chat)
        for message in messages:
            if message["role"] == "tool":
                value = json.loads(message["content"]) if message["content"].startswith("{") else message["content"]
                message["content"] = json.dumps(value, indent=chat.turns)
        return messages


def test_results_are_compared_as_json(tmp_path: Path) -> None:
    """Space between values and the quotes of a text change nothing; another value does."""
    assert all_codes(play(Spaces(), "uncut", effects="ledger")) == set()
    effects = tmp_path / "effects.txt"
    assert all_codes(play(Spaces(effects=effects), "uncut", effects=count_lines(effects))) == set()
    assert "history-changed" in codes_of(play(ChatApp(Defect.REWORDS_RESULT), "uncut", effects="ledger"))


# ---------------------------------------------------------------------------------------------------- AG-UI

AG_UI: dict[str, Any] = {"history": "ag-ui", "effects": "ledger"}


@pytest.mark.parametrize("stream", [Stream.PLAIN, Stream.SHORT, Stream.SNAPSHOTS])
def test_an_application_on_ag_ui_is_read_as_its_own_client_reads_it(stream: Stream) -> None:
    """Uncut and cut: ids, half arguments and results come back as they were sent."""
    results = play(AgUiApp(stream), "uncut", "basic", "user-leaves/while-two-tools-run", **AG_UI)
    assert codes_of(results) == set()
    assert {r.id for r in results if r.outcome is not Outcome.PASSED} == {"uncut/thinking"}


@pytest.mark.parametrize(
    ("stream", "case", "code"),
    [
        (Stream.OPEN_TEXT, "uncut/tool-call", "ag-ui-open-at-end"),
        (Stream.NO_START, "uncut/tool-call", "ag-ui-first-event"),
        (Stream.FINISHES_ANYWAY, "model-fails/error-status", "ag-ui-after-end"),
    ],
)
def test_a_stream_is_refused_by_the_rules_of_its_own_wire(stream: Stream, case: str, code: str) -> None:
    """Where AG-UI's client ends it, and not where that of the AI SDK would; also behind an error that was reported."""
    (result,) = play(AgUiApp(stream), case, **AG_UI)
    refused = [finding for finding in result.findings if finding.code == "stream-refused"]
    assert result.outcome is Outcome.FAILED
    assert refused
    assert all(str(finding.got).endswith(f"({code})") for finding in refused)


# ---------------------------------------------------------------------------------------------------- half a call


def test_half_a_call_that_runs_is_found_with_and_without_the_ledger(tmp_path: Path) -> None:
    """The limit of tokens has cut its arguments, and the application has completed them."""
    case, effects = "model-stops/at-length-in-arguments", tmp_path / "effects.txt"
    app = ChatApp(Defect.RUNS_HALF_CALL, effects=effects)
    for (result,) in (
        play(ChatApp(Defect.RUNS_HALF_CALL), case, effects="ledger", args={"book_hotel": (PARIS,)}),
        play(app, case, effects=count_lines(effects), args={"book_hotel": (PARIS,)}),
    ):
        assert (result.outcome, codes_of([result])) == (Outcome.FAILED, {"half-call-ran"})
        assert 'book_hotel({"city":"Pa (cut here)' in str(result.findings[0].expected)
    assert codes_of(play(ChatApp(), case, effects="ledger")) == set()


# ------------------------------------------------------------------------------------------------- the turn after next


class LosesLater(ChatApp):
    """Forgets a run from the second message after it on, as one that stores only the last turn whole."""

    def told(self, chat: Stored) -> list[Json]:
        """Take the calls and results of an interrupted run away when another turn is stored behind it."""
        messages = super().told(chat)
        return [m for m in messages if m["role"] != "tool"] if chat.interrupted and chat.turns > 2 else messages


def test_what_shows_in_the_turn_after_the_next_is_found() -> None:
    """A call without its result, which the API refuses: the next turn is answered, and every later one fails."""
    (result,) = play(LosesLater(), RUNNING, effects="ledger")
    assert result.outcome is Outcome.FAILED
    assert "chat-call-unanswered" in codes_of([result])
    places = {finding.place.side for finding in result.findings if finding.code == "chat-call-unanswered"}
    assert places == {"the third turn, request 1 to the model"}


def test_the_page_is_loaded_anew_before_the_turn_after_the_next() -> None:
    """What it then shows is held to what was on the screen, and the case goes on with it."""
    for defects, wanted in (((), set()), ((Defect.HIDES_HALF_TEXT,), {"view-differs"})):
        app = Reloads(*defects)
        (result,) = play(app, "user-leaves/in-text", thread=THREAD)
        assert codes_of([result]) == wanted
        assert app.views == [1, 2, 2, 3]  # after each turn, and once more before the third


class Reloads(ChatApp):
    """Notes how many messages of the user there were at each view of its latest chat."""

    def __init__(self, *defects: Defect) -> None:
        super().__init__(*defects)
        self.views: list[int] = []

    async def view(self, request: web.Request) -> web.Response:
        """Note it."""
        messages = self.chats[request.match_info["id"]].messages
        users = sum(message["role"] == "user" for message in messages)
        self.views = [users] if users == 1 and self.views[-1:] != [1] else [*self.views, users]
        return await super().view(request)


# ---------------------------------------------------------------------------------------------------- two chats at once


def test_an_answer_belongs_to_its_chat() -> None:
    """One that is stored in the chat that was opened last is missing from its own, and invented in the other."""
    results = play(ChatApp(Defect.MIXES_CHATS), "two-chats/in-text", RUNNING, concurrency=1)
    by_id = {result.id: {(f.code, "other chat" in str(f.place)) for f in result.findings} for result in results}
    assert {("answer-lost", False), ("text-invented", True)} <= by_id["two-chats/in-text"]
    assert by_id[RUNNING] == set()
    for safe in play(ChatApp(), "two-chats", effects="ledger", stop=STOP):
        assert (safe.outcome, all_codes([safe])) == (Outcome.PASSED, set())
