"""The client's fold: chunks → journal.

In: chunk records with the time they were received. Out: the journal, and findings for chunks that have no place where
they came. The order of chunks is one table, `TRANSITIONS`, from (state, chunk record) to an action; a missing pair is a
violation, named with the chunk's index, and the thread is what it would be without that chunk (R36). Never a crash,
never half a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.journal import Event, OpenPart
from tpharness.protocol.versions import NORMATIVE_PREFIX
from tpharness.vsp import chunks as c
from tpharness.vsp import violations as v
from tpharness.vsp.carrier import CARRIER, carried_return
from tpharness.vsp.parts import (
    DENIAL,
    call_fields,
    custom_part,
    file_fields,
    provider_facts,
    source_event,
    steering_prompt,
)
from tpharness.vsp.states import transitions
from tpharness.vsp.stream import StreamFold

__all__ = ["TRANSITIONS", "ChunkFold"]


class ChunkFold(StreamFold):
    """Folds the chunks of one thread; one `begin` for each stream, then `feed`, then `close`."""

    # ------------------------------------------------------- text and reasoning

    def _text_start(self, chunk: c.TextStartChunk) -> None:
        if chunk.id in self._texts:
            self._report(v.DUPLICATE_START, f"text-start for {chunk.id!r}, which is open")
            return
        self._ensure_response()
        fields = {k: w for k, w in provider_facts(chunk.provider_metadata).items() if k == "id"}
        self._texts[chunk.id] = self._writer.open_part("text", fields, "content")

    def _text_delta(self, chunk: c.TextDeltaChunk) -> None:
        handle = self._texts.get(chunk.id)
        if handle is None:
            self._report(v.NO_START, f"text-delta for {chunk.id!r}")
        else:
            handle.pieces.append(chunk.delta)

    def _text_end(self, chunk: c.TextEndChunk) -> None:
        handle = self._texts.pop(chunk.id, None)
        if handle is None:
            self._report(v.NO_START, f"text-end for {chunk.id!r}")
        else:
            self._writer.close_part(handle, id=provider_facts(chunk.provider_metadata).get("id"))

    def _reasoning_start(self, chunk: c.ReasoningStartChunk) -> None:
        if chunk.id in self._reasonings:
            self._report(v.DUPLICATE_START, f"reasoning-start for {chunk.id!r}, which is open")
            return
        self._ensure_response()
        self._reasonings[chunk.id] = self._writer.open_part("thinking", {}, "content")
        self._reasoning_facts(self._reasonings[chunk.id], chunk.provider_metadata)

    def _reasoning_delta(self, chunk: c.ReasoningDeltaChunk) -> None:
        handle = self._reasonings.get(chunk.id)
        if handle is None:
            self._report(v.NO_START, f"reasoning-delta for {chunk.id!r}")
            return
        handle.pieces.append(chunk.delta)
        if chunk.provider_metadata is not None:
            self._reasoning_facts(handle, chunk.provider_metadata)

    def _reasoning_end(self, chunk: c.ReasoningEndChunk) -> None:
        handle = self._reasonings.pop(chunk.id, None)
        if handle is None:
            self._report(v.NO_START, f"reasoning-end for {chunk.id!r}")
            return
        self._reasoning_facts(handle, chunk.provider_metadata)
        handle.fields.setdefault("provider_name", self._provider())
        self._writer.close_part(handle)

    def _reasoning_facts(self, handle: OpenPart, metadata: Mapping[str, Any] | None) -> None:
        facts = provider_facts(metadata)
        if "id" in facts:
            facts["thinking_id"] = facts.pop("id")
        handle.fields.update(facts)

    # ------------------------------------------------------------------ calls

    def _input_start(self, chunk: c.ToolInputStartChunk) -> None:
        call_id = chunk.tool_call_id
        if call_id in self._tools or (
            self._writer.call_key(call_id) is not None and not self._writer.answered(call_id)
        ):
            self._report(v.DUPLICATE_START, f"tool-input-start for {call_id!r}, which is waiting for its output")
            self._ignored_calls.add(call_id)
            return
        self._ensure_response()
        kind = "builtin-tool-call" if chunk.provider_executed else "tool-call"
        self._tools[call_id] = self._writer.open_part(kind, call_fields(chunk), "args")

    def _input_delta(self, chunk: c.ToolInputDeltaChunk) -> None:
        handle = self._tools.get(chunk.tool_call_id)
        if handle is not None:
            handle.pieces.append(chunk.input_text_delta)
        elif chunk.tool_call_id not in self._ignored_calls:
            self._report(v.NO_START, f"tool-input-delta for {chunk.tool_call_id!r}")

    def _input_available(self, chunk: c.ToolInputAvailableChunk | c.ToolInputErrorChunk) -> bool:
        call_id = chunk.tool_call_id
        if self._writer.answered(call_id) and self._writer.in_open_response(call_id):
            self._report(v.DUPLICATE_START, f"{c.type_of(chunk)} for {call_id!r}, which was refused")
            return False
        handle = self._tools.pop(call_id, None)
        if handle is None:
            if call_id in self._ignored_calls:
                self._ignored_calls.discard(call_id)
                return False
            if self._writer.call_key(call_id) is not None and not self._writer.answered(call_id):
                if isinstance(chunk, c.ToolInputErrorChunk):
                    return True  # complete before, refused now
                if self._writer.in_open_response(call_id):
                    self._report(v.DUPLICATE_START, f"{c.type_of(chunk)} for {call_id!r}, which is complete")
                return False  # a call of an earlier response, said again (R31)
            self._ensure_response()
            handle = self._writer.open_part("tool-call", {}, "args")
        if chunk.provider_executed or handle.kind == "builtin-tool-call":
            handle.kind = "builtin-tool-call"
            self._provider_calls[call_id] = handle.fields
        self._writer.close_part(handle, **call_fields(chunk), args=chunk.input)
        handle.fields.setdefault("args", None)
        return True

    def _input_error(self, chunk: c.ToolInputErrorChunk) -> None:
        """A call that was refused before any tool ran: its response goes on, only an output ends it (R40)."""
        if not self._input_available(chunk):
            return
        self._input_errors.add(chunk.tool_call_id)
        if chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.error_text)
        else:
            self._add_return(chunk.tool_call_id, "validation_error", chunk.error_text)

    # ---------------------------------------------------------------- outputs

    def _output(self, chunk: c.ToolOutputAvailableChunk) -> None:
        if chunk.preliminary:  # R14: progress, not a return
            self._known_call(chunk.tool_call_id, chunk)
        elif chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.output)
        elif self._answerable(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "success", chunk.output)

    def _output_error(self, chunk: c.ToolOutputErrorChunk) -> None:
        if chunk.tool_call_id in self._input_errors:
            self._input_errors.discard(chunk.tool_call_id)
            self._report(v.ERROR_REPEATED, f"tool-output-error for {chunk.tool_call_id!r} after its tool-input-error")
        elif chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.error_text)
        elif self._answerable(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "error", chunk.error_text)

    def _output_denied(self, chunk: c.ToolOutputDeniedChunk) -> None:
        reason = self._denials.get(chunk.tool_call_id, DENIAL)
        if chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, reason)
        elif self._answerable(chunk.tool_call_id, chunk):  # R22: a denied call is an error return
            self._add_return(chunk.tool_call_id, "error", reason)

    def _approval_request(self, chunk: c.ToolApprovalRequestChunk) -> None:
        if self._known_call(chunk.tool_call_id, chunk):
            self._approvals[chunk.approval_id] = chunk.tool_call_id

    def _approval_response(self, chunk: c.ToolApprovalResponseChunk) -> None:
        call_id = self._approvals.get(chunk.approval_id)
        if call_id is None:
            self._report(v.NO_CALL, f"tool-approval-response for {chunk.approval_id!r}, which was never asked for")
        elif not chunk.approved and chunk.reason:
            self._denials[call_id] = chunk.reason

    def _known_call(self, call_id: str, chunk: c.Chunk) -> bool:
        if call_id in self._tools:
            self._report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, whose input is still streaming")
            return False
        if self._writer.call_key(call_id) is None and call_id not in self._provider_calls:
            self._report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, which was never called")
            return False
        return True

    def _answerable(self, call_id: str, chunk: c.Chunk) -> bool:
        if not self._known_call(call_id, chunk):
            return False
        if self._writer.answered(call_id):
            self._report(v.SECOND_OUTPUT, f"{c.type_of(chunk)} for {call_id!r}, which has its return")
            return False
        self._ensure_turn()
        if self._writer.in_open_response(call_id):  # R40: tools run only after their response
            self._end_response()
            self._step_answered = True
        return True

    def _add_return(self, call_id: str, status: str, content: Any) -> None:
        """Record a return; a carrier may say more of it than the wire does."""
        fields = {
            "tool_name": self._writer.tool_name(call_id) or "",
            "tool_call_id": call_id,
            "status": status,
            "content": content,
        }
        kind, fields = carried_return(fields, self._facts.take("tool_return"))
        self._writer.add_return(call_id, kind, fields, self._time())

    def _provider_output(self, call_id: str, content: Any) -> None:
        """R42: what a provider executed itself is part of its response, and ends nothing."""
        if not self._writer.response_open:
            self._report(v.LATE_PROVIDER_OUTPUT, f"output of {call_id!r} came after its response had finished")
            return
        call = self._provider_calls[call_id]
        fields = {"tool_name": call.get("tool_name", ""), "tool_call_id": call_id, "content": content}
        if "provider_name" in call:
            fields["provider_name"] = call["provider_name"]
        self._writer.add_part("builtin-tool-return", fields)

    # --------------------------------------------------- content that is whole

    def _file(self, chunk: c.FileChunk) -> None:
        self._ensure_response()
        self._writer.add_part("file", file_fields(chunk))

    def _custom(self, chunk: c.CustomChunk | c.ReasoningFileChunk) -> None:
        self._ensure_response()
        self._writer.add_part(*custom_part(chunk))

    def _source(self, chunk: c.SourceUrlChunk | c.SourceDocumentChunk) -> None:
        self._ensure_turn()
        if self._in_step:
            self._ensure_response()
        name, data = source_event(chunk)
        self._writer.add_event(Event(name=name, data=data, at=self._time(), bound=self._writer.response_open))

    def _steering(self, chunk: c.SteeringMessageChunk) -> None:
        self._ensure_turn()
        self._end_response()
        self._writer.add_prompt([steering_prompt(chunk)], self._time())  # R44

    def _data(self, chunk: c.DataChunk) -> None:
        if chunk.name == CARRIER:
            self._carrier(chunk.data)
            return
        if chunk.transient and not chunk.name.startswith(NORMATIVE_PREFIX):
            return  # said to be seen, not kept; a normative event is a fact all the same
        self._ensure_turn()
        source, targets = self._facts.take("source_agent"), self._facts.take("target_agents")
        self._writer.add_event(
            Event(
                name=chunk.name.removeprefix("data-") if chunk.name.startswith("data-meta:") else chunk.name,
                data=chunk.data,
                at=self._time(),
                source_agent=source,
                target_agents=tuple(targets) if isinstance(targets, list) else None,
            )
        )

    def _carrier(self, data: Any) -> None:
        named = data.get("agent_id") if isinstance(data, Mapping) else None
        current = self._writer.agent_id if self._writer.running else self._facts.get("agent_id") or self._asked
        handed_over = isinstance(named, str) and named != current
        if handed_over:
            if self._writer.running:
                self._end_response()  # with the facts that were in force, and not with what is told now
            self._facts.leave_agent()
        self._facts.update(data)
        agent, started = self._facts.get("agent_id"), self._facts.take("started_at")
        if not self._writer.running or not isinstance(agent, str):
            return
        if handed_over:
            if self._writer.turn_is_empty:
                self._writer.name_agent(agent)
            else:  # R45: the carrier names another agent, so the turn before is complete here
                self._writer.complete_turn(self._time())
                self._begin_turn()
        if isinstance(started, str):
            self._writer.start_time(started)
        self._response_facts()

    def _metadata(self, chunk: c.Chunk) -> None:
        """Message metadata is the application's own; it is no part of the thread."""

    def _unknown(self, chunk: c.UnknownChunk) -> None:
        """R7: a chunk of an unknown type is kept as an event."""
        self._report(v.UNKNOWN_TYPE, f"chunk of unknown type {chunk.type!r}")
        self._ensure_turn()
        data = {k: w for k, w in chunk.raw.items() if k != "type"}
        self._writer.add_event(Event(name=chunk.type, data=data, at=self._time()))

    def _no_start(self, chunk: c.KnownChunk) -> None:
        """A delta or an end while nothing is streaming."""
        if not (isinstance(chunk, c.ToolInputDeltaChunk) and chunk.tool_call_id in self._ignored_calls):
            name = getattr(chunk, "id", None) or getattr(chunk, "tool_call_id", None)
            self._report(v.NO_START, f"{c.type_of(chunk)} for {name!r}")

    def _malformed(self, chunk: c.Malformed) -> None:
        self.findings.append(chunk.finding(self.place))


TRANSITIONS = transitions(ChunkFold)
"""Which chunk may come when, and what it does; a pair that is not here is a violation (R35, R36)."""

ChunkFold.table = TRANSITIONS
