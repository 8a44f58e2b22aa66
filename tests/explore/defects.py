"""Targets with a planted defect, for what explores to find."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from typing import Any

from tpharness.journal import Interrupted
from tpharness.protocol.versions import Version
from tpharness.targets import Capabilities, Reference, Script
from tpharness.targets.reference import ReferenceClient

__all__ = [
    "arguments_as_text",
    "arguments_as_text_and_trimmed",
    "backwards",
    "crashing",
    "hanging",
    "line_splitting",
    "plain",
    "reordered_returns",
    "trimmed_and_renamed",
]


class _LineSplitting(ReferenceClient):
    """Takes U+2028 for the end of a line, as code that splits text with `splitlines` does, and loses it."""

    def feed(self, data: bytes, at: str) -> None:
        super().feed(data.replace("\u2028".encode(), b""), at)


class _Crashing(ReferenceClient):
    """Raises when it is asked for progress of a tool."""

    def feed(self, data: bytes, at: str) -> None:
        if b'"preliminary":true' in data:
            raise KeyError("preliminary")
        super().feed(data, at)


class _Hanging(ReferenceClient):
    """Never comes back from an error: it waits, for no signal ends the waiting."""

    def feed(self, data: bytes, at: str) -> None:
        while b'"type":"error"' in data:
            signal.pause()
        super().feed(data, at)


class _Reordered(ReferenceClient):
    """Keeps returns the other way round (against R11)."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        return {version: _turned(thread) for version, thread in super().threads(cut).items()}


class _Backwards(ReferenceClient):
    """Shows only every second state: what it shows once is gone in the next."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        told = super().threads(cut)
        if cut is None:
            return told
        return {v: {**t, "turns": t["turns"][:1]} if self.version % 2 else t for v, t in told.items()}


class _Changed(ReferenceClient):
    """Changes each response of the threads that it holds."""

    def change(self, response: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        return {version: _with_responses(thread, self.change) for version, thread in super().threads(cut).items()}


class _ArgumentsAsText(_Changed):
    """Keeps the arguments of a call for the application as their JSON text (against R12)."""

    def change(self, response: dict[str, Any]) -> dict[str, Any]:
        return {**response, "parts": [_as_text(part) for part in response["parts"]]}


class _ArgumentsAsTextAndTrimmed(_ArgumentsAsText):
    """Makes two mistakes that have nothing to do with each other: texts lose the blanks at their ends."""

    def change(self, response: dict[str, Any]) -> dict[str, Any]:
        changed = super().change(response)
        return {**changed, "parts": [_trimmed(part) for part in changed["parts"]]}


class _TrimmedAndRenamed(_Changed):
    """Makes one mistake that shows in two places: a response with a text that was trimmed has another end."""

    def change(self, response: dict[str, Any]) -> dict[str, Any]:
        parts = [_trimmed(part) for part in response["parts"]]
        return response if parts == response["parts"] else {**response, "parts": parts, "finish_reason": "error"}


class _Target(Reference):
    client: type[ReferenceClient] = ReferenceClient

    def client_session(self, script: Script) -> ReferenceClient:
        return self.client(script)


def _with_responses(thread: Mapping[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    turns = [
        {**turn, "messages": [change(m) if m["message_type"] == "response" else m for m in turn["messages"]]}
        if "messages" in turn
        else turn
        for turn in thread["turns"]
    ]
    return {**thread, "turns": turns}


def _as_text(part: dict[str, Any]) -> dict[str, Any]:
    of_ours = part["part_kind"] == "tool-call" and isinstance(part["args"], dict)
    return {**part, "args": json.dumps(part["args"])} if of_ours else part


def _trimmed(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "content": part["content"].strip()} if part["part_kind"] == "text" else part


def _turned(thread: Mapping[str, Any]) -> dict[str, Any]:
    turns = [
        {**turn, "messages": [_turned_message(message) for message in turn["messages"]]} if "messages" in turn else turn
        for turn in thread["turns"]
    ]
    return {**thread, "turns": turns}


def _turned_message(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "parts": message["parts"][::-1]} if message["message_type"] == "request" else message


def _with(client: type[ReferenceClient]) -> Reference:
    target = _Target()
    target.client = client
    return target


class _Plain:
    """A target that cannot be stepped: what an implementation behind a network looks like."""

    capabilities = Capabilities(name="plain")

    def __init__(self) -> None:
        inner = Reference()
        self.serve, self.receive, self.adopt = inner.serve, inner.receive, inner.adopt


def line_splitting() -> Reference:
    """Return a target whose client loses U+2028."""
    return _with(_LineSplitting)


def crashing() -> Reference:
    """Return a target whose client raises."""
    return _with(_Crashing)


def hanging() -> Reference:
    """Return a target whose client hangs."""
    return _with(_Hanging)


def reordered_returns() -> Reference:
    """Return a target whose client keeps returns the other way round."""
    return _with(_Reordered)


def arguments_as_text() -> Reference:
    """Return a target whose client keeps arguments as text."""
    return _with(_ArgumentsAsText)


def arguments_as_text_and_trimmed() -> Reference:
    """Return a target whose client keeps arguments as text, and trims what was said."""
    return _with(_ArgumentsAsTextAndTrimmed)


def trimmed_and_renamed() -> Reference:
    """Return a target whose client trims a text, and gives its response another model."""
    return _with(_TrimmedAndRenamed)


def backwards() -> Reference:
    """Return a target whose client takes back what it showed."""
    return _with(_Backwards)


def plain() -> _Plain:
    """Return a target that cannot be stepped."""
    return _Plain()
