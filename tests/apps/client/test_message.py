"""The fold into UI messages gives what the AI SDK's own client was recorded to hold."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.message_parts import write_message
from tpharness.resources import conformance_dir

PROBES: dict[str, dict[str, Any]] = json.loads((conformance_dir() / "probes/ai-7.0.173.json").read_text("utf-8"))
FOLDED = [name for name, probe in PROBES.items() if "chunks" in probe and probe.get("chat", {}).get("messages")]


@pytest.mark.parametrize("name", FOLDED)
def test_the_messages_are_those_of_the_ai_sdk(name: str) -> None:
    """`ai` 7.0.173's chat class was run on these streams; its messages were recorded."""
    messages: list[dict[str, Any]] = []
    fold = MessageFold(message_id=lambda: "client-1", write=partial(write_message, messages))
    for chunk in PROBES[name]["chunks"]:
        if isinstance(chunk, dict):
            fold.feed(chunk)
        else:
            fold.feed_data(chunk)
    recorded = [m for m in PROBES[name]["chat"]["messages"] if m["role"] == "assistant"]
    held = [m if m["id"] != "client-1" else {**m, "id": recorded[i]["id"]} for i, m in enumerate(messages)]
    assert held == recorded
    assert bool(fold.error) is (PROBES[name]["chat"]["status"] == "error")


def test_enough_probes_are_compared() -> None:
    """A change of the probes' form would otherwise leave this file green and empty."""
    assert len(FOLDED) > 40
