"""The example threads of the protocol's own documents are valid, in their version and in the others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpharness.findings import Level
from tpharness.protocol.canonical import canonical_thread, thread_hash
from tpharness.protocol.history import check_history, model_history
from tpharness.protocol.migrate import convert
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version

# 2.0.0 specification, "Example Thread".
WEATHER: dict[str, Any] = json.loads(
    """
{
  "version": "2.0.0",
  "thread_id": "550e8400-e29b-41d4-a716-446655440000",
  "created_at": "2025-01-15T10:00:00Z",
  "updated_at": "2025-01-15T10:05:00Z",
  "title": "Multi-agent weather discussion",
  "agents": {
    "agent_001": {
      "agent_id": "agent_001", "agent_name": "Weather Assistant", "model_name": "gpt-4", "provider_name": "openai",
      "created_at": "2025-01-15T10:00:00Z"
    },
    "agent_002": {
      "agent_id": "agent_002", "agent_name": "Travel Planner", "model_name": "claude-3-opus",
      "provider_name": "anthropic", "created_at": "2025-01-15T10:00:00Z"
    }
  },
  "turns": [
    {
      "turn_type": "user", "submitted_at": "2025-01-15T10:00:00Z",
      "parts": [{"part_kind": "user-prompt", "content": "What's the weather like in Tokyo?"}]
    },
    {
      "turn_type": "agent", "agent_id": "agent_001",
      "started_at": "2025-01-15T10:00:01Z", "completed_at": "2025-01-15T10:00:05Z",
      "messages": [
        {
          "message_type": "response", "timestamp": "2025-01-15T10:00:02Z", "agent_id": "agent_001",
          "model_name": "gpt-4",
          "parts": [
            {"part_kind": "text", "content": "Let me check the current weather in Tokyo."},
            {
              "part_kind": "tool-call", "tool_name": "get_weather", "tool_call_id": "call_001",
              "args": {"city": "Tokyo", "units": "celsius"}
            }
          ]
        },
        {
          "message_type": "request", "timestamp": "2025-01-15T10:00:03Z", "agent_id": "agent_001",
          "parts": [
            {
              "part_kind": "tool-return", "tool_name": "get_weather", "tool_call_id": "call_001", "status": "success",
              "content": {"temperature": 18, "conditions": "partly cloudy"}
            }
          ]
        },
        {
          "message_type": "response", "timestamp": "2025-01-15T10:00:04Z", "agent_id": "agent_001",
          "model_name": "gpt-4",
          "parts": [
            {
              "part_kind": "text",
              "content": "The weather in Tokyo is currently 18°C and partly cloudy. Travel Planner, what do you think?"
            }
          ]
        },
        {
          "message_type": "system", "timestamp": "2025-01-15T10:00:05Z", "event_type": "agent.handoff",
          "event_data": {"from": "agent_001", "to": "agent_002", "reason": "explicit_mention"},
          "source_agent": "agent_001", "target_agents": ["agent_002"]
        }
      ],
      "total_usage": {"input_tokens": 120, "output_tokens": 45, "total_tokens": 165}
    },
    {
      "turn_type": "agent", "agent_id": "agent_002",
      "started_at": "2025-01-15T10:00:05Z", "completed_at": "2025-01-15T10:00:08Z",
      "messages": [
        {
          "message_type": "request", "timestamp": "2025-01-15T10:00:05Z", "agent_id": "agent_002",
          "parts": [
            {
              "part_kind": "user-prompt",
              "content": "Based on the weather, what activities would you recommend?"
            }
          ]
        },
        {
          "message_type": "response", "timestamp": "2025-01-15T10:00:06Z", "agent_id": "agent_002",
          "model_name": "claude-3-opus", "provider_name": "anthropic",
          "parts": [
            {
              "part_kind": "thinking", "content": "The weather is mild and partly cloudy...",
              "provider_name": "anthropic"
            },
            {
              "part_kind": "text",
              "content": "Perfect weather for sightseeing! I'd recommend visiting temples and parks."
            }
          ]
        }
      ],
      "total_usage": {"input_tokens": 150, "output_tokens": 35, "thinking_tokens": 20, "total_tokens": 205}
    }
  ]
}
"""
)

# 0.0.4 amendments, "No Special Prepending Needed", with what it leaves out as abbreviation (R3).
INTERRUPTED: dict[str, Any] = json.loads(
    """
{
  "version": "0.0.4",
  "thread_id": "550e8400-e29b-41d4-a716-446655440000",
  "created_at": "2025-01-20T10:00:00Z",
  "updated_at": "2025-01-20T10:00:20Z",
  "agents": {
    "agent_001": {"agent_id": "agent_001", "agent_name": "Weather", "created_at": "2025-01-20T10:00:00Z"}
  },
  "turns": [
    {
      "turn_type": "user", "submitted_at": "2025-01-20T10:00:00Z",
      "parts": [{"part_kind": "user-prompt", "content": "What's the weather?"}]
    },
    {
      "turn_type": "agent", "agent_id": "agent_001", "started_at": "2025-01-20T10:00:01Z",
      "completion_status": "interrupted",
      "interruption": {"reason": "user_cancelled", "interrupted_at": "2025-01-20T10:00:15Z"},
      "messages": [
        {
          "message_type": "response", "timestamp": "2025-01-20T10:00:02Z", "agent_id": "agent_001",
          "parts": [{"part_kind": "tool-call", "tool_name": "get_weather", "tool_call_id": "c1", "args": {}}]
        },
        {
          "message_type": "request", "timestamp": "2025-01-20T10:00:10Z", "agent_id": "agent_001",
          "parts": [
            {
              "part_kind": "tool-return", "tool_name": "get_weather", "tool_call_id": "c1", "status": "success",
              "content": {}
            }
          ]
        }
      ]
    },
    {
      "turn_type": "user", "submitted_at": "2025-01-20T10:00:20Z",
      "parts": [{"part_kind": "user-prompt", "content": "Try Berlin instead"}]
    }
  ]
}
"""
)


@pytest.mark.parametrize("example", [WEATHER, INTERRUPTED], ids=["2.0.0", "0.0.4"])
@pytest.mark.parametrize("version", list(Version), ids=lambda version: str(version.value))
def test_the_documents_examples_are_valid_in_every_version(example: dict[str, Any], version: Version) -> None:
    """Nothing is wrong with them, and all there is to observe is that their agent ids are no UUIDs (R2)."""
    found = check_thread(convert(example, version).thread, observations=True)
    assert {(finding.code, finding.level) for finding in found} == {("agent-id-not-uuid", Level.MAY)}


def test_the_hand_off_example_goes_to_the_newest_version_and_back() -> None:
    """R1: the event is renamed, the turns are complete, and the way back is the identity."""
    newest = convert(WEATHER, Version.V0_0_4).thread
    assert newest["turns"][1]["messages"][3]["event_type"] == "data-tp-agent_handoff"
    back = convert(newest, Version.V2_0_0)
    assert back.dropped == ()
    assert back.thread == WEATHER
    assert thread_hash(back.thread) == thread_hash(WEATHER)


def test_the_hand_off_example_is_canonical_as_it_is_written() -> None:
    """R37: whole seconds in UTC, no nulls, no metadata events: version and turns stay as they are."""
    assert canonical_thread(WEATHER) == {"version": "2.0.0", "turns": WEATHER["turns"]}


def test_the_second_agent_reads_the_first_one_s_texts_under_its_name() -> None:
    """2.0.0, "ThreadProtocol → Pydantic AI ModelMessages": texts are prefixed, calls and returns are not."""
    history = model_history(WEATHER, viewing_agent="agent_002")
    texts = [p["content"] for m in history.messages for p in m["parts"] if p["part_kind"] == "text"]
    told = "The weather in Tokyo is currently 18°C and partly cloudy. Travel Planner, what do you think?"
    assert texts == [
        "{agent:Weather Assistant}: Let me check the current weather in Tokyo.",
        "{agent:Weather Assistant}: " + told,
        "Perfect weather for sightseeing! I'd recommend visiting temples and parks.",
    ]
    assert check_history(history.messages) == []


def test_the_interrupted_example_is_a_history_that_goes_on() -> None:
    """0.0.4, "Reconstructing for Next agent.run()": all messages of the interrupted turn, then the next prompt."""
    history = model_history(INTERRUPTED)
    assert [m["kind"] for m in history.messages] == ["request", "response", "request", "request"]
    assert history.pending == ()
    assert check_history(history.messages) == []


def test_the_interrupted_example_is_dropped_on_the_way_down_and_named() -> None:
    """R1, R18: both user turns stay."""
    result = convert(INTERRUPTED, Version.V0_0_3)
    assert [turn["turn_type"] for turn in result.thread["turns"]] == ["user", "user"]
    assert [dropped.pointer for dropped in result.dropped] == ["/turns/1"]
