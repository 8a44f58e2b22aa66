"""The official SDKs in Node, and the AI SDK with its three providers, read every plan as it was planned."""

from __future__ import annotations

import asyncio
import json
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.apps.provider.plans import AI_SDK_FINISHES, THOUGHT, WHOLE, Read, as_object, broken, expected

from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Break, Call, Plan, Text
from tpharness.model_apis.registry import ApiName
from tpharness.targets.node_packages import node_program

FOLDER = Path(__file__).with_name("sdk_readers")
READERS: list[tuple[str, ApiName, str]] = [
    ("openai", "openai-chat", "stream"),
    ("openai", "openai-chat", "helper"),
    ("openai", "openai-chat", "whole"),
    ("openai", "openai-responses", "stream"),
    ("openai", "openai-responses", "helper"),
    ("openai", "openai-responses", "whole"),
    ("anthropic", "anthropic", "stream"),
    ("anthropic", "anthropic", "helper"),
    ("anthropic", "anthropic", "whole"),
    ("genai", "gemini", "stream"),
    ("genai", "gemini", "whole"),
    ("ollama", "ollama", "stream"),
    ("ollama", "ollama", "whole"),
    ("ai", "openai-chat", "stream"),
    ("ai", "openai-chat", "whole"),
    ("ai", "openai-responses", "stream"),
    ("ai", "openai-responses", "whole"),
    ("ai", "anthropic", "stream"),
    ("ai", "anthropic", "whole"),
    ("ai", "gemini", "stream"),
    ("ai", "gemini", "whole"),
]
pytestmark = pytest.mark.node
Job = dict[str, Any]
Play = Callable[[Job, list[Plan]], tuple[Read, list[Exchange]]]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """One provider and one Node process for all jobs; each job has a conversation of its own."""
    program = node_program(FOLDER)
    with asyncio.Runner() as runner:
        provider = runner.run(Provider().__aenter__())
        script = str(program.scripts / "readers.mjs")
        process = runner.run(_started(str(program.node), script, provider.base))
        marks = (f"[tp:{number:03}]" for number in count())

        def played(job: Job, plans: list[Plan]) -> tuple[Read, list[Exchange]]:
            return runner.run(_played(provider, process, next(marks), job, plans))

        yield played
        runner.run(_stopped(process))
        runner.run(provider.__aexit__())


async def _started(*command: str) -> Process:
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=1 << 24)


async def _stopped(process: Process) -> None:
    """The end of its input ends it; a signal may reach only what started it."""
    assert process.stdin is not None
    process.stdin.close()
    await asyncio.wait_for(process.wait(), 10)


async def _played(
    provider: Provider, process: Process, mark: str, job: Job, plans: list[Plan]
) -> tuple[Read, list[Exchange]]:
    conversation = provider.conversation(mark)
    conversation.plans(plans)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({**job, "prompt": f"Book me a hotel. {mark}"}).encode() + b"\n")
    line = await asyncio.wait_for(process.stdout.readline(), 30)
    for exchange in conversation.exchanges:
        await exchange.ended(5)
        assert not exchange.refusals
    assert not provider.others
    return Read(**json.loads(line)), conversation.exchanges


def play_one(play: Play, client: str, api: ApiName, mode: str, plan: Plan) -> tuple[Read, Exchange]:
    """Play one plan, and return what was read and the one request."""
    found, exchanges = play({"client": client, "api": api, "mode": mode}, [plan])
    (exchange,) = exchanges
    return found, exchange


def test_a_whole_answer_is_read_as_it_was_planned(play: Play) -> None:
    """Texts, thinking, calls, reason and usage, and nothing is logged or warned of."""
    for client, api, mode in READERS:
        for name, plan in WHOLE.items():
            found, exchange = play_one(play, client, api, mode, plan)
            wanted = expected(api, plan)
            if api == "gemini" or (api == "anthropic" and mode != "stream") or (client == "ai" and mode == "whole"):
                wanted = replace(wanted, calls=[[i, n, as_object(a)] for i, n, a in wanted.calls])
            if client == "ollama":  # its calls are objects, and it has no place for cached tokens and those of thinking
                calls = [[i, n, as_object(a)] for i, n, a in wanted.calls]
                wanted = replace(wanted, calls=calls, usage=[*wanted.usage[:2], 0, 0])
            if client == "ai":
                wanted = replace(wanted, finish=AI_SDK_FINISHES[plan.reason])
            if client == "ai" and api.startswith("openai") and mode == "whole" and name == "length in the arguments":
                wanted = replace(wanted, calls=[["call_cut", "book_hotel", '{"city":"Pa']])  # kept as text
            if (client, api) == ("ai", "openai-chat"):  # its provider for OpenAI does not read reasoning_content
                wanted = replace(wanted, thinking="")
            if (client, api, mode) == ("ai", "gemini", "stream"):  # which writes the object as text once more
                found = replace(found, calls=[[i, n, as_object(a)] for i, n, a in found.calls])
            assert found == wanted, (client, api, mode, name)
            assert exchange.outcome is ExchangeOutcome.COMPLETED, (client, api, mode, name)
            assert exchange.pieces_written == plan.piece_count, (client, api, mode, name)


STREAMING = [(client, api) for client, api, mode in READERS if mode == "stream"]


@pytest.mark.parametrize("breaks", [Break.RESET, Break.END, Break.ERROR])
def test_a_failing_stream_is_read_as_far_as_it_was_written(play: Play, breaks: Break) -> None:
    """Up to the piece, and never with an ordinary reason; a reset and an error are errors."""
    for client, api in STREAMING:
        for at in (0, 1, 4, 7):
            plan = broken(WHOLE["thinking, text and three calls"], breaks, at)
            found, exchange = play_one(play, client, api, "stream", plan)
            thinks = (client, api) != ("ai", "openai-chat")  # its provider for OpenAI does not read reasoning_content
            said = plan.text_until(at), plan.thinking_until(at) if thinks else ""
            assert (found.text, found.thinking) == said, (client, api, at)
            interrupted = client == "ai" and breaks is Break.END and found.error is None
            assert found.finish == ("interrupted" if interrupted else None), (client, api, at)
            calls = [[c.call_id, c.name, "".join(c.pieces)] for c in plan.calls_until(at)]
            if api in ("gemini", "ollama"):  # a call comes with its last piece
                calls = [[i, n, as_object(a)] for i, n, a in calls if as_object(a)]
            assert found.calls == calls, (client, api, at)
            if breaks is not Break.END or client == "ollama":  # which misses the line that says done
                assert found.error is not None, (client, api, at)
            assert exchange.outcome is ExchangeOutcome.BROKEN, (client, api, at)
            assert exchange.pieces_written == at, (client, api)


def test_an_error_status_is_an_error_with_its_text(play: Play) -> None:
    """The text is found in the body, where each API has it."""
    for client, api, mode in (row for row in READERS if row[2] != "helper"):
        for status in (400, 429, 500):
            plan = Plan(breaks=Break.STATUS, status=status, error_text="planned failure")
            found, exchange = play_one(play, client, api, mode, plan)
            assert "planned failure" in (found.error or ""), (client, api, mode, status)
            assert (exchange.status, exchange.outcome) == (status, ExchangeOutcome.BROKEN), (client, api, mode)


ENCRYPTED = {"openai": {"store": False, "include": ["reasoning.encrypted_content"]}}
TURNS: list[tuple[str, ApiName, Any]] = [
    ("chat", "openai-chat", {}),
    ("stored items", "openai-responses", {}),
    ("encrypted reasoning", "openai-responses", ENCRYPTED),
    ("anthropic", "anthropic", {}),
    ("gemini", "gemini", {}),
]


@pytest.mark.parametrize(("what", "api", "options"), TURNS, ids=[row[0] for row in TURNS])
def test_a_turn_with_tools_is_never_refused(play: Play, what: str, api: ApiName, options: Any) -> None:
    """What the AI SDK sends back of our answers is what we gave: thinking, signatures, items, calls and results."""
    asks = WHOLE["thinking, text and three calls"]
    again = Plan(items=(THOUGHT, Call(call_id="call_more", name="book_hotel", pieces=('{"city":"Oslo"}',))))
    plans = [asks, again, Plan(items=(Text(pieces=("All ", "done.")),))]
    found, exchanges = play({"client": "ai", "api": api, "mode": "agent", "options": options}, plans)
    assert (found.text, found.error) == ("Hello worldAll done.", None), what
    assert len(exchanges) == 3
    said = [told for told in exchanges[2].history if told.role != "system"]
    assert [told.role for told in said] == ["user", "assistant", "tool", "assistant", "tool"]
    assert (said[1].text, [(c.call_id, c.args) for c in said[1].calls]) == (
        "Hello world",
        [("call_paris", {"city": "Paris", "nights": 2}), ("call_rome", {"city": "Rome"}), ("call_nothing", {})],
    )
    assert [
        (r.call_id, re.sub(r".*(booked in \w+).*", r"\1", r.content)) for r in (*said[2].results, *said[4].results)
    ] == [
        ("call_paris", "booked in Paris"),
        ("call_rome", "booked in Rome"),
        ("call_nothing", "booked in undefined"),
        ("call_more", "booked in Oslo"),
    ]
    thinks = "" if api == "openai-chat" else asks.thinking
    assert [said[1].thinking, said[3].thinking] == [thinks, thinks]
