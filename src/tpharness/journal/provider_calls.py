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
            self._answered.add(part.fields["tool_call_id"])
        elif part.kind in ("tool-call", "builtin-tool-call"):
            call_id = part.fields["tool_call_id"]
            self._answered.discard(call_id)
            self._calls.pop(call_id, None)
            if part.kind == "builtin-tool-call":
                self._calls[call_id] = part

    def drop(self, parts: Iterable[OpenPart]) -> None:
        """Forget the calls of a response that is dropped; calls whose output was in it wait again."""
        for part in parts:
            if part.kind == "builtin-tool-return":
                self._answered.discard(part.fields["tool_call_id"])
            elif part.kind == "builtin-tool-call" and self._calls.get(part.fields["tool_call_id"]) is part:
                del self._calls[part.fields["tool_call_id"]]

    def when_cut(self, first: int, dropped: Iterable[Iterable[OpenPart]]) -> ProviderCalls:
        """Return what is left of a turn that is cut: none of its own calls (R30), which its response `first` begins."""
        kept = ProviderCalls()
        kept._calls = {call_id: part for call_id, part in self._calls.items() if part.response < first}
        kept._answered = set(self._answered)
        for parts in dropped:
            kept.drop(parts)
        return kept
