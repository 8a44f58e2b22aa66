# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What passed the whole suite until implementations were compared with each other."""

from __future__ import annotations

from tests.seeded_defects.seeding import defect, together, wrap

from tpharness.server_events.recorder import Recorder
from tpharness.wires.vsp.server import Encoder

__all__ = ["DEFECTS"]


def any_call_streams(was):
    del was
    return lambda self, _: self._writer.response_open


def every_tool_announces(was):
    del was
    return lambda self, call_id: self._announce(call_id, waiting=True)


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
)
