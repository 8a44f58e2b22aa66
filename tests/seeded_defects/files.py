# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What the stream says of files: R63."""

from __future__ import annotations

from msgspec.structs import replace
from tests.seeded_defects.approvals import without_facts
from tests.seeded_defects.seeding import defect, each_chunk, on_chunk

from tpharness.wires.vsp import records as c

__all__ = ["DEFECTS"]


def of_files(change):
    """Change the chunks of files that the server sends, and the files of its steering messages."""

    def one(chunk):
        if chunk["type"] == "file":
            return [change(chunk)]
        if chunk["type"] == "steering-message":
            return [{**chunk, "parts": [change(p) if p["type"] == "file" else p for p in chunk["parts"]]}]
        return [chunk]

    return each_chunk(one)


def any_type(was):
    def file(self, chunk):
        return was(self, replace(chunk, media_type=chunk.media_type.replace("/*", "/octet-stream")))

    return file


DEFECTS = (
    defect(
        "names-of-files-not-sent",
        "server",
        "A server keeps the id and the identifier of a file for itself.",
        "part.file-names R63",
        of_files(lambda chunk: {name: value for name, value in chunk.items() if name != "providerMetadata"}),
    ),
    defect(
        "names-of-files-not-read",
        "client",
        "A client gives every file the name of its bytes or of its address.",
        "part.file-names R63",
        on_chunk(without_facts, c.FileChunk),
    ),
    defect(
        "unknown-media-type-sent-empty",
        "server",
        "The media type of a file of which nobody knows it is an empty text, which clients refuse.",
        "part.file-range R63",
        of_files(lambda chunk: {**chunk, "mediaType": "" if chunk["mediaType"].endswith("/*") else chunk["mediaType"]}),
    ),
    defect(
        "unknown-media-type-made-up",
        "client",
        "A client makes a media type of the range that it was sent.",
        "part.file-range R63",
        on_chunk(any_type, c.FileChunk),
    ),
)
