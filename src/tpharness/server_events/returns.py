"""Tool results and events as the server states them → returns and events as the journal has them (R22, R41)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.facts import outcome_of_status, status_of_outcome
from tpharness.journal import Event
from tpharness.protocol.versions import NORMATIVE_PREFIX, neutral_event_name

__all__ = [
    "DENIAL",
    "SOURCES",
    "custom_data",
    "custom_event",
    "custom_name",
    "data_events",
    "denial",
    "event_name",
    "outcome_of",
    "return_part",
    "system_event",
]

DENIAL = "The tool call was denied."
"""The content of the return of a denied call when no reason was given; Pydantic AI's own words."""

_HELD = ("data", "payload")
_ENVELOPE = (*_HELD, "event_kind", "at", "_t_ms", "name", "event_name", "tool_name", "tool_call_id")

SOURCES = ("source.url", "source.document")
"""The events that are content of the response before them (R25)."""


def outcome_of(part: Mapping[str, Any]) -> str:
    """Return the outcome of a tool result; where it has a status alone, the outcome of that status (R62)."""
    return str(part.get("outcome") or outcome_of_status(part.get("status")))


def return_part(part: Mapping[str, Any], tool_name: str) -> tuple[str, dict[str, Any]] | None:
    """Return the kind and the fields of the return for a tool result, None if the result is not a return (R41).

    The tool is that of the call, whatever the result names: the stream names none beside an output (`tool.ids-match`).
    Outcomes map by R22; a `retry-prompt` stays one. `content_ref` is kept beside or instead of the content (R6).
    """
    fields: dict[str, Any] = {
        "tool_name": tool_name,
        "tool_call_id": part["tool_call_id"],
    }
    outcome = outcome_of(part)
    if outcome == "interrupted":
        return None
    if part.get("part_kind") == "retry-prompt":
        return "retry-prompt", {"content": denial(part), **fields}
    fields["status"] = status_of_outcome(outcome)
    if part.get("content_ref") is not None:
        fields["content_ref"] = part["content_ref"]
    else:
        fields["content"] = denial(part)
    metadata = part.get("metadata")
    if metadata is not None and not list(data_events(metadata)):
        fields["metadata"] = metadata
    return "tool-return", fields


def denial(result: Mapping[str, Any]) -> Any:
    """Return the content of a result; a call that was denied without a reason was denied in the library's words."""
    content = result.get("content")
    return DENIAL if content is None and outcome_of(result) == "denied" else content


def data_events(metadata: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and data of the events that a tool sends along, as Pydantic AI's tools do: data chunks as metadata."""
    for item in metadata if isinstance(metadata, list) else ():
        if not isinstance(item, Mapping) or "data" not in item:
            continue
        name = str(item.get("type", ""))
        if name.startswith(NORMATIVE_PREFIX) or (name.startswith("data-") and not item.get("transient")):
            yield name, item["data"]


def system_event(event: Mapping[str, Any], at: str) -> Event | None:
    """Return the event that a thread keeps of a system event; None for a transient one that is not normative."""
    name, targets = event["event_type"], event.get("target_agents")
    if event.get("transient") and not event_name(name).startswith(NORMATIVE_PREFIX):
        return None
    return Event(
        name=event_name(name),
        data=event.get("event_data"),
        at=at,
        source_agent=event.get("source_agent"),
        target_agents=tuple(targets) if targets is not None else None,
        bound=name in SOURCES,
    )


def custom_event(event: Mapping[str, Any], at: str) -> Event | None:
    """Return the event that a thread keeps of a custom event; None for one without a name."""
    name = custom_name(event)
    return Event(name=event_name(name), data=custom_data(event), at=at) if name else None


def custom_name(event: Mapping[str, Any]) -> str:
    """Return the name that a custom event gives itself, as `name` or as `event_name`; "" if it has none."""
    return str(event.get("name") or event.get("event_name") or "")


def custom_data(event: Mapping[str, Any]) -> Any:
    """Return the data of a custom event: its `data` or `payload`, or the fields of its own class beside its name.

    Pydantic AI writes the fields of the application's dataclass at the top level, as in `{name, to_agent}`, and sends
    them as the data of the chunk. An event that has both has all of them.
    """
    own = {name: value for name, value in event.items() if name not in _ENVELOPE}
    held = {name: event[name] for name in _HELD if event.get(name) is not None}
    return {**own, **held} if own else next(iter(held.values()), None)


def event_name(name: str) -> str:
    """Name an event as the wire does: normative and custom events carry `data-`, sources and metadata do not (R34)."""
    renamed = neutral_event_name(name)
    return renamed if renamed in SOURCES or renamed.startswith(("data-", "meta:")) else f"data-{renamed}"
