"""The Vercel AI SDK's UI message stream: bytes to frames, frames to chunks, and back.

`records` has the record of each kind of chunk.
"""

from __future__ import annotations

from tpharness.vsp.chunks import REFUSED, chunk_from_object, decode_chunk, decode_typed, decode_untyped
from tpharness.vsp.encode import (
    DONE,
    KEEP_ALIVE,
    encode_comment,
    encode_data,
    encode_json,
    encode_sse,
    encode_stream,
    to_wire,
)
from tpharness.vsp.majors import (
    CHUNK_TYPES,
    FINISH_REASONS,
    MAJORS,
    SDK_REFUSES_NULL,
    SDK_REFUSES_TYPE,
    SDK_REFUSES_VALUE,
    SDK_UNNAMED_FIELD,
    ChunkType,
    Major,
    check_chunk,
)
from tpharness.vsp.records import (
    CHUNK_BAD_FIELD,
    CHUNK_NOT_JSON,
    CHUNK_NOT_OBJECT,
    RECORDS,
    Chunk,
    DataChunk,
    Done,
    KnownChunk,
    Malformed,
    UnknownChunk,
    type_of,
)
from tpharness.vsp.sse import (
    MAX_LINE,
    SSE_INVALID_UTF8,
    SSE_PARTIAL_EVENT,
    SSE_TOO_LONG,
    SSE_UNKNOWN_FIELD,
    Frame,
    Leftover,
    SseParser,
)

__all__ = [
    "CHUNK_BAD_FIELD",
    "CHUNK_NOT_JSON",
    "CHUNK_NOT_OBJECT",
    "CHUNK_TYPES",
    "DONE",
    "FINISH_REASONS",
    "KEEP_ALIVE",
    "MAJORS",
    "MAX_LINE",
    "RECORDS",
    "REFUSED",
    "SDK_REFUSES_NULL",
    "SDK_REFUSES_TYPE",
    "SDK_REFUSES_VALUE",
    "SDK_UNNAMED_FIELD",
    "SSE_INVALID_UTF8",
    "SSE_PARTIAL_EVENT",
    "SSE_TOO_LONG",
    "SSE_UNKNOWN_FIELD",
    "Chunk",
    "ChunkType",
    "DataChunk",
    "Done",
    "Frame",
    "KnownChunk",
    "Leftover",
    "Major",
    "Malformed",
    "SseParser",
    "UnknownChunk",
    "check_chunk",
    "chunk_from_object",
    "decode_chunk",
    "decode_typed",
    "decode_untyped",
    "encode_comment",
    "encode_data",
    "encode_json",
    "encode_sse",
    "encode_stream",
    "to_wire",
    "type_of",
]
