"""What the reference holds at the places of a case: it is stepped through the script and through the streams. Pure.

A thread is rendered anew at each place, so a pace says at which ones of a long stream.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.trail import Pace
from tpharness.targets.contract import Script, Stream
from tpharness.targets.reference import ReferenceClient, ReferenceServer, receive_turns, serve_run, serve_turns
from tpharness.wires.sse.frames import split_frames

__all__ = ["client_steps", "received_session", "served_session", "server_steps"]

Steps = Iterator[tuple[int, int, int, dict[str, Any]]]
"""Run, bytes of its wire, events or chunks up to here, and the thread that is held from here on."""


def server_steps(script: Script, version: Version, pace: Pace) -> Steps:
    """Step the reference through a script; yield the thread where it changes, at a pace, and at the end of each run."""
    session = ReferenceServer(replace(script, versions=(version,)))
    run = -1
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        run += 1
        offset = events = 0
        seen = -1
        for packet in serve_run(session, turn):
            offset += len(packet.data)
            events += packet.event is not None
            if session.version != seen:
                seen = session.version
                if pace.looks():
                    yield run, offset, events, session.threads(_cut_here(packet.at))[version]
        yield run, offset, events, session.threads()[version]


def client_steps(script: Script, version: Version, turns: Sequence[UserTurn | Stream], pace: Pace) -> Steps:
    """Step the reference through the streams that a client was given, chunk by chunk."""
    session = ReferenceClient(replace(script, versions=(version,)))
    run = -1
    for turn in turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        run += 1
        ends = list(accumulate(map(len, split_frames(b"".join(packet.data for packet in turn.packets)))))
        offset = 0
        seen = -1
        session.begin(turn.agent_id, turn.begun_at)
        for packet in turn.packets:
            for piece in split_frames(packet.data):
                session.feed(piece, packet.at)
                offset += len(piece)
                if session.version != seen:
                    seen = session.version
                    if pace.looks():
                        threads = session.threads(_cut_here(packet.at))
                        yield run, offset, bisect_right(ends, offset), threads[version]
        session.close(turn.end)
        yield run, offset, bisect_right(ends, offset), session.threads()[version]


def served_session(script: Script) -> ReferenceServer:
    """Return the reference after a script."""
    session = ReferenceServer(script)
    serve_turns(session, script.turns)
    return session


def received_session(script: Script, turns: Sequence[UserTurn | Stream]) -> ReferenceClient:
    """Return the reference after streams."""
    session = ReferenceClient(script)
    receive_turns(session, turns)
    return session


def _cut_here(at: str) -> Interrupted:
    return Interrupted(reason="network_failure", at=at)
