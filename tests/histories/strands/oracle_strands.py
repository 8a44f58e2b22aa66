"""The real Strands beside the histories `strands/left` and `strands/cancel`: what its session holds after each stop.

Not among the tests that `pytest` collects, because the package wants libraries that others here cannot have; run in an
environment of its own with

    pip install . pytest 'strands-agents[anthropic,openai]==1.62.0'
    python -m pytest -s -c /dev/null --rootdir=. --noconftest tests/histories/strands/oracle_strands.py

Each run of each scenario is played through the program's own loop with a session in files, and stopped before its first
and after each of its events: by the cancelled task of a client that has left, by an error of the model, by `cancel()`,
and by `cancel(after_current_tools=True)`. What happens after the place happens once it was stopped. A new agent then
reads the session and is asked the next question. The messages of the session, what the model is given, and what the
package makes of it for three APIs are held to the history. What its loop cannot play is counted by reason.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.models import Model
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import EventLoopException, MaxTokensReachedException
from strands.types.tools import AgentTool
from tests.histories.oracle_runs import Event, NotPlayableError, Script, hold, is_of_tools, journal_at, text_of

from tpharness.histories.strands import STRANDS

LEFT, CANCEL = STRANDS["strands/left"], STRANDS["strands/cancel"]
STOPS = ("left", "error", "cancel", "after_current_tools")
CLAUDE = AnthropicModel(client_args={"api_key": "none"}, model_id="claude", max_tokens=9)

logging.getLogger("strands").setLevel(logging.CRITICAL)


class Scripted(Model):  # type: ignore[misc]  # a job of its own has the package
    """Says what the script says, or one word without a script, and keeps what it was given."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script
        self.given: list[Any] = []

    def update_config(self, **config: Any) -> None:
        """Have none."""

    def get_config(self) -> Any:
        """Return none."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse what nobody asks for."""
        raise AssertionError(args, kwargs)

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the next response."""
        del args, kwargs
        self.given = messages
        yield {"messageStart": {"role": "assistant"}}
        if self._script is None:
            yield {"contentBlockDelta": {"delta": {"text": "ok"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            return
        async for _, event in self._script.response():
            match event["event_kind"]:
                case "part_start" | "part_delta":
                    for chunk in _chunks(event):
                        yield chunk
                case "part_end":
                    yield {"contentBlockStop": {}}
                case "model_response_end":
                    reason = "max_tokens" if event.get("finish_reason") == "length" else "end_turn"
                    yield {"messageStop": {"stopReason": reason}}
                    counted = [event.get("usage", {}).get(f"{side}_tokens", 0) for side in ("input", "output")]
                    names = ("inputTokens", "outputTokens", "totalTokens")
                    yield {"metadata": {"usage": dict(zip(names, (*counted, sum(counted)), strict=True))}}


def _chunks(event: Event) -> list[Any]:
    said = event["part"] if event["event_kind"] == "part_start" else event["delta"]
    if said.get("tool_name") and event["event_kind"] == "part_start":
        start = {"name": said["tool_name"], "toolUseId": said["tool_call_id"]}
        args = said.get("args") or ""
        args = args if isinstance(args, str) else json.dumps(args)
        return [
            {"contentBlockStart": {"start": {"toolUse": start}}},
            {"contentBlockDelta": {"delta": {"toolUse": {"input": args}}}},
        ]
    if said.get("args_delta"):
        return [{"contentBlockDelta": {"delta": {"toolUse": {"input": said["args_delta"]}}}}]
    text = said.get("content") or said.get("content_delta") or ""
    kind = said.get("part_kind") or said.get("part_delta_kind")
    if kind == "text":
        return [{"contentBlockDelta": {"delta": {"text": text}}}] if text else []
    signature = said.get("signature") or said.get("signature_delta")
    parts = [{"text": text}] if text else []
    parts += [{"signature": signature}] if signature else []
    return [{"contentBlockDelta": {"delta": {"reasoningContent": part}}} for part in parts]


class Scheduled(AgentTool):  # type: ignore[misc]
    """A tool that returns when the script says so."""

    tool_type = "python"
    tool_name = ""
    tool_spec: Any = None

    def __init__(self, name: str, script: Script) -> None:
        super().__init__()
        self.tool_name, self._script = name, script
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        self.tool_spec = {"name": name, "description": "a tool", "inputSchema": {"json": schema}}

    async def stream(self, tool_use: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the result."""
        del args, kwargs
        part = await self._script.returned(tool_use["toolUseId"])
        good = part["part_kind"] == "tool-return" and part.get("outcome", "success") == "success"
        status = "success" if good else "error"
        text = text_of(part["content"])
        yield {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": text}]}


async def _read(agent: Any, question: str) -> None:
    async for _ in agent.stream_async(question):
        pass


async def play(events: list[Event], at: int, stop: str) -> tuple[list[Any], list[Any]]:
    """Return the messages of the session after a run that was stopped, and what the model is given in the next one."""
    script = Script(events, at, fails=stop == "error")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        tools = [Scheduled(name, script) for name in script.tools()]
        agent = _agent(Scripted(script), tools, folder)
        run = asyncio.create_task(_read(agent, "q"))
        stops: dict[str, Any] = {
            "left": run.cancel,
            "error": None,
            "cancel": agent.cancel,
            "after_current_tools": lambda: agent.cancel(after_current_tools=True),
        }
        raised = await script.stop(run, stops[stop])
        while isinstance(raised, EventLoopException):
            raised = raised.original_exception
        expected = (MaxTokensReachedException, *((ConnectionError,) if stop == "error" else ()))
        if raised is not None and not isinstance(raised, expected):
            raise NotPlayableError(str(raised)) from raised
        listening = Scripted()
        again = _agent(listening, tools, folder)
        messages = list(again.messages)
        await _read(again, "Go on.")
        return messages, listening.given


def _agent(model: Any, tools: Any, folder: str) -> Any:
    kept = FileSessionManager(session_id="s", storage_dir=folder)
    return Agent(model=model, tools=tools, session_manager=kept, agent_id="a", callback_handler=None)


# ------------------------------------------------------------------------------------------------ what is compared


def kept_of(messages: list[Any]) -> list[Any]:
    """Return what counts of messages: role, content, and tokens if some were counted."""
    counted = [message.get("metadata", {}).get("usage", {}) for message in messages]
    tokens = [usage if usage.get("totalTokens") else {} for usage in counted]
    return [(message["role"], message["content"], usage) for message, usage in zip(messages, tokens, strict=True)]


def why_not(events: list[Event]) -> str:
    """Return why a run cannot be played here, "" if it can: the program's stream has one block at a time."""
    open_part = None
    said = False
    for event in events:
        if event["event_kind"] in ("part_start", "part_delta"):
            if open_part not in (None, event["index"]):
                return "parts that interleave"
            open_part, said = event["index"], True
        elif event["event_kind"] == "part_end":
            open_part = None
        elif event["event_kind"] == "model_response_end":
            if not said:
                return "a response without parts, which the session has and the journal has not"
            said = False
    return ""


def stored_at(events: list[Event], at: int, stop: str) -> list[Any]:
    """Return the messages that the histories predict.

    A model fails when it is asked, and `cancel()` waits for the tools, so both come to a later place while tools run.
    `after_current_tools` lets the answer go on, and stops behind its tools.
    """
    asked = [i for i, event in enumerate(events) if event["event_kind"] == "model_request"]
    running = at < len(events) and is_of_tools(events[at])
    then = next((i for i in asked if i >= at), len(events)) if running else at
    if stop == "after_current_tools":
        then = next((i for i in asked if i > at), len(events))
    if stop == "cancel" and not running:
        return CANCEL.store(journal_at(events, at))
    return LEFT.store(journal_at(events, at if stop == "left" else then))


def differences(events: list[Event], at: int, stop: str) -> list[str]:
    """Return in what the program and the history differ at a place: the session, the next input, its forms for APIs."""
    messages, given = asyncio.run(play(events, at, stop))
    ours = stored_at(events, at, stop)
    pairs: dict[str, tuple[Any, Any]] = {
        "session": (kept_of(messages), kept_of(ours)),
        "chat": (OpenAIModel.format_request_messages(given), LEFT.model_input(ours, "openai-chat", next_user="Go on.")),
        "responses": (
            OpenAIResponsesModel._format_request_messages(given),
            LEFT.model_input(ours, "openai-responses", next_user="Go on."),
        ),
        "anthropic": (
            CLAUDE.format_request(given)["messages"],
            LEFT.model_input(ours, "anthropic", next_user="Go on.")["messages"],
        ),
    }
    return [f"{what}: {real} and not {predicted}" for what, (real, predicted) in pairs.items() if real != predicted]


def test_a_session_holds_what_the_histories_predict(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    with capsys.disabled():
        equal = hold(
            LEFT.store,
            STOPS,
            differences,
            print,
            kinds=("text", "thinking", "tool-call"),
            outcomes=("success", "failed"),
            why_not=why_not,
        )
    assert min(equal[stop] for stop in STOPS) > 500
