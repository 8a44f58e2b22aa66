"""`tpharness app --client peer:ag-ui-client`: AG-UI's own package posts, and holds what our page holds."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from tests.apps.ag_ui_app import AgUiApp, Stream
from tests.apps.client.ag_ui_scenes import ANSWER, FINISHED, STARTED, call, interrupt, text
from tests.apps.client.scenes import clients_of, ended
from tests.apps.odd_apps import serving, stream, stream_begun
from tests.apps.playing import codes_of, play

from tpharness.apps.client import Addresses, Client, RealClient, RealClients, find_profile
from tpharness.errors import UsageError
from tpharness.verdict import Outcome

pytestmark = pytest.mark.node
REAL = "peer:ag-ui-client"
BOOK = {"name": "book", "description": "Book it.", "parameters": {"type": "object"}}
CITY = '{"city":"Paris"}'
Json = dict[str, Any]


@pytest.mark.parametrize("shape", [Stream.PLAIN, Stream.SNAPSHOTS])
def test_an_application_passes_with_the_package_as_with_our_page(shape: Stream) -> None:
    """`client-differs` would say where what it posts or holds is not what the profile `ag-ui` does."""
    results = play(AgUiApp(shape), "uncut", "basic", history="ag-ui", effects="ledger", client=REAL)
    assert codes_of(results) == set()
    assert {result.id for result in results if result.outcome is not Outcome.PASSED} == {"uncut/thinking"}


def test_a_stream_that_the_package_refuses_is_refused() -> None:
    """And the package says itself that it has failed."""
    (result,) = play(AgUiApp(Stream.OPEN_TEXT), "uncut/tool-call", history="ag-ui", effects="ledger", client=REAL)
    assert "stream-refused" in codes_of([result])
    assert "client-differs" not in codes_of([result])


def scene(
    answers: list[list[Json]], *, extra: Json | None = None, kind: str | None = REAL, sends: Any = stream_begun
) -> tuple[Client, list[Json]]:
    """Answer one post after another with these events while a user writes, approves, edits and asks again."""
    posts: list[Json] = []
    waiting = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        posts.append(await request.json())
        response: web.StreamResponse = await sends(request, *waiting.pop(0))
        return response

    async def main() -> Client:
        async with serving(answer) as port, clients_of(kind, find_profile("ag-ui")) as make:
            client: Client = make(Addresses(chat=f"http://127.0.0.1:{port}/"), chat_id="thread", extra=extra)
            await ended(client.submit("one"))
            await client.screen()
            if approved := client.answer_approvals(approved=(True,), reason="go on"):
                await ended(approved)
                await client.screen()
            await ended(client.submit("two"))
            await ended(client.edit(2, "zwei"))
            await ended(client.regenerate())
            await client.screen()
            await client.close()
            return client

    return asyncio.run(main()), posts


ASKS = [STARTED, *text("Hello."), *call(CITY), interrupt("i1")]


@pytest.mark.parametrize("asked", [True, False])
def test_the_package_posts_what_our_page_posts(asked: bool) -> None:
    """Answers to an interrupt, a message, one that is edited, another answer: the same posts but for made-up ids."""
    first = ASKS if asked else [STARTED, *text("Hello."), *call(CITY), FINISHED]
    later = [list(ANSWER) for _ in range(4 if asked else 3)]
    extra = None if asked else {"tools": [BOOK]}
    real, theirs = scene([first, *later], extra=extra)
    _, ours = scene([first, *later], extra=extra, kind=None)
    assert isinstance(real, RealClient)
    assert real.differences == []
    assert [shape_of(post) for post in theirs] == [shape_of(post) for post in ours]
    resume = [{"interruptId": "i1", "status": "resolved", "payload": {"approved": True, "reason": "go on"}}]
    assert [post.get("resume") for post in theirs] == ([None, resume, None, None, None] if asked else [None] * 4)
    assert [post["tools"] for post in theirs] == [[] if asked else [BOOK]] * len(theirs)


def test_an_end_marker_is_an_error_for_both() -> None:
    """AG-UI has none: the package reads it as an event that is not JSON, and loses what came in the same read."""
    real, _ = scene([[STARTED, *text("Hello."), FINISHED], *(list(ANSWER) for _ in range(3))], sends=stream)
    assert isinstance(real, RealClient)
    assert [bool(reply.refused) for reply in real.replies] == [True] * 4
    assert [one for one in real.differences if one.startswith("the real client says")] == []


def shape_of(post: Json) -> Json:
    """Return a post without the ids that its client has made."""
    made = {message["id"]: f"user-{n}" for n, message in enumerate(post["messages"]) if message["role"] == "user"}
    said = json.dumps({key: value for key, value in post.items() if key != "runId"})
    for name, number in made.items():
        said = said.replace(name, number)
    shaped: Json = json.loads(said)
    return shaped


@pytest.mark.parametrize(
    ("kind", "history", "hint"), [(REAL, "ai-sdk", '"ag-ui"'), ("peer:ai-sdk-client", "ag-ui", REAL)]
)
def test_a_client_of_another_wire_is_refused(kind: str, history: str, hint: str) -> None:
    """With what to write."""
    with pytest.raises(UsageError) as refused:
        RealClients(kind, find_profile(history))
    assert hint in str(refused.value.hint)
