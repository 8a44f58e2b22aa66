"""What a client of AG-UI posts to a peer of ours: the body of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["run_agent_input"]


def run_agent_input(thread_id: str, run: str, content: str | Sequence[Any]) -> dict[str, Any]:
    """Return a `RunAgentInput` of AG-UI 1.0 whose only message is the user's; it has none without content."""
    return {
        "threadId": thread_id,
        "runId": run,
        "protocolVersion": "1.0",
        "messages": [{"id": f"user-{run}", "role": "user", "content": content}] if content else [],
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
