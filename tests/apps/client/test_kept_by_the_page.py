"""Whether a page keeps the history is what its profile says, or else what it posts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.apps.chat_app import ChatApp
from tests.apps.playing import play

from tpharness.apps.client import PROFILES, Chat, Profile, Trigger, keeps_history, text_of
from tpharness.verdict import Outcome


class Own:
    """A profile that says nothing of itself; `make` makes the body of a chat."""

    def __init__(self, make: Callable[[Chat], Mapping[str, Any]]) -> None:
        self.make = make

    def body(self, chat: Chat, _: Trigger) -> Mapping[str, Any]:
        """Return what `make` does."""
        return self.make(chat)

    def translator(self) -> None:
        """The answer is a UI message stream."""


class Saying(Own):
    """A profile that says of itself what it is told to."""

    keeps_history = False


@pytest.mark.parametrize(
    ("make", "keeps"),
    [
        (lambda chat: {"history": chat.messages}, True),
        (lambda chat: {"said": "\n".join(map(text_of, chat.messages))}, True),
        (lambda chat: {"id": chat.id, "message": chat.last}, False),
        (lambda chat: {"id": chat.id, "title": text_of(chat.messages[0]), "message": chat.last}, False),
        (lambda chat: {}[chat.id], False),
    ],
    ids=["messages", "texts", "last", "title", "raises"],
)
def test_a_page_that_posts_what_was_said_before_keeps_the_history(
    make: Callable[[Chat], Mapping[str, Any]], keeps: bool
) -> None:
    """Unless its class says otherwise. One that cannot post in a chat that it has not seen is taken to keep none."""
    assert keeps_history(Own(make)) is keeps
    assert keeps_history(Saying(make)) is False


@pytest.mark.parametrize("name", PROFILES)
def test_the_profiles_that_ship_say_what_is_seen_of_them(name: str) -> None:
    """A class that says nothing and posts the same is judged in the same way."""
    shipped: Profile = PROFILES[name]()
    assert keeps_history(Own(lambda chat: shipped.body(chat, Trigger.SUBMIT))) is keeps_history(shipped)


def test_an_application_is_not_judged_by_a_second_tab_whose_page_keeps_the_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tab has a history of its own. The profile does not have to say it."""

    def everything(chat: Chat) -> Mapping[str, Any]:
        return {"id": chat.id, "messages": chat.messages, "message": chat.last}

    monkeypatch.setattr("tpharness.apps.engine.find_profile", lambda *_, **__: Own(everything))
    (result,) = play(ChatApp(), "second-tab/while-tool-runs")
    assert (result.outcome, "the client keeps the history" in result.reason) == (Outcome.NOT_APPLICABLE, True)
