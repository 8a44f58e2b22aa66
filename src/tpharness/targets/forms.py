"""Scripts, streams and outcomes as the JSON of the control contract, `conformance/schemas/control.schema.json`.

The same messages go over HTTP and over standard input and output. In: what `contract` defines, or decoded JSON from a
peer. Out: the other of the two. What comes from a peer is checked against the schema first, so everything after
`checked` may rely on its shape. No I/O.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

import jsonschema_rs
import orjson

from tpharness.errors import TargetError
from tpharness.findings import shorten
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.jcs import escape
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.resources import schema_path
from tpharness.targets.contract import DEFAULT_WIRES, QUESTIONS, Capabilities, Packet, RunScript, Script, Stream

__all__ = [
    "ANSWERS",
    "CONTRACT",
    "capabilities_from",
    "capabilities_json",
    "case_json",
    "case_threads",
    "header_json",
    "packet_json",
    "packets_from",
    "problems",
    "require_valid",
    "resolve_json",
    "resolved_from",
    "run_from",
    "run_json",
    "shape_hint",
    "stream_json",
    "threads_from",
    "threads_json",
    "turns_json",
    "user_from",
    "user_json",
    "versions_for",
    "wire_json",
]

CONTRACT = "1.2"
"""The version of the contract that is spoken here."""

ANSWERS = {"hash": "hashed", "migrate": "migrated", "history": "history", "import": "imported", "keep": "kept"}
"""What a target is asked of a thread, or to keep of a case → the name of the answer."""

_MOST = 3
_FLAGS = ("marks", "cancel", "limits", "resume", "seed", "durable", "integrity")

_CAPABILITIES = frozenset(
    (
        *_FLAGS,
        *QUESTIONS,
        "contract",
        "name",
        "version",
        "versions",
        "roles",
        "carriers",
        "readings",
        "disconnect",
        "detects",
        "wires",
        "histories",
    )
)
_MISSPELT = 0.85


def problems(name: str, value: Any, pointer: str = "") -> list[str]:
    """Return why the value at a JSON pointer is not a `name` of the contract: at most 3 problems with their places."""
    validator = _validator(name)
    try:
        if validator.is_valid(value):
            return []
        errors = list(validator.iter_errors(value))[:_MOST]
    except (ValueError, TypeError, OverflowError) as error:
        return [f"it has a value that JSON cannot represent: {error}"]
    places = [pointer + "".join(f"/{escape(str(step))}" for step in error.instance_path) for error in errors]
    texts = [shorten(error.message, 160) for error in errors]
    return [f"{place}: {text}" if place else text for place, text in zip(places, texts, strict=True)]


def require_valid(name: str, value: Any, what: str) -> Any:
    """Return the value if it is a `name` of the contract; else raise TargetError, which names `what`."""
    found = problems(name, value)
    if found:
        raise TargetError(
            f"{what} does not fit the contract: {'; '.join(found)}",
            hint=shape_hint(name),
        )
    return value


def shape_hint(name: str) -> str:
    """Return where the author of a target finds the shape of a `name`, with a clone of tpharness or without one."""
    return f"its shape is $defs/{name} of control.schema.json; `tpharness docs CONTROL` says where the contract is"


@cache
def _validator(name: str) -> Any:
    schemas = {n: orjson.loads(schema_path(n).read_bytes()) for n in ("control", "server-event")}
    registry = jsonschema_rs.Registry([(s["$id"], s) for s in schemas.values()])
    return jsonschema_rs.Draft202012Validator({"$ref": f"{schemas['control']['$id']}#/$defs/{name}"}, registry=registry)


# ------------------------------------------------------------------------------------------------ capabilities


def capabilities_json(capabilities: Capabilities, roles: Sequence[str]) -> dict[str, Any]:
    """Return `capabilities` as the contract has it."""
    return {
        "contract": CONTRACT,
        "name": capabilities.name,
        "version": capabilities.implementation_version,
        "roles": list(roles),
        "versions": [str(v.value) for v in capabilities.versions],
        "carriers": capabilities.carriers,
        **{name: getattr(capabilities, name) for name in _FLAGS},
        "disconnect": list(capabilities.disconnect),
        "detects": list(capabilities.detects),
        "wires": list(capabilities.wires),
        **{question: question in capabilities.answers for question in QUESTIONS},
        **({"histories": list(capabilities.histories)} if capabilities.histories else {}),
        "readings": capabilities.readings.as_json(),
    }


def capabilities_from(value: Any, role: str, what: str) -> Capabilities:
    """Read the capabilities of a peer that plays `role`; TargetError for another version of the contract."""
    spoken = value.get("contract") if isinstance(value, Mapping) else None
    if isinstance(spoken, str) and spoken.partition(".")[0] != CONTRACT.partition(".")[0]:
        raise TargetError(
            f"{what} has version {shorten(spoken, 40)} of the contract, tpharness has {CONTRACT}",
            hint="use the tpharness that goes with the target, or update the target",
        )
    require_valid("capabilities", value, f"{what}: its declaration")
    _refuse_misspelt(value, what)
    if role not in value["roles"]:
        raise TargetError(
            f"{what} does not declare the role {role}, only {', '.join(value['roles'])}",
            hint=f"declare it under roles if it can be a {role}, or name it as --{value['roles'][0]}",
        )
    return Capabilities(
        name=value["name"],
        implementation_version=value.get("version", ""),
        versions=tuple(v for v in Version if v.value in value.get("versions", [v.value])),
        carriers=value.get("carriers", False),
        readings=Readings.parse(value.get("readings", {})),
        disconnect=tuple(value.get("disconnect", ())),
        detects=tuple(value.get("detects", ())),
        wires=tuple(value.get("wires", DEFAULT_WIRES)),
        answers=tuple(question for question in QUESTIONS if value.get(question, False)),
        histories=tuple(value.get("histories", ())),
        **{name: value.get(name, False) for name in _FLAGS},
    )


def _refuse_misspelt(declared: Mapping[str, Any], what: str) -> None:
    """TargetError for a name that looks like a misspelt capability, which would not be played; others are ignored."""
    known = _CAPABILITIES - declared.keys()
    for name in declared.keys() - _CAPABILITIES:
        near = get_close_matches(name, known, n=1, cutoff=_MISSPELT)
        if near:
            raise TargetError(
                f"{what}: its declaration has {shorten(name, 40)}, which is not a capability",
                hint=f"did you mean {near[0]}? `tpharness docs CONTROL` has all of them",
            )


# ------------------------------------------------------------------------------------------------ cases


def header_json(script: Script) -> dict[str, Any]:
    """Return a `header`."""
    return {
        "thread_id": script.header.thread_id,
        "created_at": script.header.created_at,
        "agents": dict(script.header.agents),
        "versions": [str(version.value) for version in script.versions],
        "carriers": script.carriers,
        **wire_json(script),
    }


def wire_json(script: Script) -> dict[str, str]:
    """Return the member `wire` of a case or a run that is not on the default one."""
    return {} if script.wire in DEFAULT_WIRES else {"wire": script.wire}


def user_json(turn: UserTurn) -> dict[str, Any]:
    """Return a `userTurn`."""
    document = {"turn_type": "user", "submitted_at": turn.at, "parts": [dict(part) for part in turn.parts]}
    return document if turn.client_metadata is None else {**document, "client_metadata": dict(turn.client_metadata)}


def user_from(value: Mapping[str, Any]) -> UserTurn:
    """Read a `userTurn`."""
    return UserTurn(at=value["submitted_at"], parts=tuple(value["parts"]), client_metadata=value.get("client_metadata"))


def run_json(run: RunScript) -> dict[str, Any]:
    """Return a `runTurn`."""
    document: dict[str, Any] = {
        "turn_type": "agent",
        "agent_id": run.agent_id,
        "started_at": run.started_at,
        "events": [dict(event) for event in run.events],
    }
    if run.message_id is not None:
        document["message_id"] = run.message_id
    if run.interruption is not None:
        tell = "abort" if run.abort else "nothing"
        document["interruption"] = {"reason": run.interruption.reason, "at": run.interruption.at, "tell": tell}
    return document


def run_from(value: Mapping[str, Any]) -> RunScript:
    """Read a `runTurn`."""
    cut = value.get("interruption")
    return RunScript(
        agent_id=value["agent_id"],
        started_at=value["started_at"],
        events=tuple(value["events"]),
        interruption=None if cut is None else Interrupted(reason=cut["reason"], at=cut["at"]),
        abort=cut is not None and cut.get("tell") == "abort",
        message_id=value.get("message_id"),
    )


def stream_json(stream: Stream, **more: Any) -> dict[str, Any]:
    """Return a `streamTurn`: with its packets, or, when `more` names a `url`, with that in their place."""
    plain = all(one.event is None and one.data.isascii() for one in stream.packets)  # as thousands of one byte are
    quick = [{"data": one.data.decode(), "at": one.at} for one in stream.packets] if plain and "url" not in more else ()
    where = {} if "url" in more else {"packets": quick or [packet_json(packet) for packet in stream.packets]}
    end = {"at": stream.end.at} if stream.end.reason is None else {"at": stream.end.at, "reason": stream.end.reason}
    head = {"turn_type": "agent", "agent_id": stream.agent_id, "begun_at": stream.begun_at}
    return {**head, **where, "end": end, **more}


def turns_json(turns: Sequence[UserTurn | RunScript | Stream]) -> list[dict[str, Any]]:
    """Return the `turns` of a `serveRequest` or a `receiveRequest`."""
    forms = {UserTurn: user_json, RunScript: run_json, Stream: stream_json}
    return [forms[type(turn)](turn) for turn in turns]  # type: ignore[operator]  # each type with its own function


# ------------------------------------------------------------------------------------------------ what comes back


def versions_for(script: Script, capabilities: Capabilities) -> list[Version]:
    """Return the versions that a target writes of those that are asked for."""
    return [version for version in script.versions if version in capabilities.versions]


def case_json(script: Script, turns: Sequence[Mapping[str, Any]], capabilities: Capabilities) -> dict[str, Any]:
    """Return a `serveRequest` or a `receiveRequest` with what a target declares of what is asked for."""
    header = header_json(script)
    header["versions"] = [str(version.value) for version in versions_for(script, capabilities)]
    header["carriers"] = script.carriers and capabilities.carriers
    return {**header, "turns": list(turns)}


def packet_json(packet: Packet) -> dict[str, Any]:
    """Return a `packet`, its bytes as text where they are UTF-8."""
    try:
        document: dict[str, Any] = {"data": packet.data.decode("utf-8")}
    except UnicodeDecodeError:
        document = {"data_base64": b64encode(packet.data).decode("ascii")}
    document["at"] = packet.at
    return document if packet.event is None else {**document, "event": packet.event}


def packets_from(values: Sequence[Mapping[str, Any]]) -> tuple[Packet, ...]:
    """Read packets."""
    return tuple(
        Packet(
            data=value["data"].encode("utf-8") if "data" in value else b64decode(value["data_base64"]),
            at=value["at"],
            event=value.get("event"),
        )
        for value in values
    )


def threads_json(threads: Mapping[Version, Mapping[str, Any]]) -> dict[str, Any]:
    """Return `threads`."""
    return {str(version.value): thread for version, thread in threads.items()}


def threads_from(value: Mapping[str, Any], wanted: Sequence[Version], what: str) -> dict[Version, dict[str, Any]]:
    """Read the threads of an answer; TargetError names a version that is missing, or that a thread does not say."""
    threads: dict[Version, dict[str, Any]] = {}
    for version in wanted:
        thread = value.get(version.value)
        if thread is None:
            raise TargetError(
                f"{what} does not have a thread of version {version.value}", hint="return every requested version"
            )
        if thread["version"] != version.value:
            raise TargetError(
                f"{what}: the thread for {version.value} has the version {shorten(thread['version'], 40)}"
            )
        threads[version] = thread
    return threads


def resolve_json(reference: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """Return a `resolveRequest`."""
    return {"content_ref": dict(reference), "data_base64": b64encode(data).decode("ascii")}


def resolved_from(value: Mapping[str, Any], what: str) -> bytes | None:
    """Read a `resolved`: the bytes that were given out, None if refused; TargetError for what is not base64."""
    if "refused" in value:
        return None
    try:
        return b64decode(value["data_base64"], validate=True)
    except ValueError as error:
        raise TargetError(f"{what}: data_base64 is not base64: {error}") from error


def case_threads(value: Mapping[str, Any], script: Script, capabilities: Capabilities, what: str) -> dict[Version, Any]:
    """Read the threads of a case; TargetError as `threads_from`, and for a thread with another id."""
    threads = threads_from(value, versions_for(script, capabilities), what)
    for version, thread in threads.items():
        if thread["thread_id"] != script.header.thread_id:
            raise TargetError(
                f"{what}: the thread of version {version.value} has the thread_id "
                f"{shorten(str(thread['thread_id']), 80)}, asked for was {script.header.thread_id}",
                hint="the case says which thread_id its thread has",
            )
    return threads
