"""Streams as a client gets them: legal ones, chunks in no order at all, and recorded ones with bytes changed.

In: a source of choices. Out: client-only scenarios. What is legal comes from a program by way of the reference server;
what is not is for finding crashes and threads that depend on how bytes are cut, and may be reported as it likes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tpharness.explore.generate.programs import program
from tpharness.explore.generate.source import Source, flag, many, one_of
from tpharness.explore.generate.values import TEXTS, json_value, text
from tpharness.protocol.versions import Version, newest_version
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import AgentRun, Compare, GivenStream, Scenario, UserInput, find_scenarios, load_scenario
from tpharness.targets.reference import ReferenceServer, serve_turns
from tpharness.wires.sse.frames import split_frames
from tpharness.wires.vsp.encode import DONE, encode_sse
from tpharness.wires.vsp.majors import CHUNK_TYPES
from tpharness.wires.vsp.records import RECORDS

__all__ = ["client_only", "mutated", "recordings", "stream"]

_OTHER = "other"
_IDS = ("t", "u", "")
_CALLS = ("c1", "c2", "toString")
_CHUNKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((name, CHUNK_TYPES[name].required) for name in RECORDS),
    ("thinking-delta", ("id", "delta")),
    ("data-note", ("data",)),
    ("data-tp-note", ("data",)),
    ("data-sys-note", ("data",)),
    ("data-sys-tp", ("facts",)),
    ("data-sys-tp", ("facts",)),
    ("data", ("name", "value")),
    ("no-such-chunk", ("x",)),
)
"""Every kind of chunk and some that are not one, with the fields that they need; those `_field` makes up by name."""

_FACTS = (
    *("agent_id", "model_name", "provider_name", "provider_response_id", "usage", "finish_reason"),
    *("tool_return", "source_agent", "target_agents"),
)  # and no times: a sender that gets them wrong describes an impossible thread
_URLS = ("https://example.org/a", "data:text/plain;base64,YQ==", "data:,a", "data:text/plain;base64,Y", "")
_LINES = (
    b": a comment\n",
    b"id: 7\n",
    b"id: a\0b\n",
    b"id\n",
    b"event: message\n",
    b"event: ping\n",
    b"retry: 5\n",
    b"x: y\n",
)
_SNIPPETS = (
    *(b"\n", b"\r", b"\r\n", b"data: ", b":", b"{", b"}", b'"', b"\\"),
    *(b"\\ud83d", b"\xf0\x9f", b"\xff", b"\x00", b"9" * 20),
)


def stream(source: Source) -> Scenario:
    """Return a client-only scenario: a legal stream once in two times, else chunks in any order."""
    if flag(source, 2):
        made = program(source, carriers=flag(source, 2)).scenario
        served = _served(made)
        runs = iter(served)
        turns = tuple(
            replace(turn, events=None, wire=GivenStream(data=next(runs))) if isinstance(turn, AgentRun) else turn
            for turn in made.turns
        )
        return replace(made, id="fuzz/stream", description="A generated stream.", turns=turns, compare=Compare.CONTENT)
    plain = not flag(source, 4)
    frames = [encode_sse(_chunk(source)) for _ in many(source, 1, 24, 12)]
    if flag(source, 2):
        frames.append(DONE)
    data = b"".join(frames if plain else (_dressed(source, frame) for frame in frames))
    return client_only(data, "A generated stream of chunks in any order.")


def client_only(data: bytes, description: str) -> Scenario:
    """Return a scenario whose only run is this stream."""
    empty = program(_Simplest()).scenario
    user = empty.turns[0]
    run = empty.turns[1]
    if not isinstance(user, UserInput) or not isinstance(run, AgentRun):
        raise TypeError("a program begins with a user turn and a run")
    turns = (user, replace(run, events=None, wire=GivenStream(data=data)))
    return replace(
        empty,
        id="fuzz/stream",
        description=description,
        agents={**empty.agents, _OTHER: {**empty.agents[run.agent_id], "agent_id": _OTHER}},
        turns=turns,
        versions=tuple(Version),
        compare=Compare.CONTENT,
        carriers=False,
    )


def mutated(source: Source) -> Scenario:
    """Return a client-only scenario with the stream of a recording, some of its bytes changed."""
    name, data = one_of(source, recordings())
    changed = bytearray(data)
    for _ in many(source, 1, 6, 3):
        _mutate(source, changed)
    return client_only(bytes(changed), f"{name} with some bytes changed."[:200])


@cache
def recordings() -> tuple[tuple[str, bytes], ...]:
    """Return the recorded streams of the suite, shortest first."""
    root = scenarios_dir()
    found: dict[bytes, str] = {}
    for path in find_scenarios([root / "recorded"]):
        scenario = load_scenario(path, root=root)
        for _, run in scenario.runs:
            if run.wire is not None:
                data = run.wire.data or b"".join(map(encode_sse, run.wire.chunks or ()))
                found.setdefault(data, scenario.id)
    return tuple(sorted(((name, data) for data, name in found.items()), key=lambda one: (len(one[1]), one[0])))


def _mutate(source: Source, data: bytearray) -> None:
    """Change some bytes in place: cut out, overwrite, insert, repeat, swap two events, cut off."""
    at = source.number(0, len(data))
    match source.number(0, 6):
        case 0:
            del data[at : at + source.number(1, 20)]
        case 1:
            data[at : at + 1] = bytes([source.number(0, 255)])
        case 2:
            data[at:at] = one_of(source, _SNIPPETS)
        case 3:
            size = source.number(1, 200)
            data[at:at] = data[at : at + size]
        case 4:
            frames = split_frames(bytes(data)) or [b""]
            one, two = source.number(0, len(frames) - 1), source.number(0, len(frames) - 1)
            frames[one], frames[two] = frames[two], frames[one]
            data[:] = b"".join(frames)
        case 5:
            del data[at:]
        case _:
            data[at:at] = base64.b64encode(one_of(source, TEXTS).encode())


def _dressed(source: Source, frame: bytes) -> bytes:
    """Return an event with what event streams may have besides: other fields, comments, other line ends."""
    for _ in many(source, 0, 3):
        frame = one_of(source, _LINES) + frame
    if flag(source, 4):
        frame = frame.replace(b"\n", one_of(source, (b"\r\n", b"\r")))
    return frame


def _chunk(source: Source) -> dict[str, Any]:
    kind, fields = one_of(source, _CHUNKS)
    chunk: dict[str, Any] = {"type": kind}
    for name in fields:
        if not flag(source, 40):
            chunk["data" if name == "facts" else name] = _field(source, name)
    if kind in ("tool-output-available", "tool-output-error") and flag(source, 8):
        chunk["preliminary" if kind.endswith("available") else "dynamic"] = True
    if kind in ("tool-input-start", "tool-input-available") and flag(source, 8):
        chunk["providerExecuted"] = True
    if kind == "finish" and flag(source, 2):
        chunk["finishReason"] = one_of(source, ("stop", "error", "content-filter", "tool-calls", "interrupted", "x"))
    return chunk


def _field(source: Source, name: str) -> Any:
    if flag(source, 60):
        return json_value(source, 1)
    match name:
        case "id":
            return one_of(source, _IDS)
        case "toolCallId":
            return one_of(source, _CALLS)
        case "approvalId":
            return one_of(source, ("a1", "a2"))
        case "approved":
            return flag(source, 2)
        case "inputTextDelta":
            return one_of(source, ("{", "}", '"a":', "1", "{}", ""))
        case "delta" | "errorText" | "toolName" | "title":
            return text(source)
        case "facts":
            return {fact: _fact(source, fact) for fact in _FACTS if flag(source, 3)}
        case "kind":
            return one_of(source, ("a.b", "a", ""))
        case "name":
            return one_of(source, ("data-note", "data-tp-note", "data-sys-tp", "note"))
        case "url":
            return one_of(source, _URLS)
        case "mediaType":
            return one_of(source, ("text/plain", ""))
        case "parts":
            return [_prompt(source) for _ in many(source, 0, 2)]
        case "sourceId":
            return one_of(source, _IDS)
        case _:
            return json_value(source)


def _prompt(source: Source) -> dict[str, Any]:
    if flag(source, 3):
        return {"type": "file", "url": _field(source, "url"), "mediaType": _field(source, "mediaType")}
    return {"type": "text", "text": text(source)}


def _fact(source: Source, name: str) -> Any:
    """Return what a carrier may hold under this name, or sometimes something else."""
    if flag(source, 20) and "agent" not in name:
        return json_value(source)
    match name:
        case "agent_id" | "source_agent":
            return one_of(source, ("assistant", _OTHER))
        case "target_agents":
            return [_OTHER]
        case "usage":
            return {"input_tokens": source.number(0, 9)}
        case "finish_reason":
            return one_of(source, ("stop", "tool_call", "content-filter", "x"))
        case "tool_return":
            return {"status": one_of(source, ("success", "error", "x")), "content": json_value(source, 1)}
        case _:
            return text(source)


def _served(scenario: Scenario) -> Sequence[bytes]:
    """Return what the reference sends for each run."""
    script = make_script(base_case(scenario, [newest_version()]))
    streams = serve_turns(ReferenceServer(script), script.turns)
    return [b"".join(packet.data for packet in packets) for packets in streams]


class _Simplest:
    """A source that gives the simplest of everything."""

    def number(self, low: int, high: int) -> int:
        """Return the lowest number."""
        del high
        return low
