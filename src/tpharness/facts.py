"""Small facts that the two sides state in different words, normalised before they enter a journal.

Text joined over deltas (R43), tool arguments (R12), finish reasons (R16), providers (R15), usage (R17), generated
identifiers.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "FINISH_REASONS",
    "binary_identifier",
    "interruption_reason",
    "join_surrogates",
    "join_text",
    "normalize_finish_reason",
    "normalize_usage",
    "parse_tool_args",
    "provider_names",
]

FINISH_REASONS = ("stop", "length", "content_filter", "tool_call", "error")

_SURROGATE = re.compile("[\ud800-\udfff]")
_REASON_WORDS = {"content-filter": "content_filter", "tool-calls": "tool_call", "tool_calls": "tool_call"}
_USAGE_WORDS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "thinking_tokens",
    "output_reasoning_tokens": "thinking_tokens",
}
_USAGE_DROPPED = ("requests", "tool_calls")


def join_text(pieces: Iterable[str]) -> str:
    """Join deltas as UTF-16, so that a character split between two of them becomes whole again (R43)."""
    return join_surrogates("".join(pieces))


def join_surrogates(text: str) -> str:
    """Pair adjacent surrogates of a string; a lone one is kept for the rules to find (R38)."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def parse_tool_args(held: Any) -> Any:
    """Return tool arguments as the parsed JSON value; text that is not JSON stays a string (R12)."""
    if not isinstance(held, str):
        return held
    try:
        return json.loads(held)
    except (ValueError, RecursionError):
        return held


def normalize_finish_reason(word: str | None) -> str | None:
    """Return the protocol's word for a finish reason; an unknown reason is an `error` (R16)."""
    if word is None:
        return None
    word = _REASON_WORDS.get(word, word)
    return word if word in FINISH_REASONS else "error"


def interruption_reason(word: str | None, *, error_seen: bool) -> str | None:
    """Return why a run with this finish reason is interrupted, or None if it is complete (R27, R44)."""
    if word in ("content-filter", "content_filter"):
        return "safety_halt"
    if word == "interrupted":
        return "user_cancelled"
    return "error" if error_seen and word == "error" else None


def provider_names(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the provider of each entry of an agents registry that has one (R15)."""
    return {agent_id: str(agent["provider_name"]) for agent_id, agent in agents.items() if agent.get("provider_name")}


def normalize_usage(counts: Any) -> dict[str, int]:
    """Return token counts under the protocol's names, without zeros and values that are not token counts (R17).

    A value that is not an object gives no counts.
    """
    result: dict[str, int] = {}
    given: Mapping[str, Any] = counts if isinstance(counts, Mapping) else {}
    for word, count in given.items():
        if isinstance(count, int) and not isinstance(count, bool) and count > 0 and word not in _USAGE_DROPPED:
            result[_USAGE_WORDS.get(word, word)] = count
    return result


def binary_identifier(data: str) -> str:
    """Derive the identifier of base64 content as Pydantic AI does, so that both sides give it the same one."""
    try:
        content = b64decode(data, validate=True)
    except ValueError:
        content = data.encode("utf-8", "surrogatepass")
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()[:6]
