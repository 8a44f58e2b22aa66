"""One run of an adapter for AG-UI: what its client posts, and what it streams, which goes out as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from tpharness.peers.control import ActiveRun

__all__ = ["run_agent_input", "send_events"]


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


async def send_events(events: AsyncIterator[Any], encode: Callable[[Any], str], live: ActiveRun) -> None:
    """Send the events of an adapter as they come; `encode` is that of `ag_ui.encoder`.

    While the next one is waited for, everything before has been sent, but not before the first: the adapter then waits
    for its own things, and not for the script.
    """
    begun = False
    while True:
        live.waiting = begun
        try:
            event = await anext(events)
        except StopAsyncIteration:
            break
        finally:
            live.waiting = False
        begun = True
        kind = str(event.type.value)
        if kind == "RUN_FINISHED":
            live.waiting = True
            await live.playback.ready()  # the agent may have ended without asking the model at all
            live.waiting = False
        if kind == "RUN_ERROR":
            live.failure = event.message
        live.body.write(encode(event).encode())
