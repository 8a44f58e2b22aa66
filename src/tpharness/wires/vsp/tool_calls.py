"""Tool calls: their arguments, the approvals asked for them, and their outputs.

In: the `tool-*` chunks. Out: calls in the response that is streaming, and their returns, in the journal. A call is
complete at `tool-input-available` or `tool-input-error`; its first final output is its return (R14).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import violations as v
from tpharness.wires.vsp.carrier import apply_carried_return
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.parts import DENIAL, call_fields
from tpharness.wires.vsp.streamed_inputs import judge_input

__all__ = ["ToolCalls"]


class ToolCalls:
    """Writes the tool calls of one thread's streams and their returns; `begin` for each stream."""

    def __init__(self, context: StreamContext, lifecycle: Lifecycle) -> None:
        self._context = context
        self._lifecycle = lifecycle
        self._writer = context.writer
        self._inputs = context.open_parts.tool_inputs
        self._approvals: dict[str, str | None] = {}
        """The call that each approval was asked for, None once its id names another call."""
        self._asked_for: dict[str, list[str]] = {}
        self._denials: dict[str, str] = {}
        self.begin()

    def begin(self) -> None:
        """Start a stream: the refusals of the stream before are forgotten.

        Approvals are not: a call that waits for one waits beyond its stream (R30), and so do the provider's (R42).
        """
        self._input_errors: set[str] = set()
        self._ignored_calls: set[str] = set()
        self._requested: dict[str, str] = {}  # by the id of an approval, the call that this stream asked it for first

    def ignores(self, call_id: str) -> bool:
        """Whether the start of this input was refused, so that its deltas are passed over without another finding."""
        return call_id in self._ignored_calls

    # ------------------------------------------------------------------ inputs

    def _input_start(self, chunk: c.ToolInputStartChunk) -> None:
        call_id = chunk.tool_call_id
        if call_id in self._inputs or self._awaits_output(call_id) or self._provider_runs(call_id):
            self._context.report(
                v.DUPLICATE_START, f"tool-input-start for {call_id!r}, which is waiting for its output"
            )
            self._ignored_calls.add(call_id)
            return
        self._lifecycle.ensure_response()
        provider_executed = bool(chunk.provider_executed)
        kind = "builtin-tool-call" if provider_executed else "tool-call"
        fields = call_fields(chunk, provider_executed=provider_executed)
        self._inputs[call_id] = self._writer.open_part(kind, fields, "args")

    def _input_delta(self, chunk: c.ToolInputDeltaChunk) -> None:
        part = self._inputs.get(chunk.tool_call_id)
        if part is not None:
            part.append(chunk.input_text_delta)
        elif not self.ignores(chunk.tool_call_id):
            self._context.report(v.NO_START, f"tool-input-delta for {chunk.tool_call_id!r}")

    def _input_available(self, chunk: c.ToolInputAvailableChunk) -> None:
        self._complete_call(chunk)

    def _input_error(self, chunk: c.ToolInputErrorChunk) -> None:
        """A call that was rejected before any tool ran: its response continues, only an output ends it (R40)."""
        if not self._complete_call(chunk):
            return
        self._input_errors.add(chunk.tool_call_id)
        if self._is_provider_s(chunk.tool_call_id):
            self._add_provider_output(chunk.tool_call_id, chunk.error_text)
        else:
            self._lifecycle.ensure_turn()  # the call may wait since an earlier turn, and a stream begin with this
            self._add_return(chunk.tool_call_id, "validation_error", chunk.error_text)

    def _complete_call(self, chunk: c.ToolInputAvailableChunk | c.ToolInputErrorChunk) -> bool:
        """Complete a call, whether its start came or not; return False for one that must not be completed here."""
        call_id = chunk.tool_call_id
        if self._writer.has_return(call_id) and self._writer.in_open_response(call_id):
            self._context.report(v.DUPLICATE_START, f"{c.type_of(chunk)} for {call_id!r}, which was refused")
            return False
        part = self._inputs.pop(call_id, None)
        if part is None:
            provider_runs = self._provider_runs(call_id)
            if provider_runs or self._awaits_output(call_id):
                if isinstance(chunk, c.ToolInputErrorChunk) and call_id not in self._input_errors:
                    return True  # complete before, refused now
                if call_id in self._ignored_calls:
                    self._ignored_calls.discard(call_id)  # the end of the input whose start was refused
                elif provider_runs or self._writer.in_open_response(call_id):
                    self._context.report(v.DUPLICATE_START, f"{c.type_of(chunk)} for {call_id!r}, which is complete")
                return False  # a call of an earlier response, sent again (R31)
            self._lifecycle.ensure_response()
            part = self._writer.open_part("tool-call", {}, "args")
        self._forget(call_id)
        if isinstance(chunk, c.ToolInputAvailableChunk):  # what was refused is given as it came
            judge_input(call_id, chunk.input, part.pieces, self._context.report)
        provider_executed = chunk.provider_executed or part.kind == "builtin-tool-call"
        if provider_executed:
            part.kind = "builtin-tool-call"
        fields = call_fields(chunk, provider_executed=provider_executed)
        self._writer.close_part(part, **fields, args=chunk.input)
        part.fields.setdefault("args", None)
        return True

    def _forget(self, call_id: str) -> None:
        """Forget what became of the call that had this id before: an id that is used again names a new call (R36)."""
        self._denials.pop(call_id, None)
        for approval in self._asked_for.pop(call_id, ()):
            if self._approvals[approval] == call_id:
                self._approvals[approval] = None
        self._input_errors.discard(call_id)
        self._ignored_calls.discard(call_id)

    # --------------------------------------------------------------- approvals

    def _approval_request(self, chunk: c.ToolApprovalRequestChunk) -> None:
        if self._is_complete(chunk.tool_call_id, chunk):
            before = self._requested.setdefault(chunk.approval_id, chunk.tool_call_id)
            if before != chunk.tool_call_id:
                self._context.report(
                    v.APPROVAL_REUSED, f"{chunk.approval_id!r} is asked for {before!r} and for {chunk.tool_call_id!r}"
                )
            self._approvals[chunk.approval_id] = chunk.tool_call_id
            self._asked_for.setdefault(chunk.tool_call_id, []).append(chunk.approval_id)

    def _approval_response(self, chunk: c.ToolApprovalResponseChunk) -> None:
        if chunk.approval_id not in self._approvals:
            self._context.report(
                v.NO_CALL, f"tool-approval-response for {chunk.approval_id!r}, which was never asked for"
            )
            return
        call_id = self._approvals[chunk.approval_id]
        if call_id is not None and not chunk.approved and chunk.reason is not None:  # an empty reason is one (R13, R22)
            self._denials[call_id] = chunk.reason

    # ---------------------------------------------------------------- outputs

    def _output(self, chunk: c.ToolOutputAvailableChunk) -> None:
        if chunk.preliminary:  # R14: progress, not a return
            self._is_complete(chunk.tool_call_id, chunk)
        elif self._is_provider_s(chunk.tool_call_id):
            self._add_provider_output(chunk.tool_call_id, chunk.output)
        elif self._begin_return(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "success", chunk.output)

    def _output_error(self, chunk: c.ToolOutputErrorChunk) -> None:
        if chunk.tool_call_id in self._input_errors:
            self._input_errors.discard(chunk.tool_call_id)
            self._context.report(
                v.ERROR_REPEATED, f"tool-output-error for {chunk.tool_call_id!r} after its tool-input-error"
            )
        elif self._is_provider_s(chunk.tool_call_id):
            self._add_provider_output(chunk.tool_call_id, chunk.error_text)
        elif self._begin_return(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "error", chunk.error_text)

    def _output_denied(self, chunk: c.ToolOutputDeniedChunk) -> None:
        reason = self._denials.get(chunk.tool_call_id, DENIAL)
        if self._is_provider_s(chunk.tool_call_id):
            self._add_provider_output(chunk.tool_call_id, reason)
        elif self._begin_return(chunk.tool_call_id, chunk):  # R22: a denied call is an error return
            self._add_return(chunk.tool_call_id, "error", reason)

    # ----------------------------------------------------------------- inside

    def _awaits_output(self, call_id: str) -> bool:
        return self._writer.call_key(call_id) is not None and not self._writer.has_return(call_id)

    def _is_provider_s(self, call_id: str) -> bool:
        """Whether the id is that of a complete call that the provider executes, of this response or before (R42)."""
        return self._writer.provider_calls.get(call_id) is not None

    def _provider_runs(self, call_id: str) -> bool:
        """Whether the provider's call of this id is in the response that streams, without output or refused (R42)."""
        calls = self._writer.provider_calls
        waits = not calls.answered(call_id) or call_id in self._input_errors
        return waits and (part := calls.get(call_id)) is not None and self._writer.is_streaming(part)

    def _is_complete(self, call_id: str, chunk: c.Chunk) -> bool:
        """Whether the call was made and its input is complete; a violation is reported if not."""
        if call_id in self._inputs:
            self._context.report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, whose input is still streaming")
            return False
        if self._writer.call_key(call_id) is None and not self._is_provider_s(call_id):
            self._context.report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, which was never called")
            return False
        return True

    def _begin_return(self, call_id: str, chunk: c.Chunk) -> bool:
        """Finish the response of a call that gets its return now; False, with a finding, if it must not get one."""
        if not self._is_complete(call_id, chunk):
            return False
        if self._writer.has_return(call_id):
            self._context.report(v.SECOND_OUTPUT, f"{c.type_of(chunk)} for {call_id!r}, which has its return")
            return False
        self._lifecycle.answer_call(call_id)
        return True

    def _add_return(self, call_id: str, status: str, content: Any) -> None:
        """Record a return; a carrier may say more of it than the wire does."""
        fields = {
            "tool_name": self._writer.tool_name(call_id) or "",
            "tool_call_id": call_id,
            "status": status,
            "content": content,
        }
        kind, fields = apply_carried_return(fields, self._context.facts.take("tool_return"))
        self._writer.add_return(call_id, kind, fields, self._context.time)

    def _add_provider_output(self, call_id: str, content: Any) -> None:
        """R42: what a provider executed itself is a part of the response with which it comes, and ends nothing."""
        calls = self._writer.provider_calls
        call = calls.get(call_id)
        if call is None or calls.answered(call_id):
            self._context.report(v.SECOND_OUTPUT, f"a second output of the provider's call {call_id!r}")  # R14
            return
        self._lifecycle.ensure_response()
        fields = {"tool_name": call.fields.get("tool_name", ""), "tool_call_id": call_id, "content": content}
        if "provider_name" in call.fields:
            fields["provider_name"] = call.fields["provider_name"]
        self._writer.add_part("builtin-tool-return", fields)

    HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        c.ToolInputStartChunk: _input_start,
        c.ToolInputDeltaChunk: _input_delta,
        c.ToolInputAvailableChunk: _input_available,
        c.ToolInputErrorChunk: _input_error,
        c.ToolApprovalRequestChunk: _approval_request,
        c.ToolApprovalResponseChunk: _approval_response,
        c.ToolOutputAvailableChunk: _output,
        c.ToolOutputErrorChunk: _output_error,
        c.ToolOutputDeniedChunk: _output_denied,
    }
    """Record → what a chunk of that kind does, in a state in which it is folded."""
