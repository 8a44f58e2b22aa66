"""The thread that our own client folds of the streams of one chat: what the application's thread is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tpharness.apps.client import End, as_event
from tpharness.apps.evidence import StreamSeen
from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal import Completed, Journal, UserTurn
from tpharness.protocol.types import Thread
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.wires.vsp.assembler import Assembler

__all__ = ["NOT_COMPARED", "FoldedChat", "fold_streams"]

NOT_COMPARED = "two answers streamed at once, and the client does not know in which order their turns stand"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedChat:
    """The client's journal of a chat. `is_whole` says whether every stream came to the end of its turn."""

    journal: Journal
    begun: str
    is_whole: bool

    def thread(self, version: Version) -> Thread:
        """Return the client's thread in a version."""
        header = ThreadHeader(thread_id="client", created_at=self.begun)
        return DIALECTS[version].renderer(header, Readings()).render(self.journal)

    def completed_turns(self, says: str) -> int:
        """Return how many agent turns that answer a message of the user have ended regularly."""
        count, answers = 0, False
        for turn in self.journal.turns():
            if isinstance(turn, UserTurn):
                answers = says in str(turn.parts[0]["content"])
            elif answers and isinstance(turn.end, Completed):
                count += 1
        return count


def fold_streams(streams: Sequence[StreamSeen]) -> FoldedChat | None:
    """Fold the streams of a chat one after another, None where two of them ran at once."""
    kept: list[StreamSeen] = []
    for stream in streams:
        if stream.repeats:
            if stream.events and kept:
                kept[-1] = replace(stream, says=kept[-1].says)
            continue
        if kept and _time(stream.begun) < _time(kept[-1].over):
            return None
        kept.append(stream)
    assembler, is_whole = Assembler(), True
    for stream in kept:
        if stream.says:
            prompt = {"part_kind": "user-prompt", "content": stream.says}
            assembler.add_user_turn(UserTurn(at=stream.begun, parts=(prompt,)))
        assembler.begin(stream.begun)
        for at, data in stream.events:
            assembler.feed(as_event(data), at)
        is_whole = is_whole and stream.end is End.ENDED and assembler.turn_ended
        assembler.close(stream.end.interruption, stream.over)
    begun = kept[0].begun if kept else "1970-01-01T00:00:00Z"
    return FoldedChat(journal=assembler.journal(), begun=begun, is_whole=is_whole)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
