"""The vectors of `documents/` that begin with a stream: its bytes, one of its chunks, or the run that it tells.

Each function returns where tpharness differs from what the vector says, as a sentence, or "" where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from conformance.holds import holds

from tpharness.dialects import DIALECTS, ThreadHeader, make_registry
from tpharness.findings import Finding
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import newest_version
from tpharness.readings import Readings, UnfinishedRule
from tpharness.server_events import Recorder
from tpharness.server_events.guide import GuideReader
from tpharness.wires.sse.parser import MAX_LINE, SseParser
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.chunks import decode_chunk
from tpharness.wires.vsp.encode import encode_sse, encode_stream, to_wire
from tpharness.wires.vsp.records import Done, Malformed
from tpharness.wires.vsp.server import Encoder

__all__ = ["run_chunk", "run_encoding", "run_fold", "run_stream"]

_AT = "2025-01-20T10:00:00Z"


def run_stream(vector: Mapping[str, Any]) -> str:
    """Read the bytes as they came, at once, and byte by byte."""
    reads = [read.encode("latin-1" if vector.get("latin1") else "utf-8") for read in vector["reads"]]
    whole = b"".join(reads)
    for way in (reads, [whole], [whole[i : i + 1] for i in range(len(whole))]):
        wrong = _read(way, vector)
        if wrong:
            return wrong
    return ""


def _read(reads: Iterable[bytes], vector: Mapping[str, Any]) -> str:
    limit = vector.get("max_line", MAX_LINE)
    parser, bare = SseParser(max_line=limit), SseParser(max_line=limit)
    frames, data = [], []
    for read in reads:
        frames += parser.feed(read)
        data += bare.feed_data(read)
    leftover = parser.close()
    bare.close()
    got = [msgspec.to_builtins(msgspec.structs.asdict(frame), builtin_types=(bytes,)) for frame in frames]
    got = [{**frame, "data": frame["data"].decode()} for frame in got]
    found = [[finding.code, finding.place.byte] for finding in parser.findings]
    if not holds(got, vector["events"]):
        return f"the events are {got}"
    if data != [frame.data for frame in frames if frame.data and frame.event != "ping"]:
        return f"without heartbeats, the data are {data}"
    if found != vector.get("found", []) or [one.code for one in bare.findings] != [one[0] for one in found]:
        return f"found {found}"
    rest = (
        None
        if leftover is None
        else [leftover.start, leftover.size, leftover.line.decode("latin-1"), leftover.has_data]
    )
    if rest != vector.get("leftover"):
        return f"left over: {rest}"
    if parser.last_event_id != vector.get("last_event_id"):
        return f"the last id is {parser.last_event_id!r}"
    return "" if parser.retry == vector.get("retry") else f"the time to wait is {parser.retry}"


def run_chunk(vector: Mapping[str, Any]) -> str:
    """Read the data of one event, and write what was read."""
    data = vector["data"].encode("utf-8", "surrogatepass")
    chunk = decode_chunk(data)
    if isinstance(chunk, Malformed):
        if [frame.data for frame in SseParser().feed(encode_sse(chunk))] != [data]:
            return f"it is written as {encode_sse(chunk)!r}"
        return "" if vector.get("found") == chunk.kind.code else f"found {chunk.kind.code}: {chunk.reason}"
    if "found" in vector:
        return f"nothing is found, it is read as {chunk}"
    written = encode_sse(chunk)
    if isinstance(chunk, Done):
        return "" if vector["chunk"] == "[DONE]" else "it is read as the end marker"
    if to_wire(chunk) != vector["chunk"]:
        return f"it is read as {to_wire(chunk)}"
    again = decode_chunk(written.removeprefix(b"data: ").removesuffix(b"\n\n"))
    if isinstance(again, Malformed | Done) or to_wire(again) != vector["chunk"]:
        return f"it is written as {written!r}"
    if encode_sse(vector["chunk"]) != written:
        return f"as an object it is written as {encode_sse(vector['chunk'])!r}"
    return (
        ""
        if written.decode() == f"data: {vector.get('written', vector['data'])}\n\n"
        else f"it is written as {written!r}"
    )


def run_fold(vector: Mapping[str, Any]) -> str:
    """Fold the chunks as they are and as bytes, or the server's events; compare the threads."""
    for folded in (_fold_events,) if "events" in vector else (_fold_chunks, _fold_bytes):
        journal, findings = folded(vector)
        found = [[finding.code, finding.place.event, finding.got, finding.expected] for finding in findings]
        wanted = vector.get("found", [])
        if len(found) != len(wanted) or any(one[: len(told)] != told for one, told in zip(found, wanted, strict=True)):
            return f"found {found}"
        agents = make_registry(journal, created_at=vector.get("created_at"))
        header = ThreadHeader(thread_id="t", created_at=_AT, agents=agents)
        thread = DIALECTS[newest_version()].renderer(header, Readings()).render(journal)
        if "agents" in vector and agents != vector["agents"]:
            return f"the agents are {agents}"
        if not holds(thread["turns"], vector["turns"]):
            return f"the turns are {thread['turns']}"
        if thread["updated_at"] != vector.get("updated_at", thread["updated_at"]):
            return f"the thread was updated at {thread['updated_at']}"
    return _fold_in_steps(vector, Readings()) or _fold_in_steps(vector, Readings(R20=UnfinishedRule.AS_STREAMED))


def _fold_in_steps(vector: Mapping[str, Any], readings: Readings) -> str:
    """Cut the run after each step of one fold; a fold of what had come by then has to give the same thread."""
    steps = vector.get("events") or vector["chunks"]
    header = ThreadHeader(thread_id="t", created_at=_AT)
    dialect, cut = DIALECTS[newest_version()], Interrupted(reason="timeout", at=_AT)
    partial = readings.R20 is UnfinishedRule.AS_STREAMED
    running, renderer = _Folding(vector), dialect.renderer(header, readings)
    version, thread = None, None
    for count, step in enumerate(steps, start=1):
        running.feed(step)
        if running.fold.version != version or partial:  # what is open has no version of its own
            version, thread = running.fold.version, renderer.render(running.fold.journal(cut, partial=partial))
        anew = _Folding(vector)
        for one in steps[:count]:
            anew.feed(one)
        wanted = dialect.renderer(header, readings).render(anew.fold.journal(cut, partial=partial))
        if thread is None or thread["turns"] != wanted["turns"]:
            return f"after {count} steps the thread is {thread}, and {wanted} if nobody asked before"
    return ""


class _Folding:
    """A fold of chunks or events, one after another."""

    def __init__(self, vector: Mapping[str, Any]) -> None:
        self.fold: Assembler | Recorder
        if "events" in vector:
            self.fold = Recorder()
            self.fold.begin("assistant", _AT)
        else:
            self.fold = Assembler()
            self.fold.begin(_AT)
        self._guide = GuideReader()

    def feed(self, step: Any) -> None:
        if isinstance(self.fold, Assembler):
            self.fold.feed_chunks([step], _AT)
            return
        for event in self._guide.feed(step):
            self.fold.feed(event)


def _fold_chunks(vector: Mapping[str, Any]) -> tuple[Any, list[Finding]]:
    assembler = Assembler()
    if "user" in vector:
        assembler.add_user_turn(UserTurn(at=_AT, parts=({"part_kind": "user-prompt", "content": vector["user"]},)))
    assembler.begin(_AT)
    if assembler.time != _AT:
        raise AssertionError("a stream begins at its beginning")
    assembler.feed_chunks(vector["chunks"], _AT)
    assembler.done(_AT)
    assembler.close(None, _AT)
    return assembler.journal(), assembler.findings


def _fold_bytes(vector: Mapping[str, Any]) -> tuple[Any, list[Finding]]:
    assembler = Assembler()
    if "user" in vector:
        assembler.add_user_turn(UserTurn(at=_AT, parts=({"part_kind": "user-prompt", "content": vector["user"]},)))
    assembler.begin(_AT)
    assembler.feed(encode_stream(vector["chunks"]), _AT)
    assembler.close(None, _AT)
    return assembler.journal(), assembler.findings


def _fold_events(vector: Mapping[str, Any]) -> tuple[Any, list[Finding]]:
    recorder, guide = Recorder(), GuideReader()
    recorder.begin("assistant", _AT)
    for event in vector["events"]:
        for one in guide.feed(event):
            recorder.feed(one)
    recorder.interrupt("network_failure", recorder.time)
    return recorder.journal(), recorder.findings


def run_encoding(vector: Mapping[str, Any]) -> str:
    """Send the events of a run."""
    encoder = Encoder(agent_id="assistant", carriers=vector.get("carriers", False), message_id="m1")
    sent = encoder.start(_AT, ({"part_kind": "user-prompt", "content": "Hi"},))
    for event in vector["events"]:
        sent += encoder.feed(event)
    if "interrupt" in vector:
        sent += encoder.abort(**vector["interrupt"])
    chunks = [to_wire(chunk) for chunk in sent]
    return "" if chunks == vector["chunks"] else f"sent {chunks}"
