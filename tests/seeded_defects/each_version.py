# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a thread loses in an older version alone, and turns and sources that come in an odd order: R1, R17, R18, R25."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.seeded_defects.repeats import on_document
from tests.seeded_defects.seeding import defect, wrap

from tpharness.dialects.thread import ThreadRenderer
from tpharness.targets.reference import ReferenceClient

__all__ = ["DEFECTS"]

Json = dict[str, Any]
Turns = Callable[[list[Json]], list[Json]]


def older(change: Turns):
    """Change the turns of both sides in the versions before 0.0.4."""

    def make(was):
        def render(self, journal):
            document = was(self, journal)
            return document if document["version"] == "0.0.4" else {**document, "turns": change(document["turns"])}

        return render

    return wrap(ThreadRenderer, "render", make)


def of_client(change: Turns):
    """Change the turns of the client alone."""

    def make(was):
        return lambda self, cut=None: {
            version: {**thread, "turns": change(thread["turns"])} for version, thread in was(self, cut).items()
        }

    return wrap(ReferenceClient, "threads", make)


def messages(change: Callable[[Json], Json | None]) -> Turns:
    def changed(turns):
        return [
            {**turn, "messages": [one for one in map(change, turn["messages"]) if one is not None]}
            if "messages" in turn
            else turn
            for turn in turns
        ]

    return changed


def parts(change: Callable[[Json], Json | None]) -> Turns:
    def message(one):
        if "parts" not in one:
            return one
        kept = [part for part in map(change, one["parts"]) if part is not None]
        return {**one, "parts": kept} if kept else None

    return messages(message)


def without(*names: str) -> Callable[[Json], Json]:
    return lambda one: {name: value for name, value in one.items() if name not in names}


def joined_runs(turns):
    """Two complete runs of one agent in a row are one turn."""
    told: list[Json] = []
    for turn in turns:
        before = told[-1] if told else turn
        alike = before is not turn and all(before.get(k) == turn.get(k) for k in ("agent_id", "completion_status"))
        if alike and "completed_at" in turn and "agent_id" in turn:
            told[-1] = {**turn, "started_at": before["started_at"], "messages": before["messages"] + turn["messages"]}
        else:
            told.append(turn)
    return told


def sources_once(field: str) -> Turns:
    def changed(turns):
        seen: list[object] = []

        def message(one):
            said = str(one.get("event_type")).startswith("source.") and one["event_data"].get(field)
            if said and said in seen:
                return None
            seen.append(said)
            return one

        return messages(message)(turns)

    return changed


_OLD = (
    ("signatures", "signatures", "part.thinking-signature", parts(without("signature"))),
    ("ids-of-thoughts", "ids of thoughts", "part.id-is-providers", parts(without("thinking_id"))),
    ("response-ids", "ids of responses", "message.provider-facts", messages(without("provider_response_id"))),
    ("usage", "the usage of responses", "usage.sums", messages(without("usage"))),
    ("metadata", "metadata of returns", "thread.unknown-preserved", parts(without("metadata"))),
)

DEFECTS = (
    *(
        defect(
            f"older-versions-without-{name}",
            "both",
            f"Threads before 0.0.4 are written without {words}.",
            f"{breaks} R1",
            older(change),
        )
        for name, words, breaks, change in _OLD
    ),
    *(
        defect(f"older-versions-with-{name}", "both", sentence, breaks, older(change))
        for name, sentence, breaks, change in (
            (
                "errors-for-refusals",
                "Threads before 0.0.4 have the status error for refused arguments.",
                "tool.status-validation-error",
                parts(lambda part: {**part, "status": "error"} if part.get("status") == "validation_error" else part),
            ),
        )
    ),
    *(
        defect(f"{name}-alone", "both", sentence, breaks, on_document(change))
        for name, sentence, breaks, change in (
            (
                "runs-of-one-agent-joined",
                "Two runs of one agent in a row are one turn.",
                "turn.one-run",
                joined_runs,
            ),
        )
    ),
    *(
        defect(
            f"sources-once-by-their-{name}",
            "client",
            f"Two sources of one {name} are one.",
            "event.source",
            of_client(sources_once(field)),
        )
        for name, field in (("id", "source_id"),)
    ),
)
