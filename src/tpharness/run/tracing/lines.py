"""The lines and streams of one traced case while they are made, kept below the size that a case may have. Pure.

In: lines, bytes, notes of a tape. Out: `CaseFiles` for `trace`. What does not fit is left out; a `cut` line says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tpharness.targets.contract import Packet
from tpharness.trace.format import MAX_CASE, decode_line, encode_line
from tpharness.trace.secrets import Secrets, shown_headers
from tpharness.trace.tape import TapeNote
from tpharness.trace.write import CaseFiles
from tpharness.verdict import Result
from tpharness.wires.sse.frames import split_frames

__all__ = ["CaseLines"]

_MOST_WIRE = MAX_CASE // 2
_MOST_BODIES = MAX_CASE // 4
_LARGEST_BODY = 200_000
_MOST_LINES = 20_000


class CaseLines:
    """The lines of one case, and the bytes of its streams."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._lines: list[bytes] = []
        self._size = 0
        self._bodies = 0
        self._wires: list[dict[str, Any]] = []
        self._streams: list[bytes] = []
        self._cuts: list[str] = []

    def files(self) -> CaseFiles:
        """Return what was made."""
        cuts = [encode_line({"kind": "cut", "what": cut}) for cut in self._cuts]
        return CaseFiles(body=b"".join((*self._lines, *cuts)), wires=tuple(self._wires), streams=tuple(self._streams))

    def add(self, line: Mapping[str, Any]) -> bool:
        """Add a line; False if the case is as large as it may be."""
        text = encode_line(line)
        if self._size + len(text) > MAX_CASE - _MOST_WIRE:
            self.cut(f"the trace of a case is at most {MAX_CASE // 1_000_000} MB: some of its lines are left out")
            return False
        self._size += len(text)
        self._lines.append(text)
        return True

    def cut(self, words: str) -> None:
        """Say that something is left out, once."""
        if words not in self._cuts:
            self._cuts.append(words)

    def application_case(self, result: Result, *, about: str, played: str, server: str, client: str) -> None:
        """Add the line of a case that was played on an application, and its findings: such a case has no scenario.

        `played` says what the trace does not have of the playing; `server` and `client` are the names of the two.
        """
        self.add(
            {
                "kind": "case",
                "id": result.id,
                "description": about,
                "clauses": list(result.clauses),
                "rulings": [],
                "outcome": result.outcome.value,
                "reason": self._secrets.text(result.reason),
                "versions": [],
                "seconds": round(result.seconds, 6),
                "played": played,
                "server": {"name": server, "reference": False},
                "client": {"name": client, "reference": False},
            }
        )
        for finding in result.findings:
            self.add({"kind": "finding", **finding.as_json()})

    # ------------------------------------------------------------------------------------------------ streams

    def stream(self, data: bytes) -> int:
        """Keep the bytes of a stream, or as many of them as fit; return the number by which `wire` names them."""
        room = max(0, _MOST_WIRE - sum(map(len, self._streams)))
        if len(data) > room:
            self.cut(f"of a stream of {len(data)} bytes, the first {room} are kept")
        self._streams.append(data[:room])
        return len(self._streams) - 1

    def wire(self, side: str, run: int, data: bytes, number: int, packets: Sequence[Packet]) -> None:
        """Add the lines of what a side sent or was given in a run: its packets and its chunks."""
        kept = min(len(data), len(self._streams[number]))
        self._wires.append({"kind": "wire", "run": run, "side": side, "file": number, "size": len(data), "kept": kept})
        offset = 0
        for packet in packets[:_MOST_LINES]:
            about: dict[str, Any] = {"kind": "packet", "run": run, "side": side, "offset": offset}
            about |= {"size": len(packet.data), "at": packet.at}
            self.add(about if packet.event is None else {**about, "event": packet.event})
            offset += len(packet.data)
        offset = 0
        frames = split_frames(data)
        for index, frame in enumerate(frames[:_MOST_LINES]):
            about = {"kind": "chunk", "run": run, "side": side, "index": index, "offset": offset}
            self.add({**about, "size": len(frame), "type": _chunk_type(frame)})
            offset += len(frame)
        if max(len(frames), len(packets)) > _MOST_LINES:
            self.cut(f"a stream has {len(frames)} chunks: the first {_MOST_LINES} are listed")

    # ------------------------------------------------------------------------------------------------ what was asked

    def moments(self, notes: Sequence[TapeNote], forgotten: int) -> None:
        """Add what a tape has noted; `forgotten` are the notes that it had no room for."""
        seen: dict[tuple[str, int], int] = {}
        for note in notes:
            line: dict[str, Any] = {"kind": note.kind, "t": round(note.t, 6), "what": note.what}
            if note.kind == "stderr":
                line["text"] = self._secrets.text(str(note.body))
            elif note.kind in ("read", "sent"):
                key = (note.kind, note.run)
                offset = seen.get(key, 0)
                seen[key] = offset + note.size
                line |= {"kind": "moved", "way": note.kind, "run": note.run, "size": note.size, "offset": offset}
            else:
                if note.status is not None:
                    line["status"] = note.status
                if note.headers:
                    line["headers"] = [list(pair) for pair in shown_headers(note.headers)]
                line |= self.body(note.body, largest=_MOST_BODIES if note.kind == "asked" else _LARGEST_BODY)
            if not self.add(line):
                return
        if forgotten:
            self.cut(f"{forgotten} more requests, reads and lines of standard error")

    def body(self, body: Any, largest: int = _LARGEST_BODY) -> dict[str, Any]:
        """Return a document as the field `body` of a line, or, where it is too large, a `note`; nothing for None.

        What a target was asked is needed whole, to ask it again.
        """
        if body is None:
            return {}
        size = len(body) if isinstance(body, bytes) else len(encode_line(body))
        if size > largest or self._bodies + size > _MOST_BODIES:
            return {"note": f"a document of {size} bytes, which is left out"}
        self._bodies += size
        return {"body": _read_body(body) if isinstance(body, bytes) else body}


def _read_body(body: bytes) -> Any:
    """Return an answer as JSON, or as text where it is not JSON."""
    try:
        return decode_line(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")


def _chunk_type(frame: bytes) -> str:
    for line in frame.splitlines():
        if line.startswith(b"data:"):
            try:
                chunk = orjson.loads(line[5:])
            except orjson.JSONDecodeError:
                return ""
            found = chunk.get("type") if isinstance(chunk, dict) else None
            return found if isinstance(found, str) else ""
    return ""
