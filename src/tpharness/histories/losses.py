"""What a history loses: the difference between what a run produced and what the history keeps.

In: what the turns of a journal produced (`produced`), and what a dialect reads back from its own document. Out: one
`HistoryLoss` for each fact that was produced and is not kept.

Histories divide a conversation into turns differently: one leaves out turns of which it keeps nothing, one begins a
turn at each user message, one merges two runs in a row. So facts are paired, not turns:

- texts and thoughts in their order, over the whole conversation, so that as many characters as possible are kept. A
  text may be kept in several consecutive pieces, or only its beginning, or without the white space around it;
- calls and results by their ids, those with the same id by their content, then in order; a call that is kept without
  its id by its arguments;
- signatures by equality.

The flags `interrupted` and `usage` belong to turns. The flag of a kept turn counts for each produced turn whose facts
it keeps, so two runs that are kept as one turn share it. If it keeps no facts of a turn with that flag, it counts for
the one turn at its position, between what is kept before it and what is kept after it.

Losing the white space around a text is not a loss. Arguments are compared as JSON if both are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar, get_args

from tpharness.findings import quote, shorten
from tpharness.histories.projections import CallContent, ResultContent, TurnContent

__all__ = ["LOSS_KINDS", "HistoryLoss", "LossKind", "find_losses"]

LossKind = Literal[
    "partial-text",
    "partial-arguments",
    "tool-name",
    "thinking",
    "signature",
    "interruption-fact",
    "finished-result",
    "usage",
]
"""What can be lost. `partial-text`, `partial-arguments`: all or the end of a text or of a call's arguments, as far
as it had arrived; `tool-name`: which tool was called; `finished-result`: a result that had arrived;
`interruption-fact`: that the turn was cut; `usage`: all token counts of a turn."""

LOSS_KINDS: tuple[LossKind, ...] = get_args(LossKind)

_Fact = TypeVar("_Fact")
_Rules: TypeAlias = Sequence[Callable[[_Fact, _Fact], bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLoss:
    """One fact that is not kept: its kind, the index of its agent turn, and a description."""

    kind: LossKind
    turn: int
    detail: str


def find_losses(produced: Sequence[TurnContent], kept: Sequence[TurnContent]) -> list[HistoryLoss]:
    """Return what of `produced` is not in `kept`, ordered by turn and then by `LOSS_KINDS`."""
    losses = list(_Pairing(produced, kept).losses())
    return sorted(losses, key=lambda loss: (loss.turn, LOSS_KINDS.index(loss.kind)))


class _Pairing:
    """Pairs the facts of produced turns with those of kept turns."""

    def __init__(self, produced: Sequence[TurnContent], kept: Sequence[TurnContent]) -> None:
        self._produced = produced
        self._kept = kept
        self._owners: dict[int, set[int]] = {}
        """For each kept turn the produced turns that it keeps facts of."""

    def losses(self) -> Iterator[HistoryLoss]:
        yield from self._texts("partial-text", [turn.texts for turn in self._produced], [k.texts for k in self._kept])
        yield from self._texts("thinking", [turn.thinking for turn in self._produced], [k.thinking for k in self._kept])
        yield from self._signatures()
        yield from self._calls()
        yield from self._results()
        for turn in self._lost_flags([p.interrupted for p in self._produced], [k.interrupted for k in self._kept]):
            yield HistoryLoss(kind="interruption-fact", turn=turn, detail="nothing tells that the turn was cut")
        for turn in self._lost_flags([p.usage for p in self._produced], [k.usage for k in self._kept]):
            yield HistoryLoss(kind="usage", turn=turn, detail="no token counts")

    def _pair(self, kept: int, produced: int) -> None:
        self._owners.setdefault(kept, set()).add(produced)

    def _agree(self, produced: int, kept: int) -> bool:
        return self._produced[produced].interrupted == self._kept[kept].interrupted

    # -------------------------------------------------------------------------------------------- facts

    def _texts(
        self, kind: LossKind, produced: Sequence[tuple[str, ...]], kept: Sequence[tuple[str, ...]]
    ) -> Iterator[HistoryLoss]:
        wanted = [(i, text.strip()) for i, texts in enumerate(produced) for text in texts if text.strip()]
        present = [(j, text.strip()) for j, texts in enumerate(kept) for text in texts if text.strip()]
        agree = [[self._agree(i, j) for j, _ in present] for i, _ in wanted]
        matches = _match_texts([text for _, text in wanted], [text for _, text in present], agree)
        for (turn, text), (pieces, length) in zip(wanted, matches, strict=True):
            for index in pieces:
                self._pair(present[index][0], turn)
            if length < len(text):
                rest = quote(text[length:], 60)
                yield HistoryLoss(kind=kind, turn=turn, detail=f"{rest} at its end" if length else rest)

    def _signatures(self) -> Iterator[HistoryLoss]:
        present: dict[str, list[int]] = {}
        for j, turn in enumerate(self._kept):
            for signature in turn.signatures:
                present.setdefault(signature, []).append(j)
        for i, turn in enumerate(self._produced):
            for signature in turn.signatures:
                if present.get(signature):
                    self._pair(present[signature].pop(0), i)
                else:
                    yield HistoryLoss(kind="signature", turn=i, detail=shorten(signature, 40))

    def _calls(self) -> Iterator[HistoryLoss]:
        wanted = [(i, call) for i, turn in enumerate(self._produced) for call in turn.calls]
        present = [(j, call) for j, turn in enumerate(self._kept) for call in turn.calls]

        def same_id(one: tuple[int, CallContent], other: tuple[int, CallContent]) -> bool:
            return one[1].call_id == other[1].call_id

        def same(one: tuple[int, CallContent], other: tuple[int, CallContent]) -> bool:
            return _same_json(one[1].arguments, other[1].arguments)

        rules: _Rules[tuple[int, CallContent]] = (
            lambda one, other: same_id(one, other) and same(one, other) and self._agree(one[0], other[0]),
            lambda one, other: same_id(one, other) and same(one, other),
            same_id,
            lambda one, other: other[1].call_id is None and same(one, other),
        )
        matches = _match(wanted, present, rules)
        for (turn, call), match in zip(wanted, matches, strict=True):
            if match is not None:
                self._pair(match[0], turn)
            yield from _losses_of_call(turn, call, None if match is None else match[1])

    def _results(self) -> Iterator[HistoryLoss]:
        wanted = [(i, result) for i, turn in enumerate(self._produced) for result in turn.results]
        present = [(j, result) for j, turn in enumerate(self._kept) for result in turn.results]
        rules: _Rules[tuple[int, ResultContent]] = (
            lambda one, other: one[1].call_id == other[1].call_id and _same_json(one[1].content, other[1].content),
            lambda one, other: one[1].call_id == other[1].call_id,
        )
        matches = _match(wanted, present, rules)
        for (turn, result), match in zip(wanted, matches, strict=True):
            if match is not None:
                self._pair(match[0], turn)
            if match is None or match[1].outcome == "aborted" or (result.content and not match[1].content):
                detail = f"{quote(result.content, 60)} for call {result.call_id}"
                yield HistoryLoss(kind="finished-result", turn=turn, detail=detail)

    # -------------------------------------------------------------------------------------------- flags

    def _lost_flags(self, produced: Sequence[bool], kept: Sequence[bool]) -> list[int]:
        """Return the produced turns that have the flag and for which no kept turn with the flag counts."""
        covered: set[int] = set()
        for j in (j for j, flag in enumerate(kept) if flag):
            owners = {i for i in self._owners.get(j, ()) if produced[i]}
            covered |= owners or self._turn_at(j, produced, covered)
        return [i for i, flag in enumerate(produced) if flag and i not in covered]

    def _turn_at(self, j: int, produced: Sequence[bool], covered: set[int]) -> set[int]:
        """Return the turn that a kept turn's flag counts for if it keeps no facts of a turn with the flag.

        It is the first turn after what is kept up to here and before what is kept later. If there is none, it is the
        last turn kept so far, because a message that a user sends during a turn may split the turn where it is kept.
        """
        low = max((i for k, turns in self._owners.items() if k <= j for i in turns), default=-1)
        high = min((i for k, turns in self._owners.items() if k > j for i in turns), default=len(produced))
        candidates = [*range(low + 1, high), *([low] if low >= 0 else [])]
        return set([i for i in candidates if produced[i] and i not in covered][:1])


def _match_texts(
    produced: Sequence[str], kept: Sequence[str], agree: Sequence[Sequence[bool]]
) -> list[tuple[range, int]]:
    """Match texts in order so that most characters are kept: for each produced text its kept pieces and their length.

    Among equally good matches, turns that agree on being interrupted are matched first.
    """

    def options(i: int, j: int) -> Iterator[tuple[int, int, int]]:
        """Yield a number of pieces, their length, and the value of that together with the best for what follows."""
        for count, length in _pieces(produced[i], kept, j):
            yield count, length, 4 * length + agree[i][j] + best[i + 1][j + count]

    # best[i][j]: the value of the best match of produced[i:] with kept[j:]
    best = [[0] * (len(kept) + 1) for _ in range(len(produced) + 1)]
    for i in range(len(produced) - 1, -1, -1):
        for j in range(len(kept) - 1, -1, -1):
            matched = max((value for _, _, value in options(i, j)), default=0)
            best[i][j] = max(best[i + 1][j], best[i][j + 1], matched)
    found: list[tuple[range, int]] = []
    j = 0
    for i in range(len(produced)):
        begin, length = j, 0
        if best[i][j] > best[i + 1][j]:
            while best[i][j] == best[i][j + 1]:
                j += 1  # kept[j] keeps nothing of produced[i:]
            count, length = next((c, n) for c, n, value in options(i, j) if value == best[i][j])
            begin, j = j, j + count
        found.append((range(begin, j if length else begin), length))
    return found


def _pieces(text: str, kept: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield how many kept texts from `start` on can keep the text or its beginning, and how many characters of it."""
    done = 0
    for count, piece in enumerate(kept[start:], start=1):
        rest = text[done:]
        done += len(rest) - len(rest.lstrip())
        if not text.startswith(piece, done):
            return
        done += len(piece)
        yield count, done


def _losses_of_call(turn: int, call: CallContent, kept: CallContent | None) -> Iterator[HistoryLoss]:
    owner = f"of call {call.call_id}"
    if call.arguments.strip() not in ("", "{}") and not (kept and _same_json(kept.arguments, call.arguments)):
        yield HistoryLoss(kind="partial-arguments", turn=turn, detail=f"{shorten(call.arguments, 60)} {owner}")
    if call.name and not (kept and kept.name == call.name):
        yield HistoryLoss(kind="tool-name", turn=turn, detail=f"{call.name} {owner}")


def _match(produced: Sequence[_Fact], kept: Sequence[_Fact], rules: _Rules[_Fact]) -> list[_Fact | None]:
    """Return for each produced fact the kept one that it is matched with: in order, by the first rule that matches."""
    found: list[_Fact | None] = [None] * len(produced)
    free = list(kept)
    for rule in rules:
        for index, one in enumerate(produced):
            if found[index] is None and (other := next((k for k in free if rule(one, k)), None)) is not None:
                found[index] = other
                free.remove(other)
    return found


def _same_json(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return bool(json.loads(one or "{}") == json.loads(other or "{}"))
    except (ValueError, RecursionError):
        return False
