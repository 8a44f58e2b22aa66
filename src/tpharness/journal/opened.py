"""The open records of a journal: parts that are streaming, their responses, and the tail of a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tpharness.facts import join_text
from tpharness.journal.records import Entry, Part, Response, Running, Segment, Streamed

__all__ = ["OpenPart", "OpenResponse", "make_segment"]

_EMPTY_SEGMENT = Segment(entries=(), calls={})
_STREAMED = {
    (ended, interleaved): Streamed(ended=ended, interleaved=interleaved)
    for ended in (False, True)
    for interleaved in (False, True)
}


class OpenPart(msgspec.Struct, eq=False, gc=False):
    """Handle of a part that is streaming: give its deltas to `append`, then call `JournalWriter.close_part`.

    `response` is the number of its response among those of the writer, `number` that of a call that still streams.
    """

    kind: str
    fields: dict[str, Any]
    pieces: list[str]
    text_field: str | None
    complete: bool = False
    call_key: int | None = None
    number: int | None = None
    raw: str | None = None
    append: Callable[[str], None] = lambda _: None
    ended: bool = False
    interleaved: bool = False
    joined: int = 0
    running: Running | None = None
    response: int = 0

    def join_pieces(self) -> None:
        """Join the pieces that came since the last call: short ones take several times the memory of their text."""
        latest = self.pieces[self.joined :]
        if len(latest) > 1:
            self.pieces[self.joined :] = ["".join(latest)]
            self.joined += 1

    @property
    def streams_text(self) -> bool:
        """Whether the pieces are the text of the open part so far; else the fields have it, if there is one."""
        return bool(self.pieces) or self.text_field not in (None, *self.fields)

    def partial(self) -> Part:
        """Return the part as incomplete, with the text so far."""
        fields = dict(self.fields)
        if self.streams_text:
            fields[str(self.text_field)] = join_text(self.pieces)
        raw = held if self.text_field == "args" and isinstance(held := fields[self.text_field], str) else None
        return Part(kind=self.kind, fields=fields, complete=False, raw=raw, streamed=self.streamed())

    def part(self) -> Part:
        """Return the part as it is now, complete or not."""
        if not self.complete:
            return self.partial()
        return Part(kind=self.kind, fields=self.fields, raw=self.raw, streamed=self.streamed(), running=self.running)

    def streamed(self) -> Streamed | None:
        """Return how a call was streamed; None for other parts, and for a call that was not streamed."""
        if self.kind != "tool-call" or self.text_field is None:
            return None
        return _STREAMED[self.ended, self.interleaved]


class OpenResponse(msgspec.Struct, eq=False, gc=False):
    """A response that has begun: `calls` has the numbers of its complete calls, in the order of their ends.

    `frozen` caches its record, None if it has changed since.
    """

    agent_id: str
    at: str
    parts: list[OpenPart]
    facts: dict[str, Any]
    calls: dict[int, None]
    finished: bool = False
    failed: tuple[Part, ...] | None = None
    frozen: Response | None = None

    def response(self, *, partial: bool) -> Response:
        """Return the response with its complete parts, and with its open ones if `partial`."""
        if self.frozen is not None and not partial:
            return self.frozen
        frozen = Response(
            agent_id=self.agent_id,
            at=self.at,
            parts=tuple([part.part() for part in self.parts if part.complete or partial]),
            finished=self.finished,
            facts=self.facts,
            failed=self.failed,
        )
        if not partial:
            self.frozen = frozen
        return frozen


def make_segment(entries: Sequence[OpenResponse | Entry], *, partial: bool) -> Segment:
    """Return entries as a segment; with `partial`, responses include open parts with the text so far."""
    if not entries:
        return _EMPTY_SEGMENT
    written = [e.response(partial=partial) if isinstance(e, OpenResponse) else e for e in entries]
    return Segment(entries=tuple(written), calls=_places(entries))


def _places(entries: Sequence[OpenResponse | Entry]) -> dict[int, tuple[int, int]]:
    """Return the place of each complete call (index of its response, index among its calls), by number (R11)."""
    places: dict[int, tuple[int, int]] = {}
    for index, entry in enumerate(entries):
        if type(entry) is OpenResponse and entry.calls:
            order = 0
            for part in entry.parts:
                if part.call_key is not None:
                    places[part.call_key] = (index, order)
                    order += 1
    return places
