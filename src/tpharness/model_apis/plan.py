"""Plan: what the model answers to one request. Pure data; each API writes it in its own bytes.

A *piece* is one entry of `pieces` of an item, counted over all items of a plan from 1. An item opens together with its
first piece and closes together with the next item's first piece or with the end of the answer: an answer that stops
after k pieces leaves the item of piece k open. Items without pieces are written together with what follows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from tpharness.errors import UsageError
from tpharness.printable import counted

__all__ = ["Break", "Call", "Finish", "Item", "Plan", "Text", "Thinking", "Usage"]


class Finish(StrEnum):
    """Why the model stops, in the words of R16; each API writes its own word for it.

    ERROR is written where an API has a word for it; the others end the stream with their error event.
    """

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALL = "tool_call"
    ERROR = "error"


class Break(StrEnum):
    """How an answer fails. A request without streaming gets an error status for ERROR, and no body for the others.

    RESET: the connection is reset (RST) after what was written has arrived. END: the HTTP body ends as it should, but
    the API's own last events are missing. STALL: nothing more is written until `Exchange.release` or until the
    application leaves; released, it ends as END does. ERROR: the API's error event in the stream, then the end of the
    body. STATUS: an error status with the API's error body, and no stream; `break_at` does not matter.
    """

    RESET = "reset"
    END = "end"
    STALL = "stall"
    ERROR = "error"
    STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the API counts them: `cached` are part of `input`, `reasoning` part of `output`."""

    input: int = 11
    output: int = 7
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text that the model says."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """What the model thinks.

    `signature` is what the API signs thoughts with, also where it calls it encrypted content; None writes one made of
    the text where the API demands one.
    """

    pieces: tuple[str, ...]
    signature: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool: the JSON text of its arguments in pieces. Some APIs write it whole, with the last."""

    call_id: str
    name: str
    pieces: tuple[str, ...]


Item = Text | Thinking | Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer to one request.

    `finish`: STOP is written as TOOL_CALL where the answer calls a tool, as the real APIs do. `hold_at=k`: after k
    pieces the answer waits for `Exchange.release`; 0 waits before the first byte of the body (with STATUS, and for a
    request without streaming, before the status line). `breaks` says how the answer fails after `break_at` pieces;
    with both, the answer first waits. `status` and `error_text` are what Break.STATUS answers; the text also stands in
    the error event of Break.ERROR. `once` is for STATUS: the same request once more is answered by the next plan, and
    the answer asks the client to repeat it soon. UsageError for places that the plan does not have.
    """

    items: tuple[Item, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    hold_at: int | None = None
    breaks: Break | None = None
    break_at: int = 0
    status: int = 500
    error_text: str = "The server had an error while processing your request."
    once: bool = False

    def __post_init__(self) -> None:
        count = self.piece_count
        for name, place in (("hold_at", self.hold_at), ("break_at", self.break_at)):
            if place is not None and not 0 <= place <= count:
                raise UsageError(
                    f"the plan has {counted(count, 'piece')}, and {name} is {place}",
                    hint=f"choose {name} from 0 to {count}",
                )
        if self.breaks is not None and self.breaks is not Break.STATUS and (self.hold_at or 0) > self.break_at:
            raise UsageError(
                f"the answer breaks after {counted(self.break_at, 'piece')} and never reaches hold_at={self.hold_at}",
                hint="choose hold_at up to break_at",
            )
        if self.once and self.breaks is not Break.STATUS:
            raise UsageError("the plan fails once, and has no status", hint="give it breaks=Break.STATUS, or no `once`")
        if self.breaks is Break.STATUS and not 400 <= self.status <= 599:
            raise UsageError(f"{self.status} is not an error status", hint="choose a status from 400 to 599")

    @property
    def piece_count(self) -> int:
        """How many pieces there are in all items."""
        return sum(len(item.pieces) for item in self.items)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls among the items, in order."""
        return tuple(item for item in self.items if isinstance(item, Call))

    @property
    def reason(self) -> Finish:
        """Why the model stops, as the API says it: TOOL_CALL for STOP when there is a call."""
        return Finish.TOOL_CALL if self.finish is Finish.STOP and self.calls else self.finish

    def items_until(self, count: int) -> tuple[Item, ...]:
        """Return what the model has said after so many pieces: whole items, and the last one as far as it was written.

        The item of the next piece is not there yet. An item without pieces is there once a later piece is.
        """
        found: list[Item] = []
        left = count
        for index, item in enumerate(self.items):
            if not left and any(later.pieces for later in self.items[index:]):
                break
            found.append(replace(item, pieces=item.pieces[:left]) if len(item.pieces) > left else item)
            left -= min(left, len(item.pieces))
        return tuple(found)

    def text_until(self, count: int) -> str:
        """Return the text that the model has said after so many pieces, without thinking and calls."""
        return "".join("".join(item.pieces) for item in self.items_until(count) if isinstance(item, Text))

    def thinking_until(self, count: int) -> str:
        """Return what the model has thought after so many pieces."""
        return "".join("".join(item.pieces) for item in self.items_until(count) if isinstance(item, Thinking))

    def calls_until(self, count: int) -> tuple[Call, ...]:
        """Return the calls after so many pieces; the last one may have only the beginning of its arguments."""
        return tuple(item for item in self.items_until(count) if isinstance(item, Call))

    @property
    def text(self) -> str:
        """The whole text."""
        return self.text_until(self.piece_count)

    @property
    def thinking(self) -> str:
        """All that the model thinks."""
        return self.thinking_until(self.piece_count)
