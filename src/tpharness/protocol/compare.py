"""The two comparisons of threads (R39).

**exact**: equal canonical bytes. **content**: equal after generated facts are masked, for streams that carry only what
the wire can say. Masked are times, whose order is compared anyway, generated ids (by order of first use), names of
models and providers, usage, provider response ids, finish reasons of single responses, metadata of returns. Failed
returns are equal whatever their text, because the wire does not distinguish them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import orjson

from tpharness.errors import UsageError, did_you_mean
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.jcs import CanonicalError, jcs

__all__ = [
    "FAILED_STATUSES",
    "MODES",
    "Mode",
    "content_and_ids",
    "content_thread",
    "identical",
    "refuse_unknown_mode",
    "same_content",
    "same_exact",
]

Mode: TypeAlias = Literal["exact", "content"]
"""A comparison."""

MODES: tuple[Mode, ...] = get_args(Mode)

_MESSAGE_FIELDS = ("usage", "model_name", "provider_name", "provider_response_id", "finish_reason", "timestamp")
_TURN_FIELDS = ("started_at", "completed_at", "submitted_at", "total_usage")
_PART_FIELDS = ("id", "thinking_id", "provider_name")
FAILED_STATUSES = ("error", "validation_error")
"""Of returns that are alike in the comparison by content (R39)."""


def refuse_unknown_mode(mode: object, said: str = "mode") -> None:
    """Raise UsageError for what is neither comparison: a misspelt word must not choose the weaker one."""
    if mode not in MODES:
        hint = did_you_mean(str(mode).lower(), MODES, "exact compares everything, content what a plain stream can say")
        raise UsageError(f"{said} takes exact or content, not {mode!r}", hint=hint)


def same_exact(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two threads have the same canonical bytes. Threads without any are compared value by value."""
    return identical(one, other) or _same(canonical_thread(one), canonical_thread(other))


def same_content(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two threads are equal in everything that the wire carries."""
    return _same(content_thread(one), content_thread(other))


def content_thread(thread: Mapping[str, Any]) -> dict[str, Any]:
    """Return the canonical form with every generated fact masked: equal at every run, as a snapshot has to be (R39)."""
    return content_and_ids(thread)[0]


def content_and_ids(thread: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what `content_thread` returns, and the id in the thread for each that it has in place of it."""
    ids = _Names()
    canonical = canonical_thread(thread)
    turns = [_turn(turn, ids) for turn in canonical["turns"]]
    return {"version": canonical["version"], "turns": turns}, ids.own


class _Names:
    """Renames ids by order of first use, each kind by itself."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}

    @property
    def own(self) -> dict[str, str]:
        """The ids by what they were renamed to."""
        return {new: old for names in self._names.values() for old, new in names.items()}

    def of(self, kind: str, name: Any) -> str:
        names = self._names.setdefault(kind, {})
        return names.setdefault(str(name), f"{kind}-{len(names) + 1}")


def _turn(turn: dict[str, Any], ids: _Names) -> dict[str, Any]:
    out = {k: v for k, v in turn.items() if k not in _TURN_FIELDS}
    if "agent_id" in out:
        out["agent_id"] = ids.of("agent", out["agent_id"])
    if isinstance(out.get("interruption"), Mapping):
        out["interruption"] = {k: v for k, v in out["interruption"].items() if k != "interrupted_at"}
    if "messages" in out:
        out["messages"] = [_message(m, ids) for m in out["messages"]]
    if "parts" in out:
        out["parts"] = [_part(p, ids) for p in out["parts"]]
    return out


def _message(message: dict[str, Any], ids: _Names) -> dict[str, Any]:
    out = {k: v for k, v in message.items() if k not in _MESSAGE_FIELDS}
    for name in ("agent_id", "source_agent"):
        if name in out:
            out[name] = ids.of("agent", out[name])
    if isinstance(out.get("target_agents"), list):
        out["target_agents"] = [ids.of("agent", name) for name in out["target_agents"]]
    if isinstance(out.get("parts"), list):
        out["parts"] = [_part(p, ids) for p in out["parts"]]
    return out


def _part(part: Any, ids: _Names) -> Any:
    if not isinstance(part, Mapping):
        return part
    kind = part.get("part_kind")
    if (kind == "tool-return" and part.get("status") in FAILED_STATUSES) or (
        kind == "retry-prompt" and part.get("tool_call_id")
    ):
        call = ids.of("call", part.get("tool_call_id"))
        return {
            "part_kind": "tool-return",
            "tool_name": part.get("tool_name"),
            "tool_call_id": call,
            "status": "failed",
        }
    out = {k: v for k, v in part.items() if k not in _PART_FIELDS}
    if "tool_call_id" in out:
        out["tool_call_id"] = ids.of("call", out["tool_call_id"])
    if kind == "tool-return":
        out.pop("metadata", None)
    content = out.get("content")
    if kind in ("file", "user-prompt"):
        if isinstance(content, Mapping):
            out["content"] = _without_identifier(content)
        elif isinstance(content, list):
            out["content"] = [_without_identifier(c) if isinstance(c, Mapping) else c for c in content]
    return out


def _without_identifier(content: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in content.items() if k != "identifier"}


def identical(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal in JSON, where `true` is not 1. False for values that are nested too deeply."""
    try:
        return bool(one == other) and (_written_alike(one, other) or _same_types(one, other))
    except RecursionError:
        return False


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if identical(one, other):
        return True
    try:
        return jcs(one) == jcs(other)
    except CanonicalError:
        return False


def _written_alike(one: Any, other: Any) -> bool:
    """Whether native code writes both values alike, so that they have the same types; False in doubt."""
    if one is other:
        return True
    try:
        return orjson.dumps(one) == orjson.dumps(other)
    except TypeError:  # a lone surrogate, a number beyond 64 bits, too many levels
        return False


def _same_types(one: Any, other: Any) -> bool:
    """Whether equal values have equal types: 1 and true are equal in Python and different in JSON."""
    if one is other:
        return True
    if isinstance(one, dict):
        return all(_same_types(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return all(map(_same_types, one, other))
    return isinstance(one, bool) == isinstance(other, bool)
