# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What passed the whole suite until implementations were compared with each other."""

from __future__ import annotations

from tests.seeded_defects.seeding import defect, put, together, wrap

from tpharness.journal import writer
from tpharness.server_events import parts, returns
from tpharness.server_events.recorder import Recorder
from tpharness.wires.vsp import server
from tpharness.wires.vsp.server import Encoder

__all__ = ["DEFECTS"]


def any_call_streams(was):
    del was
    return lambda self, _: self._writer.response_open


def every_tool_announces(was):
    del was
    return lambda self, call_id: self._announce(call_id, waiting=True)


def all_or_none(prompts, said):
    """Return the prompts of a request unless all of it repeats what the user said."""
    asked = list(prompts)
    return [] if [p.get("content") for p in asked] == [p.get("content") for p in said] else asked


def as_it_came(result):
    return result.get("content")


DEFECTS = (
    defect(
        "any-return-ends-the-response-that-streams",
        "server",
        "A slow tool of the first answer returns while the second streams, and the second answer is lost.",
        "cycle.response-finished-server R40 R25",
        together(
            wrap(Recorder, "_streams", any_call_streams),
            wrap(Encoder, "_announce_of", every_tool_announces),
        ),
    ),
    defect(
        "a-request-repeats-as-a-whole-or-not-at-all",
        "both",
        "A request that repeats the user's words and says more keeps the repetition.",
        "turn.user-input-once R9",
        together(put(writer, "new_prompts", all_or_none), put(server, "new_prompts", all_or_none)),
    ),
    defect(
        "a-list-of-one-text-is-another-prompt",
        "server",
        "The server stores a prompt as the list that it came in, and the client as the text that it was sent.",
        "message.steering R44 R9",
        put(parts, "plain_prompt", lambda content: content),
    ),
    defect(
        "a-denial-without-a-word-is-null",
        "server",
        "Nobody says why a call was denied, and its return has no content.",
        "tool.denied R22",
        together(put(returns, "denial", as_it_came), put(server, "denial", as_it_came)),
    ),
)
