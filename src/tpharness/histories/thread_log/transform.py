"""What chimera makes of a log for the next run: the messages of Pydantic AI that its agent is given.

In: the lines of a log. Out: messages. A response is collected until a `start-step`, an output or the end of its turn
sends it; a turn that begins throws away what is collected then, which a cut has left there: so a call that was running
is sent in the next run, and is gone from the one after it. A call without an output is said to have failed, behind
everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpharness.histories.thread_log.lines import Line

__all__ = ["FAILED", "messages_of_log"]

FAILED = (
    "Tool execution failed during previous run. The tool call did not complete. "
    "Please try again or use a different approach."
)
"""What the next run says of a call without an output."""

_RETRY = "{}\n\nFix the errors and try again."
"""How the release of Pydantic AI that it pins writes a retry prompt for a call."""


def messages_of_log(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the messages, without what the user says next."""
    transformer = _Transformer()
    for line in lines:
        transformer.take(line)
    return transformer.finish()


class _Transformer:
    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._asked: list[dict[str, Any]] = []
        self._said: list[dict[str, Any]] = []
        self._waiting: dict[str, str] = {}
        """The names of the tools of the calls without an output, by the ids of the calls."""

    def take(self, line: Line) -> None:
        """Take the next line."""
        match line["type"]:
            case "data-user-turn-start":
                self._asked = []
            case "data-user-message":
                self._asked.append({"part_kind": "user-prompt", "content": line["data"]["content"]})
            case "data-user-turn-end":
                self._asked = self._send("request", self._asked)
            case "data-agent-start":
                self._said = []
            case "text-complete":
                if any(part["part_kind"] == "tool-call" for part in self._said):
                    self._respond()
                self._said.append({"part_kind": "text", "content": line["content"]})
            case "reasoning-complete":
                self._said.append({"part_kind": "thinking", "content": line["content"]})
            case "tool-input-available":
                named = {"tool_name": line["toolName"], "tool_call_id": line["toolCallId"]}
                self._said.append({"part_kind": "tool-call", **named, "args": line["input"]})
                self._waiting[line["toolCallId"]] = line["toolName"]
            case "tool-output-available":
                self._answer(line, {"part_kind": "tool-return", "content": line["output"]})
            case "tool-error":
                self._answer(line, {"part_kind": "tool-return", "content": _RETRY.format(line["error"])})
            case "start-step" | "data-agent-finish":
                self._respond()

    def finish(self) -> list[dict[str, Any]]:
        """Return the messages, with what is said of the calls that have no output."""
        self._respond()
        for call, tool in self._waiting.items():
            failed = {"part_kind": "tool-return", "content": _RETRY.format(FAILED)}
            self._send("request", [{**failed, "tool_name": tool, "tool_call_id": call}])
        return self._messages

    def _answer(self, line: Line, part: dict[str, Any]) -> None:
        """Send an output, in a request of its own, in the order in which it came."""
        self._respond()
        call = line["toolCallId"]
        self._send("request", [{**part, "tool_name": str(line.get("toolName") or ""), "tool_call_id": call}])
        self._waiting.pop(call, None)

    def _respond(self) -> None:
        self._said = self._send("response", self._said)

    def _send(self, kind: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if parts:
            self._messages.append({"kind": kind, "parts": parts})
        return []
