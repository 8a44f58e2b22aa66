# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What an implementation may do as it likes: every scenario passes with it, so the suite is not merely strict."""

from __future__ import annotations

import json
from typing import Any

from tests.seeded_defects.seeding import each_chunk, wrap

from tpharness.dialects.thread import ThreadRenderer
from tpharness.explore.mutation import Harmless
from tpharness.wires.sse.writer import KEEP_ALIVE
from tpharness.wires.vsp import server as encoder
from tpharness.wires.vsp import writer

__all__ = ["HARMLESS"]

_DELTAS = ("text-delta", "reasoning-delta", "tool-input-delta")


def written(make):
    """Let the reference server write a chunk as bytes so."""
    return wrap(writer, "encode_sse", make)


def longer_ids(was):
    return lambda self, word: f"msg_0af7651916cd43dd8448eb211c80319c:{was(self, word)}"


def in_halves(chunk):
    """Each delta comes in two pieces."""
    name = "inputTextDelta" if chunk["type"] == "tool-input-delta" else "delta"
    text = chunk.get(name)
    if chunk["type"] not in _DELTAS or not isinstance(text, str) or len(text) < 2:
        return [chunk]
    half = len(text) // 2
    return [{**chunk, name: text[:half]}, {**chunk, name: text[half:]}]


def by_character(chunk):
    """Each delta is a character long."""
    name = "inputTextDelta" if chunk["type"] == "tool-input-delta" else "delta"
    if chunk["type"] not in _DELTAS:
        return [chunk]
    return [{**chunk, name: character} for character in chunk[name]]


def empty_deltas(chunk):
    """A delta with nothing in it comes before each delta."""
    if chunk["type"] not in _DELTAS:
        return [chunk]
    name = "inputTextDelta" if chunk["type"] == "tool-input-delta" else "delta"
    return [{**chunk, name: ""}, chunk]


def with_notice(chunk):
    """Something that is only to be shown comes before each chunk."""
    if chunk["type"] in ("start", "start-step"):
        return [chunk]
    return [{"type": "data-app-progress", "data": {"note": "working"}, "transient": True}, chunk]


def with_metadata(chunk):
    """Message metadata comes with the steps."""
    return (
        [chunk, {"type": "message-metadata", "messageMetadata": {"n": 1}}] if chunk["type"] == "start-step" else [chunk]
    )


def with_more_fields(chunk):
    """Chunks that the protocol defines have fields of an application beside their own."""
    if chunk["type"].startswith("data-") or chunk["type"] == "custom":
        return [chunk]
    return [{**chunk, "x-trace": "4bf92f3577b34da6"}]


def with_message_id(chunk):
    """The message has an id of the server's own making."""
    return [{**chunk, "messageId": "msg_01XFDUDYJgAACzvnptvVoYEL"}] if chunk["type"] == "start" else [chunk]


def reversed_keys(was):
    def encode(chunk: Any):
        return was({key: chunk[key] for key in reversed(list(chunk))} if isinstance(chunk, dict) else chunk)

    return encode


def spaced(was):
    def encode(chunk: Any):
        if not isinstance(chunk, dict):
            return was(chunk)
        try:
            text = json.dumps(chunk, ensure_ascii=False, indent=None, separators=(" , ", " : ")).encode()
        except UnicodeEncodeError:
            return was(chunk)
        return b"data: " + text + b"\n\n"

    return encode


def escaped(was):
    def encode(chunk: Any):
        if not isinstance(chunk, dict):
            return was(chunk)
        return b"data: " + json.dumps(chunk, ensure_ascii=True, separators=(",", ":")).encode() + b"\n\n"

    return encode


def pretty(was):
    """Chunks are written over several lines, each a data line."""

    def encode(chunk: Any):
        if not isinstance(chunk, dict):
            return was(chunk)
        lines = json.dumps(chunk, ensure_ascii=True, indent=1).encode().split(b"\n")
        return b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"

    return encode


def framed(around):
    return lambda was: lambda chunk: around(was(chunk))


def with_crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def commented(data: bytes) -> bytes:
    return KEEP_ALIVE + data


def numbered_events(data: bytes) -> bytes:
    return b"id: 7\nevent: message\nretry: 3000\n" + data


def unspaced(data: bytes) -> bytes:
    return data.replace(b"data: ", b"data:", 1)


def rewritten_arguments(chunk):
    """Arguments stream in another spelling than the model's: they count when they are complete."""
    if chunk["type"] == "tool-input-delta":
        return [{**chunk, "inputTextDelta": chunk["inputTextDelta"].replace(":", " :\t ")}]
    return [chunk]


def deep_reversed(value):
    if isinstance(value, dict):
        return {key: deep_reversed(value[key]) for key in reversed(list(value))}
    return [deep_reversed(item) for item in value] if isinstance(value, list) else value


def other_order(was):
    return lambda self, journal: deep_reversed(was(self, journal))


def one(name, side, sentence, seed):
    return Harmless(name=name, side=side, sentence=sentence, seed=seed)


HARMLESS = (
    one(
        "other-ids-of-blocks",
        "server",
        "Blocks have long ids of another form.",
        wrap(encoder.Encoder, "_id", longer_ids),
    ),
    one("deltas-in-halves", "server", "Each delta comes in two pieces.", each_chunk(in_halves)),
    one("a-delta-for-each-character", "server", "Each delta is one character.", each_chunk(by_character)),
    one("empty-deltas", "server", "Empty deltas come between the others.", each_chunk(empty_deltas)),
    one("notices-between-chunks", "server", "Transient data parts come between the chunks.", each_chunk(with_notice)),
    one("message-metadata", "server", "Message metadata comes with each step.", each_chunk(with_metadata)),
    one("more-fields-in-chunks", "server", "Chunks hold fields that nobody defined.", each_chunk(with_more_fields)),
    one("other-message-ids", "server", "start names the message as the server likes.", each_chunk(with_message_id)),
    one(
        "arguments-streamed-with-other-blanks",
        "server",
        "The deltas of arguments have more blanks than the arguments that then come whole.",
        each_chunk(rewritten_arguments),
    ),
    one("keys-of-chunks-reversed", "server", "The fields of a chunk stand in another order.", written(reversed_keys)),
    one("blanks-in-chunks", "server", "Chunks are written with blanks.", written(spaced)),
    one("escapes-in-chunks", "server", "Chunks are written in ASCII, with escapes.", written(escaped)),
    one("chunks-over-several-lines", "server", "Chunks are written over several data lines.", written(pretty)),
    one("crlf-line-ends", "server", "Lines end with CRLF.", written(framed(with_crlf))),
    one("comments-between-events", "server", "A keep-alive comes before each event.", written(framed(commented))),
    one("events-with-ids", "server", "Events have ids, names and a time to retry.", written(framed(numbered_events))),
    one("no-blank-after-data", "server", "No blank follows data and its colon.", written(framed(unspaced))),
    one(
        "keys-of-documents-reversed",
        "both",
        "The fields of documents stand in another order.",
        wrap(ThreadRenderer, "render", other_order),
    ),
)
