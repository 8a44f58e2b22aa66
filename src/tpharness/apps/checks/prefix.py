"""prefix: every text and call that a request attributes to the model was produced by the model, each of them once."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import args_of, calls_made, sent_twice, unsaid
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
    history = [message for message in asked.history if message.role == "assistant"]
    yield from _wrong_texts([message.text for message in history], [one.said for one in earlier], place)
    yield from _wrong_texts([message.thinking for message in history], [one.thought for one in earlier], place)
    calls = list(asked.sent_calls())
    for call, made in zip(calls, calls_made(calls, earlier), strict=True):
        yield from _wrong_call(call, made, earlier, place)


def _wrong_texts(sent: list[str], said: list[str], place: Place) -> Iterator[Finding]:
    """Yield texts that the model has not said, and an answer that is sent again."""
    invented = {text: rest for text in sent if (rest := unsaid(text, said))}
    for text, rest in invented.items():
        yield INVENTED_TEXT.at(place, got=text, expected=f"without {rest!r}")
    doubled = sent_twice([text for text in sent if text not in invented], said)
    if doubled:
        yield DOUBLED.at(place, got=sent, expected=f"once: {doubled}")


def _wrong_call(sent: HistoryCall, made: Call | None, earlier: list[Asked], place: Place) -> Iterator[Finding]:
    """Yield a call that the model has not made, has made once and is sent again, or has made otherwise."""
    got = f"{sent.name}({sent.raw})"
    if made is None:
        known = any(call.name == sent.name for asked in earlier for call in asked.called)
        if known:
            again = f"once more, as {sent.call_id}: {got}"
            yield DOUBLED_CALL.at(place, got=again, expected="each call of the model once")
        else:
            yield INVENTED_CALL.at(place, got=got, expected="a call of the model")
        return
    raw = "".join(made.pieces)
    if made.name != sent.name:
        yield INVENTED_CALL.at(place, got=got, expected=f"{made.name}({raw})")
        return
    args = args_of(made)
    if (args is None or sent.args != args) and not raw.startswith(sent.raw):
        said = raw if args is not None else f"{raw} (cut here)"
        yield INVENTED_ARGUMENTS.at(place, got=got, expected=f"{sent.name}({said})")


CHECK = AppCheck(
    name="prefix",
    clause="app.prefix",
    kinds=(INVENTED_TEXT, DOUBLED, INVENTED_CALL, DOUBLED_CALL, INVENTED_ARGUMENTS),
    find=find,
    applies=lambda evidence: any(
        message.role == "assistant" for _, asked in evidence.asked for message in asked.history
    ),
)
