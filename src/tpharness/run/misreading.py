"""What a client has misread whose thread is what somebody holds who reads the same bytes in a wrong way.

A finding on such a thread would speak of what it lacks: a turn, or a text. The streams are known, so they are folded as
the wrong reader reads them; where that gives the client's thread, the advice is to mend how it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpharness.journal import UserTurn
from tpharness.protocol.compare import same_content
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Packet, Script, Stream
from tpharness.targets.reference import receive_threads

__all__ = ["find_misreading"]

_NAMES = re.compile(rb"^event: ?([^\r\n]*)|\n\r?\n", re.MULTILINE)
_NAME_STAYS = (
    "end the name of an event with the event: `event: ping` holds up to the next blank line, and a chunk behind it "
    "that has no `event` of its own counts (R35)"
)


def find_misreading(
    script: Script, turns: Sequence[UserTurn | Stream], version: Version, thread: Mapping[str, Any]
) -> str:
    """Return how a client that holds `thread` has to read the streams of `turns`, "" where nothing wrong is known.

    Threads are compared by content (R39). A reader that would hold the same as a right one misreads nothing here.
    """
    if not any(b"event:" in packet.data for turn in turns if isinstance(turn, Stream) for packet in turn.packets):
        return ""
    wrong = receive_threads(script, [_with_names_that_stay(turn) for turn in turns], version)[version]
    stays = same_content(wrong, thread) and not same_content(wrong, receive_threads(script, turns, version)[version])
    return _NAME_STAYS if stays else ""


def _with_names_that_stay(turn: UserTurn | Stream) -> UserTurn | Stream:
    """Return a stream as somebody reads it for whom the name of an event holds for those that follow without one."""
    if not isinstance(turn, Stream):
        return turn
    name = b""

    def stay(found: re.Match[bytes]) -> bytes:
        nonlocal name
        if found[1] is None:
            return found[0] + (b"event: " + name + b"\n" if name else b"")
        name = found[1]
        return found[0]

    packets = (Packet(data=_NAMES.sub(stay, one.data), at=one.at, event=one.event) for one in turn.packets)
    return replace(turn, packets=tuple(packets))
