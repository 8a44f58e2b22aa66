# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a target says of a thread when it is asked: its hash, another version, messages for a model, an import."""

from __future__ import annotations

from tests.seeded_defects.seeding import defect, wrap

from tpharness.targets import answering

__all__ = ["DEFECTS"]


def answered(question, change):
    """Change the answer to one question."""

    def make(was):
        return lambda asked, request: change(was(asked, request), request) if asked == question else was(asked, request)

    return wrap(answering, "answer_question", make)


def hash_of_the_version(_, request):
    return {"hash": f"sha256:{request['thread']['version'].replace('.', '').ljust(64, '0')}"}


def names_kept(answer, request):
    for turn, was in zip(answer["thread"]["turns"], request["thread"]["turns"], strict=False):
        for message, before in zip(turn.get("messages", ()), was.get("messages", ()), strict=False):
            if message.get("message_type") == "system":
                message["event_type"] = before["event_type"]
    return answer


def nulls_hashed(answer, request):
    return {"hash": f"sha256:{'0' * 64}"} if "parent_turn" in str(request["thread"]) else answer


def status_from_2_0_0_on(answer, request):
    if (request["thread"]["version"], request["to"]) == ("2.0.0", "0.0.3"):
        for turn in answer["thread"]["turns"]:
            turn["completion_status"] = "complete"
    return answer


def agents_made_anew(answer, _):
    return {**answer, "thread": {**answer["thread"], "agents": {}}}


def agents_unnamed(answer, _):
    for message in answer["messages"]:
        for part in message["parts"]:
            if part["part_kind"] == "text":
                part["content"] = part["content"].rpartition("}: ")[2]
    return answer


def drops_unreported(answer, _):
    return {**answer, "dropped": []}


def open_calls_told(answer, request):
    calls = [
        {"kind": "response", "parts": [part]}
        for turn in request["thread"]["turns"]
        for message in turn.get("messages") or ()
        for part in message.get("parts") or ()
        if part["part_kind"] == "tool-call"
    ]
    return {"messages": [*answer["messages"], *calls[-1:]]}


def prompt_forgotten(answer, request):
    return {"messages": answer["messages"][1:] if "system_prompt" in request else answer["messages"]}


def last_turn_forgotten(answer, _):
    return {"thread": {**answer["thread"], "turns": answer["thread"]["turns"][:-1]}}


DEFECTS = (
    defect(
        "hash-of-the-version-alone",
        "both",
        "The hash of a thread is made of its version and not of its turns.",
        "canon.jcs canon.hash R37",
        answered("hash", hash_of_the_version),
    ),
    defect(
        "names-of-events-not-migrated",
        "both",
        "Another version of a thread has the names that its normative events had before.",
        "migrate.upgrade-3-4 R1",
        answered("migrate", names_kept),
    ),
    defect(
        "nulls-are-hashed",
        "both",
        "A thread with fields that are null has another hash than the same thread without them.",
        "canon.null-is-absent R37",
        answered("hash", nulls_hashed),
    ),
    defect(
        "status-of-turns-in-0-0-3",
        "both",
        "A thread of 2.0.0 gets what only 0.0.4 has when it becomes one of 0.0.3.",
        "migrate.upgrade-2-3 R1",
        answered("migrate", status_from_2_0_0_on),
    ),
    defect(
        "agents-lost-on-the-way",
        "both",
        "Who goes to another version and back has lost the agents.",
        "migrate.identity R1",
        answered("migrate", agents_made_anew),
    ),
    defect(
        "agents-not-named-to-the-model",
        "both",
        "A model is told the texts of other agents as if they were its own.",
        "history.agent-prefix R46",
        answered("history", agents_unnamed),
    ),
    defect(
        "drops-not-reported",
        "both",
        "A downgrade drops interrupted turns and does not say so.",
        "migrate.downgrade R1",
        answered("migrate", drops_unreported),
    ),
    defect(
        "open-calls-told-to-the-model",
        "both",
        "The model is told a call at the end that has no return there.",
        "history.no-unanswered R46",
        answered("history", open_calls_told),
    ),
    defect(
        "system-prompt-forgotten",
        "both",
        "The messages for a model are told without the system prompt of the caller.",
        "history.system-prompt R8",
        answered("history", prompt_forgotten),
    ),
    defect(
        "last-turn-not-imported",
        "both",
        "A thread that is made of messages lacks the last turn.",
        "history.import",
        answered("import", last_turn_forgotten),
    ),
)
