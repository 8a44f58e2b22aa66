"""The official SDKs in Python as readers: every event is validated against the SDK's own types.

The SDKs build their records without validating; here each is written out and validated once more, and a field that
the types do not know is a complaint too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
from google import genai
from google.genai import errors as gemini_errors
from google.genai import types as gemini_types
from pydantic import BaseModel, ValidationError
from tests.apps.provider.plans import PARAMETERS, Read

from tpharness.model_apis.registry import ApiName

KNOWN_EXTRAS = {
    "reasoning_content",  # of Chat Completions of other servers than OpenAI's
    "index",  # left by OpenAI's accumulator
    "store",  # of a response: the server sends it, and the SDK's types do not have it
}
ERRORS: tuple[type[Exception], ...] = (
    openai.OpenAIError,
    anthropic.AnthropicError,
    gemini_errors.APIError,
    httpx.HTTPError,
    httpx2.HTTPError,
    aiohttp.ClientError,
    ConnectionError,
)


def complaints(record: Any) -> Iterator[str]:
    """Yield what the SDK's own types do not allow in a record."""
    if not isinstance(record, BaseModel):
        return
    try:
        type(record).model_validate(record.model_dump(by_alias=True, exclude_unset=True))
    except ValidationError as error:
        yield f"{type(record).__name__}: {error.errors(include_url=False)[:2]}"
    yield from unknown(record, type(record).__name__)


def unknown(value: Any, path: str) -> Iterator[str]:
    """Yield the fields that the types do not know."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            if name not in KNOWN_EXTRAS and not name.startswith("_"):
                yield f"{path}.{name} is not known"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name, None), f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item, path)


class Notes:
    """What has been read so far."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.text = self.thinking = ""
        self.calls: dict[Any, list[Any]] = {}
        self.finish: str | None = None
        self.usage: list[int] = []
        self.complaints: list[str] = []

    def check(self, record: Any) -> None:
        """Note what is wrong with a record."""
        self.complaints += complaints(record)

    def read(self, error: str | None) -> Read:
        """Return what was read."""
        return Read(
            text=self.text,
            thinking=self.thinking,
            calls=list(self.calls.values()),
            finish=self.finish,
            usage=self.usage,
            error=error,
            complaints=self.complaints,
        )


class Clients:
    """One client of each SDK, for a provider at `base`."""

    def __init__(self, base: str) -> None:
        self.openai = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="x", max_retries=0)
        self.anthropic = anthropic.AsyncAnthropic(base_url=base, api_key="x", max_retries=0)
        self.genai = genai.Client(api_key="x", http_options=gemini_types.HttpOptions(base_url=base))
        self.gemini = self.genai.aio.models

    async def close(self) -> None:
        """Close all connections."""
        await self.openai.close()
        await self.anthropic.close()
        await self.genai.aio.aclose()
        self.genai.close()


async def read(api: ApiName, mode: str, clients: Clients, prompt: str) -> Read:
    """Ask once and read the answer: `stream` (raw events), `helper` (the SDK's accumulator) or `whole`."""
    notes = Notes(prompt)
    error = None
    try:
        await READERS[api, mode](clients, notes)
    except ERRORS as failure:
        error = type(failure).__name__
    return notes.read(error)


# --------------------------------------------------------------------------------------------------- Chat Completions


def _chat(notes: Notes) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": notes.prompt}],
        "tools": [{"type": "function", "function": {"name": "book_hotel", "parameters": PARAMETERS}}],
    }


def _chat_usage(usage: Any) -> list[int]:
    details = usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    return [usage.prompt_tokens, usage.completion_tokens, *details]


def _chat_delta(notes: Notes, chunk: Any) -> None:
    notes.check(chunk)
    if chunk.usage:
        notes.usage = _chat_usage(chunk.usage)
    for choice in chunk.choices:
        notes.text += choice.delta.content or ""
        notes.thinking += getattr(choice.delta, "reasoning_content", None) or ""
        notes.finish = choice.finish_reason or notes.finish
        for call in choice.delta.tool_calls or []:
            seen = notes.calls.setdefault(call.index, [call.id, call.function.name, ""])
            seen[2] += call.function.arguments


async def _chat_stream(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    asked = client.chat.completions.create(**_chat(notes), stream=True, stream_options={"include_usage": True})
    async for chunk in await asked:
        _chat_delta(notes, chunk)


def _chat_message(notes: Notes, answer: Any) -> None:
    notes.check(answer)
    (choice,) = answer.choices
    notes.text, notes.finish = choice.message.content or "", choice.finish_reason
    notes.thinking = getattr(choice.message, "reasoning_content", None) or notes.thinking
    for call in choice.message.tool_calls or []:
        notes.calls[call.id] = [call.id, call.function.name, call.function.arguments]
    notes.usage = _chat_usage(answer.usage)


async def _chat_helper(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    # The accumulator raises for reasons that are not an ordinary end; what it gathered stays readable.
    async with client.chat.completions.stream(**_chat(notes), stream_options={"include_usage": True}) as stream:
        async for event in stream:
            if event.type == "chunk":
                notes.thinking += "".join(
                    getattr(c.delta, "reasoning_content", None) or "" for c in event.chunk.choices
                )
                notes.check(event.chunk)
        _chat_message(notes, await stream.get_final_completion())


async def _chat_whole(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    _chat_message(notes, await client.chat.completions.create(**_chat(notes)))


# ---------------------------------------------------------------------------------------------------------- Responses


def _responses(notes: Notes) -> dict[str, Any]:
    return {
        "model": "gpt-5",
        "input": notes.prompt,
        "tools": [{"type": "function", "name": "book_hotel", "parameters": PARAMETERS, "strict": False}],
    }


async def _responses_stream(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    number = -1
    async for event in await client.responses.create(**_responses(notes), stream=True):
        notes.check(event)
        assert event.sequence_number == number + 1
        number = event.sequence_number
        match event.type:
            case "response.output_text.delta":
                notes.text += event.delta
            case "response.reasoning_summary_text.delta":
                notes.thinking += event.delta
            case "response.output_item.added" if event.item.type == "function_call":
                notes.calls[event.output_index] = [event.item.call_id, event.item.name, ""]
            case "response.function_call_arguments.delta":
                notes.calls[event.output_index][2] += event.delta
            case "response.completed" | "response.incomplete":
                streamed = notes.text, notes.thinking, notes.calls
                _response(notes, event.response)
                assert streamed == (notes.text, notes.thinking, notes.calls), "deltas and the whole differ"


def _response(notes: Notes, response: Any) -> None:
    notes.check(response)
    notes.text, notes.thinking, notes.calls = response.output_text, "", {}
    for index, item in enumerate(response.output):
        if item.type == "reasoning":
            notes.thinking += "".join(part.text for part in item.summary)
        elif item.type == "function_call":
            notes.calls[index] = [item.call_id, item.name, item.arguments]
    details = response.incomplete_details
    notes.finish = response.status if details is None else details.reason
    usage = response.usage
    cached, reasoning = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    notes.usage = [usage.input_tokens, usage.output_tokens, cached, reasoning]


async def _responses_helper(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    last: Any = None
    async with client.responses.stream(**_responses(notes)) as stream:
        async for event in stream:
            last = event
    # The helper has a final response only for completed ones.
    _response(notes, last.response)


async def _responses_whole(clients: Clients, notes: Notes) -> None:
    client = clients.openai
    _response(notes, await client.responses.create(**_responses(notes)))


# ---------------------------------------------------------------------------------------------------------- Anthropic


def _messages(notes: Notes) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-6",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": notes.prompt}],
        "tools": [{"name": "book_hotel", "input_schema": PARAMETERS}],
    }


def _tokens(usage: Any) -> list[int]:
    details = usage.output_tokens_details
    cached = usage.cache_read_input_tokens
    return [usage.input_tokens + cached, usage.output_tokens, cached, details.thinking_tokens if details else 0]


async def _messages_stream(clients: Clients, notes: Notes) -> None:
    client = clients.anthropic
    open_blocks: set[int] = set()
    signed: set[int] = set()
    async for event in await client.messages.create(**_messages(notes), stream=True):
        notes.check(event)
        match event.type:
            case "content_block_start":
                open_blocks.add(event.index)
                if event.content_block.type == "tool_use":
                    notes.calls[event.index] = [event.content_block.id, event.content_block.name, ""]
            case "content_block_delta":
                assert event.index in open_blocks
                match event.delta.type:
                    case "text_delta":
                        notes.text += event.delta.text
                    case "thinking_delta":
                        notes.thinking += event.delta.thinking
                    case "input_json_delta":
                        notes.calls[event.index][2] += event.delta.partial_json
                    case "signature_delta":
                        assert event.delta.signature
                        signed.add(event.index)
            case "content_block_stop":
                open_blocks.remove(event.index)
            case "message_delta":
                notes.finish, notes.usage = event.delta.stop_reason, _tokens(event.usage)
    assert notes.finish is None or not open_blocks
    assert notes.finish is None or not notes.thinking or signed


def _message(notes: Notes, message: Any) -> None:
    notes.check(message)
    for index, block in enumerate(message.content):
        match block.type:
            case "text":
                notes.text += block.text
            case "thinking":
                assert block.signature
                notes.thinking += block.thinking
            case "tool_use":
                notes.calls[index] = [block.id, block.name, block.input]
    notes.finish, notes.usage = message.stop_reason, _tokens(message.usage)


async def _messages_helper(clients: Clients, notes: Notes) -> None:
    client = clients.anthropic
    async with client.messages.stream(**_messages(notes)) as stream:
        _message(notes, await stream.get_final_message())


async def _messages_whole(clients: Clients, notes: Notes) -> None:
    client = clients.anthropic
    _message(notes, await client.messages.create(**_messages(notes)))


# ------------------------------------------------------------------------------------------------------------- Gemini


def _gemini_request(notes: Notes) -> dict[str, Any]:
    declaration = {"name": "book_hotel", "parameters_json_schema": PARAMETERS}
    return {
        "model": "gemini-3-flash-preview",
        "contents": notes.prompt,
        "config": {
            "tools": [{"function_declarations": [declaration]}],
            "automatic_function_calling": {"disable": True},
        },
    }


def _generated(notes: Notes, answer: Any) -> None:
    notes.check(answer)
    (candidate,) = answer.candidates
    for part in candidate.content.parts:
        if part.function_call is not None:
            call = part.function_call
            notes.calls[len(notes.calls)] = [call.id, call.name, call.args]
            assert part.thought_signature or len(notes.calls) > 1
        elif part.thought:
            notes.thinking += part.text
        else:
            notes.text += part.text
    if candidate.finish_reason:
        usage = answer.usage_metadata
        reasoning, cached = usage.thoughts_token_count or 0, usage.cached_content_token_count or 0
        notes.finish = candidate.finish_reason.value
        notes.usage = [usage.prompt_token_count, usage.candidates_token_count + reasoning, cached, reasoning]


async def _gemini_stream(clients: Clients, notes: Notes) -> None:
    async for chunk in await clients.gemini.generate_content_stream(**_gemini_request(notes)):
        _generated(notes, chunk)


async def _gemini_whole(clients: Clients, notes: Notes) -> None:
    _generated(notes, await clients.gemini.generate_content(**_gemini_request(notes)))


READERS: dict[tuple[ApiName, str], Callable[[Clients, Notes], Any]] = {
    ("openai-chat", "stream"): _chat_stream,
    ("openai-chat", "helper"): _chat_helper,
    ("openai-chat", "whole"): _chat_whole,
    ("openai-responses", "stream"): _responses_stream,
    ("openai-responses", "helper"): _responses_helper,
    ("openai-responses", "whole"): _responses_whole,
    ("anthropic", "stream"): _messages_stream,
    ("anthropic", "helper"): _messages_helper,
    ("anthropic", "whole"): _messages_whole,
    ("gemini", "stream"): _gemini_stream,
    ("gemini", "whole"): _gemini_whole,
}
