"""Where a thread depends on how its stream is split, the finding names the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.scenarios import load_builtin

from tpharness.findings import Finding
from tpharness.journal import UserTurn
from tpharness.run import RunOptions, play_one
from tpharness.targets import Reference, Script, Stream
from tpharness.targets.contract import RunScript, TargetOutput

SCENARIO = "basics/parallel-returns-in-call-order"


def forget(output: TargetOutput) -> TargetOutput:
    """Return what a target gave without the conversation."""
    return replace(output, threads={version: {**one, "turns": []} for version, one in output.threads.items()})


class SplitsAt(Reference):
    """A client that forgets the conversation if a read ends at one byte of its stream."""

    byte = 0

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Look at where the reads end."""
        ends, at = set(), 0
        for packet in (packet for turn in turns if isinstance(turn, Stream) for packet in turn.packets):
            at += len(packet.data)
            ends.add(at)
        output = await super().receive(script, turns)
        return forget(output) if self.byte in ends else output


class SplitsAt200(SplitsAt):
    """In the first chunks."""

    byte = 200


class SplitsAt1333(SplitsAt):
    """Far into the stream."""

    byte = 1333


class OneDelta(Reference):
    """A server that forgets the conversation if its answer comes in deltas of one character."""

    async def serve(self, script: Script) -> TargetOutput:
        """Look at the deltas of the last run."""
        events = [event for turn in script.turns if isinstance(turn, RunScript) for event in turn.events]
        texts = [event["delta"].get("content_delta") for event in events if event["event_kind"] == "part_delta"]
        output = await super().serve(script)
        return forget(output) if "w" in texts else output


class OneChunk(Reference):
    """A client that forgets the conversation if a chunk has a single character of text."""

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Look at the chunks."""
        data = b"".join(packet.data for turn in turns if isinstance(turn, Stream) for packet in turn.packets)
        output = await super().receive(script, turns)
        return forget(output) if b'"delta":"w"' in data else output


def found(side: str, target: type[Reference], name: str) -> Finding:
    """Play the scenario with a target as one side, and return what was found of one variant."""
    spec = f"python:{__name__}:{target.__name__}"
    options = RunOptions(server=spec) if side == "server" else RunOptions(client=spec)
    (result,) = play_one(load_builtin(SCENARIO), options)
    (one,) = [f for f in result.findings if f.code == "chunking-matters" and f.message.startswith(f"{name}: ")]
    return one


@pytest.mark.parametrize("target", [SplitsAt200, SplitsAt1333])
def test_a_read_that_matters_is_named_by_its_byte(target: type[SplitsAt]) -> None:
    """Of all the reads of one byte, the one that ends there; what stands on both sides is shown."""
    finding = found("client", target, "reads of 1 byte")
    assert finding.place.byte == target.byte
    assert f"the first split that matters is at byte {target.byte} of the stream: " in finding.message
    assert " | " in finding.message


def test_a_chunk_that_must_not_be_split_is_named_by_its_byte() -> None:
    """It begins there."""
    finding = found("client", OneChunk, "deltas of one UTF-16 unit")
    assert '"delta":"did not answer."' in finding.message
    assert finding.place.byte is not None
    assert f"begins at byte {finding.place.byte} of the stream" in finding.message


def test_an_event_that_must_not_be_split_is_named() -> None:
    """By its number in the run, as everywhere."""
    finding = found("server", OneDelta, "event deltas of one character")
    assert finding.place.event == 18
    assert "is event 18 of the run: " in finding.message
    assert "did not answer." in finding.message
