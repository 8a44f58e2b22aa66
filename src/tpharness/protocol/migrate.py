"""Migration between versions, one step of the lineage at a time (R1), with a report of what the new version cannot say.

What a step changes follows from the features of the two versions: agent turns get or lose their `completion_status`,
interrupted turns are dropped if the new version cannot show them, normative events are renamed, and a content that is
stored elsewhere is replaced by its reference where there are no references. Fields that the older version does not
define stay as unknown fields (R7). The thread that is read and the thread that is returned keep the rules of their
versions. Converting back restores everything that was not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

from tpharness.errors import ThreadError, UsageError
from tpharness.findings import Level, quote
from tpharness.printable import counted
from tpharness.protocol.losses import Loss
from tpharness.protocol.rules import check_thread
from tpharness.protocol.rules.index import build_index
from tpharness.protocol.rules.turns import find_repeated_input
from tpharness.protocol.schema import schema_findings
from tpharness.protocol.versions import Features, Version, VersionName, is_normative_name, parse_version, version_names

__all__ = ["Migration", "convert", "version_of"]

_Turns = list[tuple[int, Mapping[str, Any]]]
"""Turns with their indexes in the thread that was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The converted thread and the versions it went through.

    Places are those in the thread that was given. `dropped` is not in the converted one. `unsaid` is in it, as
    unknown fields or in another form: programs that know only the new version do not understand it.
    """

    thread: dict[str, Any]
    steps: tuple[Version, ...]
    dropped: tuple[Loss, ...] = ()
    unsaid: tuple[Loss, ...] = ()


def version_of(thread: Mapping[str, Any]) -> Version:
    """Return the version of a thread. UsageError for an unknown version."""
    try:
        return Version(thread.get("version"))
    except ValueError:
        hint = f"known versions are {version_names()}"
        raise UsageError(f"unknown version {quote(thread.get('version'))}", hint=hint) from None


def convert(
    thread: Mapping[str, Any], to: Version | VersionName, *, check: bool = True, fits: bool = False, safe: bool = False
) -> Migration:
    """Convert a thread to another version, through every version between. The input is not changed.

    ThreadError if the thread breaks rules of its own version, or if the new version has no valid form for it; without
    `check` the thread only has to fit its schema, and the result keeps the rules that the thread keeps. `fits` says
    that it is known to fit its schema, `safe` that its values are known to have canonical forms (R38). UsageError for a
    version that does not exist.
    """
    to = parse_version(to) if isinstance(to, str) else to
    own = version_of(thread)
    if check:
        problem = f"not a valid {own.value} thread, so it is not converted"
        _require_valid(thread, problem, "correct it first", fits=fits, safe=safe)
    path = own.path_to(to)
    losses = _Losses()
    root: dict[str, Any] = dict(thread)
    turns: _Turns = list(enumerate(thread["turns"]))
    for current, following in pairwise(path):
        step = _Step(current, following, to, losses)
        root, turns = step.root(root), list(step.turns(turns))
    result = {**root, "version": to.value, "turns": [dict(turn) for _, turn in turns]}
    fits = False
    if not check or len(turns) < len(thread["turns"]):  # a valid thread repeats nothing before turns are dropped
        fits = _drop_repeats(result, [index for index, _ in turns], losses)
    if check:
        hint = f"the places are those of the converted thread; change the {own.value} thread there"
        _require_valid(result, f"no valid {to.value} thread can be made of it", hint, fits=fits, safe=True)
    return Migration(thread=result, steps=path, dropped=tuple(losses.dropped), unsaid=tuple(losses.unsaid))


def _require_valid(thread: Any, problem: str, hint: str, *, fits: bool = False, safe: bool = False) -> None:
    findings = tuple(finding for finding in check_thread(thread, fits=fits, safe=safe) if finding.level is Level.MUST)
    if findings:
        raise ThreadError(problem, findings=findings, hint=hint)


def _drop_repeats(thread: dict[str, Any], indexes: list[int], losses: _Losses) -> bool:
    """Drop what repeats the user turn that it now follows, because the turn between them was dropped (R9).

    Return whether the thread fits its schema.
    """
    while fits := not schema_findings(thread):
        repeated = list(find_repeated_input(build_index(thread)))
        if not repeated:
            break
        for t, m in repeated:
            messages = list(thread["turns"][t]["messages"])
            del messages[m]
            thread["turns"][t] = {**thread["turns"][t], "messages": messages}
            why = "it repeats the user turn that it would follow (R9)"
            losses.drop(f"/turns/{indexes[t]}", "the user's words at the beginning of the turn", why)
    return fits


@dataclass(slots=True)
class _Losses:
    dropped: list[Loss] = field(default_factory=list)
    unsaid: list[Loss] = field(default_factory=list)

    def drop(self, pointer: str, what: str, why: str) -> None:
        self.dropped.append(Loss(pointer=pointer, what=what, why=why))

    def leave_unsaid(self, pointer: str, what: str, why: str) -> None:
        self.unsaid.append(Loss(pointer=pointer, what=what, why=why))


class _Step:
    """The conversion between two adjacent versions, whichever of them is the newer, on the way `to` another."""

    def __init__(self, one: Version, other: Version, to: Version, losses: _Losses) -> None:
        self._had, self._has = one.features, other.features
        self._version = other.value
        self._to = to
        self._losses = losses
        names = [feature.name for feature in fields(Features) if feature.name != "normative_events"]
        had = {name for name in names if getattr(self._had, name)}
        has = {name for name in names if getattr(self._has, name)}
        self._gained, self._lost = has - had, had - has
        self._changes_references = "content_refs" in had ^ has
        self._names = {
            name: self._has.normative_events[neutral] for neutral, name in self._had.normative_events.items()
        }

    def lacking(self, feature: str) -> str:
        """Return the version that does not have a feature: the one that was asked for, if it has it neither."""
        return self._version if getattr(self._to.features, feature) else str(self._to.value)

    def root(self, root: dict[str, Any]) -> dict[str, Any]:
        """Return the thread with what changes beside its turns."""
        links = root.get("relationships")
        if "links" in self._gained and not _is_relationships(links):
            return self._without(root, "relationships", "")
        if "links" in self._lost and isinstance(links, Mapping) and links.get("links"):
            self._keep_unknown("/relationships/links", "links to other threads")
        return root

    def turns(self, turns: _Turns) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the turns that the following version can show, converted."""
        for index, turn in turns:
            pointer = f"/turns/{index}"
            if "interrupted_turns" in self._lost and turn.get("completion_status") == "interrupted":
                self._losses.drop(
                    pointer, _describe(turn), f"{self.lacking('interrupted_turns')} has complete turns only (R18)"
                )
            elif turn["turn_type"] == "user":
                yield index, self._user(turn, pointer)
            else:
                yield index, self._agent(turn, pointer)

    def _user(self, turn: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        metadata = turn.get("client_metadata")
        if "client_metadata" in self._gained and not isinstance(metadata, Mapping | None):
            return self._without(turn, "client_metadata", pointer)
        if "client_metadata" in self._lost and metadata is not None:
            self._keep_unknown(f"{pointer}/client_metadata", "the metadata of the client")
        parts = self._parts(turn["parts"], pointer)
        return turn if parts is turn["parts"] else {**turn, "parts": parts}

    def _agent(self, turn: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        new = dict(turn)
        if "interrupted_turns" in self._gained:
            for name in ("completion_status", "interruption"):
                if new.get(name) is not None:
                    new = self._without(new, name, pointer)
            new["completion_status"] = "complete"
        elif "interrupted_turns" in self._lost:
            new.pop("completion_status", None)
        new["messages"] = [self._message(m, pointer, index) for index, m in enumerate(turn["messages"])]
        return new

    def _message(self, message: Mapping[str, Any], turn: str, index: int) -> Mapping[str, Any]:
        if message["message_type"] != "system":
            if not self._changes_references:
                return message
            return {**message, "parts": self._parts(message["parts"], f"{turn}/messages/{index}")}
        name = message["event_type"]
        if name in self._names:
            return {**message, "event_type": self._names[name]}
        if is_normative_name(name) and name in self._names.values():
            what = f"an event that had the name {name}, which {self._version} gives to a normative event"
            self._losses.leave_unsaid(
                f"{turn}/messages/{index}/event_type", what, "nothing distinguishes them any more (R1)"
            )
        return message

    def _parts(self, parts: list[Mapping[str, Any]], pointer: str) -> list[Mapping[str, Any]]:
        if not self._changes_references:
            return parts
        return [
            self._return(part, f"{pointer}/parts/{index}")
            if part["part_kind"] == "tool-return" and part.get("content_ref") is not None
            else part
            for index, part in enumerate(parts)
        ]

    def _return(self, part: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        """Convert a return with a reference. Where there are none, its content is the reference (R6)."""
        if "content_refs" in self._lost:
            what = f"the content of the return of {part['tool_call_id']}, which is stored elsewhere"
            why = f"{self.lacking('content_refs')} has no content_ref: the content is the reference itself"
            self._losses.leave_unsaid(f"{pointer}/content_ref", what, why)
            return {**part, "content": part["content_ref"]}
        if part["content"] == part["content_ref"] and _is_reference(part["content_ref"]):
            return {name: value for name, value in part.items() if name != "content"}
        return self._without(part, "content_ref", pointer)

    def _keep_unknown(self, pointer: str, what: str) -> None:
        self._losses.leave_unsaid(pointer, what, f"{self._version} does not define this: it stays as an unknown field")

    def _without(self, value: Mapping[str, Any], name: str, pointer: str) -> dict[str, Any]:
        why = f"{self._version} gives this name a meaning that the value does not have"
        self._losses.drop(f"{pointer}/{name}", "an unknown field", why)
        return {key: item for key, item in value.items() if key != name}


def _describe(turn: Mapping[str, Any]) -> str:
    reason = turn["interruption"]["reason"]
    return f"an interrupted turn of {turn['agent_id']} ({reason}) with {counted(len(turn['messages']), 'message')}"


def _is_relationships(value: Any) -> bool:
    """Whether a value can stand under `relationships` where links are defined."""
    if value is None:
        return True
    links = value.get("links") if isinstance(value, Mapping) else value
    return isinstance(value, Mapping) and (links is None or (isinstance(links, list) and all(map(_is_link, links))))


def _is_link(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_name(value.get(name)) for name in ("thread_id", "relation"))


def _is_reference(value: Any) -> bool:
    """Whether a value is what a downgrade wrote as the content of a return: a reference (R6)."""
    return isinstance(value, Mapping) and _is_name(value.get("uri"))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""
