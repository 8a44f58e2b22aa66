# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Streams that no server of ours sends, as clients written from the documents alone have misread them."""

from __future__ import annotations

import json

from msgspec.structs import replace
from tests.seeded_defects.seeding import client_writer, defect, on_chunk, on_wire, put, server_writer, together, wrap

from tpharness.dialects import thread
from tpharness.journal import JournalWriter, Return, UserTurn, keep
from tpharness.journal.provider_calls import ProviderCalls
from tpharness.server_events import recorder
from tpharness.server_events.events import EventKind
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp import carrier, content, events, lifecycle, parts, tool_calls
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.carrier import CARRIER, STANDING, CarriedFacts
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.events import TurnEvents
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = ["DEFECTS"]


class ResetDropsReturns(JournalWriter):
    """A reset takes every return along that came since its response began."""

    def reset_response(self):
        index = self._entries.index(self._need_response())
        self._entries[index + 1 :] = [e for e in self._entries[index + 1 :] if not isinstance(e, Return)]
        super().reset_response()


class ResetKeepsReturns(JournalWriter):
    """A reset leaves the returns of the calls that it drops."""

    def reset_response(self):
        response = self._need_response()
        mine = [e for e in self._entries if isinstance(e, Return) and e.call_key in response.calls]
        super().reset_response()
        self._entries += mine


class AnythingComesBefore(JournalWriter):
    """A prompt is the first of its turn only if nothing at all came before it."""

    def add_prompt(self, parts, at):
        self._said = self._said or not self.turn_is_empty
        super().add_prompt(parts, at)


class FirstRunAlone(JournalWriter):
    """Only the first run after a user's turn can repeat its prompt."""

    def add_prompt(self, parts, at):
        self._said = self._said or not isinstance(list(self._turns)[-1], UserTurn)
        super().add_prompt(parts, at)


class AnswersForGood(JournalWriter):
    """A return that came after an error stays the answer of its call, although it is not in the thread."""

    def interrupt_turn(self, reason, at):
        self._waiting_held, self._calls_before = (self._unanswered, self._open_keys), {}
        super().interrupt_turn(reason, at)


def only_in_its_response(was):
    def output(self, call_id, content):
        if self._writer.is_streaming(self._writer.provider_calls.get(call_id)):
            was(self, call_id, content)

    return output


def provider_calls_forgotten(was):
    def begin(self, *arguments):
        self._writer.provider_calls = ProviderCalls()
        was(self, *arguments)

    return begin


def provider_of_its_own_flag(was):
    return lambda chunk, **_: was(chunk, provider_executed=bool(chunk.provider_executed))


def reset_in_a_step(was):
    def reset(self, chunk):
        if self._step.announced and not self._step.answered:
            was(self, chunk)

    return reset


def swallowed_after_a_refused_start(was):
    def complete(self, chunk):
        if chunk.tool_call_id in self._ignored_calls and chunk.tool_call_id not in self._inputs:
            self._ignored_calls.discard(chunk.tool_call_id)
            return False
        return was(self, chunk)

    return complete


def refused_starts_stay(was):
    def forget(self, call_id):
        refused = call_id in self._ignored_calls
        was(self, call_id)
        if refused:
            self._ignored_calls.add(call_id)

    return forget


def unless(ignored):
    """Take no notice of a chunk in some cases."""

    def make(was):
        def action(self, chunk):
            if not ignored(self, chunk):
                was(self, chunk)

        return action

    return make


def agents_of_data_alone(was):
    def add(self, name, data, at, *, bound=False):
        facts = self._context.facts
        kept = (
            {}
            if name.startswith(("data-", "meta:"))
            else {k: facts[k] for k in ("source_agent", "target_agents") if k in facts}
        )
        for key in kept:
            del facts[key]
        was(self, name, data, at, bound=bound)
        facts.update(kept)

    return add


def nobody_is_not_said(was):
    def add(self, name, data, at, *, bound=False):
        if self._context.facts.get("target_agents") == []:
            del self._context.facts["target_agents"]
        was(self, name, data, at, bound=bound)

    return add


def facts_ahead_lost(was):
    def ensure(self):
        if not self._writer.response_open:
            for name in ("usage", "finish_reason", "provider_response_id"):
                self._context.facts.take(name)
        was(self)

    return ensure


def usage_lost_at_the_cut(was):
    def interrupt(self, reason, at):
        self._context.facts.take("usage")
        was(self, reason, at)

    return interrupt


def noughts_count(was):
    def end(self, event):
        chunks = was(self, event)
        self._usage_sent = self._usage_sent or bool(event.get("usage"))
        return chunks

    return end


def end_is_inherited(was):
    def leave(self):
        kept = {k: self[k] for k in ("completed_at", "interrupted_at") if k in self}
        was(self)
        self.update(kept)

    return leave


def model_is_inherited(was):
    def apply(self, data):
        facts, running = self._context.facts, self._writer.running
        model = {k: facts[k] for k in STANDING if k in facts}
        was(self, data)
        if not running:
            for name, value in model.items():
                facts.setdefault(name, value)

    return apply


def any_text_is_said(was):
    def prompt(chunk):
        said = [{**p, "text": str(p.get("text", ""))} if p.get("type") == "text" else p for p in chunk.parts]
        return was(replace(chunk, parts=said))

    return prompt


def facts_of_any_form(was):
    def facts(metadata):
        own = (metadata or {}).get("pydantic_ai")
        named = ("id", "signature", "provider_name")
        return {k: own[k] for k in named if own.get(k) is not None} if isinstance(own, dict) else was(metadata)

    return facts


def ids_of_other_name_spaces(was):
    def facts(metadata):
        found = was(metadata)
        values = next(iter((metadata or {"": {}}).values()))
        return {**({"id": values["id"]} if isinstance(values, dict) and "id" in values else {}), **found}

    return facts


def names_of_files_alone(was):
    def part(chunk):
        kind, fields = was(chunk)
        return kind, {k: v for k, v in fields.items() if k != "id"}

    return part


def begins_the_turn(was):
    def action(self, chunk):
        if getattr(chunk, "name", "") != CARRIER:
            self._lifecycle.ensure_turn()
        was(self, chunk)

    return action


def goes_on_after_steering(was):
    del was

    def steering(self, chunk):
        prompt = parts.steering_prompt(chunk)
        if prompt["content"] != []:
            self._lifecycle.ensure_turn()
            response = self._writer._response
            self._writer.add_prompt([prompt], self._context.time)
            self._writer._response = response

    return steering


def one_request_a_call(was):
    def messages(entries, calls, namer, **options):
        late = {e.call_key: (-2 - e.call_key, 0) for e in entries if isinstance(e, Return) and e.call_key not in calls}
        return was(entries, {**calls, **late}, namer, **options)

    return messages


def said_by_the_start_alone(was):
    def complete(self, chunk):
        return was(self, replace(chunk, provider_executed=None) if chunk.tool_call_id in self._inputs else chunk)

    return complete


def read_again(change):
    """Read a chunk that is malformed or unknown once more, as something else."""

    def make(was):
        def feed(self, chunk, at):
            was(self, change(chunk) or chunk, at)

        return feed

    return wrap(ChunkFold, "feed", make)


def without_optional_fields(chunk):
    if not isinstance(chunk, c.Malformed) or not chunk.raw.startswith(b"{"):
        return None
    value = json.loads(chunk.raw)
    name = str(value.get("type"))
    loose = ["title", "providerMetadata", "finishReason", *(["id"] if name.startswith("data-") else [])]
    return chunk_from_object({k: v for k, v in value.items() if k not in loose})


def in_the_second_framing(chunk):
    if not isinstance(chunk, c.UnknownChunk) or chunk.type != "data" or "value" not in chunk.raw:
        return None
    return chunk_from_object({**chunk.raw, "type": chunk.raw["name"], "data": chunk.raw["value"]})


def thinking_is_reasoning(chunk):
    if not isinstance(chunk, c.UnknownChunk) or not chunk.type.startswith("thinking-"):
        return None
    return c.UnknownChunk(type=chunk.type.replace("thinking", "reasoning", 1), raw=chunk.raw)


def every_line_feed_after_crlf(was):
    def feed(self, data, frames, *, bare):
        between = self._skip_lf and data == b"\n"
        was(self, data, frames, bare=bare)
        if between:
            self._skip_lf, self._idle = True, False

    return feed


def filter_told_by_the_run(was):
    return lambda word, *, error_seen, **_: was(word, error_seen=error_seen)


DEFECTS = (
    defect(
        "reset-takes-earlier-returns-along",
        "client",
        "A reset takes the return of an earlier call along that came while its response streamed.",
        "stream.reset-step tool.first-output-stands R44",
        client_writer(ResetDropsReturns),
    ),
    defect(
        "reset-leaves-the-refusals-of-its-calls",
        "client",
        "A call that was refused goes with its step, and the refusal stays.",
        "stream.reset-step tool.no-orphan-return R23 R44",
        client_writer(ResetKeepsReturns),
    ),
    defect(
        "reset-in-a-step-without-outputs-alone",
        "client",
        "A reset does nothing outside of a step, or after an output in it.",
        "stream.reset-step R44",
        on_chunk(reset_in_a_step, c.ResetStepChunk),
    ),
    defect(
        "late-output-of-the-provider-left-out",
        "client",
        "The output of a call of the provider counts only while the response of its call streams.",
        "tool.provider-executed R42",
        wrap(ToolCalls, "_add_provider_output", only_in_its_response),
    ),
    defect(
        "provider-calls-end-with-their-stream",
        "client",
        "A stream knows no calls of the provider that an earlier stream has made.",
        "tool.provider-executed R42",
        wrap(ToolCalls, "begin", provider_calls_forgotten),
    ),
    defect(
        "provider-calls-end-with-their-run",
        "server",
        "A run knows no calls of the provider that an earlier run has made.",
        "tool.provider-executed R42",
        wrap(recorder.Recorder, "begin", provider_calls_forgotten),
    ),
    defect(
        "output-of-the-provider-outlives-its-call",
        "both",
        "The output of a call of the provider stays when the response of its call is dropped.",
        "tool.provider-executed tool.no-orphan-return R23 R42",
        wrap(keep, "_without_outputs", lambda _: lambda response, _: response),
    ),
    defect(
        "answered-provider-call-stays-answered",
        "both",
        "A call of the provider waits no more, although its output went with a response that was dropped.",
        "tool.provider-executed R42",
        wrap(ProviderCalls, "drop", lambda _: lambda *_: None),
    ),
    defect(
        "provider-input-twice-is-two-calls",
        "client",
        "The input of a call of the provider that comes again is a second call.",
        "stream.duplicate-start tool.provider-executed R36 R42",
        wrap(ToolCalls, "_provider_runs", lambda _: lambda *_: False),
    ),
    defect(
        "refused-start-swallows-the-next-call",
        "client",
        "After a start that was refused, the next input of its id is taken for the end of it.",
        "stream.violation-isolated tool.id-reused R36",
        together(
            wrap(ToolCalls, "_complete_call", swallowed_after_a_refused_start),
            wrap(ToolCalls, "_forget", refused_starts_stay),
        ),
    ),
    defect(
        "refusal-begins-no-turn",
        "client",
        "A refusal of a call that waits is not seen where it comes ahead of everything else.",
        "tool.later-turn-answers R22 R30",
        on_chunk(unless(lambda self, _: not self._writer.running), c.ToolInputErrorChunk),
    ),
    defect(
        "refusals-use-an-id-once",
        "client",
        "A refusal of a new call is passed over if its id had a return before.",
        "tool.id-reused R36",
        on_chunk(unless(lambda self, chunk: self._writer.has_return(chunk.tool_call_id)), c.ToolInputErrorChunk),
    ),
    defect(
        "repeat-behind-what-is-no-message-kept",
        "client",
        "A prompt that repeats the user's turn stays if an event came before it.",
        "turn.user-input-once R9",
        client_writer(AnythingComesBefore),
    ),
    defect(
        "repeat-in-the-next-run-kept",
        "client",
        "A prompt that repeats the user's turn stays in the second run after it.",
        "turn.user-input-once R9",
        client_writer(FirstRunAlone),
    ),
    defect(
        "agents-of-sources-not-read",
        "client",
        "Who caused a source, or an event of an unknown type, is taken for the next event of the application.",
        "event.agents carrier.scope R39",
        wrap(TurnEvents, "_add_event", agents_of_data_alone),
    ),
    defect(
        "nobody-concerned-is-not-said",
        "client",
        "An event that concerns nobody does not say whom it concerns.",
        "event.agents R7",
        wrap(TurnEvents, "_add_event", nobody_is_not_said),
    ),
    defect(
        "model-named-at-the-end-not-read",
        "client",
        "A model that is named while its response streams is that of the next response alone.",
        "message.provider-facts carrier.scope R39",
        put(lifecycle, "STANDING", ()),
    ),
    defect(
        "facts-ahead-of-their-response-lost",
        "client",
        "What a carrier tells of a response before its first part is lost.",
        "carrier.scope usage.sums R39",
        wrap(Lifecycle, "ensure_response", facts_ahead_lost),
    ),
    defect(
        "usage-ahead-of-the-cut-lost",
        "client",
        "The usage of a response that is cut before it has a part is not counted.",
        "usage.sums R17",
        wrap(Lifecycle, "_interrupt", usage_lost_at_the_cut),
    ),
    defect(
        "noughts-hide-the-usage-of-the-result",
        "server",
        "A response that tells noughts keeps the server from sending the usage of the result.",
        "usage.sums carrier.facts R17",
        on_wire(noughts_count, EventKind.MODEL_RESPONSE_END),
    ),
    defect(
        "end-of-a-turn-is-that-of-the-next",
        "client",
        "The end that a carrier told of an agent's turn is that of the next agent's.",
        "carrier.scope turn.agent-change R45",
        wrap(CarriedFacts, "leave_agent", end_is_inherited),
    ),
    defect(
        "model-of-an-agent-that-said-nothing",
        "client",
        "The model of an agent of which nothing came is that of the agent after it.",
        "carrier.scope R45",
        wrap(Lifecycle, "apply_carrier", model_is_inherited),
    ),
    defect(
        "agent-without-a-name",
        "client",
        "A carrier that names an agent with an empty text hands over to it.",
        "carrier.scope R2",
        wrap(
            carrier,
            "_is_fact",
            lambda was: lambda name, value: (name == "agent_id" and value == "") or was(name, value),
        ),
    ),
    defect(
        "steering-without-a-text-says-something",
        "client",
        "A part of a steering message that has no text is an empty one, or the number that it has.",
        "message.steering-empty R52",
        wrap(events, "steering_prompt", any_text_is_said),
    ),
    defect(
        "facts-of-parts-in-any-form",
        "client",
        "An id or a signature that is no text is stored as it is.",
        "part.id-is-providers part.thinking-signature R15",
        wrap(content, "provider_facts", facts_of_any_form),
    ),
    defect(
        "ids-in-other-name-spaces-read",
        "client",
        "An id in the metadata of another framework is that of the part.",
        "part.id-is-providers R15",
        wrap(content, "provider_facts", ids_of_other_name_spaces),
    ),
    defect(
        "names-of-a-file-made-while-reasoning-lost",
        "client",
        "A file made while reasoning has no id of its own.",
        "part.file-names part.custom-kind R63",
        wrap(content, "custom_part", names_of_files_alone),
    ),
    defect(
        "time-of-an-event-not-read",
        "client",
        "A normative event that states its time has that at which it was received.",
        "carrier.timestamps R25",
        put(events, "event_timestamp", lambda _: None),
    ),
    defect(
        "times-of-any-form-read",
        "client",
        "A text that is no time is taken for one.",
        "carrier.timestamps thread.timestamps-iso R47",
        put(carrier, "is_time", lambda _: True),
    ),
    defect(
        "status-of-any-word-stored",
        "client",
        "A status that a carrier tells is stored, whatever word it is.",
        "tool.status-success R22",
        put(carrier, "_STATUSES", ("success", "error", "validation_error", "perhaps")),
    ),
    defect(
        "turn-begins-with-what-is-not-kept",
        "client",
        "A turn begins with a notification or with metadata of the application, although start comes later.",
        "turn.begins-at-start R45",
        on_chunk(begins_the_turn, c.MessageMetadataChunk, c.DataChunk),
    ),
    defect(
        "source-without-a-part-stays",
        "client",
        "A source that comes ahead of every part of its step is of the response before it.",
        "event.source R25",
        put(Lifecycle, "step_is_new", property(lambda _: False)),
    ),
    defect(
        "data-that-is-no-base64-stored-as-bytes",
        "client",
        "What a data URL has is stored as bytes, also where it is not base64.",
        "part.file R49",
        put(parts, "is_base64", lambda _: True),
    ),
    defect(
        "response-goes-on-after-steering",
        "client",
        "What comes after a steering message is of the response before it.",
        "message.steering R44",
        on_chunk(goes_on_after_steering, c.SteeringMessageChunk),
    ),
    defect(
        "request-for-each-return-to-an-earlier-turn",
        "both",
        "Each return to a call of an earlier turn is a request of its own.",
        "tool.later-returns-grow tool.returns-in-call-order R61",
        wrap(thread, "messages", one_request_a_call),
    ),
    defect(
        "provider-executed-said-by-the-start-alone",
        "client",
        "A call whose start does not say that the provider executes it waits for its tool.",
        "tool.provider-executed R42",
        wrap(ToolCalls, "_complete_call", said_by_the_start_alone),
    ),
    defect(
        "provider-named-beside-its-flag-alone",
        "client",
        "The provider of a call is not read from its input, where only its start says that the provider executes it.",
        "tool.provider-executed R42",
        wrap(tool_calls, "call_fields", provider_of_its_own_flag),
    ),
    defect(
        "answers-after-an-error-for-good",
        "both",
        "A call whose return came after the error that ended its run cannot be answered any more.",
        "tool.later-turn-answers R27 R30",
        together(client_writer(AnswersForGood), server_writer(AnswersForGood)),
    ),
    defect(
        "optional-fields-in-any-form",
        "client",
        "A chunk counts although a field that it need not have has another form.",
        "stream.malformed stream.violation-isolated R36",
        read_again(without_optional_fields),
    ),
    defect(
        "second-framing-of-any-name",
        "client",
        "A chunk of type data is one of the type that it names, whatever that is.",
        "stream.custom-framings R33",
        read_again(in_the_second_framing),
    ),
    defect(
        "unknown-thinking-types-renamed",
        "client",
        "The type of an unknown chunk has reasoning in the place of thinking.",
        "stream.unknown-chunk R7",
        read_again(thinking_is_reasoning),
    ),
    defect(
        "line-feeds-in-reads-of-their-own-skipped",
        "client",
        "After a read that ends with a carriage return, the line feeds that come one by one are skipped.",
        "sse.line-ends sync.chunking",
        wrap(SseParser, "_feed", every_line_feed_after_crlf),
    ),
    defect(
        "filter-told-by-the-run-alone",
        "both",
        "A filter that stopped the last response does not halt the turn if the run says something else.",
        "interrupt.safety-halt R27",
        together(
            wrap(lifecycle, "interruption_reason", filter_told_by_the_run),
            wrap(recorder, "interruption_reason", filter_told_by_the_run),
        ),
    ),
)
