"""The fields that each server event must have: one table, for events, parts and deltas.

Fields, part kinds, delta kinds and event kinds that the table does not name pass (R7).
`conformance/schemas/server-event.schema.json` has the same as JSON Schema; a test compares the two. No schema library
is used at run time: those reject text with a lone surrogate, which is legal in a delta (R43), and take far longer.

Recorder and encoder rely on the shapes: the values that a field may have are stated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Union

import msgspec

from tpharness.facts import is_time
from tpharness.server_events.forms import Form, ListOf, Record, Scalar, TaggedRecord

__all__ = ["DELTA", "EVENT", "MILLISECONDS", "PART", "SECONDS"]

# ------------------------------------------------------------------------------------------------ scalars

_NULL = type(None)
_NUMBERS = (int, float)
_REQUEST_PARTS = frozenset({"system-prompt", "user-prompt", "tool-return", "retry-prompt"})
_LONGEST = 1_000_000_000
"""How many seconds an event may lie after the start of its run, or a stall may last: some 31 years."""


def _is_time(value: Any) -> bool:
    """Whether a value is null, or a time that later steps can calculate with: not at the ends of the calendar."""
    return value is None or (isinstance(value, str) and is_time(value))


def _is_number(value: Any, most: int) -> bool:
    return type(value) is not bool and isinstance(value, _NUMBERS) and 0 <= value <= most  # NaN is not


def _is_index(value: Any) -> bool:
    if type(value) is int:
        return value >= 0
    return isinstance(value, float) and value.is_integer() and value >= 0  # 1.0 is an integer in JSON


def _one_of(description: str, *types: type) -> Scalar:
    """Return the form of a value that is of one of these types; a boolean is not a number."""
    return Scalar(description, lambda value: isinstance(value, types), frozenset(types), Union[types])  # noqa: UP007


ANY = Scalar("any value", lambda _: True, frozenset({str, int, float, bool, list, dict, _NULL}), Any)
TEXT = _one_of("text", str)
NAME = Scalar("text that is not empty", lambda value: isinstance(value, str) and value != "")
TEXT_OR_NULL = _one_of("text or null", str, _NULL)
FLAG = _one_of("true, false or null", bool, _NULL)
ARGS = Scalar(
    "text, an object or null",
    lambda value: value is None or isinstance(value, str | Mapping),
    frozenset({str, dict, _NULL}),
    str | dict | None,
)
OBJECT_OR_NULL = Scalar(
    "an object or null",
    lambda value: value is None or isinstance(value, Mapping),
    frozenset({dict, _NULL}),
    dict | None,
)
INDEX = Scalar("a whole number from 0", _is_index, native=Annotated[int, msgspec.Meta(ge=0)])
TIME = Scalar("an ISO 8601 time with an offset, or null", _is_time, frozenset({_NULL}))
SECONDS = Scalar(f"a number from 0 to {_LONGEST}", lambda value: _is_number(value, _LONGEST))
MILLISECONDS = Scalar(
    f"a number from 0 to {_LONGEST * 1000}, or null", lambda value: value is None or _is_number(value, _LONGEST * 1000)
)
RESPONSE_PART_KIND = Scalar(
    "text, and not the kind of a request's part", lambda value: isinstance(value, str) and value not in _REQUEST_PARTS
)


# ------------------------------------------------------------------------------------------------ the table


def _record(required: str = "", /, **fields: Form) -> Record:
    return Record(fields, tuple(required.split()))


def _texts(names: str) -> dict[str, Form]:
    return dict.fromkeys(names.split(), TEXT_OR_NULL)


FILE = Record(_texts("kind media_type data url identifier"))
_CONTENT_ITEM = Scalar("text or an object", lambda value: isinstance(value, str | Mapping))
PROMPT = Scalar(
    "text, or a list of texts and objects",
    lambda value: isinstance(value, str) or (isinstance(value, list | tuple) and all(map(_CONTENT_ITEM.holds, value))),
    frozenset({str}),
)

_PART_TAG: dict[str, Form] = {"part_kind": RESPONSE_PART_KIND}
_CALL: dict[str, Form] = {"tool_name": TEXT, "tool_call_id": TEXT, "args": ARGS}
PART = TaggedRecord(
    "part_kind",
    {
        "text": _record(**_PART_TAG, **_texts("content id")),
        "thinking": _record(**_PART_TAG, **_texts("content signature provider_name id")),
        "tool-call": _record("tool_name tool_call_id", **_PART_TAG, **_CALL),
        "builtin-tool-call": _record("tool_name tool_call_id", **_PART_TAG, **_CALL, **_texts("provider_name")),
        "builtin-tool-return": _record(
            "tool_call_id", **_PART_TAG, tool_call_id=TEXT, **_texts("tool_name provider_name")
        ),
        "file": _record("content", **_PART_TAG, content=FILE, **_texts("id")),
    },
    _record("part_kind", **_PART_TAG),
)
"""A part of a response, at its start or its end."""

_DELTA_TAG: dict[str, Form] = {"part_delta_kind": TEXT}
DELTA = TaggedRecord(
    "part_delta_kind",
    {
        "text": _record("content_delta", **_DELTA_TAG, content_delta=TEXT),
        "thinking": _record(**_DELTA_TAG, **_texts("content_delta signature_delta provider_name")),
        "tool_call": _record(**_DELTA_TAG, args_delta=ARGS, **_texts("tool_name_delta tool_call_id")),
    },
    _record("part_delta_kind", **_DELTA_TAG),
)
"""What is added to a part."""

# The event's kind says what these are; their own part_kind is looked at for one word alone.
_CALLED = _record("tool_name tool_call_id", **_CALL, **_texts("part_kind"))
_RETURNED = _record(
    "tool_call_id",
    tool_call_id=TEXT,
    content_ref=OBJECT_OR_NULL,
    **_texts("part_kind tool_name outcome status"),
)
_REQUEST_PART = TaggedRecord(
    "part_kind",
    {"user-prompt": _record("content", part_kind=TEXT, content=PROMPT)},
    _record("part_kind", part_kind=TEXT),
)
_REQUEST_PARTS_LIST = ListOf("a list of parts, or null", _REQUEST_PART, nullable=True)
_MESSAGES = ListOf("a list of messages, or null", Record({"parts": _REQUEST_PARTS_LIST}), nullable=True)

_COMMON: dict[str, Form] = {"event_kind": TEXT, "at": TIME, "_t_ms": MILLISECONDS}


def _event(required: str = "", /, **fields: Form) -> Record:
    return _record(required, **_COMMON, **fields)


_BARE = _event()
EVENT = TaggedRecord(
    "event_kind",
    {
        "part_start": _event("index part", index=INDEX, part=PART),
        "part_delta": _event("index delta", index=INDEX, delta=DELTA),
        "part_end": _event("index part", index=INDEX, part=PART),
        "final_result": _BARE,
        "function_tool_call": _event("part", part=_CALLED),
        "function_tool_result": _event("part", part=_RETURNED),
        "output_tool_call": _event("part", part=_CALLED),
        "output_tool_result": _event("part", part=_RETURNED),
        "deferred_tool_requests": _BARE,
        "deferred_tool_results": _BARE,
        "enqueued_messages": _event(messages=_MESSAGES),
        "custom": _event(**_texts("name event_name")),
        "agent_run_result": _event(usage=OBJECT_OR_NULL, **_texts("finish_reason")),
        "model_request": _event(parts=_REQUEST_PARTS_LIST, **_texts("model_name provider_name")),
        "model_response_end": _event(
            usage=OBJECT_OR_NULL, **_texts("finish_reason model_name provider_name provider_response_id")
        ),
        "tool_progress": _event("tool_call_id content", tool_call_id=TEXT, content=ANY),
        "system_event": _event(
            "event_type",
            event_type=TEXT,
            target_agents=ListOf("a list of texts, or null", TEXT, nullable=True),
            transient=FLAG,
            **_texts("source_agent"),
        ),
        "error": _event("error_text", error_text=TEXT),
        "stall": _event("seconds", seconds=SECONDS),
        "response_reset": _BARE,
        "agent_start": _event("agent_id", agent_id=NAME),
    },
    _event("event_kind"),
    description="an object with a text event_kind",
)
"""A server event."""
