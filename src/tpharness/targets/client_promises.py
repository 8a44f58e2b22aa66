"""What a client over HTTP did with its streams, compared with what it declares. Pure.

In: the streams of a case as they were served, what the client did with each, the threads that it returned. Out:
findings about promises that were not kept, and a description for a client that does not respond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.journal import UserTurn
from tpharness.protocol.compare import same_content
from tpharness.protocol.versions import Version, newest_version
from tpharness.targets.contract import Script, Stream
from tpharness.targets.reference import receive_threads
from tpharness.targets.remote import CAPABILITY_KINDS, CUT_ALIVE, LEFT, NOT_FETCHED
from tpharness.targets.stream_server import Ending, ServedStream

__all__ = ["CaseStream", "broken_promises", "describe_streams", "find_unclosed_stream", "has_missed_something"]

_WHERE = Place(side="client")
_DETECTS = CAPABILITY_KINDS["detects"]
_HAPPENED = {
    "network_failure": "broke off",
    "timeout": "fell silent",
    "user_cancelled": "signalled that the user pressed stop",
}
_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStream:
    """A stream of a case: its number, what the client did with it, and the end that it really gets."""

    number: int
    offer: ServedStream
    reason: str | None = None


def broken_promises(
    script: Script,
    turns: Sequence[UserTurn | Stream],
    offered: Sequence[CaseStream],
    threads: Mapping[Version, Any],
    settle: float,
) -> list[Finding]:
    """Return the promises that the client did not keep; it has `settle` seconds to disconnect when it has to."""
    findings = [found for one in offered if (found := _broken_promise(one, settle)) is not None]
    return findings or _find_overlooked_end(script, turns, offered, threads)


def _broken_promise(one: CaseStream, settle: float) -> Finding | None:
    offer = one.offer
    if not offer.asked:
        return _finding(NOT_FETCHED, f"stream {one.number} of the case")
    if offer.stayed:
        return _stayed_finding(one, settle)
    if offer.breaks_at is not None and not offer.resumed:
        again = offer.asked > 1
        return _finding(
            CAPABILITY_KINDS["reconnect"],
            f"stream {one.number} broke off and was "
            f"{'requested again without the id of a frame' if again else 'not requested again'}",
        )
    if offer.cut_alive:
        return _finding(CUT_ALIVE, f"it disconnected from stream {one.number} within its limit of {offer.limit:g} s")
    if offer.gave_up:
        return _finding(_DETECTS, f"it disconnected from stream {one.number} before its limit of {offer.limit:g} s")
    if offer.left:
        return _finding(LEFT, f"stream {one.number} of the case")
    return None


def _stayed_finding(one: CaseStream, settle: float) -> Finding:
    since = f"its limit of {one.offer.limit:g} s" if one.offer.ending is Ending.SILENT else "`: tp stop`"
    return _finding(_DETECTS, f"{settle:g} s after {since} it is still connected to stream {one.number}")


def _find_overlooked_end(
    script: Script, turns: Sequence[UserTurn | Stream], offered: Sequence[CaseStream], threads: Mapping[Version, Any]
) -> list[Finding]:
    """Return a finding if the last stream really ended in its middle, but its turn is complete in the thread."""
    last = offered[-1] if offered else None
    version = newest_version(threads) if threads else None
    if last is None or last.reason is None or version is None or not _complete(threads[version]):
        return []
    owed = receive_threads(script, turns, version)[version]
    more = len(threads[version]["turns"]) - len(owed["turns"])
    if more == 0 and not _complete(owed):
        said = "its turn is complete in the thread"
    elif more == 1:  # nothing of the turn had to be kept (R24)
        said = "the thread ends with one complete turn more than the streams have"
    else:
        return []
    return [_finding(_DETECTS, f"stream {last.number} {_HAPPENED[last.reason]}, and {said}")]


def has_missed_something(
    script: Script, turns: Sequence[UserTurn | Stream], offered: Sequence[CaseStream], threads: Mapping[Version, Any]
) -> bool:
    """Whether a stream fell silent and the threads are not what the streams have: perhaps the client was only late.

    All of a stream may have been sent, and its limit be over, before a client on a busy machine reads any of it. It is
    then asked again with a longer limit; one that is wrong stays wrong.
    """
    if not any(one.offer.ending is Ending.SILENT for one in offered):
        return False
    owed = receive_threads(script, turns, *threads)
    try:
        return not all(same_content(thread, owed[version]) for version, thread in threads.items())
    except (TypeError, LookupError, AttributeError, ValueError):  # the thread of a client may have any shape
        return True


def _complete(thread: Mapping[str, Any]) -> bool:
    """Whether a thread ends with a complete turn of an agent; the thread of a client may have any shape."""
    turn = thread["turns"][-1] if thread["turns"] else None
    return isinstance(turn, Mapping) and turn.get("completion_status") == "complete"


def find_unclosed_stream(offered: Sequence[CaseStream], settle: float) -> Finding | None:
    """Return the promise that explains a missing response: the client waits for the end of a stream."""
    return next((_stayed_finding(one, settle) for one in offered if one.offer.stayed), None)


def describe_streams(offered: Sequence[CaseStream]) -> str:
    """Return a description of what the client did with the streams of a case."""
    described = [f"stream {one.number} {_describe_stream(one.offer)}" for one in offered[:_MOST]]
    more = len(offered) - len(described)
    return "; ".join([*described, *([f"and {more} more"] if more > 0 else [])]) or "the case has no streams"


def _describe_stream(offer: ServedStream) -> str:
    times = {0: "was never requested", 1: "was requested once"}.get(offer.asked, f"was requested {offer.asked} times")
    if not offer.asked:
        return times
    if offer.whole:
        return f"{times} and sent whole"
    return f"{times} and not read" if offer.unread else f"{times} and not to its end"


def _finding(kind: Kind, words: str) -> Finding:
    return kind.at(_WHERE, f"{kind.title}: {words}")
