# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Wrong hashes, conversions and histories, which no stream shows: the vectors of `conformance/documents/` find them."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace

from tests.seeded_defects.seeding import defect, put, wrap

from tpharness.protocol import canonical, history, migrate
from tpharness.protocol.jcs import jcs
from tpharness.protocol.versions import Version

__all__ = ["DEFECTS"]

convert, model_history = migrate.convert, history.model_history
"""As they are without a change."""


def converted(change):
    """Let a conversion give this of what is right; `change` sees the result, the thread and the version."""
    return wrap(migrate, "convert", lambda was: lambda thread, to: change(was(thread, to), thread, to))


def told(change):
    """Let the model be told this of what is right; `change` sees the messages, the thread and the options."""

    def make(was):
        def tell(thread, **options):
            made = was(thread, **options)
            return replace(made, messages=change(copy.deepcopy(made.messages), thread, options))

        return tell

    return wrap(history, "model_history", make)


def deep_without_nulls(value):
    """Return a JSON value without the fields that are null."""
    if isinstance(value, dict):
        return {key: deep_without_nulls(item) for key, item in value.items() if item is not None}
    return [deep_without_nulls(item) for item in value] if isinstance(value, list) else value


def turns_with(thread, **fields):
    """Return the thread with these fields in every agent turn."""
    turns = [{**turn, **fields} if turn["turn_type"] == "agent" else turn for turn in thread["turns"]]
    return {**thread, "turns": turns}


def without_fields(thread, *known):
    """Return the thread with no field in its agent turns but these."""
    turns = [{k: v for k, v in turn.items() if k in known or k == "turn_type"} for turn in thread["turns"]]
    return {**thread, "turns": turns}


def status_early(made, thread, _to):
    if thread["version"] != "2.0.0" or made.thread["version"] != "0.0.3":
        return made
    return replace(made, thread=turns_with(made.thread, completion_status="complete"))


def renamed_early(made, thread, _to):
    if thread["version"] != "2.0.0" or made.thread["version"] != "0.0.3":
        return made
    newer = convert(thread, Version.V0_0_4).thread
    turns = [{k: v for k, v in turn.items() if k != "completion_status"} for turn in newer["turns"]]
    return replace(made, thread={**made.thread, "turns": turns})


def no_status(made, _thread, to):
    if to is not Version.V0_0_4:
        return made
    turns = [{k: v for k, v in turn.items() if k != "completion_status"} for turn in made.thread["turns"]]
    return replace(made, thread={**made.thread, "turns": turns})


def names_as_they_were(made, thread, _to):
    """Events of turns that were not dropped keep the names that they had."""
    was = iter([m for turn in thread["turns"] for m in turn.get("messages", ())])
    if made.dropped:
        return made
    turns = []
    for turn in made.thread["turns"]:
        if "messages" in turn:
            messages = [
                {**m, "event_type": old["event_type"]} if "event_type" in old else m
                for m, old in zip(turn["messages"], was, strict=False)
            ]
            turn = {**turn, "messages": messages}  # noqa: PLW2901  # the turn as it then is
        turns.append(turn)
    return replace(made, thread={**made.thread, "turns": turns})


def interrupted_kept(made, thread, to):
    if to is Version.V0_0_4:
        return made
    turns = [
        {
            k: v
            for k, v in {**turn, "completed_at": turn["interruption"]["interrupted_at"]}.items()
            if k != "interruption"
        }
        if "interruption" in turn
        else turn
        for turn in thread["turns"]
    ]
    complete = {**thread, "turns": [turn | {"completion_status": "complete"} for turn in turns]}
    return convert(complete, to) if made.dropped else made


KNOWN_OF_TURNS = (
    *("agent_id", "started_at", "completed_at", "messages", "total_usage", "completion_status", "interruption"),
    *("submitted_at", "parts", "client_metadata"),
)


def unprefixed(_messages, thread, options):
    return model_history(thread, **{**options, "viewing_agent": None}).messages


def all_prefixed(messages, thread, options):
    if options.get("viewing_agent") is None:
        return messages
    return model_history(thread, **{**options, "viewing_agent": "nobody"}).messages


def thinking_prefixed(messages, _thread, options):
    for message in messages:
        texts = [part["content"] for part in message["parts"] if part["part_kind"] == "text"]
        prefix = texts[0].partition("}: ")[0] + "}: " if texts and "}: " in texts[0] else ""
        for part in message["parts"]:
            if part["part_kind"] == "thinking" and options.get("viewing_agent"):
                part["content"] = prefix + part["content"]
    return messages


def ids_in_place_of_names(messages, thread, _options):
    for message in messages:
        for part in message["parts"]:
            for key, agent in thread["agents"].items():
                if part["part_kind"] == "text":
                    part["content"] = part["content"].replace(f"{{agent:{agent['agent_name']}}}", f"{{agent:{key}}}")
    return messages


def default_prompt(messages, _thread, options):
    if options.get("system_prompt") is not None:
        return messages
    prompt = {"part_kind": "system-prompt", "content": "You are a helpful assistant."}
    return [{"kind": "request", "parts": [prompt]}, *messages]


def prompt_last(messages, _thread, options):
    return [*messages[1:], messages[0]] if options.get("system_prompt") else messages


DEFECTS = (
    defect(
        "hash-of-another-kind",
        "both",
        "The hash is the first half of a SHA-512, which both sides compute alike.",
        "canon.hash R37",
        put(
            canonical,
            "thread_hash",
            lambda thread: "sha256:" + hashlib.sha512(jcs(canonical.canonical_thread(thread))).hexdigest()[:64],
        ),
    ),
    defect(
        "hash-of-the-whole-document",
        "both",
        "The hash is that of the whole document, its id and its agents too.",
        "canon.hash R37",
        put(canonical, "thread_hash", lambda thread: "sha256:" + hashlib.sha256(jcs(thread)).hexdigest()),
    ),
    defect(
        "null-is-a-value",
        "both",
        "A field that is null counts as one that has a value.",
        "canon.null-is-absent R37",
        put(canonical, "_without_nulls", dict),
    ),
    defect(
        "nulls-removed-everywhere",
        "both",
        "Nulls in the arguments of calls are removed like those of optional fields.",
        "tool.args-parsed R12",
        wrap(canonical, "canonical_thread", lambda was: lambda thread: deep_without_nulls(was(thread))),
    ),
    defect(
        "metadata-parts-count",
        "both",
        "Parts in the namespace meta are part of the hash.",
        "part.meta-kind canon.metadata-left-out R37",
        put(canonical, "_parts", lambda parts: [canonical._part(part) for part in parts]),
    ),
    defect(
        "renamed-telemetry-counts",
        "both",
        "In 2.0.0 telemetry, which has lost its prefix there, is part of the hash.",
        "canon.telemetry-renamed R50",
        put(canonical, "_renamed_telemetry", lambda _version: ()),
    ),
    defect(
        "upgrade-adds-the-status-too-early",
        "both",
        "A thread of 2.0.0 that becomes one of 0.0.3 gets a status in its turns.",
        "migrate.upgrade-2-3 R1",
        converted(status_early),
    ),
    defect(
        "upgrade-renames-events-too-early",
        "both",
        "A thread of 2.0.0 that becomes one of 0.0.3 has the event names of 0.0.4.",
        "migrate.upgrade-2-3 R1",
        converted(renamed_early),
    ),
    defect(
        "upgrade-adds-no-status",
        "both",
        "A thread that becomes one of 0.0.4 does not say that its turns are complete.",
        "migrate.upgrade-3-4 thread.version-lineage R1",
        converted(no_status),
    ),
    defect(
        "conversion-keeps-names-of-events",
        "both",
        "A conversion leaves the names of normative events as they were.",
        "migrate.upgrade-3-4 migrate.downgrade R1",
        converted(names_as_they_were),
    ),
    defect(
        "downgrade-keeps-interrupted-turns",
        "both",
        "An interrupted turn becomes a complete one in an older version.",
        "migrate.downgrade R1",
        converted(interrupted_kept),
    ),
    defect(
        "downgrade-does-not-report",
        "both",
        "An interrupted turn is dropped from an older version and nobody is told.",
        "migrate.downgrade R1",
        converted(lambda made, _thread, _to: replace(made, dropped=())),
    ),
    defect(
        "downgrade-leaves-the-status",
        "both",
        "A thread that was upgraded and downgraded again has kept the status of its turns.",
        "migrate.identity migrate.downgrade R1",
        converted(
            lambda made, thread, to: (
                made
                if to is Version.V0_0_4 or thread["version"] != "0.0.4"
                else replace(made, thread=turns_with(made.thread, completion_status="complete"))
            )
        ),
    ),
    defect(
        "conversion-drops-unknown-fields",
        "both",
        "A conversion writes the fields of turns that it knows, and no other.",
        "migrate.identity thread.unknown-preserved R7",
        converted(lambda made, _thread, _to: replace(made, thread=without_fields(made.thread, *KNOWN_OF_TURNS))),
    ),
    defect(
        "agents-speak-with-one-voice",
        "both",
        "The texts of other agents are sent as if the called agent had written them.",
        "history.agent-prefix",
        told(unprefixed),
    ),
    defect(
        "own-texts-prefixed",
        "both",
        "An agent's own texts are sent under its name, as those of another one.",
        "history.agent-prefix",
        told(all_prefixed),
    ),
    defect(
        "thinking-prefixed",
        "both",
        "The thinking of other agents is prefixed too, so that its signature does not fit any more.",
        "history.agent-prefix",
        told(thinking_prefixed),
    ),
    defect(
        "prefixed-by-id",
        "both",
        "The texts of other agents are prefixed with their ids and not with their names.",
        "history.agent-prefix",
        told(ids_in_place_of_names),
    ),
    defect(
        "system-prompt-made-up",
        "both",
        "Where the caller gives no system prompt, the model is told one all the same.",
        "history.system-prompt R8",
        told(default_prompt),
    ),
    defect(
        "system-prompt-at-the-end",
        "both",
        "The caller's system prompt is sent after the conversation.",
        "history.system-prompt R8",
        told(prompt_last),
    ),
    defect(
        "system-prompt-of-the-caller-dropped",
        "both",
        "The caller's system prompt is not sent.",
        "history.system-prompt R8",
        told(lambda messages, _thread, options: messages[1:] if options.get("system_prompt") else messages),
    ),
)
