"""The history `langgraph` is what the real agent's next run sends its model, after a cut at every place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.histories.cut_script import TWO_TOOLS, events_of
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.langgraph import LANGGRAPH
from tpharness.model_apis.check import check_payload
from tpharness.scenario import Scenario

HISTORY = LANGGRAPH["langgraph"]
PLAYED: dict[str, Scenario] = {
    "text": scenario("histories/k01-text-only"),
    "tool and answer": scenario("histories/l-02-tool-and-answer"),
    "two tools, the second done first": inline(TWO_TOOLS.format(last="")),
}


@pytest.mark.parametrize("name", PLAYED)
def test_a_cut_leaves_what_the_next_run_sends(name: str) -> None:
    """At each place: messages, calls and results, by the state that the real checkpointer has."""
    from langchain_core.messages import messages_from_dict, messages_to_dict
    from tests.histories.langgraph_agent import next_input, told

    events = events_of(PLAYED[name])
    for at in range(len(events) + 1):
        real = asyncio.run(next_input(events, at))
        document = HISTORY.store(journal_of(PLAYED[name], (at, "user_cancelled")))
        ours = messages_from_dict([dict(message) for message in document["messages"]])
        assert told(ours)[1:] == told(real)[1:-1], at
        assert [real[0].type, ours[0].type, real[-1].content] == ["human", "human", "Go on."], at
        assert messages_to_dict(ours) == document["messages"], at


def test_a_result_that_had_come_is_gone_until_all_have() -> None:
    """The second tool is done, the first runs: the state has the calls alone, which every API refuses."""
    events = events_of(PLAYED["two tools, the second done first"])
    done = next(i for i, event in enumerate(events) if event["event_kind"] == "function_tool_result")
    document = HISTORY.store(journal_of(PLAYED["two tools, the second done first"], (done + 1, "user_cancelled")))
    assert [message["type"] for message in document["messages"]] == ["human", "ai"]


ASKS = """
  - user: q
  - steps:
      - response: [{call: asks, id: c1, args: {}}, {call: fast, id: c2, args: {}}]
        finish_reason: tool_call
      - returns: {c2: two}
"""
RESUMED = """
  - server:
      - event_kind: function_tool_result
        part: {part_kind: tool-return, tool_name: asks, tool_call_id: c1, content: "yes, sent", outcome: success}
      - {event_kind: part_start, index: 0, part: {part_kind: text, content: Done.}}
      - {event_kind: part_end, index: 0, part: {part_kind: text, content: Done.}}
      - {event_kind: model_response_end, finish_reason: stop}
      - {event_kind: agent_run_result}
"""


@pytest.mark.parametrize("kept", ["memory", "sqlite"])
def test_a_run_that_a_tool_interrupts_goes_on_where_it_waits(kept: str) -> None:
    """Resumed, it has both results, and the tool ran twice; a new message leaves the calls without any."""
    from langchain_core.messages import HumanMessage, messages_from_dict
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.types import Command
    from tests.histories.langgraph_agent import interrupted, told

    async def play(then: Any) -> tuple[list[Any], list[str]]:
        if kept == "memory":
            return await interrupted(InMemorySaver(), then)
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            return await interrupted(saver, then)

    real, began = asyncio.run(play(Command(resume="yes")))
    ours = messages_from_dict(HISTORY.store(journal_of(inline(ASKS + RESUMED)))["messages"])
    assert told(ours) == told(real)
    assert sorted(began) == ["asks", "asks", "fast"]
    real, began = asyncio.run(play({"messages": [HumanMessage("Go on.")]}))
    waiting = HISTORY.store(journal_of(inline(ASKS)))
    assert [*told(messages_from_dict(waiting["messages"])), ("human", "Go on.", [], None)] == told(real)[:-1]
    assert sorted(began) == ["asks", "fast"]
    refused = check_payload("anthropic", HISTORY.model_input(waiting, "anthropic", next_user="Go on."))
    assert "anthropic-call-unanswered" in {finding.code for finding in refused}


def test_what_depends_on_an_integration_is_not_supported() -> None:
    """Thinking; and what the agent never does."""
    for name in ("histories/k02-thinking-call-and-answer", "cycles/late-return"):
        with pytest.raises(UnsupportedError, match="langgraph: "):
            HISTORY.store(journal_of(scenario(name)))
