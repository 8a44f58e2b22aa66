"""What is found at SHOULD: shown of a target that passes, and not held against it where the script is the cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.run import RunOptions, play_one
from tpharness.targets import Capabilities, Packet, Reference, Script, Stream, TargetOutput
from tpharness.verdict import Outcome, Result

WHOLE = "basics/tool-call-and-answer"
PART_LEFT_OPEN = "interruptions/error-mid-text"
"""The script itself leaves a part open, whoever plays it."""


class NoDone:
    """The reference, but that its streams end without `[DONE]`."""

    capabilities = Capabilities(name="no-done")

    def __init__(self) -> None:
        self._inner = Reference()

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        served = await self._inner.serve(script)
        streams = tuple(
            tuple(Packet(data=p.data.replace(b"data: [DONE]\n\n", b""), at=p.at, event=p.event) for p in stream)
            for stream in served.streams
        )
        return replace(served, streams=streams)


class Listener:
    """The reference as a client of its own kind."""

    capabilities = Capabilities(name="listener")

    def __init__(self) -> None:
        self._inner = Reference()

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the streams."""
        return await self._inner.receive(script, turns)

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Hold what was fetched."""
        return threads


def play(scenario: str, *, server: str = "reference", client: str = "reference") -> Result:
    """Play a built-in scenario on targets of this module; return the result of the whole run."""
    named = [s if s == "reference" else f"python:tests.run.test_advice:{s}" for s in (server, client)]
    return play_one(load_builtin(scenario), RunOptions(server=named[0], client=named[1]))[0]


@pytest.mark.parametrize("scenario", [WHOLE, PART_LEFT_OPEN])
def test_what_a_server_should_do_better_is_in_the_result_of_a_case_that_passes(scenario: str) -> None:
    """It is found once, whatever the number of versions; what the script brings about is not told."""
    result = play(scenario, server="NoDone")
    assert [finding.code for finding in result.findings] == ["done-missing"]
    assert result.outcome is Outcome.PASSED


@pytest.mark.parametrize("scenario", [WHOLE, PART_LEFT_OPEN])
def test_a_client_is_told_nothing_of_the_streams_that_it_is_given(scenario: str) -> None:
    """It reads what the reference sends."""
    result = play(scenario, client="Listener")
    assert (result.outcome, result.findings) == (Outcome.PASSED, ())
