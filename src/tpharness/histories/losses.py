"""What a history lost: the difference between what happened and what is held.

In: a journal, counted here part by part, and the holdings that a dialect reads back from its own document. Out: one
`Loss` for each fact that happened and is not held. Nothing here is shared with the code that writes histories.

Histories do not agree on what a turn is: one leaves out turns of which nothing stays, one begins a turn at each message
of the user, one cannot tell two runs in a row apart. So facts are paired, not turns:

- texts and thoughts in their order, over the whole conversation, such that as many characters as possible are held. A
  text may be held in several pieces that follow each other, or only its beginning, or without the blanks around it;
- calls and results by their ids, and those with the same id by what they say, then in order; a call that is held
  without its id by its arguments;
- signatures by themselves.

The flags `interrupted` and `usage` belong to turns. The flag of a held turn tells that of each turn whose facts it
holds: if two runs are held as one turn nobody could tell more from it. If it holds facts of no turn with that flag, it
tells that of the one turn at its place, between what is held before it and what is held after it.

Blanks alone are no text, and the blanks around a text are no loss. A signature counts when its thought has ended: half
a signature signs nothing. What is left of arguments is compared as JSON where both are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from tpharness.findings import shorten
from tpharness.histories.projections import HeldCall, HeldResult, Holdings
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Response, Return

__all__ = ["LOSS_KINDS", "Loss", "LossKind", "happened", "losses"]

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
"""What can be lost. `partial-text`, `partial-arguments`: all or the end of what had come of a text, of a call's
arguments; `tool-name`: which tool was called; `finished-result`: a result that had come; `interruption-fact`: that the
turn was cut; `usage`: all token counts of a turn."""

_Fact = TypeVar("_Fact")
_Pairing: TypeAlias = dict[int, set[int]]  # the turns of whose facts a held turn holds some
LOSS_KINDS: tuple[LossKind, ...] = get_args(LossKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One fact that is not held: its kind, the agent turn that it is of (from 0), and in words what it was."""

    kind: LossKind
    turn: int
    detail: str


# ------------------------------------------------------------------------------------------------ what happened


def happened(journal: Journal) -> list[Holdings]:
    """Return what happened in each agent turn; take a journal with `partial` parts, else open ones have no text."""
    return [_happened(turn) for turn in journal.turns() if isinstance(turn, AgentTurn)]


def _happened(turn: AgentTurn) -> Holdings:
    entries = [entry for segment in (*turn.segments, turn.tail) for entry in segment.entries]
    responses = [entry for entry in entries if isinstance(entry, Response)]
    streamed = [_streamed(response) for response in responses]
    parts = [part for some in streamed for part in some]
    return Holdings(
        texts=_said(streamed, "text"),
        thinking=_said(streamed, "thinking"),
        signatures=tuple(
            str(p.fields["signature"])
            for p in parts
            if p.kind == "thinking" and p.complete and p.fields.get("signature")
        ),
        calls=tuple(_called(part) for part in parts if part.kind == "tool-call"),
        results=tuple(_came_back(entry) for entry in entries if isinstance(entry, Return)),
        interrupted=isinstance(turn.end, Interrupted),
        usage=bool(turn.usage) or any(response.facts.get("usage") for response in responses),
    )


def _streamed(response: Response) -> Sequence[Part]:
    """Return the parts as they came; those that had come when it failed, of a response that finished afterwards."""
    return response.failed if response.finished and response.failed is not None else response.parts


def _said(streamed: Sequence[Sequence[Part]], kind: str) -> tuple[str, ...]:
    said = ("".join(str(p.fields.get("content") or "") for p in parts if p.kind == kind) for parts in streamed)
    return tuple(text for text in said if text.strip())


def _called(part: Part) -> HeldCall:
    args = part.fields.get("args")
    written = (
        part.raw if part.raw is not None else args if isinstance(args, str) else _json({} if args is None else args)
    )
    return HeldCall(call_id=part.call_id, name=str(part.fields.get("tool_name") or ""), arguments=written)


def _came_back(entry: Return) -> HeldResult:
    content = entry.fields.get("content_ref")
    content = entry.fields.get("content") if content is None else content
    good = entry.kind == "tool-return" and entry.fields.get("status") == "success"
    text = content if isinstance(content, str) else "" if content is None else _json(content)
    return HeldResult(call_id=entry.call_id, outcome="success" if good else "error", content=text)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# ------------------------------------------------------------------------------------------------ what is lost


def losses(happened: Sequence[Holdings], kept: Sequence[Holdings]) -> list[Loss]:
    """Return what of `happened` is not in `kept`, in the order of turns and, within a turn, of `LOSS_KINDS`."""
    pairing: _Pairing = {}
    found = [
        *_texts("partial-text", happened, kept, pairing),
        *_texts("thinking", happened, kept, pairing),
        *_signatures(happened, kept, pairing),
        *_calls(happened, kept, pairing),
        *_results(happened, kept, pairing),
    ]
    cut = _untold([h.interrupted for h in happened], [k.interrupted for k in kept], pairing)
    found += [Loss(kind="interruption-fact", turn=i, detail="nothing tells that the turn was cut") for i in cut]
    uncounted = _untold([h.usage for h in happened], [k.usage for k in kept], pairing)
    found += [Loss(kind="usage", turn=i, detail="no token counts") for i in uncounted]
    return sorted(found, key=lambda loss: (loss.turn, LOSS_KINDS.index(loss.kind)))


# ------------------------------------------------------------------------------------------------ texts


def _texts(
    kind: Literal["partial-text", "thinking"], happened: Sequence[Holdings], kept: Sequence[Holdings], pairing: _Pairing
) -> Iterator[Loss]:
    name = "texts" if kind == "partial-text" else "thinking"
    came = [(i, text.strip()) for i, turn in enumerate(happened) for text in getattr(turn, name) if text.strip()]
    held = [(j, text.strip()) for j, turn in enumerate(kept) for text in getattr(turn, name) if text.strip()]
    agree = [[happened[i].interrupted == kept[j].interrupted for j, _ in held] for i, _ in came]
    found = _best([text for _, text in came], [text for _, text in held], agree)
    for (turn, text), (holders, length) in zip(came, found, strict=True):
        for index in holders:
            pairing.setdefault(held[index][0], set()).add(turn)
        if length < len(text):
            rest = repr(shorten(text[length:], 60))
            yield Loss(kind=kind, turn=turn, detail=f"{rest} at its end" if length else rest)


def _best(came: Sequence[str], held: Sequence[str], agree: Sequence[Sequence[bool]]) -> list[tuple[range, int]]:
    """Pair texts in order so that most characters are held: for each that came the held ones and how much they hold.

    Among ways that hold as much, turns that agree on being interrupted are paired first.
    """

    def pairs(i: int, j: int) -> Iterator[tuple[int, int, int]]:
        """Yield how many held texts, how many characters, what that is worth with the best for what follows."""
        for count, length in _holding(came[i], held, j):
            yield count, length, 4 * length + agree[i][j] + most[i + 1][j + count]

    # most[i][j]: what the best pairing of came[i:] and held[j:] is worth
    most = [[0] * (len(held) + 1) for _ in range(len(came) + 1)]
    for i in range(len(came) - 1, -1, -1):
        for j in range(len(held) - 1, -1, -1):
            paired = max((worth for _, _, worth in pairs(i, j)), default=0)
            most[i][j] = max(most[i + 1][j], most[i][j + 1], paired)
    found: list[tuple[range, int]] = []
    j = 0
    for i in range(len(came)):
        begin, length = j, 0
        if most[i][j] > most[i + 1][j]:
            while most[i][j] == most[i][j + 1]:
                j += 1  # held[j] holds nothing of what came from here on
            count, length = next((c, n) for c, n, worth in pairs(i, j) if worth == most[i][j])
            begin, j = j, j + count
        found.append((range(begin, j if length else begin), length))
    return found


def _holding(text: str, held: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield how many held texts from `start` on can hold the text or its beginning, and how many characters of it."""
    done = 0
    for count, piece in enumerate(held[start:], start=1):
        rest = text[done:]
        done += len(rest) - len(rest.lstrip())
        if not text.startswith(piece, done):
            return
        done += len(piece)
        yield count, done


# ------------------------------------------------------------------------------------------------ signatures


def _signatures(happened: Sequence[Holdings], kept: Sequence[Holdings], pairing: _Pairing) -> Iterator[Loss]:
    held: dict[str, list[int]] = {}
    for j, turn in enumerate(kept):
        for signature in turn.signatures:
            held.setdefault(signature, []).append(j)
    for i, turn in enumerate(happened):
        for signature in turn.signatures:
            if held.get(signature):
                pairing.setdefault(held[signature].pop(0), set()).add(i)
            else:
                yield Loss(kind="signature", turn=i, detail=shorten(signature, 40))


# ------------------------------------------------------------------------------------------------ calls and results


def _calls(happened: Sequence[Holdings], kept: Sequence[Holdings], pairing: _Pairing) -> Iterator[Loss]:
    came = [(i, call) for i, turn in enumerate(happened) for call in turn.calls]
    held = [(j, call) for j, turn in enumerate(kept) for call in turn.calls]

    def same(one: tuple[int, HeldCall], other: tuple[int, HeldCall]) -> bool:
        return _same(one[1].arguments, other[1].arguments)

    def agree(one: tuple[int, HeldCall], other: tuple[int, HeldCall]) -> bool:
        return happened[one[0]].interrupted == kept[other[0]].interrupted

    paired = _paired(
        came,
        held,
        (
            lambda one, other: one[1].call_id == other[1].call_id and same(one, other) and agree(one, other),
            lambda one, other: one[1].call_id == other[1].call_id and same(one, other),
            lambda one, other: one[1].call_id == other[1].call_id,
            lambda one, other: other[1].call_id is None and same(one, other),
        ),
    )
    for (turn, call), found in zip(came, paired, strict=True):
        if found is not None:
            pairing.setdefault(found[0], set()).add(turn)
        yield from _lost_of_call(turn, call, None if found is None else found[1])


def _lost_of_call(turn: int, call: HeldCall, held: HeldCall | None) -> Iterator[Loss]:
    what = f"of call {call.call_id}"
    if call.arguments.strip() not in ("", "{}") and not (held and _same(held.arguments, call.arguments)):
        detail = f"{shorten(call.arguments, 60)} {what}"
        yield Loss(kind="partial-arguments", turn=turn, detail=detail)
    if call.name and not (held and held.name == call.name):
        yield Loss(kind="tool-name", turn=turn, detail=f"{call.name} {what}")


def _results(happened: Sequence[Holdings], kept: Sequence[Holdings], pairing: _Pairing) -> Iterator[Loss]:
    came = [(i, result) for i, turn in enumerate(happened) for result in turn.results]
    held = [(j, result) for j, turn in enumerate(kept) for result in turn.results]
    paired = _paired(
        came,
        held,
        (
            lambda one, other: one[1].call_id == other[1].call_id and _same(one[1].content, other[1].content),
            lambda one, other: one[1].call_id == other[1].call_id,
        ),
    )
    for (turn, result), found in zip(came, paired, strict=True):
        if found is not None:
            pairing.setdefault(found[0], set()).add(turn)
        if found is None or found[1].outcome == "aborted" or (result.content and not found[1].content):
            detail = f"{shorten(result.content, 60)!r} for call {result.call_id}"
            yield Loss(kind="finished-result", turn=turn, detail=detail)


def _paired(
    came: Sequence[_Fact], held: Sequence[_Fact], rules: Sequence[Callable[[_Fact, _Fact], bool]]
) -> list[_Fact | None]:
    """Return for each fact that came the held one that it is paired with: in order, by the first rule that pairs it."""
    found: list[_Fact | None] = [None] * len(came)
    free = list(held)
    for rule in rules:
        for index, one in enumerate(came):
            if found[index] is None and (other := next((h for h in free if rule(one, h)), None)) is not None:
                found[index] = other
                free.remove(other)
    return found


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return bool(json.loads(one or "{}") == json.loads(other or "{}"))
    except (ValueError, RecursionError):
        return False


# ------------------------------------------------------------------------------------------------ flags


def _untold(happened: Sequence[bool], kept: Sequence[bool], pairing: _Pairing) -> list[int]:
    """Return the turns that have the flag and that no held turn with the flag stands for."""
    told: set[int] = set()
    for j in (j for j, flag in enumerate(kept) if flag):
        owners = {i for i in pairing.get(j, ()) if happened[i]}
        told |= owners or _at_place(j, happened, told, pairing)
    return [i for i, flag in enumerate(happened) if flag and i not in told]


def _at_place(j: int, happened: Sequence[bool], told: set[int], pairing: _Pairing) -> set[int]:
    """Return the turn whose flag a held turn can tell that holds no facts of a turn with it.

    It is the first that comes behind what was held up to here and before what is held later. If there is none it is the
    turn held last: a message that a user sends while a turn goes on may split that in two where it is held.
    """
    low = max((i for k, turns in pairing.items() if k <= j for i in turns), default=-1)
    high = min((i for k, turns in pairing.items() if k > j for i in turns), default=len(happened))
    places = [*range(low + 1, high), *([low] if low >= 0 else [])]
    return set([i for i in places if happened[i] and i not in told][:1])
