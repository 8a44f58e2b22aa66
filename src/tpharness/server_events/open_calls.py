"""Which calls of a run are open: their arguments stream, and nothing has said yet that they are whole (R60).

In: the events of one run, one at a time, as the server is given them. Out: the ids of the open calls. It is written
from the rulings alone and shares no code with the recorder and the encoder, since servers are judged by it. Where an
event is malformed it takes a call for ended rather than for open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["END_OF_A_RESPONSE", "OpenCalls"]

END_OF_A_RESPONSE = frozenset(
    (
        *("model_request", "model_response_end", "response_reset", "enqueued_messages", "agent_start"),
        *("function_tool_call", "output_tool_call", "function_tool_result", "output_tool_result", "agent_run_result"),
    )
)
"""The kinds of events after which nothing of the response before them streams any more."""


class OpenCalls:
    """The open calls of one run; `feed` it each event.

    A call is open from its start until its own end or that of its response (R10). One whose arguments come at once, as
    a value and not as text, is open only from the first delta that adds to them. One of the provider's own ends with
    its output as well (R42).
    """

    def __init__(self) -> None:
        self._calls: dict[Any, str] = {}  # of the streaming response, by the index of the part
        self._parts: set[Any] = set()
        self._open: set[str] = set()

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the calls that are open now."""
        return frozenset(self._open)

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        kind, index = event.get("event_kind"), event.get("index")
        if kind in END_OF_A_RESPONSE or (kind == "part_start" and index in self._parts):
            self._calls, self._parts, self._open = {}, set(), set()
        if kind == "part_start":
            self._parts.add(index)
            self._start(index, event.get("part"))
        elif kind == "part_delta" and index in self._calls and _adds(event.get("delta")):
            self._open.add(self._calls[index])
        elif kind == "part_end" and index in self._calls:
            self._open.discard(self._calls[index])

    def _start(self, index: Any, part: Any) -> None:
        if not isinstance(part, Mapping) or not isinstance(call := part.get("tool_call_id"), str):
            return
        if part.get("part_kind") == "builtin-tool-return":
            self._open.discard(call)
        elif part.get("part_kind") in ("tool-call", "builtin-tool-call"):
            self._calls[index] = call
            if not isinstance(part.get("args"), Mapping):
                self._open.add(call)


def _adds(delta: Any) -> bool:
    return isinstance(delta, Mapping) and delta.get("args_delta") is not None
