"""What a server sent, and what the reference sends → the fewest chunks to be sent otherwise, in words. Pure.

In: the script of a case, the streams that the client got, those of the reference. Out: a sentence with the first of
these chunks and the server event that it belongs to. The change was tried: with it the reference's client holds the
server's thread, and without any one of the chunks it does not. Loaded where a server's thread is right and its stream
says something else, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from tpharness.checks import Thread
from tpharness.findings import shorten, shorten_both
from tpharness.journal import UserTurn
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.versions import Version
from tpharness.scenario.records import Compare
from tpharness.targets.contract import Packet, RunScript, Script, Stream
from tpharness.targets.reference import receive_threads
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.sse.writer import encode_data, encode_json
from tpharness.wires.vsp.carrier import CARRIER

__all__ = ["StreamChange"]

_IDS = ("id", "messageId", "approvalId", "parentMessageId")  # a server names these as it likes
_PIECES = ("delta", "inputTextDelta")  # a server cuts a text where it likes
_MOST_CHUNKS, _MOST_TRIES = 400, 24
_SHOWN = 140


class _Chunk(NamedTuple):
    """A chunk of a stream, None where it is not an object; when it was sent, and for which server event."""

    said: dict[str, Any] | None
    data: bytes
    at: str
    event: int | None

    @property
    def kind(self) -> str:
        return str((self.said or {}).get("type"))

    @property
    def key(self) -> str:
        """What it says, without ids."""
        return json.dumps({k: v for k, v in self.said.items() if k not in _IDS}, sort_keys=True) if self.said else ""


class _Edit(NamedTuple):
    """One chunk of a run that is left out (`new` is None), added before `at` (`old` is None), or another."""

    run: int
    at: int
    old: _Chunk | None
    new: _Chunk | None

    @property
    def sort(self) -> tuple[str, str]:
        return self.old.kind if self.old else "", self.new.kind if self.new else ""


class StreamChange:
    """The change of one case's streams: `turns` as the client got them, `right` as the reference sends them."""

    def __init__(self, script: Script, turns: Sequence[UserTurn | Stream], right: Sequence[Sequence[Packet]]) -> None:
        self._script = script
        self._turns = turns
        self._runs = [turn for turn in script.turns if isinstance(turn, RunScript)]
        streams = [turn.packets for turn in turns if isinstance(turn, Stream)]
        pairs = [_read_both(sent, wanted) for sent, wanted in zip(streams, right, strict=False)]
        self._sent = [sent for sent, _ in pairs]
        few = max((len(chunks) for pair in pairs for chunks in pair), default=0) <= _MOST_CHUNKS
        self._edits = [edit for run, pair in enumerate(pairs) for edit in _compare(run, *pair)] if few else []
        self._tries = 0

    def describe(self, thread: Thread, version: Version, mode: Compare, why: str) -> str:
        """Return what to send so that a client holds `thread`, and `why`, if that is known; "" if nothing is found."""
        same = same_exact if mode is Compare.EXACT else same_content
        self._tries = 0

        def holds(edits: Sequence[_Edit]) -> bool:
            self._tries += 1
            return same(self._receive(edits, version), thread)

        if not self._edits or not holds(self._edits):
            return ""
        first, *more = sorted(
            self._find_fewest(holds), key=lambda edit: CARRIER in edit.sort
        )  # the chunk, then its facts
        why = "" if first.new is None else why  # it says what has to be sent
        others = f" (and {len(more)} more)" if more else ""
        return f"{self._where(first)} {_words(first)}{others}: {why or 'a client then holds what the server does'}"

    def _find_fewest(self, holds: Callable[[Sequence[_Edit]], bool]) -> list[_Edit]:
        """Leave out what is not needed: first what carriers say, then a sort of chunk at a time, then one by one."""
        edits = list(self._edits)
        sorts = sorted(dict.fromkeys(edit.sort for edit in edits), key=lambda sort: CARRIER not in sort)
        groups = [[edit for edit in edits if edit.sort == sort] for sort in sorts]
        for group in [*groups, *([edit] for edit in reversed(edits))]:
            rest = [edit for edit in edits if edit not in group]
            if rest and len(rest) < len(edits) and self._tries < _MOST_TRIES and holds(rest):
                edits = rest
        return edits

    def _receive(self, edits: Sequence[_Edit], version: Version) -> Thread:
        """Return what the reference's client holds of the streams with some changes."""
        changed = iter(
            [_apply(sent, [edit for edit in edits if edit.run == run]) for run, sent in enumerate(self._sent)]
        )
        turns = [
            replace(turn, packets=tuple(_packet(chunk) for chunk in next(changed, ())))
            if isinstance(turn, Stream)
            else turn
            for turn in self._turns
        ]
        return receive_threads(self._script, turns, version)[version]

    def _where(self, edit: _Edit) -> str:
        chunk = edit.new or edit.old
        run = self._runs[edit.run]
        of = f" of the {_number(edit.run)} run" if len(self._runs) > 1 else ""
        if chunk is not None and chunk.event is not None and chunk.event < len(run.events):
            return f"at server event {chunk.event}{of} ({run.events[chunk.event].get('event_kind')})"
        if edit.at:
            return f"where the run is stopped{of}" if run.interruption else f"at the end of the run{of}"
        return f"at the start of the run{of}"


def _number(index: int) -> str:
    return ("first", "second", "third")[index] if index < 3 else f"{index + 1}th"


def _read_both(sent: Sequence[Packet], right: Sequence[Packet]) -> tuple[list[_Chunk], list[_Chunk]]:
    """Read both streams of a run; pieces of a text are joined if the two have cut their texts otherwise."""
    one, other = list(_read(sent)), list(_read(right))
    cut = [[chunk.kind for chunk in chunks if _piece(chunk)] for chunks in (one, other)]
    return (one, other) if cut[0] == cut[1] else (_join(one), _join(other))


def _read(packets: Sequence[Packet]) -> Iterator[_Chunk]:
    parser = SseParser()
    for packet in packets:
        for data in parser.feed_data(packet.data):
            try:
                said = msgspec.json.decode(data)
            except ValueError:
                said = None
            yield _Chunk(said if isinstance(said, dict) else None, data, packet.at, packet.event)


def _piece(chunk: _Chunk) -> str:
    """Return the name of the field that has a piece of a text, "" if there is none."""
    return next((name for name in _PIECES if chunk.said and isinstance(chunk.said.get(name), str)), "")


def _join(chunks: list[_Chunk]) -> list[_Chunk]:
    joined: list[_Chunk] = []
    for chunk in chunks:
        name, before = _piece(chunk), joined[-1] if joined else None
        if name and before and before.said and chunk.said and _rest(before.said, name) == _rest(chunk.said, name):
            text = before.said.get(name, "") + chunk.said[name]
            joined[-1] = _with(before, {**before.said, name: text})
        else:
            joined.append(chunk)
    return joined


def _rest(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in said.items() if k != name}


def _with(chunk: _Chunk, said: dict[str, Any]) -> _Chunk:
    return chunk._replace(said=said, data=encode_json(said))


def _compare(run: int, sent: list[_Chunk], right: list[_Chunk]) -> Iterator[_Edit]:
    """Yield what has to change in `sent` to say what `right` does, with the ids that `sent` has."""
    names: dict[str, str] = {}
    for old, new, at in _align(sent, right):
        if old and new and old.said and new.said:
            names.update((str(new.said[k]), str(old.said[k])) for k in _IDS if k in new.said and k in old.said)
        if old is None or new is None or old.key != new.key:
            yield _Edit(run, at, old, new and _rename(new, names))


def _align(sent: list[_Chunk], right: list[_Chunk]) -> Iterator[tuple[_Chunk | None, _Chunk | None, int]]:
    """Yield pairs of chunks, and the place in `sent`; None beside one that only one of the streams has."""
    keys = [chunk.key for chunk in sent], [chunk.key for chunk in right]
    for tag, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal" or b - a == d - c:
            yield from ((sent[a + i], right[c + i], a + i) for i in range(b - a))
            continue
        kinds = [chunk.kind for chunk in sent[a:b]], [chunk.kind for chunk in right[c:d]]
        for inner, e, f, g, h in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
            if inner == "equal":
                yield from ((sent[a + e + i], right[c + g + i], a + e + i) for i in range(f - e))
            else:
                yield from ((chunk, None, a + e + i) for i, chunk in enumerate(sent[a + e : a + f]))
                yield from ((None, chunk, a + f) for chunk in right[c + g : c + h])


def _rename(chunk: _Chunk, names: Mapping[str, str]) -> _Chunk:
    """Return a chunk of the reference with the ids that the server uses for the same."""
    if chunk.said is None or not any(chunk.said.get(k) in names for k in _IDS):
        return chunk
    return _with(chunk, {k: names.get(v, v) if k in _IDS and isinstance(v, str) else v for k, v in chunk.said.items()})


def _apply(sent: list[_Chunk], edits: Sequence[_Edit]) -> list[_Chunk]:
    changed: list[_Chunk] = []
    for at in range(len(sent) + 1):
        here = [edit for edit in edits if edit.at == at]
        changed += [edit.new for edit in here if edit.old is None and edit.new is not None]
        instead = next((edit for edit in here if edit.old is not None), None)
        if at < len(sent) and instead is None:
            changed.append(sent[at])
        elif instead is not None and instead.new is not None:
            changed.append(instead.new)
    return changed


def _packet(chunk: _Chunk) -> Packet:
    return Packet(data=encode_data(chunk.data), at=chunk.at, event=chunk.event)


def _words(edit: _Edit) -> str:
    """Return which chunk is sent, not sent, or sent otherwise."""
    old, new = edit.old, edit.new
    if new is None:
        return f"do not send {_shown(old)}"
    if old is None:
        return f"send {_shown(new)}"
    if old.said is None or new.said is None or old.kind != new.kind:
        return f"send {_shown(new)}, not {_shown(old)}"
    one, other = old.said, new.said
    if edit.sort == (CARRIER, CARRIER):
        one, other = old.said.get("data") or {}, new.said.get("data") or {}
    held = {k: v for k, v in one.items() if k not in other or other[k] != v}
    wanted = {k: v for k, v in other.items() if k not in one or one[k] != v}
    if not wanted:
        return f"send `{new.kind}` without {shorten(held, _SHOWN)}"
    if not held:
        return f"send `{new.kind}` with {shorten(wanted, _SHOWN)}"
    right, wrong = shorten_both(wanted, held, _SHOWN)
    return f"send `{new.kind}` with {right}, not {wrong}"


def _shown(chunk: _Chunk | None) -> str:
    if chunk is None:
        return ""
    if chunk.kind == CARRIER and chunk.said:
        return f"a carrier (`{CARRIER}`) with {shorten(chunk.said.get('data'), _SHOWN)}"
    return shorten(chunk.said or chunk.data, _SHOWN)
