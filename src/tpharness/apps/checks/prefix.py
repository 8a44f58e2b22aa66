"""prefix: every text and call that a request attributes to the model was produced by the model."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import args_of, call_made, unsaid
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.provider import ToldCall
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

INVENTED_TEXT = Kind("text-invented")
INVENTED_CALL = Kind("call-invented")
INVENTED_ARGUMENTS = Kind("arguments-invented")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield inventions, each once in a case."""
    known: set[tuple[str, str]] = set()
    history: list[Asked] = []
    for turn, asked in evidence.asked:
        for finding in _inventions(turn, asked, history):
            key = (finding.code, str(finding.got))
            if key not in known:
                known.add(key)
                yield finding
        history.append(asked)


def _inventions(turn: TurnSeen, asked: Asked, earlier: list[Asked]) -> Iterator[Finding]:
    place = at(turn, request=asked.number)
    for told in asked.history:
        if told.role != "assistant":
            continue
        text = unsaid(told.text, [one.said for one in earlier])
        if text:
            yield INVENTED_TEXT.at(place, got=told.text, expected=f"without {text!r}")
        thought = unsaid(told.thinking, [one.thought for one in earlier])
        if thought:
            yield INVENTED_TEXT.at(place, got=told.thinking, expected=f"without {thought!r}")
        for call in told.calls:
            yield from _invented_call(call, earlier, turn, asked)


def _invented_call(told: ToldCall, earlier: list[Asked], turn: TurnSeen, asked: Asked) -> Iterator[Finding]:
    place = at(turn, request=asked.number)
    made = call_made(told, earlier)
    if made is None:
        yield INVENTED_CALL.at(place, got=f"{told.name}({told.raw})", expected="a call of the model")
        return
    raw, args = "".join(made.pieces), args_of(made)
    if (args is None or told.args != args) and not raw.startswith(told.raw):
        said = raw if args is not None else f"{raw} (cut here)"
        yield INVENTED_ARGUMENTS.at(place, got=f"{told.name}({told.raw})", expected=f"{told.name}({said})")


CHECK = AppCheck(
    name="prefix",
    clause="app.prefix",
    kinds=(INVENTED_TEXT, INVENTED_CALL, INVENTED_ARGUMENTS),
    find=find,
    applies=lambda evidence: any(told.role == "assistant" for _, asked in evidence.asked for told in asked.history),
)
