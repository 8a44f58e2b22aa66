"""Chats as the AI SDK 4 stored them: without parts, and with parts of the kinds that it had."""

from __future__ import annotations

from typing import Any

__all__ = ["CALL", "chats_of_version_4"]

CALL: dict[str, Any] = {"toolCallId": "c1", "toolName": "look", "args": {"at": 1}}
DONE = {**CALL, "state": "result", "step": 0, "result": {"t": 18}}


def asked(name: str, **more: Any) -> dict[str, Any]:
    """Return a message of the user."""
    return {"id": name, "role": "user", "content": "How is it?", "createdAt": "2025-01-20T10:00:00Z", **more}


def answered(*calls: dict[str, Any], content: str = "It is warm.", **more: Any) -> dict[str, Any]:
    """Return an answer with calls beside its text."""
    return {"id": "a1", "role": "assistant", "content": content, "toolInvocations": list(calls), **more}


def chats_of_version_4() -> list[list[dict[str, Any]]]:
    """Return sound chats, each with something else."""
    picture = {"name": "a.png", "contentType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    invoked = {"type": "tool-invocation", "toolInvocation": DONE}
    thought = {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm", "signature": "c2ln"}]}
    source = {
        "type": "source",
        "source": {"sourceType": "url", "id": "s1", "url": "https://example.org/", "title": "E"},
    }
    file = {"type": "file", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    parts = [{"type": "step-start"}, thought, {"type": "text", "text": "Let me look."}, invoked, source, file]
    return [
        [asked("u1"), answered(DONE), asked("u2")],
        [asked("u1", experimental_attachments=[picture]), answered(DONE, {**DONE, "toolCallId": "c2", "step": 1})],
        [asked("u1"), answered({**CALL, "state": "call"}, content="Let me look.")],
        [asked("u1"), answered(DONE, reasoning="hm", annotations=[{"a": 1}])],
        [asked("u1"), {**answered(content="It is warm."), "toolInvocations": [], "parts": parts}, asked("u2")],
    ]
