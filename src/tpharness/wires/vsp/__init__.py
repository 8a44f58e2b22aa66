"""The Vercel AI SDK's UI message stream: bytes to frames, frames to chunks, chunks to a journal, and back.

`sse` has the frames, `records` the record of each kind of chunk, `chunks` and `encode` the way in and out, `majors`
what each major version of the AI SDK takes, `fold` and `assembler` the client's side, `partial_json` arguments that
still stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.wires.vsp.majors import check_chunk
    from tpharness.wires.vsp.said import read_said

__all__ = ["check_chunk", "read_said"]

__getattr__, __dir__ = lazy_names(
    __name__, {"tpharness.wires.vsp.majors": ("check_chunk",), "tpharness.wires.vsp.said": ("read_said",)}
)
