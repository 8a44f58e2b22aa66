"""The canonical form and hash of a thread (R37).

Canonical bytes are JCS of `{version, turns}`. Left out are `meta:*` and `data-sys-*` messages and parts, under the
names of the version (R50), and optional fields that are null. Timestamps are in UTC with `Z`, without trailing zeros in
the fraction. JSON that belongs to tools and applications (arguments, returned content, event data, metadata) is data
and is not changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, TypeGuard

from tpharness.protocol.jcs import jcs
from tpharness.protocol.versions import Tier, Version

__all__ = [
    "canonical_message",
    "canonical_reference",
    "canonical_thread",
    "canonical_time",
    "canonical_turn",
    "is_left_out",
    "order_of_time",
    "thread_hash",
]

_OTHER_FORM = re.compile(
    r"(\d{4})-(?:(\d\d)-(\d\d)|(\d{3})|W(\d\d)-(\d))[Tt ](\d\d:\d\d)"
    r"(?:(:\d\d)((?:[.,]\d+)?))?((?:[Zz]|[+-]\d\d(?::?\d\d)?)?)",
    re.ASCII,
)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
_LEFT_OUT = (Tier.METADATA.value, Tier.SYSTEM.value)
_TURN_TIMES = ("submitted_at", "started_at", "completed_at")
_DATA_FIELDS = frozenset({"args", "content", "event_data"})  # not optional: a null in them is the data
_KNOWN_PARTS = frozenset({"text", "thinking", "tool-call", "tool-return", "retry-prompt", "user-prompt", "file"})
_PLAIN = frozenset({"tool-call", "tool-return"})  # what is in them is data
_BARE_HASH = re.compile("[0-9a-fA-F]{64}")


def canonical_thread(thread: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{version, turns}` in canonical form; unchanged parts are shared with the input."""
    version = thread.get("version")
    left_out = (*_LEFT_OUT, *_renamed_telemetry(version)) if isinstance(version, str) else _LEFT_OUT
    return {"version": version, "turns": [canonical_turn(turn, left_out) for turn in thread.get("turns") or ()]}


def thread_hash(thread: Mapping[str, Any], *, safe: bool = False) -> str:
    """Return `sha256:<64 hex>` of the canonical bytes. `safe` and CanonicalError as for `jcs`."""
    return "sha256:" + hashlib.sha256(jcs(canonical_thread(thread), safe=safe)).hexdigest()


def canonical_turn(turn: Mapping[str, Any], left_out: tuple[str, ...] = _LEFT_OUT) -> dict[str, Any]:
    """Return one turn in canonical form, without events whose type begins with one of `left_out`."""
    out = _without_nulls(turn)
    for name in _TURN_TIMES:
        if isinstance(out.get(name), str):
            out[name] = canonical_time(out[name])
    if isinstance(turn.get("messages"), list):
        out["messages"] = [canonical_message(m) for m in turn["messages"] if not _is_metadata(m, left_out)]
    if isinstance(turn.get("parts"), list):
        out["parts"] = _parts(turn["parts"])
    interruption = turn.get("interruption")
    if _is_object(interruption):
        out["interruption"] = _without_nulls(interruption)
        if isinstance(interruption.get("interrupted_at"), str):
            out["interruption"]["interrupted_at"] = canonical_time(interruption["interrupted_at"])
    if _is_object(turn.get("total_usage")):
        out["total_usage"] = _without_nulls(turn["total_usage"])
    return out


def canonical_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return one message in canonical form."""
    out = _without_nulls(message)
    if isinstance(out.get("timestamp"), str):
        out["timestamp"] = canonical_time(out["timestamp"])
    if isinstance(message.get("parts"), list):
        out["parts"] = _parts(message["parts"])
    if _is_object(message.get("usage")):
        out["usage"] = _without_nulls(message["usage"])
    return out


def canonical_time(text: str) -> str:
    """Return an ISO 8601 time in UTC with `Z`, the fraction without trailing zeros; other text unchanged.

    A time without an offset is one in UTC (R47).
    """
    if text.endswith("Z") and text[7:11:3] == "-T" and (len(text) == 20 or (text[19:20] == "." and text[-2] != "0")):
        return text  # as nearly every time is written: if it is a time, it is in this form
    match = _TIME.fullmatch(text) or _TIME.fullmatch(_common_form(text))
    if match is None:
        return text
    date, clock, fraction, offset = match.groups()
    if offset not in ("Z", "z", None):
        hours, minutes = int(offset[1:3]), int(offset[-2:]) if len(offset) > 3 else 0
        shift = timedelta(hours=hours, minutes=minutes)
        try:
            moment = datetime.fromisoformat(f"{date}T{clock}") + (-shift if offset[0] == "+" else shift)
        except (ValueError, OverflowError):
            return text
        date, clock = moment.date().isoformat(), moment.time().isoformat()
    fraction = (fraction or "").rstrip("0")
    return f"{date}T{clock}.{fraction}Z" if fraction else f"{date}T{clock}Z"


@lru_cache(maxsize=4096)
def _common_form(text: str) -> str:
    """Return a time with its calendar date and seconds for one in another form (R47); other text unchanged."""
    match = _OTHER_FORM.fullmatch(text)
    if match is None:
        return text
    *date, clock, second, fraction, offset = match.groups()
    year, *rest = [int(digits) for digits in date if digits is not None]
    try:
        if "W" in text:
            day = datetime.fromisocalendar(year, rest[0], rest[1])
        elif len(rest) == 1:
            day = datetime(year, 1, 1) + timedelta(days=rest[0] - 1)  # noqa: DTZ001  # a date
        else:
            day = datetime(year, rest[0], rest[1])  # noqa: DTZ001  # a date
    except (ValueError, OverflowError):
        return text
    if "W" not in text and day.year != year:  # it has no 366th day
        return text
    return f"{day.date().isoformat()}T{clock}{second or ':00'}{fraction or ''}{offset}"


def order_of_time(text: str) -> str:
    """Return a string that orders times: the canonical form without its Z."""
    return canonical_time(text)[:-1]


def _parts(parts: list[Any]) -> list[Any]:
    return [_part(p) for p in parts if not _is_left_out(p)]


def _is_left_out(part: Any) -> bool:
    return _is_object(part) and (kind := part.get("part_kind")) not in _KNOWN_PARTS and str(kind).startswith(_LEFT_OUT)


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    # one of the first two is nearly always so, and ten times as fast
    return type(value) is dict or (value is not None and isinstance(value, Mapping))


def _part(part: Any) -> Any:
    if not _is_object(part) or (kind := part.get("part_kind")) not in _KNOWN_PARTS:
        return part  # R7: unknown parts are preserved byte for byte
    content = part.get("content")
    if (type(content) is str or kind in _PLAIN) and None not in part.values() and "content_ref" not in part:
        return part  # as nearly every part is
    out = _without_nulls(part)
    if kind in ("user-prompt", "file"):
        if isinstance(content, list):
            out["content"] = [_without_nulls(item) if isinstance(item, Mapping) else item for item in content]
        elif isinstance(content, Mapping):
            out["content"] = _without_nulls(content)
    if content is None and kind != "tool-return":
        out.pop("content", None)
    if isinstance(out.get("content_ref"), Mapping):
        out["content_ref"] = canonical_reference(out["content_ref"])
        if content is None:
            out.pop("content", None)  # the reference replaces the content (R6)
    return out


def canonical_reference(reference: Any) -> Any:
    """Return a reference to a content in canonical form: its hash names its algorithm (R6)."""
    if not isinstance(reference, Mapping):
        return reference  # not one; the rules say so
    out = _without_nulls(reference)
    bare = str(out.get("hash")).removeprefix("sha256:")
    return {**out, "hash": f"sha256:{bare.lower()}"} if _BARE_HASH.fullmatch(bare) else out


@cache
def _renamed_telemetry(version: str) -> tuple[str, ...]:
    """Return how the types of telemetry begin in a version that has cut `data-` off them (R34, R50); () in others."""
    known = next((one for one in Version if one.value == version), None)
    return () if known is None or known.features.namespaces else (Tier.SYSTEM.value.removeprefix("data-"),)


def is_left_out(event_type: str, version: Version) -> bool:
    """Whether events of a type are telemetry or metadata, which the hash leaves out (R37, R50)."""
    return event_type.startswith((*_LEFT_OUT, *_renamed_telemetry(version.value)))


def _is_metadata(message: Any, left_out: tuple[str, ...]) -> bool:
    if not _is_object(message) or message.get("message_type") != "system":
        return False
    return str(message.get("event_type", "")).startswith(left_out)


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    if None not in value.values():  # nearly everywhere
        return dict(value)
    return {k: v for k, v in value.items() if v is not None or k in _DATA_FIELDS}
