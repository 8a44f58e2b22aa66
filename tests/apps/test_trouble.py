"""An application that cannot be judged is told apart from one that is judged, each way with a code of its own."""

from __future__ import annotations

import json
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from benchmarks.virtual_time import run_idly
from tests.apps import odd_apps
from tests.apps.chat_app import ChatApp, Defect, Json, Stored, running
from tests.apps.odd_apps import Handler, serving
from tests.apps.playing import THREAD, play, playing, together

from tpharness.apps.config import AppConfig
from tpharness.apps.engine import AppOptions, play_app
from tpharness.apps.trouble import KINDS
from tpharness.errors import TargetError, UsageError
from tpharness.findings import Level
from tpharness.targets.server_process import free_port
from tpharness.verdict import Outcome, Result, ResultReady

WAYS: list[tuple[Handler, str]] = [
    (odd_apps.html, "answer-not-a-stream"),
    (odd_apps.unauthorised, "app-unauthorised"),
    (odd_apps.redirect, "app-redirects"),
    (odd_apps.not_found, "app-not-found"),
    (odd_apps.get_only, "app-not-found"),
    (odd_apps.refuse, "request-refused"),
    (odd_apps.fail, "app-failed"),
    (odd_apps.hang, "app-silent"),
    (odd_apps.other_model, "model-asked-elsewhere"),
    (odd_apps.cached, "answer-cached"),
    (odd_apps.empty, "model-never-asked"),
    (odd_apps.says_error, "app-failed"),
    (odd_apps.endless_silence, "app-silent"),
    (odd_apps.flood, "app-endless"),
]


async def results(port: int, *ids: str, ready: float = 2.0, **options: Any) -> list[Result]:
    """Play on an application that runs already."""
    url = f"http://127.0.0.1:{port}/api/chat"
    config = AppConfig(name="odd", url=url, history="last-message", answer=1.0, ready=ready)
    events = play_app(AppOptions(config=config, ids=ids, **options))
    return [event.result async for event in events if isinstance(event, ResultReady)]


def test_an_unknown_case_is_refused_before_the_application_is_waited_for() -> None:
    """How many pieces a sweep has is known of the application alone, so one of its places waits for that."""

    async def played(case: str, *, sweep: bool = False) -> list[Result]:
        return await results(free_port(), case, ready=0.1, sweep=sweep)

    for case in ("user-leaves/in-txt", "user-leaves/every-piece@piece-2"):
        with pytest.raises(UsageError, match=f"no case is called {case}"):
            run_idly(played(case))
    with pytest.raises(TargetError, match="nothing listens there"):
        run_idly(played("user-leaves/every-piece@piece-2000", sweep=True))


def test_what_an_application_does_instead_has_a_code_and_a_remedy() -> None:
    """The run ends after the first message, errored, with one finding that says what came and what to do."""

    async def played(handler: Handler) -> list[Result]:
        async with serving(handler) as port:
            return await results(port)

    for (handler, code), told in zip(WAYS, together(*(played(handler) for handler, _ in WAYS)), strict=True):
        name = getattr(handler, "__name__", code)
        (result,) = told
        assert result.outcome is Outcome.ERRORED, name
        (finding,) = result.findings
        assert finding.code == code, name
        assert finding.got, name
        assert len(finding.kind.remedy) > 20, name


def test_an_application_that_rewrites_the_words_of_the_user_is_told_so() -> None:
    """Its requests reach the model and cannot be given to a case."""

    async def main() -> list[Result]:
        app = ChatApp()
        told = app.told
        app.told = lambda chat: [{**m, "content": m["content"].replace("[", "(")} for m in told(chat)]  # type: ignore[method-assign]
        async with running(app) as port:
            return await results(port, on_ready=lambda env: _point(app, env))

    (result,) = run_idly(main())
    assert [finding.code for finding in result.findings] == ["mark-stripped"]


def test_a_stream_that_does_not_end_is_told_so() -> None:
    """The model has answered, and the client waits for ever."""

    async def main() -> list[Result]:
        app = ChatApp()

        async def endless(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            words = body["message"]["parts"][0]["text"]
            async with aiohttp.ClientSession() as session:
                payload = {"model": "m", "stream": False, "messages": [{"role": "user", "content": words}]}
                async with session.post(f"{app.base_url}/chat/completions", json=payload) as answer:
                    await answer.read()
            return await odd_apps.stream(request, {"type": "start"}, ends=False)

        async with serving(endless) as port:
            return await results(port, on_ready=lambda env: _point(app, env))

    (result,) = run_idly(main())
    assert [finding.code for finding in result.findings] == ["app-endless"]


def test_a_model_api_that_is_not_known_is_told_with_its_address() -> None:
    """The base URL is read, and the path is that of none of the four."""

    async def main() -> list[Result]:
        app = ChatApp()

        async def asks(request: web.Request) -> web.StreamResponse:
            async with aiohttp.ClientSession() as session, session.post(f"{app.base_url}/complete", json={}) as answer:
                await answer.read()
            return await odd_apps.says_error(request)

        async with serving(asks) as port:
            return await results(port, on_ready=lambda env: _point(app, env))

    (result,) = run_idly(main())
    (finding,) = result.findings
    assert finding.code == "model-api-unknown"
    assert finding.got == "POST /v1/complete"


class OneChat(ChatApp):
    """Keeps one history for everybody."""

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        return await super()._answer(self.chats.setdefault("the only one", chat), body, request)


class OwnIds(ChatApp):
    """Gives calls ids of its own in what it tells the model."""

    def told(self, chat: Stored) -> list[Json]:
        text = json.dumps(super().told(chat))
        return cast("list[Json]", json.loads(text.replace("call_tp_", "own_")))


class Caching(ChatApp):
    """Answers a message that it has answered before, but for the token and the number, from a cache."""

    def __init__(self, only: str) -> None:
        super().__init__()
        self._only, self._answers = only, cast("dict[str, str]", {})

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Look the message up; answers with calls are not kept."""
        body = await request.json()
        message = body["message"]["parts"][0]["text"].partition("] ")[2]
        if message in self._answers:
            return await odd_apps.stream(request, *odd_apps.text(self._answers[message]))
        response = await super().post(request)
        if self._only in message:
            self._answers[message] = self.chats[body["id"]].messages[-1]["content"]
        return response


def test_an_application_that_asks_its_model_and_cannot_be_judged_is_told_why() -> None:
    """Each would else be accused of what it has not done: inventions, forgotten effects, a chat that is lost."""
    apps = [
        (OneChat(), "chats-mixed"),
        (OwnIds(), "call-ids-changed"),
        (Caching("(1)"), "answer-cached"),
        (Caching("(2)"), "answer-cached"),
    ]
    ids = ("uncut/two-calls", "uncut/tool-call", "slow-model")
    plays = together(*(playing(app, *ids, concurrency=1) for app, _ in apps))
    for number, ((_, code), (*_, result)) in enumerate(zip(apps, plays, strict=True)):
        assert result.outcome is Outcome.ERRORED, (number, code)
        (finding,) = result.findings
        assert finding.code == code, number
        assert len(finding.kind.remedy) > 20, code


def test_nothing_that_listens_is_an_error_of_the_run() -> None:
    """There is nothing to judge."""
    with pytest.raises(Exception, match="nothing listens there") as raised:
        run_idly(results(9, ready=0.1))
    assert "environment" in getattr(raised.value, "hint", "")


def test_every_trouble_is_shown_here() -> None:
    """But for the one that only a machine between us and the application makes."""
    shown = {code for _, code in WAYS} | {"mark-stripped", "app-unreachable", "model-api-unknown"}
    shown |= {"chats-mixed", "call-ids-changed", "profile-misreads"}
    assert shown == {kind.code for kind in KINDS}


def _point(app: ChatApp, environment: dict[str, str]) -> None:
    app.base_url, app.api_key = environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"]


class Paged(ChatApp):
    """The page keeps the history and posts all of it; the application stores it as it was posted, to show it again."""

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        *earlier, last = body["messages"]
        said = [(one["role"], "".join(part.get("text", "") for part in one["parts"])) for one in earlier]
        chat.messages = [{"role": role, "content": text} for role, text in said]
        return await super()._answer(chat, {**body, "message": last}, request)


def test_a_page_that_cannot_be_loaded_again_is_not_evidence_against_the_application() -> None:
    """What it would post is not known where it keeps the history; a server that keeps it can be asked on."""
    apps: list[tuple[ChatApp, str]] = [
        (Paged(), "client"),
        (Paged(Defect.ANSWERS_NO_VIEW), "client"),
        (ChatApp(Defect.ANSWERS_NO_VIEW), "last-message"),
    ]
    plays = (playing(app, "reload/in-text", history=history, thread=THREAD) for app, history in apps)
    told = [
        (result.outcome, [finding.code for finding in result.findings if finding.level is not Level.MAY])
        for (result,) in together(*plays)
    ]
    assert told == [
        (Outcome.PASSED, []),
        (Outcome.ERRORED, ["view-unreadable"]),
        (Outcome.PASSED, ["view-unreadable"]),
    ]


def test_a_cut_at_an_address_that_does_not_exist_is_not_a_cut() -> None:
    """Nobody has pressed stop or loaded the page again, so nothing was judged."""
    wrong: dict[str, Any] = {"stop": "POST /api/nowhere/{id}/stop", "thread": "GET /api/nowhere/{id}"}
    results = play(ChatApp(), "stop-button/in-text", "reload/in-text", "uncut/tool-call", **wrong)
    told = {result.id: (result.outcome, {finding.code for finding in result.findings}) for result in results}
    assert told == {
        "uncut/tool-call": (Outcome.PASSED, {"view-unreadable"}),
        "stop-button/in-text": (Outcome.ERRORED, {"stop-refused"}),
        "reload/in-text": (Outcome.ERRORED, {"view-unreadable"}),
    }


def test_a_request_that_is_repeated_is_not_the_end_of_its_tool() -> None:
    """An application that asks its model twice is not advised to have a slower tool."""
    (result,) = play(ChatApp(Defect.ASKS_TWICE), "user-leaves/while-tool-runs")
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "did not ask the model as often as the case plans" in result.reason


def test_a_call_that_is_told_twice_is_not_a_later_call_under_another_id() -> None:
    """The model may make the same call again, with equal arguments, when the first is told twice already."""
    (result,) = play(ChatApp(Defect.DOUBLES_CALL), "long-chat/many-turns")
    assert result.outcome is Outcome.FAILED
    assert {finding.code for finding in result.findings if finding.level is Level.MUST} == {"call-doubled"}
