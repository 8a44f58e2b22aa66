"""Small facts that the two sides state in different words, normalised before they enter a journal.

Text joined over deltas (R43), tool arguments (R12), finish reasons (R16), reasons of interruptions (R27), outcomes of
tools (R22), providers (R15), usage (R17), times, and identifiers.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any

__all__ = [
    "are_unparsed",
    "binary_identifier",
    "event_timestamp",
    "interruption_reason",
    "is_base64",
    "is_time",
    "is_uuid",
    "join_surrogates",
    "join_text",
    "later_time",
    "new_prompts",
    "normalize_finish_reason",
    "normalize_usage",
    "outcome_of_status",
    "parse_tool_args",
    "plain_prompt",
    "provider_names",
    "recorded_reason",
    "status_of_outcome",
    "utc_text",
]

_FINISH_REASONS = ("stop", "length", "content_filter", "tool_call")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STANDARD_ALPHABET = str.maketrans("-_", "+/")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*+={0,2}")
_REASON_WORDS = {
    **dict.fromkeys(("content-filter", "safety_filter"), "content_filter"),
    **dict.fromkeys(("tool-calls", "tool_calls"), "tool_call"),
}
_STATUSES = {"success": "success", "retried": "validation_error"}
_OUTCOMES = {status: outcome for outcome, status in _STATUSES.items()}
_USAGE_WORDS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "thinking_tokens",
    "output_reasoning_tokens": "thinking_tokens",
}
_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_USAGE_DROPPED = ("requests", "tool_calls")
_WHEN = re.compile(
    r"[1-8]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:[0-5]\d)", re.ASCII
)  # what the digits mean is for `datetime` to judge


def join_text(pieces: Iterable[str]) -> str:
    """Join deltas as UTF-16, so that a character split between two of them becomes whole again (R43)."""
    return join_surrogates("".join(pieces))


def join_surrogates(text: str) -> str:
    """Pair adjacent surrogates of a string; a lone one is kept for the rules to find (R38)."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def parse_tool_args(held: Any) -> Any:
    """Return tool arguments as the parsed JSON value; text that is not JSON stays a string (R12).

    So does text with a number that nothing can write again: NaN and Infinity, which Python reads, and 1e999 (R38).
    """
    if not isinstance(held, str):
        return held
    try:
        return read_json(held)
    except (ValueError, RecursionError):
        return held


def read_json(text: str) -> Any:
    """Return the value of a JSON text that can be written again (R38); ValueError or RecursionError for any other."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID as it is usually written (R2)."""
    return _UUID.fullmatch(text) is not None


def are_unparsed(args: Any) -> bool:
    """Whether arguments are what a framework puts in place of a text that it could not parse: Pydantic AI's mark."""
    return isinstance(args, dict) and len(args) == 1 and "INVALID_JSON" in args


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is not a number that JSON can have")
    return number


def normalize_finish_reason(word: str | None) -> str | None:
    """Return the protocol's word for a finish reason; an unknown reason is an `error` (R16)."""
    if word is None:
        return None
    word = _REASON_WORDS.get(word, word)
    return word if word in _FINISH_REASONS else "error"


def interruption_reason(word: str | None, *, error_seen: bool, last: str | None = None) -> str | None:
    """Return why a run with this finish reason is interrupted, or None if it is complete (R27, R44).

    `last` is the finish reason of its last response: a filter that stopped that halts the run, whatever the run says.
    """
    if "content_filter" in (normalize_finish_reason(word), normalize_finish_reason(last)):
        return "safety_halt"
    if word == "interrupted":
        return "user_cancelled"
    return "error" if error_seen and word == "error" else None


def recorded_reason(word: str) -> str:
    """Return the reason of an interruption as a thread has it: what a client calls incomplete broke off (R27)."""
    return "network_failure" if word == "incomplete_stream" else word


def status_of_outcome(outcome: str) -> str:
    """Return the status of a return for the outcome of a tool; an unknown outcome is an `error` (R22)."""
    return _STATUSES.get(outcome, "error")


def outcome_of_status(status: str | None) -> str:
    """Return the outcome of a tool for the status of its return, `success` without one; an unknown status is a failure.

    R62; R22 says the same of an unknown outcome.
    """
    return _OUTCOMES.get(status, "failed") if status else "success"


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
        whole = isinstance(count, int) or (isinstance(count, float) and count.is_integer())  # 3.0 is 3 in JSON
        if whole and not isinstance(count, bool) and count > 0 and word not in _USAGE_DROPPED:
            result[_USAGE_WORDS.get(word, word)] = int(count)
    return result


def plain_prompt(content: Any) -> Any:
    """Return the content of a prompt; a list of one text is that text, which the stream cannot tell apart (R9, R44)."""
    return content[0] if isinstance(content, list) and len(content) == 1 and isinstance(content[0], str) else content


def new_prompts(prompts: Iterable[Mapping[str, Any]], said: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the prompts of a first request that do not repeat what the user has `said` in the turn before (R9)."""
    before = [plain_prompt(part.get("content")) for part in said]
    return [prompt for prompt in prompts if plain_prompt(prompt.get("content")) not in before]


@lru_cache(maxsize=256)  # several folds look at the same events
def is_time(text: str) -> bool:
    """Whether text is an ISO 8601 time with an offset that can be calculated with: not at the ends of the calendar."""
    if _WHEN.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:  # the 30th of February
        return False
    return True


def event_timestamp(data: Any) -> str | None:
    """Return the time that the data of an event states under `timestamp`, in UTC with `Z`, None if it states none."""
    stated = data.get("timestamp") if isinstance(data, Mapping) else None
    if not isinstance(stated, str) or not is_time(stated):
        return None
    return f"{utc_text(stated)}Z"


def utc_text(at: str) -> str:
    """Return an ISO 8601 time in UTC, without its offset and the zeros at the end of its fraction (R47).

    The texts of two times compare as the times do: a fraction keeps every digit, of which `datetime` keeps six.
    ValueError for a text that is not a time, OverflowError for a time that is outside the calendar in UTC.
    """
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    whole = moment.replace(microsecond=0, tzinfo=None).isoformat()
    fraction = _FRACTION.search(at)
    digits = fraction[1].rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else whole


def later_time(one: str, other: str) -> str:
    """Return the later of two ISO 8601 times, the first if they are equal or one of them cannot be read."""
    try:
        return other if utc_text(other) > utc_text(one) else one
    except (ValueError, OverflowError):
        return one


def is_base64(text: str) -> bool:
    """Whether a text is base64 (RFC 4648), in the standard or the URL-safe alphabet, with padding or without."""
    digits = len(text) - text.count("=")
    padded = digits != len(text)
    return _BASE64.fullmatch(text) is not None and digits % 4 != 1 and not (padded and len(text) % 4)


def binary_identifier(data: str) -> str:
    """Derive the identifier of base64 content as Pydantic AI does, so that both sides give it the same one."""
    if is_base64(data):
        standard = data.translate(_STANDARD_ALPHABET)
        content = b64decode(standard + "=" * (-len(standard) % 4))
    else:
        content = data.encode("utf-8", "surrogatepass")
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()[:6]
