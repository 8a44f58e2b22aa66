"""Our client posts just what the AI SDK's own client posts, whatever its user has done before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.client.scenes import (
    END,
    STEP,
    Answer,
    Application,
    Played,
    Script,
    begins,
    calls,
    clients_of,
    ended,
    leave_after,
    play,
    says,
    with_named_ids,
    write,
)
from tests.apps.odd_apps import serving
from tests.apps.playing import THREAD
from tests.apps.playing import play as play_case
from tests.distribution import Sample

from tpharness.apps.cases.case import AppCase
from tpharness.apps.client import (
    Addresses,
    Chat,
    Client,
    End,
    Profile,
    RealClient,
    RealClients,
    Trigger,
    find_profile,
    message,
    require_known_client,
)
from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.profiles import AiSdk
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.judge import judge_app
from tpharness.errors import TargetError, UsageError
from tpharness.findings import Level
from tpharness.verdict import Outcome

WHOLE: Answer = [*begins("m1"), *says("Hello"), *END]
AGAIN: Answer = [*begins("m2"), *says("Again"), *END]
NAMELESS: Answer = [*begins(), *says("Hello"), *END]
META = {"openai": {"itemId": "item_1"}}
HELD: list[dict[str, Any]] = [
    {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "one"}]},
    {"id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "Hel", "state": "streaming"}]},
]
HALF_CALL = {"type": "tool-book", "toolCallId": "c", "state": "input-streaming", "rawInput": '{"ci', "input": {}}
ASKED: Answer = [*calls(until="input"), {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the application answers, what the user does, and what the page holds and adds."""

    answers: list[Answer]
    script: Script
    held: list[dict[str, Any]] | None = None
    extra: Mapping[str, Any] | None = None


async def two(client: Client, _: Application) -> None:
    """Two messages, each when the answer before it has ended."""
    await write(client, "one", "two")


def cut(chunks: int) -> Script:
    """Return a script that leaves after so many chunks."""

    async def script(client: Client, app: Application) -> None:
        await leave_after(client, app, "one", chunks)
        await write(client, "two")

    return script


def left_in(answer: Answer) -> Scene:
    """Return a scene in which the user leaves when all of the answer has come, and writes again."""
    return Scene(answers=[[*answer, "hold"], AGAIN], script=cut(len(answer)))


def whole(*answer: Any) -> Scene:
    """Return a scene in which the answer is whole, and the user writes again."""
    return Scene(answers=[[*begins("m1"), *answer, *END], AGAIN], script=two)


def approval(*answers: Answer, reason: str | None = None, approved: bool = True) -> Scene:
    """Return a scene in which the user answers what is asked in the first answer."""

    async def script(client: Client, _: Application) -> None:
        await ended(client.submit("one"))
        await client.screen()
        if answer := client.answer_approvals(approved=(approved,), reason=reason):  # `ai` 5 knows none
            await ended(answer)
            await client.screen()
        await write(client, "two")

    return Scene(answers=[*answers, AGAIN], script=script)


async def regenerates(client: Client, _: Application) -> None:
    """Another answer, then another message."""
    await write(client, "one")
    await ended(client.regenerate())
    await client.screen()
    await write(client, "two")


async def regenerates_what_was_cut(client: Client, app: Application) -> None:
    """The user leaves, and asks for another answer."""
    await leave_after(client, app, "one", 4)
    await ended(client.regenerate())
    await client.screen()
    await write(client, "two")


async def regenerates_first(client: Client, _: Application) -> None:
    """The first that the user does on this page."""
    await ended(client.regenerate())
    await client.screen()
    await write(client, "two")


async def edits(client: Client, _: Application) -> None:
    """The first of two messages, when both are answered; then another message."""
    await write(client, "one", "two")
    await ended(client.edit(1, "uno"))
    await client.screen()
    await write(client, "three")


async def edits_what_was_cut(client: Client, app: Application) -> None:
    """The user leaves, and writes the message anew."""
    await leave_after(client, app, "one", 4)
    await ended(client.edit(1, "uno"))
    await client.screen()
    await write(client, "two")


async def resumes(client: Client, _: Application) -> None:
    """The page takes up what it finds; then two messages."""
    await ended(client.resume())
    await client.screen()
    await write(client, "two", "three")


async def writes_while_it_answers(client: Client, app: Application) -> None:
    """A second message in the middle of an answer that goes on afterwards."""
    first = client.submit("one")
    assert await first.until(lambda seen: len(seen.chunks) >= 4, 30)
    await client.screen()
    second = client.submit("two")
    await ended(second)
    await client.screen()
    app.go_on.set()
    await ended(first)
    await client.screen()
    await write(client, "three")


async def writes_after_a_break(client: Client, app: Application) -> None:
    """The connection breaks when all that came before has been seen."""
    first = client.submit("one")
    assert await first.until(lambda seen: len(seen.chunks) >= 4, 30)
    app.go_on.set()
    await ended(first)
    await client.screen()
    await write(client, "two")


async def writes_before_it_answers(client: Client, app: Application) -> None:
    """A second message before the first answer shows anything."""
    first = client.submit("one")
    assert await first.until(lambda seen: len(seen.chunks) >= 1, 30)
    await client.screen()
    await ended(client.submit("two"))
    await client.screen()
    app.go_on.set()
    await ended(first)
    await client.screen()
    await write(client, "three")


async def writes_on(client: Client, _: Application) -> None:
    """Without answering the request for approval."""
    await write(client, "one", "two", "three")


def result(call_id: str = "c", **more: Any) -> dict[str, Any]:
    """Return the output of a call."""
    return {"type": "tool-output-available", "toolCallId": call_id, "output": "booked", **more}


SCENES: dict[str, Scene] = {
    "two messages": Scene(answers=[WHOLE, AGAIN], script=two),
    "two messages, answers without ids": Scene(answers=[NAMELESS, NAMELESS], script=two),
    "fields of the page": Scene(
        answers=[WHOLE, AGAIN], script=two, extra={"model": "big", "options": {"a": [1, None]}}
    ),
    "metadata": whole(
        {"type": "message-metadata", "messageMetadata": {"a": {"b": 1}}},
        *says("Hi", providerMetadata=META),
        {"type": "message-metadata", "messageMetadata": {"a": {"c": None}, "d": [1]}},
    ),
    "reasoning": whole(*says("Hm", "r", kind="reasoning", providerMetadata=META), *says("Hi")),
    "sources and files": whole(
        {"type": "source-url", "sourceId": "s", "url": "https://example.com", "title": "T"},
        {"type": "source-document", "sourceId": "d", "mediaType": "text/plain", "title": "T"},
        {"type": "file", "url": "data:text/plain,hi", "mediaType": "text/plain"},
    ),
    "data parts": whole(
        {"type": "data-x", "id": "1", "data": {"a": 1}},
        {"type": "data-x", "id": "1", "data": {"a": 2}},
        {"type": "data-x", "data": 3, "transient": True},
        {"type": "data-y", "data": 4},
    ),
    "a call and an answer": whole(*calls(), {"type": "finish-step"}, *STEP, *says("Booked.")),
    "a dynamic call": whole(*calls(dynamic=True, title="Book"), {"type": "finish-step"}, *STEP, *says("Booked.")),
    "two calls": whole(*calls("c"), *calls("d"), {"type": "finish-step"}, *STEP, *says("Booked.")),
    "preliminary results": whole(
        *calls(until="input"), result(preliminary=True), result(preliminary=True, output="more"), result()
    ),
    "a call that the provider runs": whole(
        *calls(until="input", providerExecuted=True, providerMetadata=META),
        result(providerExecuted=True, providerMetadata=META),
    ),
    "arguments that are refused": whole(
        *calls(until="arguments"),
        {"type": "tool-input-error", "toolCallId": "c", "toolName": "book", "input": '{"ci', "errorText": "bad"},
        {"type": "tool-output-error", "toolCallId": "c", "errorText": "bad"},
    ),
    "a tool that fails": whole(
        *calls(until="input"), {"type": "tool-output-error", "toolCallId": "c", "errorText": "no room"}
    ),
    "a step that is taken back": whole(*says("No"), {"type": "reset-step"}, *says("Yes", "u")),
    "a message that is renamed": whole(*says("A"), {"type": "start", "messageId": "m9"}, *says("B", "u")),
    "an empty step at the end": whole(*says("Hi"), {"type": "finish-step"}, *STEP),
    "left before the first chunk": Scene(answers=[["hold"], AGAIN], script=cut(0)),
    "left after the start": left_in(begins("m1")),
    "left after a start without an id": left_in(begins()),
    "left in a text": left_in([*begins("m1"), *says("Hel", ends=False)]),
    "left in a reasoning": left_in([*begins(), *says("Hm", ends=False, kind="reasoning")]),
    "left at the start of a call": left_in([*begins("m1"), *says("I will"), *calls(until="start")]),
    "left in the arguments": left_in([*begins("m1"), *says("I will"), *calls(until="arguments")]),
    "left in dynamic arguments": left_in([*begins("m1"), *calls(until="arguments", dynamic=True)]),
    "left in arguments that are text": left_in([*begins("m1"), *calls(until="arguments", inputEncoding="text")]),
    "left while a tool runs": left_in([*begins("m1"), *says("I will"), *calls(until="input")]),
    "left while one of two tools runs": left_in([*begins("m1"), *calls("c"), *calls("d", until="input")]),
    "left at the start of the next step": left_in([*begins("m1"), *calls(), {"type": "finish-step"}, *STEP]),
    "left in the answer": left_in([*begins(), *calls(), {"type": "finish-step"}, *STEP, *says("Boo", ends=False)]),
    "the application fails": Scene(answers=[["500"], AGAIN], script=two),
    "the connection breaks": Scene(
        answers=[[*begins("m1"), *says("Hel", ends=False), "pause", "break"], AGAIN], script=writes_after_a_break
    ),
    "the stream says that it failed": Scene(
        answers=[[*begins("m1"), *says("Hel", ends=False), {"type": "error", "errorText": "no"}], AGAIN], script=two
    ),
    "the client closes the connection at an error": Scene(
        answers=[[*begins("m1"), {"type": "error", "errorText": "no"}, "hold"], AGAIN], script=two
    ),
    "the client closes the connection at a chunk that it refuses": Scene(
        answers=[[*begins("m1"), {"type": "text-delta", "id": "x", "delta": "a"}, "hold"], AGAIN], script=two
    ),
    "a chunk that nobody knows": Scene(answers=[[*begins("m1"), {"type": "nonsense"}, *END], AGAIN], script=two),
    "regenerates an answer": Scene(answers=[WHOLE, AGAIN, NAMELESS], script=regenerates),
    "regenerates what was cut": Scene(
        answers=[[*begins("m1"), *says("Hel", ends=False), "hold"], AGAIN, NAMELESS], script=regenerates_what_was_cut
    ),
    "regenerates after a failure": Scene(answers=[["500"], AGAIN, NAMELESS], script=regenerates),
    "regenerates after a reload": Scene(answers=[AGAIN, NAMELESS], script=regenerates_first, held=HELD),
    "edits the first message": Scene(answers=[WHOLE, AGAIN, NAMELESS, NAMELESS], script=edits),
    "edits what was cut": Scene(
        answers=[[*begins("m1"), *says("Hel", ends=False), "hold"], AGAIN, NAMELESS], script=edits_what_was_cut
    ),
    "writes while it answers": Scene(
        answers=[
            [*begins("m1"), *says("One", ends=False), "pause", {"type": "text-end", "id": "t"}, *END],
            AGAIN,
            NAMELESS,
        ],
        script=writes_while_it_answers,
    ),
    "writes while a tool runs": Scene(
        answers=[[*begins(), *calls(until="input"), "pause", result(), *END], NAMELESS, NAMELESS],
        script=writes_while_it_answers,
    ),
    "writes before it answers": Scene(
        answers=[[{"type": "start"}, "pause", *STEP, *says("One"), *END], AGAIN, NAMELESS],
        script=writes_before_it_answers,
    ),
    "an approval": approval(
        [*begins("m1"), *ASKED, *END], [{"type": "start"}, result(), *STEP, *says("Booked."), *END]
    ),
    "an approval, with a reason": approval(
        [*begins(), *ASKED, *END], [{"type": "start"}, result(), *STEP, *says("Booked."), *END], reason="fine"
    ),
    "a denial": approval(
        [*begins("m1"), *ASKED, *END],
        [{"type": "start"}, {"type": "tool-output-denied", "toolCallId": "c"}, *STEP, *says("Not booked."), *END],
        approved=False,
    ),
    "two approvals": approval(
        [
            *begins("m1"),
            *ASKED,
            *calls("d", until="input"),
            {"type": "tool-approval-request", "approvalId": "b", "toolCallId": "d", "reason": "dear"},
            *END,
        ],
        [{"type": "start"}, result(), result("d"), *STEP, *says("Booked."), *END],
    ),
    "an approval, and then a failure": approval([*begins("m1"), *ASKED, *END], ["500"]),
    "an approval, and then another": approval(
        [*begins("m1"), *ASKED, *END],
        [
            {"type": "start"},
            result(),
            *STEP,
            *calls("d", until="input"),
            {"type": "tool-approval-request", "approvalId": "b", "toolCallId": "d"},
            *END,
        ],
    ),
    "an approval that nobody answers": Scene(
        answers=[[*begins("m1"), *ASKED, *END], AGAIN, NAMELESS], script=writes_on
    ),
    "takes up an answer that has a name": Scene(answers=[WHOLE, AGAIN, NAMELESS], script=resumes, held=HELD),
    "takes up an answer without a name": Scene(answers=[NAMELESS, AGAIN, NAMELESS], script=resumes, held=HELD),
    "takes up an answer to its own message": Scene(answers=[NAMELESS, AGAIN, NAMELESS], script=resumes, held=HELD[:1]),
    "takes up an answer with a call": Scene(
        answers=[[*begins(), *calls(), *END], AGAIN, NAMELESS],
        script=resumes,
        held=[HELD[0], {**HELD[1], "parts": [HALF_CALL]}],
    ),
    "takes up the rest of a call": Scene(
        answers=[[{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": 'ty":"P'}, *END], AGAIN, NAMELESS],
        script=resumes,
        held=[HELD[0], {**HELD[1], "parts": [HALF_CALL]}],
    ),
    "finds nothing to take up": Scene(answers=[["204"], AGAIN, NAMELESS], script=resumes, held=HELD),
    "fails to take up": Scene(answers=[["500"], AGAIN, NAMELESS], script=resumes, held=HELD),
}


NEWEST = "peer:ai-sdk-client"
OLDER = {"peer:ai-sdk-client@6": "ai-sdk-6", "peer:ai-sdk-client@5": "ai-sdk-5"}
"""Real clients of older versions, and the request profile with which ours posts the same."""


IN_A_BROWSER = (
    "two messages, answers without ids",
    "fields of the page",
    "left in the arguments",
    "the connection breaks",
    "the client closes the connection at an error",
    "regenerates what was cut",
    "edits the first message",
    "writes while a tool runs",
    "two approvals",
    "takes up an answer without a name",
)
"""One of each kind."""


def play_all(kind: str | None, profile: Profile, names: Iterable[str] = SCENES) -> dict[str, Played]:
    """Play scenes, all at the same time, with clients of one process."""

    async def main() -> dict[str, Played]:
        async with clients_of(kind, profile) as make:
            chosen = {name: SCENES[name] for name in names}
            results = await asyncio.gather(
                *(
                    play(make, scene.answers, scene.script, held=scene.held, extra=scene.extra)
                    for scene in chosen.values()
                )
            )
            return dict(zip(chosen, results, strict=True))

    return asyncio.run(main())


def assert_same(kind: str, profile: Profile, names: Iterable[str] = SCENES) -> None:
    """A real client and ours post the same bodies but for the ids that a client makes, and show the same in the end.

    Our fold runs beside the real client with the very ids that it makes: no difference is told.
    """
    every, both = play_all(kind, profile, names), play_all(None, profile, names)
    for name in names:
        real, ours = every[name], both[name]
        assert ours.paths == real.paths, name
        assert with_named_ids(ours.posted) == with_named_ids(real.posted), name
        assert with_named_ids(ours.screen) == with_named_ids(real.screen), name
        assert ours.ends == real.ends, name
        assert real.differences == [], name


@pytest.mark.node
def test_our_client_posts_what_the_real_one_posts() -> None:
    """Whatever the user does, and wherever the answer is cut, as `useChat`'s own class in Node does."""
    assert_same(NEWEST, find_profile("ai-sdk"))


@pytest.mark.sampled
@pytest.mark.node
@pytest.mark.parametrize("kind", OLDER)
def test_our_client_posts_what_an_older_one_posts(kind: str, sample: Sample[str]) -> None:
    """With the profile of its version."""
    assert_same(kind, find_profile(OLDER[kind]), sample(tuple(SCENES)))


@pytest.mark.browser
def test_our_client_posts_what_a_page_in_a_browser_posts() -> None:
    """The hook itself, in Chromium."""
    assert_same("peer:ai-sdk-browser", find_profile("ai-sdk"), IN_A_BROWSER)


def play_one(kind: str | None, name: str, profile: Profile | None = None) -> Played:
    """Play one scene with a client of its own."""
    return play_all(kind, profile or find_profile("ai-sdk"), [name])[name]


@pytest.mark.sampled
@pytest.mark.node
def test_the_messages_of_the_real_client_are_posted_in_the_shape_of_the_profile(sample: Sample[str]) -> None:
    """As an application does with `prepareSendMessagesRequest`."""
    for profile in sample(["last-message", "mastra", "pydantic-ai", "assistant-ui"]):
        real, ours = (play_one(kind, "regenerates what was cut", find_profile(profile)) for kind in (NEWEST, None))
        assert with_named_ids(real.posted) == with_named_ids(ours.posted), profile
        assert set(real.posted[0]) != {"id", "messages", "trigger"}, profile
        assert real.differences == [], profile


@pytest.mark.node
def test_a_profile_that_cannot_make_the_post_of_the_real_client_is_told() -> None:
    """It fails behind the relay; the application was never asked, and is not blamed."""

    class Broken(AiSdk):
        def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
            raise ValueError(chat.posts, trigger.value)

    with pytest.raises(UsageError, match=r"Broken\.body cannot be used: ValueError: \(1, 'submit-message'\)"):
        play_one(NEWEST, "two messages", Broken())


@pytest.mark.node
def test_a_difference_between_the_real_client_and_our_fold_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the place, and what each of them has: here ours forgets that a text has ended."""
    monkeypatch.setattr(MessageFold, "_text_end", lambda *_: None)
    monkeypatch.setitem(message._ACTIONS, "text-end", MessageFold._text_end)
    told = play_one("peer:ai-sdk-client", "two messages").differences
    assert told[0] == 'the screen/1/parts/1/state: the real client has "done", our own "streaming"'
    assert told[1].startswith("post 2/messages/1/parts/1/state: ")


@pytest.mark.node
def test_a_whole_case_is_played_with_the_real_client() -> None:
    """An interruption in each place, with the verdicts that our own client gets."""
    (broken,) = play_case(ChatApp(Defect.REPAIRS_ARGUMENTS), "user-leaves/in-arguments", client="peer:ai-sdk-client")
    safe = play_case(ChatApp(), "basic", "second-message", "reload", client="peer:ai-sdk-client", thread=THREAD)
    assert "arguments-invented" in {finding.code for finding in broken.findings}
    assert {result.outcome for result in safe} == {Outcome.PASSED}
    # With two answers at once the real client may have read the end of one and not shown it yet: that is its own race.
    alone = [result for result in safe if not result.id.startswith("second-message/")]
    assert "client-differs" not in {finding.code for result in alone for finding in result.findings}


def test_a_difference_is_a_finding_that_fails_nothing() -> None:
    """The verdict is that of the real client."""
    case = AppCase(id="a/b", title="", turns=())
    turn = TurnSeen(number=1, says="one", asked=(Asked(number=1),))
    evidence = AppEvidence(case=case, turns=(turn,))
    without, result = judge_app(evidence), judge_app(replace(evidence, differences=("post 1/messages: …",)))
    (finding,) = [finding for finding in result.findings if finding.code == "client-differs"]
    assert (finding.level, finding.got) == (Level.MAY, "post 1/messages: …")
    assert (result.outcome, result.checks) == (without.outcome, without.checks)


def test_only_a_client_that_reads_the_stream_can_post() -> None:
    """AG-UI's events are not a UI message stream; a name that nobody has is told with one that is near."""
    with pytest.raises(UsageError, match="reads UI message streams"):
        RealClients("peer:ai-sdk-client", find_profile("ag-ui"))
    with pytest.raises(UsageError, match="is not a client") as known:
        require_known_client("peer:ai-sdk-clent", "--client")
    assert known.value.hint == "did you mean peer:ai-sdk-client?"


@pytest.mark.node
def test_a_client_whose_process_has_ended_is_an_answer_that_failed() -> None:
    """Nobody waits for it."""

    async def main() -> tuple[End, str]:
        async with clients_of("peer:ai-sdk-client") as make, serving(Application([WHOLE]).handle) as port:
            client = make(Addresses(chat=f"http://127.0.0.1:{port}/chat"))
            assert isinstance(client, RealClient)
            assert client._buttons._process is not None
            client._buttons._process.kill()
            reply = client.submit("one")
            await reply.ended(10)
            with pytest.raises(TargetError, match="the process has ended"):
                await client.screen()
            await client.close()
            return reply.end, reply.problem

    end, problem = asyncio.run(main())
    assert end is End.BROKEN
    assert problem == "peer:ai-sdk-client: the process has ended"
