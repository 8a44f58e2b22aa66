# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Limits and habits of the libraries that read JSON and lines: R22, R43, R53."""

from __future__ import annotations

import json
from typing import Any

from tests.seeded_defects.frames import parser
from tests.seeded_defects.seeding import defect, on_chunk, on_event, on_wire, together, wrap

from tpharness.dialects import messages
from tpharness.server_events.events import EventKind
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp import records as c

__all__ = ["DEFECTS"]

_LONGEST_LINE = 65_536
_DEEPEST = 100


class ShortLines(SseParser):
    """A line that does not fit into the buffer of the library is skipped."""

    def _take(self, line, start):
        if len(line) <= _LONGEST_LINE:
            super()._take(line, start)


def replaced(value: Any):
    """Return text as a library reads it that knows no lone surrogates."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def replaced_in_deltas(was):
    def delta(self, event):
        return was(self, {**event, "delta": {name: replaced(value) for name, value in event["delta"].items()}})

    return delta


def replaced_at_the_start(was):
    def start(self, event):
        return was(self, {**event, "part": {name: replaced(value) for name, value in event["part"].items()}})

    return start


def without_surrogates(register):
    """Either what the server records or what it sends, made of events that were read so."""
    return together(
        register(replaced_in_deltas, EventKind.PART_DELTA), register(replaced_at_the_start, EventKind.PART_START)
    )


def depth(value: Any) -> int:
    """Return how many levels of lists and objects a value has."""
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def no_deep_output(was):
    def output(self, chunk):
        if depth(chunk.output) <= _DEEPEST:
            was(self, chunk)

    return output


def deep_values_are_null(was):
    def result(self, event):
        part = event["part"]
        if depth(part.get("content")) > _DEEPEST:
            event = {**event, "part": {**part, "content": None}}
        return was(self, event)

    return result


def errors_as_text(was):
    def request(agent_id, at, parts):
        told = [
            {**part, "content": json.dumps(part["content"])}
            if part["part_kind"] == "retry-prompt" and isinstance(part["content"], list)
            else part
            for part in parts
        ]
        return was(agent_id, at, told)

    return request


DEFECTS = (
    defect(
        "server-reads-lone-surrogates-as-replacement-characters",
        "server",
        "Half a character in a delta of the model becomes U+FFFD before the halves are joined.",
        "stream.surrogates R43",
        together(without_surrogates(on_event), without_surrogates(on_wire)),
    ),
    defect(
        "line-beyond-64-kilobytes-skipped",
        "client",
        "A line of the stream that is longer than 65,536 bytes is not read.",
        "sse.long-lines R53",
        parser(ShortLines),
    ),
    defect(
        "deep-output-not-read",
        "client",
        "An output that is nested more than 100 levels deep is not read.",
        "part.deep-values R53",
        on_chunk(no_deep_output, c.ToolOutputAvailableChunk),
    ),
    defect(
        "deep-result-is-null",
        "both",
        "The server reads a result that is nested more than 100 levels deep as null.",
        "part.deep-values R53",
        together(
            on_event(deep_values_are_null, EventKind.FUNCTION_TOOL_RESULT),
            on_wire(deep_values_are_null, EventKind.FUNCTION_TOOL_RESULT),
        ),
    ),
    defect(
        "errors-of-a-retry-prompt-as-text",
        "both",
        "The list of errors in a retry prompt is stored as text.",
        "tool.retry-prompt-content",
        wrap(messages, "_request", errors_as_text),
    ),
)
