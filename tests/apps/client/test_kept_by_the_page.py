"""What a page keeps: whether it has the history, by its profile or its posts, and what it finds after a reload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest
from tests.apps.chat_app import ChatApp
from tests.apps.page_app import PageApp
from tests.apps.playing import THREAD, codes_of, play

from tpharness.apps.client import PROFILES, Chat, Profile, Trigger, keeps_history, text_of
from tpharness.apps.client.profiles import AiSdk
from tpharness.errors import UsageError
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


# -------------------------------------------------------------------------------------------- beyond a reload

Json = dict[str, Any]
CUT = ("user-leaves/in-text", "user-leaves/in-answer")


class Keeps(AiSdk):
    """A page that saves its messages, and finds them when it is loaded anew; `lose` is its mistake."""

    def __init__(self, lose: Callable[[Json], bool] = lambda _: False) -> None:
        self.lose = lose
        self.storage: dict[str, list[Json]] = {}
        self.loaded = 0

    def thread(self, chat: Chat) -> list[Json]:
        """Save what is on the screen without what gets lost, or load what was saved."""
        if not chat.messages:
            self.loaded += 1
            return self.storage[chat.id]
        saved = deepcopy(chat.messages)
        for message in saved:
            message["parts"] = [part for part in message["parts"] if not self.lose(part)]
        self.storage[chat.id] = saved
        return saved


def on_page(monkeypatch: pytest.MonkeyPatch, page: Profile, *cases: str, **config: Any) -> list[Any]:
    """Play cases of an application that is right, on such a page."""
    monkeypatch.setattr("tpharness.apps.engine.find_profile", lambda *_, **__: page)
    return play(PageApp(), *cases, history="client", **config)


def test_a_page_that_keeps_everything_is_found_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded anew before the last turn of each cut case, and goes on with what it finds."""
    page = Keeps()
    results = on_page(monkeypatch, page, *CUT)
    assert {(result.outcome, *sorted(codes_of([result]))) for result in results} == {(Outcome.PASSED,)}
    assert page.loaded == len(CUT)


@pytest.mark.parametrize(
    ("lose", "case"),
    [
        (lambda part: str(part["type"]).startswith("tool-"), "user-leaves/in-answer"),
        (lambda part: part.get("state") == "streaming", "user-leaves/in-text"),
    ],
    ids=["calls", "half-texts"],
)
def test_a_page_that_loses_a_part_is_found(
    monkeypatch: pytest.MonkeyPatch, lose: Callable[[Json], bool], case: str
) -> None:
    """The part was on the screen, and is gone when the page is loaded anew."""
    (result,) = on_page(monkeypatch, Keeps(lose), case)
    assert "view-differs" in codes_of([result])


def test_an_address_comes_before_what_the_page_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that has both shows what the server has."""
    page = Keeps()
    on_page(monkeypatch, page, "uncut/tool-call", thread=THREAD)
    assert page.storage == {}


def test_what_the_method_raises_is_said_of_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not of the application."""

    class Raises(AiSdk):
        def thread(self, chat: Chat) -> Any:
            raise KeyError(chat.id)

    with pytest.raises(UsageError, match=r"Raises\.thread cannot be used: KeyError"):
        on_page(monkeypatch, Raises(), "uncut/tool-call")


def test_a_thread_that_the_page_keeps_is_judged_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a verdict of its own, apart from what the application does."""

    class KeepsThread(AiSdk):
        def thread(self, chat: Chat) -> Any:
            return {"version": "007", "thread_id": chat.id, "turns": "none", "agents": {}}

    results = on_page(monkeypatch, KeepsThread(), "uncut/tool-call")
    outcomes = {result.id: result.outcome for result in results}
    assert outcomes["uncut/tool-call"] is Outcome.PASSED
    assert outcomes["uncut/tool-call@thread-protocol"] is Outcome.FAILED
