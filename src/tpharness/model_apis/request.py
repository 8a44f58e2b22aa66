"""A request that somebody has in hand: whose API it is for, and what it says about itself.

In: a JSON value, the body of a request or its list of messages. Out: the API, and the options that the body and the
name of its model decide. The API is guessed only from what no other API has; otherwise UsageError asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.errors import UsageError
from tpharness.model_apis.models import needs_thought_signatures, reasons, takes_prefill
from tpharness.model_apis.names import API_NAMES, ApiName
from tpharness.model_apis.rule import Options
from tpharness.model_apis.shape import as_list, objects, string, value_of

__all__ = ["ModelRequest", "read_request"]

_ENTRIES: Mapping[ApiName, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
_ITEMS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "item_reference")
_ITEM_CONTENT = ("input_text", "input_image", "input_file", "output_text")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_CHAT_FIELDS = ("tool_calls", "tool_call_id", "function_call")
_CHAT_CONTENT = ("image_url", "input_audio")
_CHAT_OPTIONS = ("max_completion_tokens", "response_format", "stream_options", "frequency_penalty", "presence_penalty")
_ANTHROPIC_OPTIONS = ("system", "anthropic_version", "stop_sequences")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as it is judged: the API, the payload for `check_payload`, the model's name or "", and the options.

    `decided` says in words which options the request itself decided; `entries` counts messages, items or contents.
    """

    provider: ApiName
    payload: Any
    model: str
    options: Options
    decided: tuple[str, ...]
    entries: int


def read_request(value: Any, *, provider: str | None = None, model: str | None = None) -> ModelRequest:
    """Read a request body, or a list of messages, items or contents.

    UsageError if `provider` is not an API, if the API cannot be told from the request, and for what is not a request.
    """
    if provider is not None and provider not in API_NAMES:
        raise UsageError(f"no model API is called {provider!r}", hint=f"one of {', '.join(API_NAMES)}")
    if not isinstance(value, Mapping | list):
        raise UsageError(
            "this is neither an object nor a list, so it is not a request",
            hint="give the body of the request as it is sent, or its list of messages, items or contents",
        )
    _refuse_other_formats(value)
    named = next((one for one in API_NAMES if one == provider), None) or _guess(value)
    field = _ENTRIES[named]
    if isinstance(value, Mapping) and field not in value:
        has = ", ".join(map(repr, list(value)[:8])) or "nothing"
        raise UsageError(
            f"a request for {named} has the field {field!r}; this object has {has}",
            hint=f"give the body of the request as it is sent, or the list of {field} alone",
        )
    body = value if isinstance(value, Mapping) else {}
    spoken = model or string(body, "model") or ""
    decided = list(_decided(named, body, spoken))
    listed = body.get(field) if body else value
    return ModelRequest(
        provider=named,
        payload=value,
        model=spoken,
        options=Options(**{option: chosen for _, option, chosen in decided}),
        decided=tuple(words for words, _, _ in decided),
        entries=len(listed) if isinstance(listed, list) else 1,
    )


def _refuse_other_formats(value: Any) -> None:
    """Say what to type for messages that are not yet written for an API."""
    first = next((entry.value for entry in objects(value, "")), {})
    if isinstance(value, Mapping) and "turns" in value:
        what, hint = "a thread of ThreadProtocol", "`tpharness history FILE --for anthropic` writes its request"
    elif string(first, "kind") in ("request", "response"):
        what = "a list of Pydantic AI's messages"
        hint = "`tpharness import FILE --from pydantic-ai`, then `tpharness history`, writes a request"
    elif any(string(part, "type") for part in as_list(first.get("parts"))):
        what = "a list of the AI SDK's UI messages"
        hint = "`tpharness import FILE --from ai-sdk`, then `tpharness history`, writes a request"
    else:
        return
    raise UsageError(f"this is {what}, not what a model API is sent", hint=hint)


def _guess(value: Any) -> ApiName:
    body: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    if "contents" in body:
        return "gemini"
    if "input" in body and "messages" not in body:
        return "openai-responses"
    entries = [entry.value for entry in objects(body.get("messages") if body else value, "")]
    found = {one for entry in entries for one in _signs(entry)} | set(_body_signs(body))
    if len(found) == 1:
        return found.pop()
    what = f"has marks of {' and of '.join(sorted(found))}" if found else "could be for several model APIs"
    raise UsageError(f"this request {what}", hint=f"name the API: --api {'|'.join(API_NAMES)}")


def _signs(entry: Mapping[str, Any]) -> Iterator[ApiName]:
    """Yield each API that alone has such an entry."""
    kind, content = string(entry, "type") or "", as_list(entry.get("content"))
    inside = {string(part, "type") for part in content}
    if isinstance(entry.get("parts"), list):
        yield "gemini"
    if kind.removesuffix("_output") in _ITEMS or inside & {*_ITEM_CONTENT}:
        yield "openai-responses"
    if inside & {*_BLOCKS} or any(value_of(part, "source") is not None for part in content):
        yield "anthropic"
    if entry.get("role") in ("tool", "function") or any(name in entry for name in _CHAT_FIELDS):
        yield "openai-chat"
    if inside & {*_CHAT_CONTENT}:
        yield "openai-chat"


def _body_signs(body: Mapping[str, Any]) -> Iterator[ApiName]:
    tools = [tool.value for tool in objects(body.get("tools"), "")]
    if any(name in body for name in _ANTHROPIC_OPTIONS) or any("input_schema" in tool for tool in tools):
        yield "anthropic"
    if any(name in body for name in _CHAT_OPTIONS) or any("function" in tool for tool in tools):
        yield "openai-chat"


def _decided(provider: ApiName, body: Mapping[str, Any], model: str) -> Iterator[tuple[str, str, Any]]:
    """Yield what a request decides: in words, the name of the option, its value."""
    if provider == "anthropic":
        if (prefill := takes_prefill(model)) is not None:
            yield f"{model} {'takes' if prefill else 'does not take'} prefill", "prefill", prefill
        if (thinking := string(body.get("thinking"), "type")) is not None:
            yield f"thinking is {thinking}", "thinking", thinking != "disabled"
    elif provider == "gemini":
        if (signed := needs_thought_signatures(model)) is not None:
            yield f"{model} {'needs' if signed else 'does not need'} thought signatures", "thought_signatures", signed
    elif provider == "openai-responses":
        if body.get("store") is False:
            yield "store is false", "store", False
        if string(body, "previous_response_id") or body.get("conversation"):
            yield "it goes on from a stored response", "continued", True
        if (thinks := True if body.get("reasoning") else reasons(model)) is not None:
            yield f"the model {'reasons' if thinks else 'does not reason'}", "reasoning", thinks
        if "deepseek" in model:
            yield f"{model} wants outputs directly after calls", "adjacent_outputs", True
