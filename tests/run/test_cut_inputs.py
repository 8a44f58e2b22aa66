"""A server that ends half arguments fails wherever a run is cut inside them, however it is reached (R60)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.scenarios import load_builtin

from tpharness.journal import Interrupted
from tpharness.run import RunOptions, play_one
from tpharness.run.plan import base_case, make_script
from tpharness.targets.contract import RunScript, Script, TargetOutput
from tpharness.targets.reference import Reference, ReferenceServer, serve_turns
from tpharness.targets.remote import CannotPlayError
from tpharness.verdict import Outcome
from tpharness.wires.vsp.server import Chunks, Encoder
from tpharness.wires.vsp.writer import ChunkWriter

SWEPT = "interruptions/arguments-stay-open-on-the-wire"
INSIDE = {1, 2, 3, 5, 6}
"""The events of that scenario after which the arguments of a call have begun and not ended, counted by hand."""


ABORT = Encoder.abort


class EndingEncoder(Encoder):
    """Ends the open calls before it says abort."""

    def abort(self, reason: str, at: str) -> Chunks:
        """Say that every call is whole, then abort."""
        held = {name: call for name, call in self._calls.items() if "input" not in call}
        ended = [
            {"type": "tool-input-available", "toolCallId": name, "toolName": call["toolName"], "input": {}}
            for name, call in held.items()
        ]
        return [*ended, *ABORT(self, reason, at)]


class EndingSession(ReferenceServer):
    """A session that ends the open calls."""

    def begin(self, run: RunScript) -> bytes:
        """Begin with such an encoder."""
        data = super().begin(run)
        writer = self._running()
        assert isinstance(writer, ChunkWriter)
        writer._encoder.__class__ = EndingEncoder
        return data


class Stepped(Reference):
    """A target of somebody else that can be stepped."""

    def server_session(self, script: Script) -> ReferenceServer:
        """Open such a session."""
        return EndingSession(script)


class Whole:
    """A target of somebody else that plays whole scripts only, as those over HTTP and stdio do."""

    def __init__(self) -> None:
        self.capabilities = Reference().capabilities

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        session = EndingSession(script)
        streams = serve_turns(session, script.turns)
        return TargetOutput(threads=session.threads(), streams=streams)


class Unstoppable(Whole):
    """Its users cannot stop a run."""

    async def serve(self, script: Script) -> TargetOutput:
        """Play what is not stopped by a user."""
        if any(isinstance(turn, RunScript) and turn.abort for turn in script.turns):
            raise CannotPlayError("a run cannot be stopped")
        return await super().serve(script)


def failing_places(server: str) -> set[str]:
    """Return the places of the sweep at which half arguments are found."""
    results = play_one(load_builtin(SWEPT), RunOptions(server=server))
    failed = [one for one in results if one.outcome is Outcome.FAILED]
    assert all(one.failing_codes == {"arguments-look-whole"} for one in failed)
    return {one.id for one in failed}


def expected_places() -> Iterator[str]:
    """Return the ids of the places inside arguments."""
    for reason in ("user_cancelled", "network_failure"):
        yield from (f"{SWEPT}@event-{count}:{reason}" for count in INSIDE)


@pytest.mark.parametrize("server", ["Stepped", "Whole"])
def test_every_place_inside_arguments_fails_and_no_other(server: str) -> None:
    """Also where the cut itself tells the client nothing: the run is played again, and stopped by its user."""
    assert failing_places(f"python:tests.run.test_cut_inputs:{server}") == set(expected_places())


def test_every_place_of_the_reference_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference is asked what it would say, and changes nothing by that."""
    monkeypatch.setattr(Encoder, "abort", EndingEncoder.abort)
    assert failing_places("reference") == set(expected_places())


def test_a_server_that_nobody_can_stop_is_judged_by_what_it_sent() -> None:
    """What it would say when it is stopped is unknown, which is neither a failure nor an error."""
    assert failing_places("python:tests.run.test_cut_inputs:Unstoppable") == set()


def test_asking_the_reference_cuts_nothing() -> None:
    """The run goes on as if nobody had asked what an abort would say."""
    script = make_script(base_case(load_builtin(SWEPT)))
    run = script.turns[-1]
    assert isinstance(run, RunScript)
    cut = Interrupted(reason="user_cancelled", at=run.started_at)
    asked, left = ReferenceServer(script), ReferenceServer(script)
    for session in (asked, left):
        serve_turns(session, script.turns[:-1])
        session.begin(run)
    for event in run.events:
        assert b'"abort"' in asked.abort_here(cut)
        assert asked.feed(event) == left.feed(event)
    assert asked.threads() == left.threads()
