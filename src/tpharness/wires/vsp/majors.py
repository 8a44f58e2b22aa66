"""What each major of the AI SDK accepts: the table of chunk types, and a strict check of single chunks.

In: a chunk, as a record or as a JSON object. Out: the table `CHUNK_TYPES`, made from the records, and findings that say
where a client of a given major would end the stream. The reader of this package is more lenient on purpose (R7); the
strict view is for servers that want to know which clients reject their streams.

The facts are those of the schemas of `ai` 5.0.277, 6.0.326 and 7.0.173. Up to 5.0.216, 6.0.230 and 7.0.31 the same
schemas also refused fields that they do not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from tpharness.findings import Kind, Place
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.records import FINISH_REASONS, MAJORS, RECORDS, DataChunk, Done, Malformed

if TYPE_CHECKING:
    from tpharness.findings import Finding
    from tpharness.wires.vsp.records import Chunk, KnownChunk

__all__ = [
    "CHUNK_TYPES",
    "FINISH_REASONS",
    "MAJORS",
    "SDK_REFUSES_NULL",
    "SDK_REFUSES_TYPE",
    "SDK_REFUSES_VALUE",
    "SDK_UNNAMED_FIELD",
    "ChunkType",
    "Major",
    "check_chunk",
]

Major: TypeAlias = Literal[5, 6, 7]
SDK_REFUSES_TYPE = Kind("sdk-refuses-type")
SDK_REFUSES_VALUE = Kind("sdk-refuses-value")
SDK_REFUSES_NULL = Kind("sdk-refuses-null")
SDK_UNNAMED_FIELD = Kind("sdk-unnamed-field")

_SINCE_6 = frozenset({6, 7})
# Optional fields whose schema takes anything, null included.
_ANYTHING = frozenset({"messageMetadata", "approvalDescriptor", "inputSchemaInput"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkType:
    """One row of the table.

    `name` is the wire type (`data-*` stands for the family); `record` its class; `majors` those that know it;
    `required` the wire names of the fields that must be present; `optional` the wire name of each other field → the
    majors that know the field.
    """

    name: str
    record: type[KnownChunk | DataChunk]
    majors: frozenset[int]
    required: tuple[str, ...]
    optional: Mapping[str, frozenset[int]]


def _field_majors(annotation: Any) -> frozenset[int] | None:
    """Return the majors that a field of a record is annotated with, None if it is not."""
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, msgspec.Meta) and note.extra and "majors" in note.extra:
            return frozenset(note.extra["majors"])
    return None


def _row(kind: str, record: type[KnownChunk]) -> ChunkType:
    fields = msgspec.structs.fields(record)
    return ChunkType(
        name=kind,
        record=record,
        majors=record.majors,
        required=tuple(field.encode_name for field in fields if field.required),
        optional={
            field.encode_name: _field_majors(field.type) or record.majors for field in fields if not field.required
        },
    )


CHUNK_TYPES: dict[str, ChunkType] = {
    **{kind: _row(kind, record) for kind, record in RECORDS.items()},
    "data-*": ChunkType(
        name="data-*",
        record=DataChunk,
        majors=MAJORS,
        required=("data",),
        optional={"id": MAJORS, "transient": MAJORS},
    ),
}
"""Wire type → its row."""


def check_chunk(
    chunk: Chunk | Mapping[str, Any], major: Major | None = None, *, place: Place | None = None
) -> list[Finding]:
    """Return a finding for each place where a client of this major would end the stream; None stands for every major.

    Give the JSON object where there is one: a record does not distinguish null from absent, and does not have the
    fields that it does not name. A chunk that this package cannot read either is a MUST, the rest SHOULD or MAY.
    """
    place = place or Place()
    if isinstance(chunk, Done):
        return []
    if isinstance(chunk, Mapping):
        wire = dict(chunk)
        read = chunk_from_object(wire)
    else:
        read = chunk
        wire = {} if isinstance(chunk, Malformed) else to_wire(chunk)
    if isinstance(read, Malformed):
        return [read.finding(place)]
    wanted = MAJORS if major is None else frozenset({major})
    kind = str(wire["type"])
    row = CHUNK_TYPES.get("data-*" if kind.startswith("data-") else kind)
    if row is None or not row.majors & wanted:
        known = sorted(row.majors) if row else []
        got = f"known to {', '.join(map(str, known))}" if known else "known to no major"
        return [SDK_REFUSES_TYPE.at(place, f"{_client(major)} ends the stream at `{kind}` ({got})", got=kind)]
    findings = []
    for name, value in wire.items():
        if name == "type" or name in row.required:
            continue
        known_to = row.optional.get(name, frozenset())
        if not known_to & wanted:
            findings.append(SDK_UNNAMED_FIELD.at(place, f"`{kind}` has a field `{name}` that is not named there"))
        elif value is None and name not in _ANYTHING:
            findings.append(SDK_REFUSES_NULL.at(place, f"`{name}` of `{kind}` is null"))
    findings += [
        SDK_REFUSES_VALUE.at(place, f"{_client(major)} refuses `{name}` of `{kind}`", got=got, expected=expected)
        for name, got, expected in _find_refused_values(row, wire, wanted)
    ]
    return findings


def _client(major: int | None) -> str:
    return "every AI SDK" if major is None else f"AI SDK {major}"


def _find_refused_values(row: ChunkType, wire: dict[str, Any], wanted: frozenset[int]) -> list[tuple[str, Any, str]]:
    # (field, got, expected) for values that are of the right JSON type and refused all the same.
    refused: list[tuple[str, Any, str]] = []
    reason = wire.get("finishReason")
    if row.name == "finish" and reason is not None:
        allowed = frozenset[str]().union(*(FINISH_REASONS[major] for major in wanted))
        if reason not in allowed:
            refused.append(("finishReason", reason, f"one of {', '.join(sorted(allowed))}"))
    encoding = wire.get("inputEncoding")
    if row.name == "tool-input-start" and encoding not in {None, "json", "text"} and wanted & _SINCE_6:
        refused.append(("inputEncoding", encoding, "json or text"))
    metadata = wire.get("providerMetadata")
    known_to = row.optional.get("providerMetadata", frozenset())
    if isinstance(metadata, dict) and wanted & known_to and not all(isinstance(v, dict) for v in metadata.values()):
        refused.append(("providerMetadata", metadata, "an object of objects, one for each provider"))
    if row.name == "steering-message":
        refused.extend(
            ("parts", part, "text {text} or file {mediaType, url}") for part in wire["parts"] if not _is_steering(part)
        )
    refused.extend((name, "__proto__", "no key `__proto__`") for name, value in wire.items() if _has_proto(value))
    return refused


def _is_steering(part: dict[str, Any]) -> bool:
    needed = {"text": ("text",), "file": ("mediaType", "url")}.get(str(part.get("type")))
    return needed is not None and all(isinstance(part.get(name), str) for name in needed)


def _has_proto(value: Any) -> bool:
    # The AI SDK's JSON parser refuses this key at any depth. An explicit stack: depth is the peer's to choose.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "__proto__" in item:
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False
