"""A client that holds what somebody holds who has misread the framing is told that, and not what it lacks (R35)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from tests.scenarios import load_builtin

from tpharness.journal import UserTurn
from tpharness.run.session import Session
from tpharness.targets import Packet, Reference, Script, Stream, TargetOutput
from tpharness.verdict import Result

SENTENCE = (
    "end the name of an event with the event: `event: ping` holds up to the next blank line, and a chunk behind it "
    "that has no `event` of its own counts (R35)"
)


class Deaf(Reference):
    """A client that reads no ping; the name of an event holds for those behind it, if `stays` says so."""

    def __init__(self, *, stays: bool) -> None:
        super().__init__()
        self._stays = stays

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive what is left of the streams, each in one read."""
        return await super().receive(script, [self._left(turn) if isinstance(turn, Stream) else turn for turn in turns])

    def _left(self, turn: Stream) -> Stream:
        if not turn.packets:
            return turn
        text = b"".join(packet.data for packet in turn.packets).decode()
        return replace(turn, packets=(Packet(data="".join(self._read(text)).encode(), at=turn.packets[-1].at),))

    def _read(self, text: str) -> Iterator[str]:
        name = ""
        for block in text.split("\n\n"):
            names = [line[6:].removeprefix(" ") for line in block.split("\n") if line.startswith("event:")]
            name = names[-1] if names else name if self._stays else ""
            if name != "ping" and (self._stays or not names):
                yield f"{block}\n\n"


def first_advice(scenario: str, *, stays: bool) -> str:
    """Return what the first finding says, of which there has to be one."""
    with Session() as session:
        session.players = replace(session.players, client=Deaf(stays=stays))
        result: Result = session.run(session.play(load_builtin(scenario)))[0]
    return result.findings[0].remedy


@pytest.mark.parametrize(
    "scenario", ["documents/0-0-3-heartbeat", "sse/comments-and-pings", "sse/ping-events-and-odd-ids"]
)
def test_a_name_that_stays_is_named(scenario: str) -> None:
    """The turn is missing, or its text: what has to change is the reading of `event: ping`."""
    assert first_advice(scenario, stays=True) == SENTENCE


def test_a_client_that_misreads_something_else_is_not_told_so() -> None:
    """It takes every event that has a name for a ping, so that a chunk named PING is lost."""
    assert "event: ping" not in first_advice("sse/comments-and-pings", stays=False)
