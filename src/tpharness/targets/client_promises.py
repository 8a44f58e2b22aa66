"""What a client over HTTP did with its streams, held against what it declares. Pure.

In: the streams of a case as they were offered, what was done with each, the threads that the client gave back. Out:
findings about promises that were not kept, and words for one that does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version, newest_version
from tpharness.targets.contract import Script, Stream
from tpharness.targets.reference import ReferenceClient, receive_turns
from tpharness.targets.remote import CAPABILITY_KINDS, LEFT, NOT_FETCHED
from tpharness.targets.stream_server import Ending, Offer

__all__ = ["Offered", "account", "broken_promises", "never_ended"]

_WHERE = Place(side="client")
_DETECTS = CAPABILITY_KINDS["detects"]
_HAPPENED = {
    "network_failure": "broke off",
    "timeout": "fell silent",
    "user_cancelled": "said that the user pressed stop",
}
_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A stream of a case: its place among them, what was done there, and the end that happens to it for real."""

    number: int
    offer: Offer
    reason: str | None = None


def broken_promises(
    script: Script,
    turns: Sequence[UserTurn | Stream],
    offered: Sequence[Offered],
    threads: Mapping[Version, Any],
    settle: float,
) -> list[Finding]:
    """Return what the client did not keep; `settle` seconds is how long it may take to go when that is due."""
    findings = [found for one in offered if (found := _broken_promise(one, settle)) is not None]
    return findings or _overlooked(script, turns, offered, threads)


def _broken_promise(one: Offered, settle: float) -> Finding | None:
    offer = one.offer
    if not offer.asked:
        return _finding(NOT_FETCHED, f"stream {one.number} of the case")
    if offer.stayed:
        return _stayed(one, settle)
    if offer.breaks_at is not None and not offer.resumed:
        again = offer.asked > 1
        return _finding(
            CAPABILITY_KINDS["reconnect"],
            f"stream {one.number} broke off and was "
            f"{'asked for again without the id of a frame' if again else 'not asked for again'}",
        )
    if offer.gave_up:
        return _finding(_DETECTS, f"it went from stream {one.number} before its limit of {offer.limit:g} s was over")
    if offer.left:
        return _finding(LEFT, f"stream {one.number} of the case")
    return None


def _stayed(one: Offered, settle: float) -> Finding:
    since = f"its limit of {one.offer.limit:g} s" if one.offer.ending is Ending.SILENT else "`: tp stop`"
    return _finding(_DETECTS, f"{settle:g} s after {since} it still listens to stream {one.number}")


def _overlooked(
    script: Script, turns: Sequence[UserTurn | Stream], offered: Sequence[Offered], threads: Mapping[Version, Any]
) -> list[Finding]:
    """Return a finding if the last stream ended for real in its middle, and the thread has its turn as complete."""
    last = offered[-1] if offered else None
    version = newest_version(threads) if threads else None
    if last is None or last.reason is None or version is None or not _complete(threads[version]):
        return []
    session = ReferenceClient(replace(script, versions=(version,)))
    receive_turns(session, turns)
    owed = session.threads()[version]
    more = len(threads[version]["turns"]) - len(owed["turns"])
    if more == 0 and not _complete(owed):
        said = "its turn is complete in the thread"
    elif more == 1:  # nothing of the turn was to be kept (R24)
        said = "the thread ends with a complete turn more than the streams tell"
    else:
        return []
    return [_finding(_DETECTS, f"stream {last.number} {_HAPPENED[last.reason]}, and {said}")]


def _complete(thread: Mapping[str, Any]) -> bool:
    """Whether a thread ends with a complete turn of an agent; what comes from a client may have any shape."""
    turn = thread["turns"][-1] if thread["turns"] else None
    return isinstance(turn, Mapping) and turn.get("completion_status") == "complete"


def never_ended(offered: Sequence[Offered], settle: float) -> Finding | None:
    """Return the promise that explains why there is no answer: a client that waits on for the end of a stream."""
    return next((_stayed(one, settle) for one in offered if one.offer.stayed), None)


def account(offered: Sequence[Offered]) -> str:
    """Say what was done with the streams of a case."""
    told = [f"stream {one.number} {_deed(one.offer)}" for one in offered[:_MOST]]
    more = len(offered) - len(told)
    return "; ".join([*told, *([f"and {more} more"] if more > 0 else [])]) or "the case has no streams"


def _deed(offer: Offer) -> str:
    times = {0: "was never asked for", 1: "was asked for once"}.get(offer.asked, f"was asked for {offer.asked} times")
    if not offer.asked:
        return times
    if offer.whole:
        return f"{times} and sent whole"
    return f"{times} and not read" if offer.unread else f"{times} and not to its end"


def _finding(kind: Kind, words: str) -> Finding:
    return kind.at(_WHERE, f"{kind.title}: {words}")
