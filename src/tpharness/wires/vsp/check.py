"""The bytes of a whole stream → what is wrong with them, which a run asks of no stream."""

from __future__ import annotations

from typing import Literal, cast

from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Place
from tpharness.wires import vsp
from tpharness.wires.checked import NO_EVENTS, UNFINISHED
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp import chunks
from tpharness.wires.vsp.assembler import Assembler

__all__ = ["check_bytes"]

_NO_TIME = "1970-01-01T00:00:00Z"


def check_bytes(data: bytes, major: int | None) -> list[Finding]:
    """Return what is wrong with the bytes of a whole stream, and with `major` what that release refuses."""
    reader = Assembler()
    reader.begin(_NO_TIME)
    found = []
    if not reader.feed(data, _NO_TIME):
        found.append(NO_EVENTS.at(Place(byte=0), got=data[:40] or None))
    if not reader.turn_ended or next(iter(reader.journal().turns()), None) is None:  # no chunk, no turn that ends
        found.append(UNFINISHED.at(Place(byte=len(data))))
    reader.close(None, _NO_TIME)
    found += reader.findings
    if major is not None:
        found += keep_first(
            finding
            for index, frame in enumerate(SseParser().feed(data))
            for finding in vsp.check_chunk(
                chunks.decode_chunk(frame.data), cast("Literal[5, 6, 7]", major), place=Place(event=index)
            )
        )
    return found
