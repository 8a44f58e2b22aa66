"""Several servers and several clients that are given the same: what each of them makes of a scenario.

In: the values of `--server` and `--client`, and scenarios. Out: for each target and each thing that is asked of it a
`View`: the thread that a server keeps, the thread that the reference's client makes of its stream, and the thread that
a client makes of the reference's stream. So a stream that does not say what its server keeps is seen, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, Self

from tpharness.errors import TargetError
from tpharness.explore.campaigns.judging import HangError, time_limit
from tpharness.findings import Level
from tpharness.protocol.versions import Version
from tpharness.run.judge import judge
from tpharness.run.play import PlayedCase, comparison_mode, play
from tpharness.run.session import Session
from tpharness.scenario import Compare, Scenario
from tpharness.targets.remote import CannotPlayError
from tpharness.verdict.causes import symptom_of
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["KEEPS", "RECEIVES", "SENDS", "Panel", "View"]

KEEPS = "the thread that a server keeps"
SENDS = "the stream that a server sends"
RECEIVES = "the thread that a client keeps"
"""What targets are compared in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one target makes of a scenario in one respect: threads by version, or how it `failed`.

    `mode` says how its threads may be compared; `found` has the codes that the checks of a run find at MUST.
    """

    target: str
    about: str
    threads: Mapping[Version, Any]
    mode: Compare = Compare.EXACT
    failed: str = ""
    found: tuple[str, ...] = ()


class Panel:
    """Opened targets, by the names that reports give them, over one wire. A context manager."""

    def __init__(self, servers: Sequence[str], clients: Sequence[str], *, wire: str = DEFAULT_WIRE) -> None:
        self.specs = (tuple(servers), tuple(clients))
        self.wire = wire
        self._stack = ExitStack()
        self._servers: dict[str, Session] = {}
        self._clients: dict[str, Session] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for spec in self.specs[0]:
                session = stack.enter_context(Session(server=spec, wire=self.wire))
                self._servers[_unique(session.players.server.capabilities, spec, self._servers)] = session
            for spec in self.specs[1]:
                session = stack.enter_context(Session(client=spec, wire=self.wire))
                self._clients[_unique(session.players.client.capabilities, spec, self._clients)] = session
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the servers, and those of the clients."""
        return tuple(self._servers), tuple(self._clients)

    def views(self, scenario: Scenario) -> Iterator[View]:
        """Yield what each target makes of a scenario; nothing of a target that it does not apply to."""
        for name, session in self._servers.items() if scenario.scripted else ():
            yield from _play(name, session, scenario, server=True)
        for name, session in self._clients.items():
            yield from _play(name, session, scenario, server=False)


def _unique(capabilities: Any, spec: str, taken: Mapping[str, Session]) -> str:
    """Return the name that a target gives itself, or its whole specification where another has that name."""
    name = str(capabilities.name or spec)
    if spec in taken:
        return f"{spec} ({len(taken) + 1})"
    return spec if name in taken else name


def _play(name: str, session: Session, scenario: Scenario, *, server: bool) -> Iterator[View]:
    about = KEEPS if server else RECEIVES
    seen: list[PlayedCase] = []
    try:
        case, reason = session.run(session.adapt(scenario))
        if reason:
            return
        with nullcontext() if session.has_remote else time_limit():
            evidence = session.run(play(case, session.players, thorough=False, observe=seen.append))
            found = judge(case.id, evidence).findings
    except CannotPlayError:
        return
    except (TargetError, HangError) as error:
        yield View(target=name, about=about, threads={}, failed=symptom_of(str(error)))
        return
    codes = tuple(dict.fromkeys(finding.code for finding in found if finding.level is Level.MUST))
    played = seen[0]
    mode = comparison_mode(case.scenario, session.players)
    if server and played.served is not None:
        yield View(target=name, about=KEEPS, threads=played.served.threads, mode=scenario.compare, found=codes)
        yield View(target=name, about=SENDS, threads=played.received.threads, mode=mode, found=codes)
    elif not server:
        yield View(target=name, about=RECEIVES, threads=played.received.threads, mode=mode, found=codes)
