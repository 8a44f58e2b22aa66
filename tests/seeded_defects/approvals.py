# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What is said once and counts for the wrong call, response, event or part: R15, R22, R27, R30, R36, R39."""

from __future__ import annotations

from msgspec.structs import replace
from tests.seeded_defects.seeding import defect, on_chunk, on_event, on_wire, together, wrap

from tpharness.server_events.events import EventKind
from tpharness.server_events.recorder import Recorder
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.content import ContentParts
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.parts import provider_facts
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = ["DEFECTS"]


def request_once(was):
    def request(self, chunk):
        if chunk.approval_id not in self._approvals:
            was(self, chunk)

    return request


def of_this_stream(was):
    def begin(self):
        was(self)
        self._approvals, self._denials = {}, {}

    return begin


def of_the_id(was):
    def forget(self, call_id):
        before = dict(self._approvals)
        was(self, call_id)
        self._approvals.update(before)

    return forget


def empty_is_none(was):
    return lambda self, chunk: was(self, replace(chunk, reason=chunk.reason or None))


def only_where_asked(was):
    def denied(self, chunk):
        if chunk.tool_call_id in self._approvals.values():
            was(self, chunk)

    return denied


def denies_all(was):
    def response(self, chunk):
        was(self, chunk)
        if not chunk.approved and chunk.reason is not None:
            self._denials.update(dict.fromkeys(filter(None, self._approvals.values()), chunk.reason))

    return response


def keeping(name):
    """Let what was told of the response before stay while one begins."""

    def make(was):
        def begin(self, *given):
            held = getattr(self, name)
            done = was(self, *given)
            setattr(self, name, held)
            return done

        return begin

    return make


_stays = keeping("_last_finish")


def agents_of_all(was):
    """A server tells the agents of each event, whether it is kept or not."""

    def event(self, given):
        named = {name: given[name] for name in ("source_agent", "target_agents") if given.get(name) is not None}
        told = was(self, given)
        if named and told and isinstance(told[0], dict) and told[0]["type"] == "data-sys-tp":
            told[0] = {**told[0], "data": {**told[0]["data"], **named}}
        return told

    return event


def without_facts(was):
    return lambda self, chunk: was(self, replace(chunk, provider_metadata=None))


def first_stands(was):
    def facts(self, part, metadata):
        before = dict(part.fields)
        was(self, part, metadata)
        part.fields.update(before)

    return facts


def appended(was):
    def facts(self, part, metadata):
        before = part.fields.get("signature", "")
        was(self, part, metadata)
        if "signature" in provider_facts(metadata):
            part.fields["signature"] = before + part.fields["signature"]

    return facts


DEFECTS = (
    *(
        defect(name, "client", sentence, f"{breaks} R22", on_chunk(make, kind))
        for name, sentence, breaks, make, kind in (
            (
                "approval-of-its-first-call",
                "An approval whose id comes again is that of the call for which it was asked first.",
                "tool.denied",
                request_once,
                c.ToolApprovalRequestChunk,
            ),
            (
                "denial-without-words-has-others",
                "A denial whose reason is an empty text has the words of the library.",
                "tool.denied",
                empty_is_none,
                c.ToolApprovalResponseChunk,
            ),
            (
                "denial-of-what-was-asked-for-alone",
                "A call is denied only if an approval was asked for it.",
                "tool.denied stream.tool-output",
                only_where_asked,
                c.ToolOutputDeniedChunk,
            ),
            (
                "denial-of-all-that-waits",
                "A denial gives its reason to each call that waits for an approval.",
                "tool.denied",
                denies_all,
                c.ToolApprovalResponseChunk,
            ),
        )
    ),
    defect(
        "approvals-end-with-their-stream",
        "client",
        "An approval that was asked for in one stream and is answered in the next is an answer to nothing.",
        "tool.denied tool.later-turn-answers R22 R30",
        wrap(ToolCalls, "begin", of_this_stream),
    ),
    defect(
        "approval-stays-with-the-id-of-its-call",
        "client",
        "An approval that was asked for one call denies the next one that has its id.",
        "tool.denied tool.id-reused R22 R36",
        wrap(ToolCalls, "_forget", of_the_id),
    ),
    defect(
        "filter-of-an-earlier-response-counts",
        "both",
        "A turn whose last response tells no reason ends for that of the response before it.",
        "interrupt.safety-halt turn.complete-no-interruption R27",
        together(
            wrap(Recorder, "_begin_response", _stays),
            wrap(Lifecycle, "ensure_response", _stays),
            on_wire(_stays, EventKind.PART_START),
        ),
    ),
    defect(
        "filter-of-the-agent-before-counts",
        "both",
        "An agent that says nothing after a hand-off was stopped by the filter that stopped the agent before it.",
        "interrupt.safety-halt turn.agent-change R27 R45",
        together(on_event(_stays, EventKind.AGENT_START), on_wire(_stays, EventKind.AGENT_START)),
    ),
    defect(
        "agents-of-an-event-that-is-not-kept",
        "server",
        "A server tells its client who caused a transient event, and the client takes that for the next one.",
        "event.agents carrier.scope R39",
        on_wire(agents_of_all, EventKind.SYSTEM_EVENT),
    ),
    defect(
        "facts-of-a-thought-at-its-end-alone",
        "client",
        "Signature and provider of a thought are read at its end and nowhere else.",
        "part.thinking-signature part.thinking-provider R15",
        on_chunk(without_facts, c.ReasoningStartChunk, c.ReasoningDeltaChunk),
    ),
    defect(
        "first-signature-stands",
        "client",
        "Of two signatures of a thought the first one is kept.",
        "part.thinking-signature",
        wrap(ContentParts, "_add_reasoning_facts", first_stands),
    ),
    defect(
        "signatures-put-together",
        "client",
        "A signature of a thought that comes again is put behind the one before.",
        "part.thinking-signature",
        wrap(ContentParts, "_add_reasoning_facts", appended),
    ),
)
