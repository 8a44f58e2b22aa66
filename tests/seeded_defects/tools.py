# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What comes back for a call: R14, R22, R36, R42, R62."""

from __future__ import annotations

from msgspec.structs import replace
from tests.seeded_defects.seeding import (
    client_writer,
    defect,
    on_chunk,
    put,
    server_writer,
    wrap,
)

from tpharness.dialects import messages
from tpharness.journal import JournalWriter
from tpharness.server_events import recorder, returns
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import server as encoder
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = ["DEFECTS"]


def on_returns(change):
    """Change the fields of each return as both sides write it down."""

    def make(was):
        def request(agent_id, at, given):
            changed = [change(dict(p)) if p["part_kind"] == "tool-return" else p for p in given]
            return was(agent_id, at, [p for p in changed if p is not None])

        return request

    return wrap(messages, "_request", make)


def nothing(was):
    del was
    return lambda *_: None


def without_null_content(was):
    def fields(kind, part):
        return {name: value for name, value in was(kind, part).items() if name != "content" or value is not None}

    return fields


def renamed_status(part):
    return {**part, "status": {"success": "completed"}.get(part["status"], part["status"])}


def without_status(part):
    return {k: v for k, v in part.items() if k != "status"}


def outcomes_alone(was):
    return lambda part: was({**part, "status": None})


def status_first(was):
    return lambda part: was({**part, "outcome": None} if part.get("status") else part)


def preliminary_counts(was):
    del was

    def output(self, chunk):
        if self._is_provider_s(chunk.tool_call_id):
            self._add_provider_output(chunk.tool_call_id, chunk.output)
        elif not self._writer.has_return(chunk.tool_call_id) and self._begin_return(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "success", chunk.output)

    return output


class LaterReturnWins(JournalWriter):
    """A second return takes the place of the first."""

    def has_return(self, call_id):
        del call_id
        return False

    def add_return(self, call_id, kind, fields, at):
        key = self._calls[call_id]
        self._entries = [e for e in self._entries if getattr(e, "call_key", None) != key]
        super().add_return(call_id, kind, fields, at)


class Nameless(JournalWriter):
    """A return does not say whose it is."""

    def tool_name(self, call_id):
        del call_id


def ids_once(was):
    def start(self, chunk):
        if self._writer.call_key(chunk.tool_call_id) is not None:
            self._ignored_calls.add(chunk.tool_call_id)
            return
        was(self, chunk)

    return start


def ordinary_call(was):
    """The provider's own calls are taken as the application's."""
    return lambda self, chunk: was(self, replace(chunk, provider_executed=None))


def output_makes_call(was):
    def known(self, call_id, chunk):
        unknown = self._writer.call_key(call_id) is None and self._writer.provider_calls.get(call_id) is None
        if unknown and call_id not in self._inputs:
            self._lifecycle.ensure_response()
            self._writer.add_part("tool-call", {"tool_name": "unknown", "tool_call_id": call_id, "args": None})
        return was(self, call_id, chunk)

    return known


def late_outputs_lost(was):
    def action(self, chunk):
        if self._lifecycle._step.announced or getattr(chunk, "preliminary", None):
            was(self, chunk)

    return action


def unseen(value):
    """Let the client take no notice of an output that is this value, and of the same kind."""

    def make(was):
        def output(self, chunk):
            if chunk.output != value or type(chunk.output) is not type(value):
                was(self, chunk)

        return output

    return make


OUTPUTS = (c.ToolOutputAvailableChunk, c.ToolOutputErrorChunk, c.ToolOutputDeniedChunk)


DEFECTS = (
    defect(
        "returns-in-order-of-completion",
        "both",
        "The returns of parallel tools stand in the order in which the tools finished.",
        "tool.returns-in-call-order R11",
        put(messages, "sorted", lambda members, key: [m for m in members if key]),
    ),
    defect(
        "return-names-no-tool",
        "client",
        "A return does not name the tool that was called.",
        "tool.ids-match",
        client_writer(Nameless),
    ),
    defect(
        "null-output-of-the-provider-left-out",
        "server",
        "A tool of the provider that returned null has a return without content.",
        "tool.provider-executed R22",
        wrap(recorder, "part_fields", without_null_content),
    ),
    defect(
        "success-called-completed",
        "both",
        "A return says completed where the protocol says success.",
        "tool.status-success R22",
        on_returns(renamed_status),
    ),
    defect(
        "return-without-status",
        "both",
        "A return does not say how its tool ended.",
        "tool.status-success R22",
        on_returns(without_status),
    ),
    defect(
        "failures-stored-as-successes",
        "both",
        "A tool that failed is stored with the status success and its error as content.",
        "tool.status-error R22",
        on_returns(lambda part: {**part, "status": "success"}),
    ),
    defect(
        "tool-output-error-not-seen",
        "client",
        "For the client a tool that failed has not answered.",
        "tool.status-error cycle.error-return-counts R22",
        on_chunk(nothing, c.ToolOutputErrorChunk),
    ),
    defect(
        "tool-input-error-not-seen",
        "client",
        "A call whose arguments were refused is not in the client's thread.",
        "tool.status-validation-error part.call-complete-client R22",
        on_chunk(nothing, c.ToolInputErrorChunk),
    ),
    defect(
        "denial-not-seen",
        "client",
        "For the client a call that the user denied waits for ever.",
        "tool.denied stream.tool-output R22",
        on_chunk(nothing, c.ToolOutputDeniedChunk),
    ),
    defect(
        "reason-of-a-denial-lost",
        "client",
        "The client stores a denial in its own words, not with the reason that was given.",
        "tool.denied R22",
        on_chunk(nothing, c.ToolApprovalResponseChunk),
    ),
    defect(
        "status-of-a-result-ignored",
        "server",
        "A result that says its status and no outcome is a success in the server's thread.",
        "tool.status-alone R62",
        wrap(returns, "outcome_of", outcomes_alone),
    ),
    defect(
        "status-before-the-outcome",
        "server",
        "Where a result has a status and an outcome, the server tells its client of the status.",
        "tool.status-alone R62",
        wrap(encoder, "outcome_of", status_first),
    ),
    defect(
        "preliminary-output-counted-as-return",
        "client",
        "The first progress report of a tool is stored as its result.",
        "tool.preliminary R14",
        on_chunk(preliminary_counts, c.ToolOutputAvailableChunk),
    ),
    defect(
        "second-output-overwrites-the-first",
        "client",
        "When an output comes twice the second one stands.",
        "tool.first-output-stands R14",
        client_writer(LaterReturnWins),
    ),
    defect(
        "server-second-result-overwrites",
        "server",
        "When a tool reports twice the server stores the second result.",
        "tool.first-output-stands R14",
        server_writer(LaterReturnWins),
    ),
    defect(
        "call-id-used-once",
        "client",
        "A call id that comes again after its return is refused.",
        "tool.id-reused R36",
        on_chunk(ids_once, c.ToolInputStartChunk),
    ),
    defect(
        "provider-call-counted-as-open",
        "client",
        "A search that the provider ran itself counts as a call of the application.",
        "tool.provider-executed R42",
        on_chunk(ordinary_call, c.ToolInputStartChunk, c.ToolInputAvailableChunk),
    ),
    defect(
        "output-makes-its-call",
        "client",
        "An output for a call that nobody made brings a call into the thread.",
        "stream.output-needs-input tool.no-orphan-return R36",
        wrap(ToolCalls, "_is_complete", output_makes_call),
    ),
    defect(
        "outputs-after-finish-step-lost",
        "client",
        "An output that comes after finish-step is not seen.",
        "stream.steps stream.tool-output",
        on_chunk(late_outputs_lost, *OUTPUTS),
    ),
    defect(
        "null-output-is-no-return",
        "client",
        "A tool that returns nothing counts as one that has not answered.",
        "tool.status-success",
        on_chunk(
            lambda was: lambda self, chunk: None if chunk.output is None else was(self, chunk),
            c.ToolOutputAvailableChunk,
        ),
    ),
    *(
        defect(
            f"{name}-output-not-seen",
            "client",
            f"A tool that returns {words} counts as one that has not answered.",
            "tool.status-success stream.tool-output",
            on_chunk(unseen(value), c.ToolOutputAvailableChunk),
        )
        for name, words, value in (
            ("false", "false", False),
            ("nought", "nought", 0),
            ("empty-list", "an empty list", []),
            ("empty-object", "an empty object", {}),
        )
    ),
    defect(
        "empty-error-not-seen",
        "client",
        "A tool that failed without a word counts as one that has not answered.",
        "tool.status-error",
        on_chunk(
            lambda was: lambda self, chunk: was(self, chunk) if chunk.error_text else None, c.ToolOutputErrorChunk
        ),
    ),
    defect(
        "any-flag-makes-progress",
        "client",
        "An output that says that it is not preliminary is taken as progress.",
        "tool.preliminary R14",
        on_chunk(
            lambda was: lambda self, chunk: None if chunk.preliminary is not None else was(self, chunk),
            c.ToolOutputAvailableChunk,
        ),
    ),
)
