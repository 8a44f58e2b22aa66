# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Arguments, references, open calls and stopped tools: R6, R7, R12, R30, R41."""

from __future__ import annotations

import json
from typing import Any

from tests.seeded_defects.seeding import (
    client_writer,
    defect,
    on_chunk,
    on_event,
    on_wire,
    server_writer,
    together,
    wrap,
)
from tests.seeded_defects.tools import on_returns

from tpharness.dialects import thread
from tpharness.journal import JournalWriter
from tpharness.server_events import calls, parts, recorder
from tpharness.server_events.events import EventKind
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import server as encoder

__all__ = ["DEFECTS"]


class NullIsNothing(JournalWriter):
    """Arguments that are null are no arguments."""

    def close_part(self, part, **fields):
        super().close_part(part, **{name: value for name, value in fields.items() if value is not None})


def told_again(was):
    """The event of a call's tool has the last word about its arguments."""

    def amend(self, started, report):
        self._without_args.add(started["tool_call_id"])
        was(self, started, report)

    return amend


def both_contents(part):
    return {**part, "content": None, **part} if "content_ref" not in part else {**part, "content": "see content_ref"}


def references_everywhere(was):
    return lambda *args, **options: was(*args, **{**options, "content_refs": True})


def bare_digest(part):
    ref = part.get("content_ref")
    if isinstance(ref, dict) and ref.get("hash"):
        return {**part, "content_ref": {**ref, "hash": "sha1:" + str(ref["hash"]).removeprefix("sha256:")}}
    return part


def without_metadata(part):
    return {k: v for k, v in part.items() if k != "metadata"}


class ForgetsCalls(JournalWriter):
    """Calls of earlier turns are forgotten."""

    def begin_turn(self, agent_id, at):
        super().begin_turn(agent_id, at)
        self._calls.clear()


def made_up_returns(was):
    def complete(self, at):
        for call_id, key in list(self._calls.items()):
            if key in self._open_keys:
                fields = {
                    "tool_name": self._call_names[key],
                    "tool_call_id": call_id,
                    "status": "error",
                    "content": "pending",
                }
                self.add_return(call_id, "tool-return", fields, at)
        return was(self, at)

    return complete


def stopped_tools_answer(was):
    return lambda part, name: was({**part, "outcome": "failed"} if part.get("outcome") == "interrupted" else part, name)


def stopped_tools_told(was):
    def result(self, event):
        part = event["part"]
        if part.get("outcome") == "interrupted":
            event = {**event, "part": {**part, "outcome": "failed"}}
        return was(self, event)

    return result


def as_text(was):
    return lambda held: was(held) if isinstance(was(held), str) or not isinstance(held, str) else held


def first_key_wins(held: Any):
    if not isinstance(held, str):
        return held
    try:
        return json.loads(held, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    except ValueError:
        return held


def broken_is_empty(was):
    def read(held):
        value = was(held)
        return {} if isinstance(held, str) and isinstance(value, str) and not held.startswith('"') else value

    return read


def read_args(make):
    """Both readings of arguments on the server: what it stores and what it tells."""
    return together(*(wrap(module, "parse_tool_args", make) for module in (calls, parts, encoder)))


def quoted(was):
    def available(self, chunk):
        handle = self._inputs.get(chunk.tool_call_id)
        done = was(self, chunk)
        if handle is not None and handle.kind == "tool-call" and handle.complete:
            handle.fields["args"] = json.dumps(handle.fields["args"])
        return done

    return available


def only_ended_calls(was):
    def result(self, event):
        if self._writer.response_open:
            unended = [handle for handle in self._parts.values() if handle.kind == "tool-call" and not handle.ended]
            self._writer._response.parts = [part for part in self._writer._response.parts if part not in unended]
            self._parts = {index: part for index, part in self._parts.items() if part not in unended}
        was(self, event)

    return result


def only_ended_calls_told(was):
    def result(self, event):
        self._calls = {name: call for name, call in self._calls.items() if "input" in call}
        self._unsent = {}
        return was(self, event)

    return result


def half_arguments_ended(was):
    def abort(self, reason, at):
        held = [(name, call) for name, call in self._calls.items() if "input" not in call]
        ended = [
            {
                "type": "tool-input-available",
                "toolCallId": name,
                "toolName": call["toolName"],
                "input": "".join(call["held"]),
            }
            for name, call in held
        ]
        return [*ended, *was(self, reason, at)]

    return abort


def announced_at_once(was):
    def start(self, index, part):
        named = {"toolCallId": part["tool_call_id"], "toolName": part["tool_name"]}
        return [*was(self, index, part), {"type": "tool-input-available", **named, "input": part.get("args") or {}}]

    return start


DEFECTS = (
    defect(
        "half-arguments-ended-at-the-abort",
        "server",
        "A server that is stopped ends the calls whose arguments stream, with what it holds, before it says abort.",
        "part.arguments-not-whole R60",
        wrap(encoder.Encoder, "abort", half_arguments_ended),
    ),
    defect(
        "calls-given-to-the-client-as-they-start",
        "server",
        "A server sends the input of a call as soon as the call starts.",
        "part.arguments-not-whole R60",
        wrap(encoder.Encoder, "_call_start", announced_at_once),
    ),
    defect(
        "refused-arguments-stored-as-error",
        "both",
        "A call that was refused before its tool ran has the status error.",
        "tool.status-validation-error R22",
        on_returns(lambda p: {**p, "status": "error" if p["status"] == "validation_error" else p["status"]}),
    ),
    defect(
        "calls-of-earlier-turns-forgotten",
        "client",
        "A return for a call that an earlier run left open finds no call.",
        "tool.later-turn-answers R30",
        client_writer(ForgetsCalls),
    ),
    defect(
        "server-forgets-open-calls",
        "server",
        "The server loses what waits for approval when the next run begins.",
        "tool.later-turn-answers R30",
        server_writer(ForgetsCalls),
    ),
    defect(
        "pending-return-made-up",
        "both",
        "A call that waits for approval gets a return that says so.",
        "tool.pending-implicit tool.pending-kept R30",
        wrap(JournalWriter, "complete_turn", made_up_returns),
    ),
    defect(
        "stopped-tool-recorded-as-failed",
        "server",
        "A tool that the interruption stopped gets an error return in the server's thread.",
        "tool.interrupted-no-return R41",
        wrap(recorder, "return_part", stopped_tools_answer),
    ),
    defect(
        "stopped-tool-failed-on-both-sides",
        "both",
        "A tool that the interruption stopped is reported and recorded as failed, so its cycle stays.",
        "tool.interrupted-no-return cycle.all-returns R41",
        together(
            on_event(stopped_tools_told, EventKind.FUNCTION_TOOL_RESULT),
            on_wire(stopped_tools_told, EventKind.FUNCTION_TOOL_RESULT),
        ),
    ),
    defect(
        "arguments-stored-as-text",
        "server",
        "The server stores arguments as the text that the model wrote.",
        "tool.args-parsed R12",
        read_args(as_text),
    ),
    defect(
        "arguments-encoded-twice",
        "client",
        "The client stores arguments as JSON in a string.",
        "tool.args-parsed R12",
        on_chunk(quoted, c.ToolInputAvailableChunk),
    ),
    defect(
        "first-of-duplicate-keys-wins",
        "both",
        "Of two equal keys in the arguments the first one counts.",
        "tool.args-duplicate-keys R12",
        read_args(lambda _: first_key_wins),
    ),
    defect(
        "arguments-that-are-no-json-emptied",
        "both",
        "Arguments that are not JSON are stored as an empty object.",
        "tool.args-parsed R12",
        read_args(broken_is_empty),
    ),
    defect(
        "content-beside-its-reference",
        "both",
        "A return that refers to its content holds a summary of it as well.",
        "ref.content-or-ref R6",
        on_returns(both_contents),
    ),
    defect(
        "references-in-a-version-without-them",
        "both",
        "A return in a thread of 2.0.0 has a reference and no content.",
        "part.fields R6",
        wrap(thread, "messages", references_everywhere),
    ),
    defect(
        "reference-hash-of-another-kind",
        "both",
        "The hash of a reference is not a sha256.",
        "ref.hash R6",
        on_returns(bare_digest),
    ),
    defect(
        "metadata-of-returns-lost",
        "both",
        "What a tool said beside its result is not kept.",
        "thread.unknown-preserved R7",
        on_returns(without_metadata),
    ),
    defect(
        "call-without-its-end-discarded",
        "both",
        "A call whose part has not ended when the run ends is discarded like an open text.",
        "part.call-complete-server R10 R28",
        together(
            on_event(only_ended_calls, EventKind.AGENT_RUN_RESULT),
            on_wire(only_ended_calls_told, EventKind.AGENT_RUN_RESULT),
        ),
    ),
    defect(
        "null-arguments-dropped",
        "server",
        "The server stores a call whose arguments are null without arguments.",
        "tool.args-parsed R12",
        server_writer(NullIsNothing),
    ),
    defect(
        "arguments-of-the-tool-call-event-stored",
        "server",
        "The server stores the arguments of a tool-call event, where the client was told those of the call.",
        "part.call-complete-server R10",
        wrap(calls.RunCalls, "amend", told_again),
    ),
)
