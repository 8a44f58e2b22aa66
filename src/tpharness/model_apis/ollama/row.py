"""Ollama's chat API as a row of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.model_apis.api import ModelApi
from tpharness.model_apis.shape import objects, value_of

__all__ = ["OLLAMA"]

_OPTIONS = ("options", "keep_alive", "think")
_FIELDS = ("images", "thinking", "tool_name")


def _owns(body: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no other API has such a body: roles and calls are those of Chat Completions, so they do not decide."""
    if any(name in body for name in _OPTIONS) and "messages" in body:
        return True
    return any(_has_field(entry) or any(_is_native(call) for call in _calls(entry)) for entry in entries)


def _has_entry(entry: Mapping[str, Any]) -> bool:
    """Whether a message may be one of this API: an id or the type of arguments is not what Chat Completions wants."""
    if entry.get("role") == "tool" and "tool_call_id" not in entry:
        return True
    return _has_field(entry) or any("id" not in call or _has_object(call) for call in _calls(entry))


def _has_field(entry: Mapping[str, Any]) -> bool:
    return any(isinstance(entry.get(name), str | list) for name in _FIELDS)


def _calls(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [call.value for call in objects(entry.get("tool_calls"), "")]


def _is_native(call: Mapping[str, Any]) -> bool:
    return "id" not in call and _has_object(call)


def _has_object(call: Mapping[str, Any]) -> bool:
    return isinstance(value_of(value_of(call, "function"), "arguments"), Mapping)


OLLAMA = ModelApi(
    name="ollama",
    title="Ollama",
    package="tpharness.model_apis.ollama",
    entries="messages",
    owns=_owns,
    has_entry=_has_entry,
    # The JavaScript package reads no variable: its `host` has to be set in the program. Pydantic AI's provider wants
    # `/v1` in OLLAMA_BASE_URL, @langchain/ollama does not, so that one program in two may need its own.
    environment={"OLLAMA_HOST": "{base}", "OLLAMA_BASE_URL": "{base}"},
    shown=("OLLAMA_HOST",),
)
