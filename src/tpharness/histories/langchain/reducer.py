"""The LangChain CLI design's event reducer: one state, two buffers, three scenarios of interruption.

In: the events of `events`, one at a time. Out: messages (`state`) and what the buffers hold. `Choices` decides
each gap of the design; the comments say where.
"""

from __future__ import annotations

from typing import Any

from tpharness.errors import UsageError
from tpharness.histories.langchain.choices import Choices, OpenCallRule
from tpharness.histories.langchain.events import (
    CliEvent,
    HumanInput,
    MessageEvent,
    RunInterrupt,
    RunStart,
    TextDelta,
    ToolEvent,
    ToolInputDelta,
    ToolNodeDone,
    json_text,
)
from tpharness.histories.langchain.state import Message, ai, human, tool

__all__ = ["CALL_TEXT", "HALF_CALL_TEXT", "INTERRUPTED_CALL", "Reducer", "UnsupportedError", "half_calls"]

CALL_TEXT = "\nTool Call: "
"""The prefix of a call's text in the content of its AIMessage."""
HALF_CALL_TEXT = "Interrupted Tool Call: "
"""The prefix of the text of a call that was interrupted while the model wrote it (scenario 1)."""
INTERRUPTED_CALL = "\n[Tool call was interrupted – execution incomplete]"  # U+2013, as the design has it
"""The suffix of an AIMessage whose calls were removed (scenario 2)."""


class UnsupportedError(UsageError):
    """The design cannot represent this conversation; only GAP-6 raises it."""


class Reducer:
    """Folds the events of one conversation."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.messages: list[Message] = []
        self.response_buffer = ""
        self._arguments: dict[str, str] = {}
        self._message: Message | None = None  # the AIMessage of the response that is streaming
        self._text_end = 0  # where the text of that message ends and its calls begin
        self._open: dict[str, Message] = {}  # calls of this run without a result, and their messages

    @property
    def tool_call_buffers(self) -> list[str]:
        """What the buffer of arguments holds; more than one text only where each call has its own (GAP-6)."""
        return [text for text in self._arguments.values() if text]

    def feed(self, event: CliEvent) -> None:
        """Fold one event; `UnsupportedError` when the arguments of two calls come interleaved (GAP-6)."""
        match event:
            case HumanInput(text=text):
                self._next_run()
                self._message = None
                self.messages.append(human(text))
            case RunStart():
                self._next_run()
                self._message = None
                self._open = {}
            case TextDelta(text=text):
                self.response_buffer += text
            case ToolInputDelta(call_id=call_id, text=text):
                self._tool_input(call_id, text)
            case ToolEvent():
                self._tool_event(event)
            case MessageEvent():
                if self.response_buffer or self._message is None:
                    self._push_text()
                self._message = None
            case ToolNodeDone(call_id=call_id, text=text, status=status):
                self.messages.append(tool(text, call_id, status))
                self._open.pop(call_id, None)
            case RunInterrupt():
                self._interrupt()

    # ------------------------------------------------------------ normal flow

    def _tool_input(self, call_id: str, text: str) -> None:
        one = self._choices.arguments == "one-buffer"
        if one and any(held and other != call_id for other, held in self._arguments.items()):
            raise UnsupportedError(
                f"langchain: the arguments of call {call_id!r} interleave with those of another call, and the design "
                "has one buffer for both (GAP-6)",
                hint="the variant `repaired` has a buffer for each call",
            )
        self._arguments[call_id] = self._arguments.get(call_id, "") + text

    def _tool_event(self, event: ToolEvent) -> None:
        if self.response_buffer and self._choices.tool_event == "flush-text":  # GAP-1
            self._push_text()
        message = self._message or self._push("")
        data = message["data"]
        text = self._arguments.pop(event.call_id, "")
        data["content"] += CALL_TEXT + text
        if self._choices.calls == "text-and-calls":  # GAP-2
            of_the_api = self._choices.messages == "of-the-api"
            _add_call(data, event, any_json=of_the_api)
            if of_the_api:
                said = {"name": event.name, "arguments": text or "{}"}
                call = {"id": event.call_id, "type": "function", "function": said}
                data["additional_kwargs"].setdefault("tool_calls", []).append(call)
            self._open[event.call_id] = message

    def _push(self, text: str) -> Message:
        """Push an AIMessage as that of the response that is streaming."""
        self._message = ai(text)
        self._text_end = len(text)
        self.messages.append(self._message)
        return self._message

    def _push_text(self) -> None:
        """Turn the response buffer into a message, or into more text of its response's message."""
        text, self.response_buffer = self.response_buffer, ""
        message = self._message
        if message is None or self._choices.late_text == "own-message":
            self._push(text)
            return
        content, end = message["data"]["content"], self._text_end
        message["data"]["content"] = content[:end] + text + content[end:]
        self._text_end += len(text)

    # ----------------------------------------------------------- interruption

    def _interrupt(self) -> None:
        rule = self._choices.open_calls
        if rule == "unanswered":  # before a half call is pushed and hides the message of the others
            self._drop_unanswered()
        scenarios = [self._half_text, self._half_call]
        if self._choices.buffer_order == "call-first":  # GAP-3
            scenarios.reverse()
        for scenario in scenarios:
            scenario()
        if rule != "unanswered":
            self._drop_calls_of_last(rule)

    def _half_text(self) -> None:
        """Scenario 3."""
        if self._has_text(self.response_buffer):
            self._push_text()
        self.response_buffer = ""

    def _half_call(self) -> None:
        """Scenario 1; name and id are lost (GAP-7)."""
        if self._choices.half_call == "at-once":  # GAP-5
            self._convert_half_calls()

    def _convert_half_calls(self) -> None:
        self.messages += half_calls(self.tool_call_buffers, self._choices)
        self._arguments = {}

    def _next_run(self) -> None:
        if self._choices.half_call == "next-run":  # GAP-5
            self._convert_half_calls()

    def _has_text(self, text: str) -> bool:
        return _has_text(text, self._choices)

    def _drop_calls_of_last(self, rule: OpenCallRule) -> None:
        """Scenario 2 as documented (GAP-4); the design reads and deletes `tool_calls` only."""
        last = self.messages[-1] if self.messages else None
        if rule == "last-ai":
            last = next((m for m in reversed(self.messages) if m["type"] == "ai"), None)
            if not any(message is last for message in self._open.values()):
                return  # each of its calls has a result
        if last is not None and last["type"] == "ai" and last["data"]["tool_calls"]:
            last["data"]["content"] += INTERRUPTED_CALL
            last["data"]["tool_calls"] = []

    def _drop_unanswered(self) -> None:
        """Scenario 2 repaired: calls without a result are removed, the others stay (GAP-4)."""
        touched: list[Message] = []
        for call_id, message in self._open.items():
            data = message["data"]
            for name in ("tool_calls", "invalid_tool_calls"):
                data[name] = [call for call in data[name] if call["id"] != call_id]
            if not any(message is other for other in touched):
                data["content"] += INTERRUPTED_CALL
                touched.append(message)


def half_calls(buffers: list[str], choices: Choices) -> list[Message]:
    """Return the messages for the buffered arguments of half calls (scenario 1)."""
    return [ai(HALF_CALL_TEXT + text) for text in buffers if _has_text(text, choices)]


def _has_text(text: str, choices: Choices) -> bool:
    """GAP-8."""
    return bool(text if choices.blank == "truthy" else text.strip())


def _add_call(data: dict[str, Any], event: ToolEvent, *, any_json: bool) -> None:
    """Add the structured call; arguments that are not an object go where LangChain's own parsers put them.

    The parser of JavaScript, which reads what an API says, takes `any_json`; text that is not JSON stays text (R12).
    """
    call = {"name": event.name, "args": event.args, "id": event.call_id}
    if isinstance(event.args, dict) or (any_json and not isinstance(event.args, str)):
        data["tool_calls"].append({**call, "type": "tool_call"})
    else:
        invalid = {**call, "args": json_text(event.args), "error": None, "type": "invalid_tool_call"}
        data["invalid_tool_calls"].append(invalid)
