"""OpenAI's Responses: answers as named events with sequence numbers, or as one response."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.event_bytes import named_event
from tpharness.model_apis.openai_responses.item_store import ItemStore
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.model_apis.server import Request
from tpharness.model_apis.shape import as_list

__all__ = ["ResponsesAnswer"]

_INCOMPLETE: Mapping[Finish, str] = {Finish.LENGTH: "max_output_tokens", Finish.CONTENT_FILTER: "content_filter"}
_ENCRYPTED = "reasoning.encrypted_content"
_ECHOED: Mapping[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


class ResponsesAnswer:
    """An answer as events, or as one `response`."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, plan: Plan, *, body: Mapping[str, Any], request: Request, token: str, store: ItemStore) -> None:
        self._plan = plan
        self._body = body
        self._given = as_list(request.payload)
        self._token = token
        self._store = store
        self._encrypts = _ENCRYPTED in as_list(body.get("include"))
        self._sequence = -1
        self._created = int(time.time())
        self._output: list[dict[str, Any]] = []
        self._item: Item | None = None
        self._opened: dict[str, Any] = {}
        self._said: list[str] = []

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._sequence += 1
        return named_event({"type": kind, "sequence_number": self._sequence, **fields})

    def _response(self, status: str) -> dict[str, Any]:
        echoed = {key: self._body.get(key, value) for key, value in _ECHOED.items()}
        failed = status == "failed"
        reason = _INCOMPLETE.get(self._plan.reason) if status == "incomplete" else None
        return {
            "id": f"resp_{self._token}",
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "error": {"code": "server_error", "message": self._plan.error_text} if failed else None,
            "incomplete_details": None if reason is None else {"reason": reason},
            "model": self._body.get("model"),
            **echoed,
            "store": self._body.get("store") is not False,
            "output": list(self._output),
            "usage": None if status == "in_progress" or failed else _usage(self._plan.usage),
        }

    def begin(self) -> bytes:
        """`response.created` and `response.in_progress`."""
        created = self._event("response.created", response=self._response("in_progress"))
        return created + self._event("response.in_progress", response=self._response("in_progress"))

    def open(self, item: Item) -> bytes:
        """The item without its content, then the part that the content goes into."""
        self._item, self._said = item, []
        index = len(self._output)
        self._opened = self._without_content(item, index)
        frames = self._event("response.output_item.added", output_index=index, item=self._opened)
        place = {"item_id": self._opened["id"], "output_index": index}
        match item:
            case Text():
                part = _output_text("")
                frames += self._event("response.content_part.added", **place, content_index=0, part=part)
            case Thinking():
                part = {"type": "summary_text", "text": ""}
                frames += self._event("response.reasoning_summary_part.added", **place, summary_index=0, part=part)
        return frames

    def piece(self, text: str, *, last: bool) -> bytes:  # noqa: ARG002  # each piece is an event
        """A delta."""
        self._said.append(text)
        place = {"item_id": self._opened["id"], "output_index": len(self._output)}
        match self._item:
            case Text():
                return self._event("response.output_text.delta", **place, content_index=0, delta=text, logprobs=[])
            case Thinking():
                return self._event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=text)
        return self._event("response.function_call_arguments.delta", **place, delta=text)

    def close(self) -> bytes:
        """The whole content once more, then the item as it is kept."""
        text, index = "".join(self._said), len(self._output)
        place = {"item_id": self._opened["id"], "output_index": index}
        done = b""
        match self._item:
            case Text():
                done = self._event("response.output_text.done", **place, content_index=0, text=text, logprobs=[])
                done += self._event("response.content_part.done", **place, content_index=0, part=_output_text(text))
            case Thinking():
                part = {"type": "summary_text", "text": text}
                done = self._event("response.reasoning_summary_text.done", **place, summary_index=0, text=text)
                done += self._event("response.reasoning_summary_part.done", **place, summary_index=0, part=part)
            case Call():
                done = self._event("response.function_call_arguments.done", **place, arguments=text)
        item = self._with_content(text)
        self._output.append(item)
        return done + self._event("response.output_item.done", output_index=index, item=item)

    def end(self) -> bytes:
        """`response.completed`, `response.incomplete` or `response.failed`."""
        status = self._status()
        return self._event(f"response.{status}", response=self._response(status))

    def failure(self, text: str) -> bytes:
        """The error event as the server sends it, and `response.failed`."""
        error = {"type": "server_error", "code": "server_error", "message": text, "param": None}
        frames = self._event("error", error=error)
        response = self._response("failed")
        response["error"] = {"code": "server_error", "message": text}
        return frames + self._event("response.failed", response=response)

    def whole(self) -> Any:
        """One `response`."""
        for item in self._plan.items:
            self._item = item
            self._opened = self._without_content(item, len(self._output))
            self._output.append(self._with_content("".join(item.pieces)))
        return self._response(self._status())

    def over(self, *, complete: bool) -> None:
        """Keep the response and its items, as far as they were done."""
        kept = self._body.get("store") is not False
        finished = complete and self._status() != "failed"
        self._store.keep(self._given, self._response(self._status()), store=kept, complete=finished)

    def _status(self) -> str:
        if self._plan.reason is Finish.ERROR:
            return "failed"
        return "incomplete" if self._plan.reason in _INCOMPLETE else "completed"

    def _without_content(self, item: Item, index: int) -> dict[str, Any]:
        token = f"{self._token}{index:02x}"
        match item:
            case Text():
                return {
                    "id": f"msg_{token}",
                    "type": "message",
                    "status": "in_progress",
                    "content": [],
                    "role": "assistant",
                }
            case Thinking():
                # What is given before the item is done cannot be read later, as with the real server.
                half = {"encrypted_content": _encrypted(token)} if self._encrypts else {}
                return {"id": f"rs_{token}", "type": "reasoning", "summary": [], **half}
            case Call(call_id=call_id, name=name):
                call = {"arguments": "", "call_id": call_id, "name": name}
                return {"id": f"fc_{token}", "type": "function_call", "status": "in_progress", **call}

    def _with_content(self, text: str) -> dict[str, Any]:
        last = self._item is self._plan.items[-1] and self._status() == "incomplete"
        status = "incomplete" if last else "completed"
        match self._item:
            case Text():
                return {**self._opened, "status": status, "content": [_output_text(text)]}
            case Thinking(signature=signature):
                whole = {"encrypted_content": signature or _encrypted(self._token + text)} if self._encrypts else {}
                return {**self._opened, "summary": [{"type": "summary_text", "text": text}], **whole}
        return {**self._opened, "status": status, "arguments": text}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _encrypted(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return "gAAAAAB" + base64.urlsafe_b64encode(digest * 3).decode()


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
