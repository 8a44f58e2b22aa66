"""The history `pydantic-ai` is what the real package holds after a cut at every place, and what its next run adds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessagesTypeAdapter, capture_run_messages
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.tools import RunContext, Tool
from tests.histories.cut_script import PLAYED, CutScript, events_of
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.pydantic_ai import PYDANTIC_AI, with_returns
from tpharness.journal import AgentTurn

HISTORY = PYDANTIC_AI["pydantic-ai"]


class Cut(CutScript):
    """The real agent, driven by the first events of a run; what comes after them never comes."""

    async def model(self, messages: list[ModelMessage], info: Any) -> AsyncIterator[Any]:
        """Say what the next response of the script says."""
        del messages, info
        async for event in self.response():
            for delta in _deltas(event):
                yield delta

    async def tool(self, ctx: RunContext[None], **_: Any) -> Any:
        """Return what the script says, once it has."""
        return await self.returned(str(ctx.tool_call_id))


def _deltas(event: dict[str, Any]) -> Iterator[Any]:
    part = event.get("part") if event["event_kind"] == "part_start" else event.get("delta")
    kind = (part or {}).get("part_kind") or (part or {}).get("part_delta_kind")
    if event["event_kind"] not in ("part_start", "part_delta") or part is None:
        return
    if kind == "text":
        yield part.get("content") or part["content_delta"]
    elif kind == "thinking":
        said = part.get("content") or part.get("content_delta")
        yield {event["index"]: DeltaThinkingPart(content=said, signature=part.get("signature_delta"))}
    else:
        json_args = part.get("args") or part.get("args_delta") or ""
        named = {"name": part["tool_name"]} if "tool_name" in part else {}
        yield {event["index"]: DeltaToolCall(json_args=json_args, tool_call_id=part["tool_call_id"], **named)}


async def cancelled(script: tuple[dict[str, Any], ...], at: int) -> tuple[list[ModelMessage], list[ModelMessage]]:
    """Return what the package has after the cut, and what the model gets in the next run."""
    cut = Cut(script, at)
    schema = {"type": "object", "additionalProperties": True}
    tools = [Tool.from_schema(cut.tool, name, "a tool", schema, takes_ctx=True) for name in ("fast", "slow")]
    agent = Agent(FunctionModel(stream_function=cut.model), tools=tools)

    async def play() -> None:
        async with agent.iter("q") as run:
            async for node in run:
                if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            pass

    with capture_run_messages() as captured:
        await cut.cancel(play())
    kept = list(captured)
    seen: list[ModelMessage] = []

    async def answer(messages: list[ModelMessage], info: Any) -> AsyncIterator[str]:
        del info
        seen.extend(messages)
        yield "ok"

    loaded = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(kept))
    async with Agent(FunctionModel(stream_function=answer)).run_stream("Go on.", message_history=loaded) as result:
        await result.get_output()
    return kept, seen


def told(messages: Any) -> list[tuple[Any, ...]]:
    """Return what counts of messages: kinds, states, and of parts what a model sees of them."""
    return [(m["kind"], m["state"], [_told_part(part) for part in m["parts"]]) for m in messages]


def _told_part(part: dict[str, Any]) -> tuple[Any, ...]:
    said = part.get("args") if part["part_kind"] == "tool-call" else part.get("content")
    return part["part_kind"], said, part.get("tool_call_id"), part.get("outcome"), part.get("signature")


@pytest.mark.parametrize("name", PLAYED)
def test_a_cut_leaves_what_the_package_holds(name: str) -> None:
    """At each place: the messages, their states, and what the next run gives the model of them."""
    events = events_of(PLAYED[name])
    for at in range(len(events) + 1):
        ran = asyncio.run(cancelled(events, at))
        real, seen = (ModelMessagesTypeAdapter.dump_python(messages, mode="json") for messages in ran)
        document = HISTORY.store(journal_of(PLAYED[name], (at, "user_cancelled")))
        assert told(document) == told(real), at
        sent = [part for message in with_returns(document) for part in message["parts"]]
        assert [_told_part(part) for part in sent] == [_told_part(p) for m in seen for p in m["parts"]][:-1], at
        assert len(ModelMessagesTypeAdapter.validate_python(document)) == len(document), at


def test_what_the_next_run_makes_is_kept() -> None:
    """In the request that was cut, or in one of its own; a second cut changes neither."""
    turns = """
  - user: q
  - steps: [{response: [{call: slow, id: c1, args: {}}]}, {start_tools: true, label: runs}, {returns: {c1: late}}]
    interrupt: {reason: user_cancelled, after: runs}
  - user: again
  - steps: [{response: [{text: Hi}]}]
"""
    document = HISTORY.store(journal_of(inline(turns)))
    assert [(m["kind"], m["state"], [p["part_kind"] for p in m["parts"]]) for m in document] == [
        ("request", "complete", ["user-prompt"]),
        ("response", "complete", ["tool-call"]),
        ("request", "interrupted", ["tool-return"]),
        ("request", "complete", ["user-prompt"]),
        ("response", "complete", ["text"]),
    ]
    assert document[2]["parts"][0]["outcome"] == "interrupted"


def test_an_error_leaves_what_a_cancellation_does() -> None:
    """Driven by hand with the package: a model that fails in a text keeps the text and its state."""
    for reason in ("error", "timeout", "network_failure"):
        document = HISTORY.store(journal_of(PLAYED["text"], (3, reason)))
        assert [message["state"] for message in document] == ["complete", "interrupted"]


def test_what_its_agent_never_does_is_not_supported() -> None:
    """A return for another response than the last; the model asked again before its calls have returned."""
    for name in ("cycles/late-return", "interruptions/goes-on-without-a-return"):
        with pytest.raises(UnsupportedError, match="pydantic-ai: "):
            HISTORY.store(journal_of(scenario(name)))


def test_a_turn_that_runs_has_what_it_has_finished() -> None:
    """Nothing says that it was cut."""
    journal = journal_of(PLAYED["text"])
    (turn,) = [turn for turn in journal.turns() if isinstance(turn, AgentTurn)]
    assert turn.end is not None
    assert all(message["state"] == "complete" for message in HISTORY.store(journal))
