"""The least that a run over a second wire takes: the plays that its cases ask of both sides, and their threads.

A run over that wire is recorded once: what each side was asked, and the threads that it gave. This is played again, in
the same reads and deltas and as often, and the threads are compared with those that were given, as every check of a
variant does. No file is read, no stream made, nothing swept, judged or compared with the other wire. It is the floor of
what `run --wire all` adds to a run over one wire, and gives the same threads or ends with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.targets import Reference
from tpharness.targets.contract import ClientTarget, Script, ServerTarget, Stream, TargetOutput
from tpharness.targets.reference import ReferenceClient, ReferenceServer, receive_turns, serve_turns

__all__ = ["Asked", "play_asked", "record_asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a side was asked, a client if there are streams, and the threads that it gave."""

    script: Script
    turns: Sequence[UserTurn | Stream] | None
    threads: Mapping[Version, dict[str, Any]]


def record_asked(
    play: Callable[[], object],
    wire: str,
    server: type[ServerTarget] = Reference,
    client: type[ClientTarget] = Reference,
) -> list[Asked]:
    """Return what targets of these classes are asked over a wire while something plays on them."""
    asked: list[Asked] = []
    serve, receive = server.serve, client.receive

    async def serving(self: ServerTarget, script: Script) -> TargetOutput:
        given = await serve(self, script)
        asked.append(Asked(script=script, turns=None, threads=given.threads))
        return given

    async def receiving(self: ClientTarget, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        given = await receive(self, script, turns)
        asked.append(Asked(script=script, turns=turns, threads=given.threads))
        return given

    with patch.object(server, "serve", serving), patch.object(client, "receive", receiving):
        play()
    return [one for one in asked if one.script.wire == wire]


def play_asked(asked: Sequence[Asked]) -> None:
    """Do what was asked. SystemExit if it gives other threads."""
    for one in asked:
        if one.turns is None:
            server = ReferenceServer(one.script)
            serve_turns(server, one.script.turns)
            threads = server.threads()
        else:
            client = ReferenceClient(one.script)
            receive_turns(client, one.turns)
            threads = client.threads()
        if threads != one.threads:
            raise SystemExit("the floor of this benchmark gives other threads than the run")
