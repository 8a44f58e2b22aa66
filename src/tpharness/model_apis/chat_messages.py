"""A payload whose messages have a role each → its messages, and what is not of the API's types. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.rule import malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, entries

__all__ = ["open_messages"]

CheckMessage = Callable[[PayloadEntry], Iterator[Finding]]


def open_messages(
    payload: Any, *, roles: Sequence[str], check: CheckMessage
) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, and findings about values of unknown types; `check` yields those within a message.

    The payload is the list of messages, or an object with `messages`.
    """
    whole = isinstance(payload, Mapping)
    messages = payload.get("messages") if whole else payload
    prefix = "/messages" if whole else ""
    found = entries(messages, prefix)
    wrong = []
    if not isinstance(messages, list) or not messages:
        wrong.append(malformed_finding(prefix, "list of messages", messages))
    for entry, item in zip(found, as_list(messages), strict=True):
        if not isinstance(item, Mapping):
            wrong.append(malformed_finding(entry.pointer, "message object", item))
            continue
        if item.get("role") not in roles:
            wrong.append(malformed_finding(f"{entry.pointer}/role", f"role of {', '.join(roles)}", item.get("role")))
        wrong += check(entry)
    return found, wrong
