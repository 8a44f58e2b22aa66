"""What does not fit the schema of threads, in words.

In: a thread and its version. Out: a finding for each misfit, of the kind that `conformance/schema-places.yaml` names
for its place in the schema, so that it cites the clause that says so and what to do, in words that no validator has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tpharness.finding_log import MOST_OF_A_KIND
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol import problems
from tpharness.protocol.jcs import escape
from tpharness.protocol.pieces import split
from tpharness.protocol.schema import SCHEMA, load_thread_schema, thread_validator
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = ["SchemaPlace", "find_misfits", "load_schema_places"]

NO_END = Kind("complete-turn-without-end")
_KINDS = (
    SCHEMA,
    Kind("link-malformed"),
    Kind("agent-entry-malformed"),
    Kind("timestamp-malformed"),
    Kind("turn-malformed"),
    Kind("client-metadata-malformed"),
    Kind("completion-status-unknown"),
    NO_END,
    Kind("complete-turn-with-interruption"),
    Kind("interrupted-turn-malformed"),
    Kind("message-malformed"),
    Kind("message-without-agent"),
    Kind("finish-reason-unknown"),
    Kind("event-malformed"),
    Kind("usage-malformed"),
    Kind("part-malformed"),
    Kind("thinking-without-provider"),
    Kind("return-status-unknown"),
    Kind("return-without-content"),
    Kind("file-malformed"),
    Kind("content-item-malformed"),
    Kind("reference-malformed"),
)
_BRANCHES = {("agent_turn", "then"): "interrupted_turn", ("agent_turn", "else"): "complete_turn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlace:
    """A place of the schemas: the kind of what does not fit there, the object in words, and what is expected.

    `message` says what is wrong where "is not what was expected" would not.
    """

    kind: Kind
    object: str
    expected: str
    message: str = ""


@cache
def load_schema_places() -> Mapping[str, SchemaPlace]:
    """Return `conformance/schema-places.yaml` by place, such as `agent_turn.started_at`."""
    raw = load_suite_yaml(conformance_dir() / "schema-places.yaml")
    kinds = {kind.code: kind for kind in _KINDS}
    return {
        place: SchemaPlace(
            kind=kinds[item["code"]],
            object=raw["objects"][place.partition(".")[0]],
            expected=item["expected"],
            message=item.get("message", ""),
        )
        for place, item in raw["places"].items()
    }


def find_misfits(thread: Any, version: Version) -> list[Finding]:
    """Return what does not fit: the first of a kind, as many as are kept, then one that says that there are others."""
    found: dict[tuple[str, str | None, str], Finding] = {}
    for piece in split(thread, _field_names(version)):
        for error in _without_conclusions(thread_validator(version).iter_errors(piece.value)):
            absent = error.instance is None and _value_at(piece.value, error.instance_path) is None
            finding = _finding(error, piece.path(error.instance_path), version, absent=absent)
            if finding.kind is NO_END and not version.features.interrupted_turns:
                path = error.instance_path[:-1] if absent else error.instance_path
                finding = _judge_cut(finding, _value_at(piece.value, path), piece.path(path))
            found[finding.code, finding.place.pointer, finding.message] = finding
            if len(found) > MOST_OF_A_KIND:
                *first, other = found.values()
                return [*first, other.kind.at(other.place, "and more does not fit the schema, the first of it here")]
    return list(found.values())


def _without_conclusions(errors: Iterable[Any]) -> Iterator[Any]:
    """Leave out what the schema says of a turn as a complete one, where the turn does not say whether it is."""
    unknown = set()
    for error in errors:
        path, place = list(error.instance_path), list(error.schema_path)
        if place[:2] == ["$defs", "agent_turn"]:
            if getattr(error.kind, "property", None) == "completion_status":
                unknown.add(tuple(path))
            elif path[-1:] == ["completion_status"]:
                unknown.add(tuple(path[:-1]))
            elif place[2] == "else" and tuple(path[:2]) in unknown:
                continue
        yield error


def _value_at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value


def _finding(error: Any, path: Sequence[str | int], version: Version, *, absent: bool) -> Finding:
    """Return the finding of an error. The validator shows NaN and ±Infinity as null too; only `absent` is null."""
    steps = list(error.evaluation_path)
    if steps[-1] == "required":
        name, missing = f"{_place_name(steps[:-1], version)}.{error.kind.property}", str(error.kind.property)
    elif absent and _is_field(path):  # null is absent (R37)
        name, missing = _place_name(steps[: -2 if steps[-2] == "$ref" else -1], version), str(path[-1])
    else:
        name, missing = _place_name(steps[:-1], version), ""
    place = load_schema_places()[name]
    if missing:
        words = place.message or f"{place.object} has no {missing}"
    else:
        field = name.partition(".")[2]
        subject = f"the {field} of {place.object}" if field else str(path[-1]) if _is_field(path) else "this"
        words = place.message or f"{subject} is not {place.expected}"
    pointer = "".join(f"/{escape(str(step))}" for step in path)
    got = None if missing else error.instance
    expected = None if place.expected in words else place.expected
    return place.kind.at(Place(pointer=pointer), words, got=got, expected=expected)


def _judge_cut(finding: Finding, turn: Any, path: Sequence[str | int]) -> Finding:
    """Return what is wrong with a turn without an end: if it says that it was interrupted, it has to go (R18)."""
    if not isinstance(turn, Mapping) or turn.get("completed_at") is not None:
        return finding
    if turn.get("interruption") is None and turn.get("completion_status") not in ("interrupted", "streaming"):
        return finding
    return problems.OLD_INTERRUPTED.at(Place(pointer="".join(f"/{escape(str(step))}" for step in path)))


def _is_field(path: Sequence[str | int]) -> bool:
    """Whether the path ends at a field of the protocol, and not at an item of a list or at an entry of the registry."""
    return bool(path) and isinstance(path[-1], str) and path[:-1] != ["agents"]


def _place_name(steps: Sequence[str | int], version: Version) -> str:
    """Return the place in a schema, such as `tool-return.status`, to which these steps of its evaluation lead."""
    node: Any = load_thread_schema(version)
    name = "thread"
    fields: list[str] = []
    rest = iter(steps)
    for step in rest:
        node = node[step]
        if step == "$ref":
            name, fields = node.rpartition("/")[2], []
            node = load_thread_schema(version)["$defs"][name]
        elif step == "properties":
            fields.append(str(next(rest)))
            node = node[fields[-1]]
        elif step == "allOf":
            node = node[next(rest)]
            name = _branch(node["if"]["properties"]) if name in ("part", "message") else name
        elif step in ("then", "else"):
            name = _BRANCHES.get((name, step), name)
    return ".".join((name, *fields))


def _branch(condition: Mapping[str, Any]) -> str:
    """Return what the condition of a branch tells apart: the kind of a part, the type of a message."""
    value = next(iter(condition.values()))
    return str(value["const"]) if "const" in value else "|".join(value["enum"])


@cache
def _field_names(version: Version) -> frozenset[str]:
    """Return the names of all fields that the schema describes, in whatever object."""
    names: set[str] = set()
    waiting = [load_thread_schema(version)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            names.update(node.get("properties", ()))
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return frozenset(names)
