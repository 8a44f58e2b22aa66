# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Wrong values that both sides share, so that nothing but an expectation can tell: R16, R22, R25, R26, R27, R42."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace
from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.seeding import defect, together, wrap

from tpharness.dialects import messages
from tpharness.journal import Interrupted, JournalWriter

__all__ = ["DEFECTS"]


def on_response(change):
    """Change each response as both sides write it down."""
    return wrap(messages, "_response", lambda was: lambda entry: change(was(entry)))


def on_part(change):
    """Change each part of requests and responses as both sides write them down."""

    def response(was):
        def changed(entry):
            found = was(entry)
            return {**found, "parts": [change(part) for part in found["parts"]]}

        return changed

    def request(was):
        return lambda agent_id, at, parts: was(agent_id, at, [change(dict(part)) for part in parts])

    return together(wrap(messages, "_response", response), wrap(messages, "_request", request))


def on_event(change):
    """Change each event before both sides write it down."""
    return wrap(messages, "_event", lambda was: lambda entry, namer: was(change(entry), namer))


def cut_when_last_written(turn, _):
    if "interruption" not in turn or not turn["messages"]:
        return turn
    at = turn["messages"][-1]["timestamp"]
    return {**turn, "interruption": {**turn["interruption"], "interrupted_at": at}}


def ended_when_last_written(turn, _):
    if "completed_at" not in turn or not turn["messages"]:
        return turn
    return {**turn, "completed_at": turn["messages"][-1]["timestamp"]}


def all_at_the_start(turn, _):
    return {**turn, "messages": [{**message, "timestamp": turn["started_at"]} for message in turn["messages"]]}


def thinking_gone_at_a_cut(turn, _):
    if "interruption" not in turn:
        return turn
    kept = []
    for message in turn["messages"]:
        parts = [part for part in message.get("parts", ()) if part["part_kind"] != "thinking"]
        if parts or message["message_type"] == "system":
            kept.append({**message, "parts": parts} if "parts" in message else message)
    return {**turn, "messages": kept}


def requests_joined(turn, _):
    joined: list[dict[str, Any]] = []
    for message in turn["messages"]:
        if joined and message["message_type"] == joined[-1]["message_type"] == "request":
            joined[-1] = {**message, "parts": [*joined[-1]["parts"], *message["parts"]]}
        else:
            joined.append(message)
    return {**turn, "messages": joined}


def without(*names):
    return lambda found: {name: value for name, value in found.items() if name not in names}


def content_as_text(part):
    if part["part_kind"] != "tool-return" or "content" not in part or isinstance(part["content"], str):
        return part
    return {**part, "content": json.dumps(part["content"])}


def markup_escaped(part):
    return {**part, "content": part["content"].replace("<", "&lt;")} if part["part_kind"] == "text" else part


def blanks_trimmed(part):
    return {**part, "content": part["content"].strip()} if part["part_kind"] == "text" else part


def empty_return_null(part):
    return {**part, "content": None} if part["part_kind"] == "tool-return" and part.get("content") == "" else part


def return_parsed(part):
    if part["part_kind"] != "tool-return" or not str(part.get("content")).startswith('{"'):
        return part
    return {**part, "content": json.loads(part["content"])}


def private_arguments_lost(part):
    if part["part_kind"] != "tool-call" or not isinstance(part.get("args"), dict):
        return part
    return {**part, "args": {name: value for name, value in part["args"].items() if not name.startswith("_")}}


def empty_args_null(part):
    return {**part, "args": None} if part["part_kind"] == "tool-call" and part.get("args") == {} else part


def reference_lost(part):
    return {"content": None, **without("content_ref")(part)} if part["part_kind"] == "tool-return" else part


def failure_without_words(part):
    return {**part, "content": "failed"} if part.get("status") == "error" else part


def retry_without_its_call(part):
    return without("tool_call_id")(part) if part["part_kind"] == "retry-prompt" else part


def provider_name_of_call(part):
    return without("tool_name")(part) if part["part_kind"] == "builtin-tool-return" else part


def no_errors_words(entry):
    return replace(entry, data={"error": "an error"}) if entry.name == "data-tp-error" else entry


def events_at_the_start(turn, _):
    return {
        **turn,
        "messages": [
            {**message, "timestamp": turn["started_at"]} if message["message_type"] == "system" else message
            for message in turn["messages"]
        ],
    }


def bytes_lost(part):
    if part["part_kind"] != "file" or "data" not in part["content"]:
        return part
    return {**part, "content": {**part["content"], "data": ""}}


def refused_emptied(turn, _):
    refused = {
        part["tool_call_id"]
        for message in turn["messages"]
        for part in message.get("parts", ())
        if part.get("status") == "validation_error"
    }
    emptied = []
    for message in turn["messages"]:
        parts = [
            {**part, "args": {}} if part["part_kind"] == "tool-call" and part["tool_call_id"] in refused else part
            for part in message.get("parts", ())
        ]
        emptied.append({**message, "parts": parts} if "parts" in message else message)
    return {**turn, "messages": emptied}


def cut_at_the_start(turn, _):
    if "interruption" not in turn:
        return turn
    return {**turn, "interruption": {**turn["interruption"], "interrupted_at": turn["started_at"]}}


def flattened(part):
    if part["part_kind"] != "tool-call" or not isinstance(part.get("args"), dict):
        return part
    args = {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in part["args"].items()}
    return {**part, "args": args}


def dated_by_the_end(was):
    def close(self, end):
        held = self._held
        if held is not None and isinstance(end, Interrupted):
            self._held = replace(held, end=Interrupted(reason=held.end.reason, at=end.at))
        was(self, end)

    return close


DEFECTS = (
    defect(
        "error-dated-by-the-end-of-its-stream",
        "both",
        "A turn that an error cut says that it was cut when the connection closed.",
        "interrupt.error interrupt.first-stands R26 R27",
        wrap(JournalWriter, "_close", dated_by_the_end),
    ),
    defect(
        "interrupted-when-last-written",
        "both",
        "An interrupted turn says that it was cut when its last message was written.",
        "turn.interrupted-shape R19",
        on_turns(cut_when_last_written),
    ),
    defect(
        "completed-when-last-written",
        "both",
        "A complete turn says that it ended when its last message was written.",
        "turn.complete-has-end",
        on_turns(ended_when_last_written),
    ),
    defect(
        "messages-at-the-start-of-their-turn",
        "both",
        "Every message carries the time at which its turn began.",
        "message.response-start-time R25",
        on_turns(all_at_the_start),
    ),
    defect(
        "thinking-dropped-from-interrupted-turns",
        "both",
        "The thinking of a turn that was cut is not kept, so the provider rejects the calls that followed it.",
        "cycle.kept part.thinking-signature",
        on_turns(thinking_gone_at_a_cut),
    ),
    defect(
        "requests-in-a-row-joined",
        "both",
        "A user's message that follows returns is put into their request.",
        "message.steering",
        on_turns(requests_joined),
    ),
    defect(
        "finish-reason-left-out",
        "both",
        "Responses do not say why the model stopped.",
        "message.finish-reason R16",
        on_response(without("finish_reason")),
    ),
    defect(
        "model-left-out",
        "both",
        "Responses do not say which model made them.",
        "message.provider-facts",
        on_response(without("model_name", "provider_name")),
    ),
    defect(
        "usage-of-responses-left-out",
        "both",
        "Only the turn says what was used, its responses do not.",
        "usage.sums R17",
        on_response(without("usage")),
    ),
    defect(
        "returns-stored-as-text",
        "both",
        "What a tool returned is stored as JSON in a string.",
        "tool.status-success stream.tool-output",
        on_part(content_as_text),
    ),
    defect(
        "markup-escaped",
        "both",
        "An angle bracket in a text of the model is stored as HTML writes it.",
        "part.text-as-is",
        on_part(markup_escaped),
    ),
    defect(
        "texts-trimmed",
        "both",
        "Blanks at both ends of a text of the model are cut off.",
        "part.text-as-is",
        on_part(blanks_trimmed),
    ),
    defect(
        "empty-return-stored-as-null",
        "both",
        "A tool that returned an empty text is stored as having returned null.",
        "tool.status-success stream.tool-output",
        on_part(empty_return_null),
    ),
    defect(
        "returned-text-parsed",
        "both",
        "A text that a tool returned is stored as the JSON that it holds.",
        "tool.status-success stream.tool-output",
        on_part(return_parsed),
    ),
    defect(
        "private-arguments-lost",
        "both",
        "Arguments whose names begin with an underscore are left out.",
        "tool.args-parsed",
        on_part(private_arguments_lost),
    ),
    defect(
        "empty-arguments-stored-as-null",
        "both",
        "A call without arguments has null in place of an empty object.",
        "tool.args-parsed R12",
        on_part(empty_args_null),
    ),
    defect(
        "reference-of-a-return-lost",
        "both",
        "A return that was stored elsewhere holds nothing.",
        "ref.content-or-ref R6",
        on_part(reference_lost),
    ),
    defect(
        "words-of-a-failure-lost",
        "both",
        "A failed return says that it failed, and not why.",
        "tool.status-error tool.denied R22",
        on_part(failure_without_words),
    ),
    defect(
        "retry-prompt-without-its-call",
        "both",
        "A retry prompt does not say which call it sends back.",
        "tool.retry-prompt R22",
        on_part(retry_without_its_call),
    ),
    defect(
        "provider-return-names-no-tool",
        "both",
        "What a provider's own tool gave does not say which tool it was.",
        "tool.provider-executed R42",
        on_part(provider_name_of_call),
    ),
    defect(
        "events-dated-by-their-turn",
        "both",
        "An event carries the time at which its turn began.",
        "event.order event.system-message R25",
        on_turns(events_at_the_start),
    ),
    defect(
        "provider-parts-dropped",
        "both",
        "What a provider ran itself is shown and not stored.",
        "tool.provider-executed R42",
        on_response(lambda found: {**found, "parts": [p for p in found["parts"] if "builtin" not in p["part_kind"]]}),
    ),
    defect(
        "binary-content-by-its-identifier-alone",
        "both",
        "A file that the model made is stored by its identifier, without its bytes.",
        "part.file",
        on_part(bytes_lost),
    ),
    defect(
        "refused-arguments-not-stored",
        "both",
        "A call that was refused before its tool ran is stored without its arguments.",
        "tool.status-validation-error tool.args-parsed R12",
        on_turns(refused_emptied),
    ),
    defect(
        "interrupted-when-the-turn-began",
        "both",
        "A turn that was cut says that it was cut when it began.",
        "turn.messages-chronological turn.interrupted-shape R25",
        on_turns(cut_at_the_start),
    ),
    defect(
        "event-data-left-out",
        "both",
        "Events are stored without what they said.",
        "event.system-message event.app-tier",
        on_event(lambda entry: replace(entry, data={})),
    ),
    defect(
        "nested-arguments-flattened",
        "both",
        "Arguments inside arguments are stored as text.",
        "tool.args-parsed R12",
        on_part(flattened),
    ),
    defect(
        "words-of-an-error-lost",
        "both",
        "The event of an error does not say what it was.",
        "event.error R27",
        on_event(no_errors_words),
    ),
)
