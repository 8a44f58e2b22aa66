"""Targets that are plain Python objects: played whole, cut place by place, and found out when they are wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.errors import TargetError
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.run import RunOptions, play_one
from tpharness.targets import Capabilities, Packet, Reference, Script, Stream, TargetOutput
from tpharness.targets.spec import resolve_server
from tpharness.verdict import Outcome

Threads = Mapping[Version, dict[str, Any]]


class Plain:
    """A target that cannot be stepped: what an implementation behind a network looks like."""

    capabilities = Capabilities(name="plain")

    def __init__(self) -> None:
        self.inner = Reference()

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        return await self.inner.serve(script)

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the streams."""
        return await self.inner.receive(script, turns)

    async def adopt(self, threads: Threads) -> Threads:
        """Hold what was fetched."""
        return threads


class OnePacket(Plain):
    """A server that hands over its whole body at once, so that no place in it belongs to an event."""

    async def serve(self, script: Script) -> TargetOutput:
        """Join the packets of each run."""
        served = await self.inner.serve(script)
        streams = tuple((Packet(data=b"".join(p.data for p in s), at=s[0].at),) for s in served.streams)
        return replace(served, streams=streams)


class KeepsNothing(Plain):
    """A server that throws interrupted turns away, finished tool results and all."""

    async def serve(self, script: Script) -> TargetOutput:
        """Drop them from the threads."""
        served = await self.inner.serve(script)

        def kept(thread: dict[str, Any]) -> dict[str, Any]:
            turns = [t for t in thread["turns"] if t.get("completion_status") != "interrupted"]
            return {**thread, "turns": turns}

        return replace(served, threads={v: kept(t) for v, t in served.threads.items()})


class NeverAdopts(Plain):
    """A client that keeps its own thread after a fetch."""

    async def adopt(self, threads: Threads) -> Threads:
        """Ignore the server's thread."""
        return {v: {**t, "turns": []} for v, t in threads.items()}


class Breaks(Plain):
    """A target that cannot be reached."""

    async def serve(self, script: Script) -> TargetOutput:
        """Fail."""
        del script
        raise TargetError("nobody answers at the door", hint="start it")


def verdicts(name: str, server: str = "reference", client: str = "reference") -> dict[str, Outcome]:
    """Play a built-in scenario on targets of this module."""
    here = f"python:{__name__}:"
    sides = [side if side == "reference" else here + side for side in (server, client)]
    scenario = load_builtin(name)
    return {r.id: r.outcome for r in play_one(scenario, RunOptions(server=sides[0], client=sides[1]))}


@pytest.mark.parametrize("name", ["interruptions/between-steps", "interruptions/client-saw-less", "cycles/three-steps"])
def test_a_target_that_cannot_be_stepped_is_played_place_by_place(name: str) -> None:
    """Each place of a sweep is a case of its own, and all pass."""
    found = verdicts(name, server="Plain", client="Plain")
    assert set(found.values()) == {Outcome.PASSED}
    stepped = verdicts(name)
    assert (len(found) > 2) == (len(stepped) == 2)


def test_a_server_that_throws_cycles_away_is_found() -> None:
    """The client keeps the cycle that the server lost."""
    assert set(verdicts("interruptions/between-steps", server="KeepsNothing").values()) == {Outcome.FAILED}
    assert set(verdicts("interruptions/mid-text", server="KeepsNothing").values()) == {Outcome.PASSED}


def test_a_client_that_does_not_converge_is_found() -> None:
    """After a loss the fetched thread counts (R32)."""
    assert set(verdicts("interruptions/client-saw-less", client="NeverAdopts").values()) == {Outcome.FAILED}


def test_a_target_that_fails_is_an_error_and_no_verdict() -> None:
    """Errored is not failed: nothing was learnt about the target."""
    assert set(verdicts("interruptions/mid-text", server="Breaks").values()) == {Outcome.ERRORED}


def test_a_body_without_places_cannot_be_cut_at_an_event() -> None:
    """A cut of the client at an event needs packets that belong to events; bytes can always be counted."""
    assert set(verdicts("interruptions/client-saw-less", server="OnePacket").values()) == {Outcome.ERRORED}
    assert set(verdicts("interruptions/client-lost-everything", server="OnePacket").values()) == {Outcome.PASSED}
    assert set(verdicts("interruptions/between-steps", server="OnePacket").values()) == {Outcome.PASSED}


def test_what_to_do_about_a_body_without_places_is_told_for_every_kind_of_target() -> None:
    """The author of a server over HTTP has no `Packet`."""
    scenario = load_builtin("interruptions/client-saw-less")
    (result,) = play_one(scenario, RunOptions(server=f"python:{__name__}:OnePacket"))
    for words in ("`: tp N` behind them over HTTP", "`event` of a packet over stdio", "Packet.event in Python"):
        assert words in result.reason


def test_a_module_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/TARGETS.md says; and the folder does not hide libraries from what is imported later."""
    (tmp_path / "mine_alone.py").write_text(
        "from tpharness.targets import Reference as Server  # noqa: F401\nimport beside_mine\n", "utf-8"
    )
    (tmp_path / "beside_mine.py").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert isinstance(resolve_server("python:mine_alone:Server"), Reference)
    assert sys.path[-1] == str(tmp_path)
    with pytest.raises(TargetError, match="cannot import not_there"):
        resolve_server("python:not_there:Server")


def test_what_a_module_raises_when_it_is_imported_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also an AttributeError: the object that was named is not what is missing."""
    (tmp_path / "misspelt_inside.py").write_text("import os\n\nos.nothing()\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(TargetError, match="importing misspelt_inside gave AttributeError: module 'os' has no"):
        resolve_server("python:misspelt_inside:Server")
