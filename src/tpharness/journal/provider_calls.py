"""The calls of a thread that the provider executes itself, and which of them have their output (R42)."""

from __future__ import annotations

from collections.abc import Iterable

from tpharness.journal.opened import OpenPart

__all__ = ["ProviderCalls"]


class ProviderCalls:
    """The provider's calls by their ids: an output may come with a later response, of the same run or a later one."""

    def __init__(self) -> None:
        self._calls: dict[str, OpenPart] = {}
        self._answered: set[str] = set()
        self._of_turn: list[str] = []
        self._before: dict[str, tuple[OpenPart | None, bool]] | None = None  # what has changed since a cut is held
        self._dropped: list[tuple[OpenPart, ...]] = []

    def begin_turn(self) -> None:
        """Note that the calls from here on are those of another turn."""
        self._of_turn, self._before = [], None

    def get(self, call_id: str) -> OpenPart | None:
        """Return the thread's call of that id, None if there is none or if the id names another call by now (R36)."""
        return self._calls.get(call_id)

    def answered(self, call_id: str) -> bool:
        """Whether the call of that id has its output."""
        return call_id in self._answered

    @property
    def waiting(self) -> frozenset[str]:
        """The ids of the calls that have no output."""
        return frozenset(self._calls.keys() - self._answered)

    def note(self, part: OpenPart) -> None:
        """Note a part that is complete."""
        if part.kind == "builtin-tool-return":
            self._note_change(part.fields["tool_call_id"])
            self._answered.add(part.fields["tool_call_id"])
        elif part.kind in ("tool-call", "builtin-tool-call"):
            call_id = part.fields["tool_call_id"]
            self._note_change(call_id)
            self._answered.discard(call_id)
            self._calls.pop(call_id, None)
            if part.kind == "builtin-tool-call":
                self._calls[call_id] = part
                self._of_turn.append(call_id)

    def drop(self, parts: Iterable[OpenPart]) -> None:
        """Forget the calls of a response that is dropped; calls whose output was in it wait again."""
        for part in parts:
            if part.kind in ("builtin-tool-return", "builtin-tool-call"):
                self._note_change(part.fields["tool_call_id"])
            if part.kind == "builtin-tool-return":
                self._answered.discard(part.fields["tool_call_id"])
            elif part.kind == "builtin-tool-call" and self._calls.get(part.fields["tool_call_id"]) is part:
                del self._calls[part.fields["tool_call_id"]]

    def hold_cut(self, dropped: Iterable[Iterable[OpenPart]]) -> None:
        """Remember the calls as they are, in case the turn turns out to be cut here, and these parts go with it."""
        self._before, self._dropped = {}, [tuple(parts) for parts in dropped]

    def cut_turn(self, first: int, dropped: Iterable[Iterable[OpenPart]]) -> None:
        """Forget the calls of the turn, which its response `first` begins (R30), and what goes with it.

        Where a cut is held, nothing of what came since counts (R27).
        """
        if self._before is not None:
            before, dropped, self._before = self._before, self._dropped, None
            for call_id, (part, answered) in before.items():
                self._put_back(call_id, part, answered=answered)
        for call_id in self._of_turn:
            if (call := self._calls.get(call_id)) is not None and call.response >= first:
                del self._calls[call_id]
        for parts in dropped:
            self.drop(parts)

    def _note_change(self, call_id: str) -> None:
        if self._before is not None:
            self._before.setdefault(call_id, (self._calls.get(call_id), call_id in self._answered))

    def _put_back(self, call_id: str, part: OpenPart | None, *, answered: bool) -> None:
        self._calls.pop(call_id, None)
        if part is not None:
            self._calls[call_id] = part
        (self._answered.add if answered else self._answered.discard)(call_id)
