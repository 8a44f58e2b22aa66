"""Two users of one application at once, whom their headers tell apart."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.playing import STOP, play

from tpharness.verdict import Outcome

USER, OTHER = {"x-user": "ann"}, {"x-user": "ben"}
USERS: dict[str, Any] = {"headers": {**USER, "x-app": "1"}, "other_headers": OTHER, "concurrency": 1}


class WithUsers(ChatApp):
    """Takes down who writes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take down who has asked."""
        self.seen.add((request.headers["x-user"], request.headers["x-app"]))
        return await super().post(request)


def test_each_user_keeps_a_chat_of_their_own() -> None:
    """The second user has the headers of the first, but for those that are said to be theirs."""
    app = WithUsers()
    results = play(app, "two-users", "two-chats/in-text", stop=STOP, **USERS)
    assert [(one.id, one.outcome) for one in results] == [
        ("two-chats/in-text", Outcome.PASSED),
        ("two-users/in-text", Outcome.PASSED),
        ("two-users/while-tool-runs", Outcome.PASSED),
        ("two-users/stop-the-first", Outcome.PASSED),
        ("two-users/leave-the-first", Outcome.PASSED),
    ]
    assert app.seen == {("ann", "1"), ("ben", "1")}


def test_an_answer_that_is_stored_with_another_user_is_found() -> None:
    """The one lacks it, and the model of the other is told what it has never said there."""
    (result,) = play(ChatApp(Defect.MIXES_CHATS), "two-users/in-text", **USERS)
    found = {(finding.code, "other chat" in str(finding.place.side)) for finding in result.findings}
    assert {("answer-lost", False), ("text-invented", True)} <= found


def test_a_stop_of_one_user_ends_nothing_of_another() -> None:
    """One flag for the whole application is found where the second user has an answer of their own."""
    (result,) = play(ChatApp(Defect.STOPS_BY_ONE_FLAG), "two-users/stop-the-first", stop=STOP, **USERS)
    found = {(finding.code, "other chat" in str(finding.place.side)) for finding in result.findings}
    assert ("other-chat-ended", True) in found


def test_without_a_second_user_there_are_no_such_cases() -> None:
    """A baseline may name them all the same."""
    assert {one.id.partition("/")[0] for one in play(ChatApp(), "two-*")} == {"two-chats"}
