# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a stream and the head of a thread say, and no comparison of turns sees: R12, R22, R35, R45, R54, R60, R64."""

from __future__ import annotations

import json
from unittest import mock

from tests.seeded_defects.seeding import defect, wrap

from tpharness.dialects.thread import ThreadRenderer
from tpharness.server_events import EventKind
from tpharness.wires.vsp import server
from tpharness.wires.vsp.server import Encoder
from tpharness.wires.vsp.writer import ChunkWriter

__all__ = ["DEFECTS"]


def texts_ended(was):
    """A part of a text is there until its end was sent."""

    def abort(self, reason, at):
        words = [part for part in self._parts.values() if part[0] in ("text", "reasoning")]
        return [*({"type": f"{word}-end", "id": block} for word, block in words), *was(self, reason, at)]

    return abort


def without_its_message(was):
    def start(self, at, user_parts=()):
        opening, *more = was(self, at, user_parts)
        return [{"type": opening["type"]}, *more]

    return start


def one_approval(was):
    return lambda self, word: word if word == "approval" else was(self, word)


def every_call(was):
    """The page's own calls too."""

    def named(event):
        requests = event.get("requests")
        calls = requests.get("calls", []) if isinstance(requests, dict) else []
        return [*was(event), *(call["tool_call_id"] for call in calls)]

    return named


def no_marker(was):
    return lambda self, reason, at: was(self, reason, at).removesuffix(b"data: [DONE]\n\n")


def input_as_text(was):
    def announce(self, call_id):
        chunks = was(self, call_id)
        return [{**c, "input": json.dumps(c["input"])} if c["type"] == "tool-input-available" else c for c in chunks]

    return announce


def input_with_a_default(was):
    """What a schema would add before the tool runs, which the model has not written."""

    def announce(self, call_id):
        chunks = was(self, call_id)
        for chunk in chunks:
            if chunk["type"] == "tool-input-available" and isinstance(chunk["input"], dict):
                chunk["input"] = {"unit": "C", **chunk["input"]}
        return chunks

    return announce


def agents_with_turns(was):
    def thread(self, turns):
        written = was(self, turns)
        used = {turn.get("agent_id") for turn in turns}
        return {**written, "agents": {name: agent for name, agent in written["agents"].items() if name in used}}

    return thread


DEFECTS = (
    defect(
        "texts-ended-at-the-abort",
        "server",
        "A server that is stopped ends the texts that stream before it says abort.",
        "part.text-not-ended R60",
        wrap(Encoder, "abort", texts_ended),
    ),
    defect(
        "message-without-its-id",
        "server",
        "The stream of a run does not have the id of its message.",
        "turn.message-id R45",
        wrap(Encoder, "start", without_its_message),
    ),
    defect(
        "every-approval-has-one-id",
        "server",
        "Every request for an approval has the same id.",
        "stream.approval-id R22",
        wrap(Encoder, "_id", one_approval),
    ),
    defect(
        "approval-not-asked",
        "server",
        "A run ends while a call waits for an approval, and its stream does not ask.",
        "tool.approval-asked R64",
        lambda: mock.patch.dict(server._ACTIONS, {EventKind.DEFERRED_TOOL_REQUESTS: lambda _self, _event: []}),
    ),
    defect(
        "approval-asked-of-the-pages-calls",
        "server",
        "A run asks for the approval of the calls that the page has to run, too.",
        "tool.approval-asked R64",
        wrap(server, "approvals_of", every_call),
    ),
    defect(
        "no-end-marker-after-an-abort",
        "server",
        "A stream that was stopped ends without the end marker.",
        "stream.done-missing R35",
        wrap(ChunkWriter, "stop", no_marker),
    ),
    defect(
        "input-as-json-text",
        "server",
        "The input of a call is sent as its JSON text.",
        "stream.input-parsed R12",
        wrap(Encoder, "_announce_call", input_as_text),
    ),
    defect(
        "input-with-defaults",
        "server",
        "The input of a call has a key that its deltas do not have.",
        "stream.input-as-streamed R12",
        wrap(Encoder, "_announce_call", input_with_a_default),
    ),
    defect(
        "registry-without-agents-that-said-nothing",
        "both",
        "The head of a thread has the agents of its turns only.",
        "thread.header R54",
        wrap(ThreadRenderer, "_thread", agents_with_turns),
    ),
)
