"""ThreadProtocol's own versions as history dialects, for comparison with the others.

In: a journal. Out: the thread of the version (`dialects.thread`), and from it what a UI shows, what a model is sent
(`model_history`, then the payload of its API) and what is kept. The header (thread id, agents) is optional; without it
the agents that ran are named by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tpharness.dialects.contract import ThreadHeader, make_registry
from tpharness.dialects.thread import DIALECTS
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text
from tpharness.journal import AgentTurn, Journal
from tpharness.model_apis.payloads import payload_of
from tpharness.protocol.history import model_history
from tpharness.protocol.types import AgentTurnJson, Part, ResponseMessageJson, Thread, ToolCallPartJson, Turn
from tpharness.protocol.versions import Version
from tpharness.readings import Readings

__all__ = ["THREADS", "ThreadHistory"]

_BEGINNING = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHistory:
    """One version of ThreadProtocol as a history; it does not contain a turn that is still running (R18)."""

    version: Version
    header: ThreadHeader | None = None
    readings: Readings = field(default_factory=Readings)

    @property
    def name(self) -> str:
        """The version, such as `0.0.4`."""
        return str(self.version.value)

    def store(self, journal: Journal) -> Thread:
        """Return the thread."""
        header = self.header or _header(journal)
        return DIALECTS[self.version].renderer(header, self.readings).render(journal)

    def dumps(self, document: Any) -> str:
        """Return the thread as JSON."""
        return json.dumps(document, ensure_ascii=False)

    def loads(self, text: str) -> Any:
        """Return the thread of a JSON text."""
        return json.loads(text)

    def replay(self, document: Thread) -> list[Mapping[str, Any]]:
        """Return one event for each part, in the order of messages, and one for an interruption after its turn."""
        return [event for turn in document["turns"] for event in _turn_events(turn)]

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the provider's payload: a list, or an object with one."""
        return payload_of(provider, model_history(document).messages, next_user=next_user)

    def turn_contents(self, document: Thread) -> list[TurnContent]:
        """Return what each agent turn of the thread keeps."""
        return [_turn_content(turn) for turn in document["turns"] if turn["turn_type"] == "agent"]


THREADS: Mapping[str, ThreadHistory] = {
    dialect.name: dialect for dialect in (ThreadHistory(version=v) for v in sorted(Version, key=lambda v: -v.order))
}
"""The versions by name, the newest first."""


def _header(journal: Journal) -> ThreadHeader:
    first = next(iter(journal.turns()), None)
    began = _BEGINNING if first is None else first.started_at if isinstance(first, AgentTurn) else first.at
    return ThreadHeader(thread_id="history", created_at=began, agents=make_registry(journal))


# ------------------------------------------------------------------------------------------------ replay


def _turn_events(turn: Turn) -> Iterator[Mapping[str, Any]]:
    if turn["turn_type"] == "user":
        yield {"event": "user", "parts": turn["parts"]}
        return
    for message in turn["messages"]:
        if message["message_type"] == "system":
            yield {"event": "system", "event_type": message["event_type"], "event_data": message["event_data"]}
            continue
        for part in message["parts"]:
            yield {"event": part["part_kind"], "agent_id": message["agent_id"], "part": part}
    interruption = turn.get("interruption")
    if interruption is not None:
        yield {"event": "interruption", "reason": interruption["reason"]}


# ------------------------------------------------------------------------------------------------ turn contents


def _turn_content(turn: AgentTurnJson) -> TurnContent:
    responses = [message for message in turn["messages"] if message["message_type"] == "response"]
    parts = [part for message in responses for part in message["parts"]]
    thoughts = [part for part in parts if part["part_kind"] == "thinking"]
    requested = [p for message in turn["messages"] if message["message_type"] == "request" for p in message["parts"]]
    return TurnContent(
        texts=_contents(responses, "text"),
        thinking=_contents(responses, "thinking"),
        signatures=tuple(str(part["signature"]) for part in thoughts if part.get("signature")),
        calls=tuple(_call(part) for part in parts if part["part_kind"] == "tool-call"),
        results=tuple(result for part in requested for result in _results(part)),
        interrupted=turn.get("completion_status") == "interrupted",
        usage=bool(turn.get("total_usage")) or any(message.get("usage") for message in responses),
    )


def _contents(responses: Sequence[ResponseMessageJson], kind: Literal["text", "thinking"]) -> tuple[str, ...]:
    """Return the content of the parts of a kind, one text for each response that has some."""
    contents = ("".join(_content(p, kind) for p in m["parts"]) for m in responses)
    return tuple(text for text in contents if text)


def _content(part: Part, kind: Literal["text", "thinking"]) -> str:
    if part["part_kind"] == "text" or part["part_kind"] == "thinking":
        return (part.get("content") or "") if part["part_kind"] == kind else ""
    return ""


def _call(part: ToolCallPartJson) -> CallContent:
    return CallContent(call_id=part["tool_call_id"], name=part["tool_name"], arguments=_json(part["args"]))


def _results(part: Part) -> Iterator[ResultContent]:
    """Yield the result of a call, if the part is one."""
    if part["part_kind"] == "tool-return":
        content = part["content_ref"] if part.get("content_ref") is not None else part.get("content")
        text = _json("" if content is None else content)
        outcome: Literal["success", "error"] = "success" if part["status"] == "success" else "error"
        yield ResultContent(call_id=part["tool_call_id"], outcome=outcome, content=text)
    elif part["part_kind"] == "retry-prompt" and (call_id := part.get("tool_call_id")):
        yield ResultContent(call_id=call_id, outcome="error", content=_json(part["content"]))


def _json(value: Any) -> str:
    return canonical_text({} if value is None else value)
