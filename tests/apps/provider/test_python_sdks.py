"""The official Python SDKs read every plan without complaint, and what they read is what the plan says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apps.provider.plans import WHOLE, Read, as_object, broken, expected

from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Break, Call, Finish, Item, Plan, Text, Thinking
from tpharness.model_apis.registry import ApiName

if TYPE_CHECKING:
    from tests.apps.provider.python_readers import Clients

# google-genai derives from a class of aiohttp that is not meant for it.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

# OpenAI's accumulator raises for an end that is not an ordinary one, when it is asked for the whole.
RAISED = {Finish.LENGTH: "LengthFinishReasonError", Finish.CONTENT_FILTER: "ContentFilterFinishReasonError"}

MODES: dict[ApiName, tuple[str, ...]] = {
    "openai-chat": ("stream", "helper", "whole"),
    "openai-responses": ("stream", "helper", "whole"),
    "anthropic": ("stream", "helper", "whole"),
    "gemini": ("stream", "whole"),
}
"""How each SDK is asked; the SDKs take seconds to import, which whoever collects the tests does not wait for."""

Play = Callable[[ApiName, str, Plan], tuple[Read, Exchange]]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Ask one provider, with one client of each SDK; each plan has a conversation of its own."""
    with asyncio.Runner() as runner:
        provider = runner.run(Provider().__aenter__())
        clients = runner.run(_clients(provider.base))
        marks = (f"[tp:{number:03}]" for number in count())

        def played(api: ApiName, mode: str, plan: Plan) -> tuple[Read, Exchange]:
            return runner.run(_played(provider, clients, next(marks), (api, mode), plan))

        yield played
        runner.run(clients.close())
        runner.run(provider.__aexit__())


async def _clients(base: str) -> Clients:
    from tests.apps.provider.python_readers import Clients  # see MODES

    return Clients(base)


async def _played(
    provider: Provider, clients: Clients, mark: str, how: tuple[ApiName, str], plan: Plan
) -> tuple[Read, Exchange]:
    from tests.apps.provider.python_readers import read  # see MODES

    conversation = provider.conversation(mark)
    conversation.plans([plan])
    found = await asyncio.wait_for(read(*how, clients, f"Book me a hotel. {mark}"), 20)
    exchange = await conversation.next_exchange(5)
    await exchange.ended(5)
    assert not provider.others
    assert not exchange.refusals
    assert exchange.api == how[0]
    return found, exchange


def test_every_reader_is_tried() -> None:
    """The list of the tests is not that of the readers, which need the SDKs."""
    from tests.apps.provider.python_readers import READERS

    assert list(READERS) == [(api, mode) for api, modes in MODES.items() for mode in modes]


ASKED: list[tuple[ApiName, str]] = [(api, mode) for api, modes in MODES.items() for mode in modes]


@pytest.mark.parametrize(("api", "mode"), ASKED, ids=[" ".join(row) for row in ASKED])
def test_a_whole_answer_is_read_as_it_was_planned(play: Play, api: ApiName, mode: str) -> None:
    """Texts, thinking, calls, reason and usage; every event as the SDK's types want it."""
    for name, plan in WHOLE.items():
        found, exchange = play(api, mode, plan)
        wanted = expected(api, plan)
        if api == "gemini" or (api == "anthropic" and mode != "stream"):  # arguments are given as an object
            wanted = replace(wanted, calls=[[i, n, as_object(a)] for i, n, a in wanted.calls])
        raised = RAISED.get(plan.finish) if (api, mode) == ("openai-chat", "helper") else None
        if raised is not None:
            wanted = Read(thinking=wanted.thinking, error=raised)
        assert found == wanted, name
        assert exchange.outcome is ExchangeOutcome.COMPLETED, name
        assert exchange.pieces_written == plan.piece_count, name


@pytest.mark.parametrize("api", MODES)
@pytest.mark.parametrize("breaks", [Break.RESET, Break.END, Break.ERROR])
def test_a_failing_stream_is_read_as_far_as_it_was_written(play: Play, api: ApiName, breaks: Break) -> None:
    """Up to the piece, and with an error where the stream has one: an end without the last events is silent."""
    for at in (0, 1, 4, 7, 9):
        plan = broken(WHOLE["thinking, text and three calls"], breaks, at)
        found, exchange = play(api, "stream", plan)
        assert (found.text, found.thinking, found.finish) == (plan.text_until(at), plan.thinking_until(at), None), at
        calls = [[c.call_id, c.name, "".join(c.pieces)] for c in plan.calls_until(at)]
        if api == "gemini":  # a call comes with its last piece
            calls = [[i, n, as_object(a)] for i, n, a in calls if as_object(a)]
        assert found.calls == calls, at
        assert found.complaints == [], at
        assert (found.error is not None) is (breaks is not Break.END), (at, found.error)
        assert exchange.outcome is ExchangeOutcome.BROKEN, at
        assert exchange.pieces_written == at


@pytest.mark.parametrize("api", MODES)
@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_an_error_status_is_the_sdk_s_own_error(play: Play, api: ApiName, mode: str) -> None:
    """The SDKs choose their exception by the status and find the text in the body."""
    for status in (400, 401, 404, 429, 500, 503):
        plan = Plan(breaks=Break.STATUS, status=status, error_text="planned failure")
        found, exchange = play(api, mode, plan)
        assert found.error is not None, status
        assert exchange.status == status
        assert exchange.outcome is ExchangeOutcome.BROKEN, status


PIECES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=5).map(tuple)
ARGUMENTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(-9, 9), max_size=3).map(json.dumps)


@st.composite
def items(draw: st.DrawFn) -> tuple[Item, ...]:
    """Texts, thinking and calls in any order, cut anywhere, empty pieces among them."""
    kinds = draw(st.lists(st.sampled_from(["text", "thinking", "call"]), min_size=1, max_size=5))
    found: list[Item] = []
    for number, kind in enumerate(kinds):
        if kind == "call":
            text = draw(ARGUMENTS)
            at = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
            pieces = tuple(text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True))
            found.append(Call(call_id=f"call_{number}", name="book_hotel", pieces=pieces))
        else:
            found.append((Text if kind == "text" else Thinking)(pieces=draw(PIECES)))
    return tuple(found)


@pytest.mark.parametrize("api", MODES)
@given(said=items(), cut=st.integers(0, 30), breaks=st.sampled_from([None, Break.END, Break.RESET, Break.ERROR]))
@settings(max_examples=30)
def test_any_plan_is_read_as_far_as_it_was_written(
    play: Play, api: ApiName, said: tuple[Item, ...], cut: int, breaks: Break | None
) -> None:
    """Whole, or up to any of its pieces."""
    whole = Plan(items=said)
    at = min(cut, whole.piece_count)
    plan = whole if breaks is None else Plan(items=said, breaks=breaks, break_at=at)
    written = whole.piece_count if breaks is None else at
    found, exchange = play(api, "stream", plan)
    assert exchange.pieces_written == written
    assert (found.text, found.thinking) == (plan.text_until(written), plan.thinking_until(written))
    calls = [[c.call_id, c.name, "".join(c.pieces)] for c in plan.calls_until(written)]
    if api == "gemini":  # a call comes with its last piece
        done = {c.call_id: len(c.pieces) for c in plan.calls}
        calls = [
            [c.call_id, c.name, json.loads("".join(c.pieces))]
            for c in plan.calls_until(written)
            if len(c.pieces) == done[c.call_id]
        ]
    assert found.calls == calls
    assert found.complaints == []
    assert (found.finish is None) is (breaks is not None)
