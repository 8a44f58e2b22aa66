"""Messages of the assistant without a word: an empty text, or only what calls stand in (G11).

In: starts and ends of texts, and each event that follows. Out: their chunks, once it is known that they are texts.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from tpharness.wires.ag_ui.carriers import carried
from tpharness.wires.ag_ui.objects import given
from tpharness.wires.vsp import records as c

__all__ = ["SilentTexts"]


class SilentTexts:
    """The messages of which nothing has come so far, by their ids: their start, and their end if that has come."""

    def __init__(self) -> None:
        self._held: dict[str, list[c.Chunk]] = {}
        self._for_calls: set[str] = set()

    def start(self, id_: str, start: c.Chunk) -> None:
        """Hold back the start of a text."""
        self._held[id_] = [start]

    def take(self, id_: str) -> list[c.Chunk]:
        """Return what was held back: it is a text."""
        return self._held.pop(id_, [])

    def end(self, id_: str, end: c.Chunk, *, is_text: bool) -> list[c.Chunk]:
        """End a text; return what is known to be one, where the stream has said that it is, or words have come."""
        held = self._held.get(id_)
        if held is None or is_text:
            return [*self.take(id_), end]
        held.append(end)
        if id_ in self._for_calls:
            del self._held[id_]
        return []

    def before(self, event: Any) -> list[c.Chunk]:
        """Return the texts that an event shows to be texts, and forget the message that it names as one for calls."""
        if not self._held:
            return []
        parent = given(getattr(event, "parent_message_id", UNSET))
        if parent in self._held and not carried(event).get("text_open"):
            self._for_calls.add(parent)
            if len(self._held[parent]) > 1:
                del self._held[parent]
        own = getattr(event, "message_id", None)
        texts = [id_ for id_ in self._held if id_ != own and id_ not in self._for_calls]
        return [chunk for id_ in texts for chunk in self.take(id_)]
