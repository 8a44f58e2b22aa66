"""Pydantic-AI-shaped messages in few words, and the entries of their payloads."""

from __future__ import annotations

import base64
from typing import Any, cast

from tpharness.model_apis.payloads import payload_of
from tpharness.model_apis.registry import ApiName

PIXEL = base64.b64encode(b"pixel").decode()


IMAGE = {"kind": "binary", "data": PIXEL, "media_type": "image/png", "identifier": "i2"}


def request(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a request."""
    return {"kind": "request", "parts": list(parts)}


def response(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a response."""
    return {"kind": "response", "parts": list(parts), **more}


def prompt(content: Any) -> dict[str, Any]:
    """Return a user prompt."""
    return {"part_kind": "user-prompt", "content": content}


def text(content: str) -> dict[str, Any]:
    """Return a text."""
    return {"part_kind": "text", "content": content}


def thinking(provider: str, **more: Any) -> dict[str, Any]:
    """Return a thinking part."""
    return {"part_kind": "thinking", "content": "hm", "provider_name": provider, **more}


def called(call: str, args: Any) -> dict[str, Any]:
    """Return a call."""
    return {"part_kind": "tool-call", "tool_name": "weather", "tool_call_id": call, "args": args}


def back(call: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a return."""
    part = {"part_kind": "tool-return", "tool_name": "weather", "tool_call_id": call, "status": "success"}
    return {**part, "content": content, **more}


def of(provider: ApiName, *messages: dict[str, Any]) -> list[Any]:
    """Return the messages, items or contents."""
    payload = payload_of(provider, messages)
    return cast("list[Any]", payload if isinstance(payload, list) else payload.get("messages", payload.get("contents")))
