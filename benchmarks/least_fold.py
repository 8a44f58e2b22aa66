"""The least that gives the journal of a stream of `bodies.steps`: what no fold in Python can do without.

Events are cut out of the reads and decoded, pieces appended to their part and joined at its end, the input of a call
compared with its pieces, records made of what stays. No order is judged, no byte of an event looked at, no finding
kept, and nothing else is known to come. It is the floor of what `stream.fold` takes, and gives the same journal or ends
with an error.
"""

from __future__ import annotations

from typing import Any

import orjson

from tpharness.journal import AgentTurn, Completed, Journal, Log, Part, Response, Return, Segment, Streamed
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.chunks import decode_typed

__all__ = ["AT", "check_least", "least_journal"]

AT = "2026-01-01T00:00:00Z"


def least_journal(reads: list[bytes]) -> Journal:
    """Return the journal of a stream that has nothing wrong, with a text and a call in each step."""
    held = b""
    texts: dict[str, list[str]] = {}
    calls: dict[str, list[str]] = {}
    parts: list[Part] = []
    segments: list[Segment] = []
    names: dict[str, str] = {}
    streamed = Streamed()
    for read in reads:
        end = read.rfind(b"\n\n") + 2
        if end < len(read) or held:
            read, held = held + read[:end], read[end:]  # noqa: PLW2901  # no copy of a read that is whole events
        for data in read[6:-2].split(b"\n\ndata: "):
            try:
                chunk: Any = decode_typed(data)
            except ValueError:  # the end marker
                continue
            record = type(chunk)
            if record is c.TextDeltaChunk:
                texts[chunk.id].append(chunk.delta)
            elif record is c.ToolInputDeltaChunk:
                calls[chunk.tool_call_id].append(chunk.input_text_delta)
            elif record is c.TextStartChunk:
                texts[chunk.id] = []
            elif record is c.TextEndChunk:
                parts.append(Part(kind="text", fields={"content": "".join(texts.pop(chunk.id))}))
            elif record is c.ToolInputStartChunk:
                calls[chunk.tool_call_id] = []
                names[chunk.tool_call_id] = chunk.tool_name
            elif record is c.ToolInputAvailableChunk:
                if orjson.dumps(chunk.input) != "".join(calls.pop(chunk.tool_call_id)).encode():
                    raise SystemExit("the input of a call of this benchmark is not what its deltas say")
                fields = {"tool_name": chunk.tool_name, "tool_call_id": chunk.tool_call_id, "args": chunk.input}
                parts.append(Part(kind="tool-call", fields=fields, streamed=streamed))
            elif record is c.ToolOutputAvailableChunk:
                id_, number = chunk.tool_call_id, len(segments)
                returned = {"tool_name": names[id_], "tool_call_id": id_, "status": "success", "content": chunk.output}
                response = Response(agent_id="assistant", at=AT, parts=tuple(parts), finished=True)
                of_call = Return(
                    call_id=id_, agent_id="assistant", at=AT, kind="tool-return", fields=returned, call_key=number
                )
                segments.append(Segment(entries=(response, of_call), calls={number: (0, 0)}))
                parts = []
    tail = segments.pop()
    turn = AgentTurn(
        agent_id="assistant",
        started_at=AT,
        segments=Log(segments),
        tail=tail,
        end=Completed(at=AT),
        usage={},
    )
    return Journal(ended=Log([turn]))


def check_least(reads: list[bytes]) -> None:
    """SystemExit if the floor does not give the journal that the fold gives."""
    assembler = Assembler()
    assembler.begin(AT)
    for read in reads:
        assembler.feed(read, AT)
    assembler.close(None, AT)
    if assembler.journal() != least_journal(reads):
        raise SystemExit("the floor of this benchmark gives another journal than the fold")
