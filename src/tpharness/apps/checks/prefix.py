"""prefix: every text and call that a request attributes to the model was produced by the model, each of them once."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import args_of, calls_made, told_twice, unsaid
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.messages import HistoryCall
from tpharness.model_apis.plan import Call

__all__ = ["CHECK"]

INVENTED_TEXT = Kind("text-invented")
DOUBLED = Kind("answer-doubled")
INVENTED_CALL = Kind("call-invented")
DOUBLED_CALL = Kind("call-doubled")
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
    history = [told for told in asked.history if told.role == "assistant"]
    yield from _wrong_texts([told.text for told in history], [one.said for one in earlier], place)
    yield from _wrong_texts([told.thinking for told in history], [one.thought for one in earlier], place)
    calls = list(asked.told_calls())
    for call, made in zip(calls, calls_made(calls, earlier), strict=True):
        yield from _wrong_call(call, made, earlier, place)


def _wrong_texts(told: list[str], said: list[str], place: Place) -> Iterator[Finding]:
    """Yield texts that the model has not said, and an answer that is told again."""
    invented = {text: rest for text in told if (rest := unsaid(text, said))}
    for text, rest in invented.items():
        yield INVENTED_TEXT.at(place, got=text, expected=f"without {rest!r}")
    doubled = told_twice([text for text in told if text not in invented], said)
    if doubled:
        yield DOUBLED.at(place, got=told, expected=f"once: {doubled}")


def _wrong_call(told: HistoryCall, made: Call | None, earlier: list[Asked], place: Place) -> Iterator[Finding]:
    """Yield a call that the model has not made, has made once and is told again, or has made otherwise."""
    got = f"{told.name}({told.raw})"
    if made is None:
        known = any(call.name == told.name for asked in earlier for call in asked.called)
        if known:
            again = f"once more, as {told.call_id}: {got}"
            yield DOUBLED_CALL.at(place, got=again, expected="each call of the model once")
        else:
            yield INVENTED_CALL.at(place, got=got, expected="a call of the model")
        return
    raw = "".join(made.pieces)
    if made.name != told.name:
        yield INVENTED_CALL.at(place, got=got, expected=f"{made.name}({raw})")
        return
    args = args_of(made)
    if (args is None or told.args != args) and not raw.startswith(told.raw):
        said = raw if args is not None else f"{raw} (cut here)"
        yield INVENTED_ARGUMENTS.at(place, got=got, expected=f"{told.name}({said})")


CHECK = AppCheck(
    name="prefix",
    clause="app.prefix",
    kinds=(INVENTED_TEXT, DOUBLED, INVENTED_CALL, DOUBLED_CALL, INVENTED_ARGUMENTS),
    find=find,
    applies=lambda evidence: any(told.role == "assistant" for _, asked in evidence.asked for told in asked.history),
)
