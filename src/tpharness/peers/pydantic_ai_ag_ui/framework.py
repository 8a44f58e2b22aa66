"""Pydantic AI behind its AG-UI adapter: the agent, its model and its history are those of `peer:pydantic-ai`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter

from tpharness.peers.ag_ui_run import run_agent_input
from tpharness.peers.control import ActiveRun
from tpharness.peers.pydantic_ai import library
from tpharness.peers.pydantic_ai.framework import PydanticAiConversation, PydanticAiFramework, prompt_items
from tpharness.targets.contract import Capabilities
from tpharness.targets.remote import CannotPlayError

__all__ = ["PydanticAiAgUi"]

_KINDS = ("image", "audio", "video")


class PydanticAiAgUi(PydanticAiFramework):
    """The framework with its other adapter."""

    wire = "ag-ui"

    @property
    def capabilities(self) -> Capabilities:
        """Those of the agent."""
        return replace(super().capabilities, name="Pydantic AI over AG-UI")

    def converse(self, thread_id: str) -> PydanticAiConversation:
        """Begin a conversation."""
        return _Conversation(thread_id)


class _Conversation(PydanticAiConversation):
    """One conversation, whose client posts `RunAgentInput`."""

    async def _transform(self, adapter: Any, native: AsyncIterator[Any], live: ActiveRun) -> AsyncIterator[Any]:
        """Yield the adapter's events. Where it fails by itself it reports that, and raises nothing."""
        async with aclosing(adapter.transform_stream(native)) as events:
            async for event in events:
                if event.type == "RUN_ERROR":
                    live.failure = live.failure or event.message
                yield event

    def _adapter(self, agent: Agent[Any, str], live: ActiveRun) -> Any:
        """Return what answers a post with the stream of an agent."""
        content = [_item(item) for part in live.prompts for item in prompt_items(part)]
        posted = run_agent_input(self._id, f"run-{len(self._history)}", content)
        options = library.adapter_options(AGUIAdapter, manage_message_history="server")
        return AGUIAdapter(agent=agent, run_input=AGUIAdapter.build_run_input(json.dumps(posted).encode()), **options)


def _item(item: Any) -> dict[str, Any]:
    """Return a text or a file as a part of AG-UI's message."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if not isinstance(item, Mapping):
        raise CannotPlayError("a user prompt that a message of AG-UI cannot have")
    media = str(item.get("media_type") or "application/octet-stream")
    kind = media.partition("/")[0]
    value = item.get("data") if item.get("kind") == "binary" else item.get("url")
    if not value:
        raise CannotPlayError("a user prompt that a message of AG-UI cannot have")
    source = {"type": "data" if item.get("kind") == "binary" else "url", "value": value, "mimeType": media}
    return {"type": kind if kind in _KINDS else "document", "source": source}
