"""The item store of Responses: what a server keeps of its answers, and what references to it find.

A complete answer of a request with `store` (the default) is kept with the input that it answered. Items of an answer
that never completed are not found, unless `keeps_unfinished` says so: whether the real server has them is not settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ItemStore", "Kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A response that is kept: the items that it was given, and the response itself."""

    input: tuple[Any, ...]
    response: Mapping[str, Any]


@dataclass(slots=True)
class ItemStore:
    """Responses and items by id, and every encrypted content that was given out."""

    keeps_unfinished: bool = False
    responses: dict[str, Kept] = field(default_factory=dict)
    encrypted: set[str] = field(default_factory=set)
    _items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _unfinished: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _unstored: set[str] = field(default_factory=set)
    _origin: dict[str, str] = field(default_factory=dict)

    def keep(self, given: Sequence[Any], response: Mapping[str, Any], *, store: bool, complete: bool) -> None:
        """Note an answer that is over, with the items in its `output` that were done."""
        items = {item["id"]: item for item in response["output"]}
        self._origin.update(dict.fromkeys(items, response["id"]))
        self.encrypted.update(item["encrypted_content"] for item in items.values() if item.get("encrypted_content"))
        if not store:
            self._unstored.update(items)
        elif complete:
            self.responses[response["id"]] = Kept(input=tuple(given), response=response)
            self._items.update(items)
        else:
            self._unfinished.update(items)

    def drop(self, response_id: str) -> None:
        """Forget a response and its items, as a client asks with DELETE."""
        kept = self.responses.pop(response_id, None)
        for item in kept.response["output"] if kept else ():
            self._items.pop(item["id"], None)

    def find(self, item_id: str) -> Mapping[str, Any] | None:
        """Return an item, None where it is not kept."""
        found = self._items.get(item_id)
        if found is None and self.keeps_unfinished:
            found = self._unfinished.get(item_id)
        return found

    def is_unfinished(self, item_id: str) -> bool:
        """Whether an item belongs to an answer that never completed."""
        return item_id in self._unfinished

    def origin(self, item_id: str | None) -> str | None:
        """Return the id of the response that an item came with, None for an item that never came from here."""
        return None if item_id is None else self._origin.get(item_id)

    def reasoning_of(self, item_id: str | None) -> str | None:
        """Return the id of the reasoning that the model made an item with, None for an item that is not kept."""
        kept = self.responses.get(self.origin(item_id) or "")
        found: str | None = None
        for item in kept.response["output"] if kept else ():
            if item["id"] == item_id:
                return found
            if item["type"] == "reasoning":
                found = item["id"]
        return None

    def before(self, response_id: str) -> list[Any] | None:
        """Return input and output of a response, what `previous_response_id` continues; None where it is not kept."""
        kept = self.responses.get(response_id)
        return None if kept is None else [*kept.input, *kept.response["output"]]
