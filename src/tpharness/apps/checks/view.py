"""same-view: what the user had on the screen is there after a reload.

The address `thread` may answer a list of UI messages, or an object that holds one under any name. It may show more than
the screen did, where the run went on; what was there may not be gone, moved or changed. A ThreadProtocol document is
not a view: it leaves out what was unfinished, and is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import is_part_of, letters, normal, same_output
from tpharness.apps.client import End, Fetched, text_of
from tpharness.apps.evidence import AppEvidence, TurnSeen, shown_calls, shown_outputs, shown_text
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.apps.thread.document import find_thread
from tpharness.findings import Finding, Kind, Place
from tpharness.printable import counted

__all__ = ["CHECK", "messages_in", "unreadable_view"]

Message = Mapping[str, Any]

GONE = Kind("view-differs")
HALF_AS_DONE = Kind("half-shown-as-done")
ID_REUSED = Kind("message-id-reused")
_ONE_ID = (
    "give an answer one id, and use it everywhere: in the stored message, in `messageId` of `start`, and in the stream "
    "that a reloaded page takes up; useChat writes a message in place of the one with its id, else behind the others"
)
_OWN_IDS = "give every message an id of its own; useChat writes a message in place of the one with its id"
UNREADABLE = Kind("view-unreadable")
_ASKS = "approval-requested"
_PLACE = Place(side="the view after a reload")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what is wrong: on a reloaded page that has taken up its answer, and in the view when the case is over."""
    yield from islice(chain(_lost_at_reload(evidence), _twice_after_reload(evidence)), 1)
    if evidence.view is None or not _is_view(evidence):
        yield from islice(_reused_ids(evidence, ()), 1)
        return
    messages = messages_in(evidence.view.value)
    if messages is None:
        yield unreadable_view(evidence.view)
        return
    pages = [(turn.left, turn.page) for turn in _reloaded(evidence) if turn.page is not None]
    views = [*pages, (evidence.turns[-1].screen, messages)]
    gone = list(islice(chain.from_iterable(_differences(evidence, screen, view) for screen, view in views), 1))
    yield from islice(_reused_ids(evidence, () if gone else messages), 1)  # of what differs the advice names the ids
    advice = _OWN_IDS if any(_shared_id(one) for one in (evidence.turns[-1].screen, messages)) else ""
    yield from (GONE.at(_PLACE, got=got, expected=expected, advice=advice) for got, expected in gone)
    yield from islice(_done_halves(evidence, messages), 1)


def _reused_ids(evidence: AppEvidence, view: Sequence[Message]) -> Iterator[Finding]:
    """Yield an id that two answers have: that of a later stream, written over an earlier one, or two after a reload.

    useChat writes a message in place of the one with its id, so that the earlier answer is gone from the screen.
    """
    for before, turn in pairwise(evidence.turns):
        earlier = {one.get("id"): normal(text_of(one)) for one in before.screen if one.get("role") == "assistant"}
        said = [normal(asked.said) for asked in turn.asked if normal(asked.said)]
        for one in (one for one in turn.screen if not evidence.replaced(turn) and one.get("id") in earlier):
            old, new = earlier[one.get("id")], normal(text_of(one))
            if old and old not in new and any(words in new for words in said):
                got = f"{one.get('id')!r}, the id of {old!r}, is that of {new!r}, which stands in its place"
                yield ID_REUSED.at(at(turn, what="the screen"), got=got, expected="an id of its own for each answer")
    shared = _shared_id(view)
    if shared is not None:
        texts = [normal(text_of(one)) for one in view if (one.get("role"), one.get("id")) == ("assistant", shared)]
        yield ID_REUSED.at(_PLACE, got=f"{shared!r} for {texts}", expected="an id of its own for each answer")


def _shared_id(messages: Sequence[Message]) -> str | None:
    """Return the id that two different answers have, None if each has its own: a page may show one for the other."""
    texts: dict[str, str] = {}
    for one in (one for one in messages if one.get("role") == "assistant" and one.get("id")):
        text = normal(text_of(one))
        if texts.setdefault(str(one["id"]), text) != text:
            return str(one["id"])
    return None


def _reloaded(evidence: AppEvidence) -> list[TurnSeen]:
    """Return the turns before which the page was loaded anew when no answer streamed."""
    return [turn for turn, planned in zip(evidence.turns, evidence.case.turns, strict=False) if planned.reloads]


def _differences(
    evidence: AppEvidence, screen: Sequence[Message], messages: Sequence[Message]
) -> Iterator[tuple[str, str]]:
    """Yield how messages after a reload differ from a screen: got and expected."""
    refused = [normal(turn.says) for turn in evidence.refused_as_busy]
    screen = [m for m in screen if not any(says in normal(text_of(m)) for says in refused)]
    if evidence.case.long:
        screen = _from_the_first(messages, screen)
    yield from _gone(screen, messages)
    yield from _changed_results(screen, messages)
    yield from _moved(evidence, screen, messages)
    yield from _still_there(evidence, screen, messages)
    yield from _doubled(evidence, messages)


def _from_the_first(messages: Sequence[Message], screen: Sequence[Message]) -> list[Message]:
    """Return a screen from the first message of the user that a page shows: of a long chat it may load only the end."""
    shown = {normal(text_of(message)) for message in messages if message.get("role") == "user"}
    users = [index for index, message in enumerate(screen) if message.get("role") == "user"]
    return list(screen[next((index for index in users if normal(text_of(screen[index])) in shown), 0) :])


def _lost_at_reload(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what was on a page and is not on the one after it, which has taken up the rest of the answer to its end."""
    reloaded = _reloaded(evidence)
    for turn in (turn for turn in evidence.turns if turn not in reloaded):
        asks = {call.call_id for call in shown_calls(turn.page or ()) if call.state == _ASKS}
        for call in shown_calls(turn.left) if turn.page is not None else ():
            if call.state == _ASKS and call.call_id not in asks:
                expected = f"the request to approve {call.name}, which waits for an answer"
                yield GONE.at(at(turn, what="the page after a reload"), got="no request", expected=expected)
        taken_up = turn.resumed
        if taken_up is None or taken_up.end is not End.ENDED or taken_up.refused:
            continue
        if taken_up.is_stream and "text-delta" in taken_up.types:  # else there was nothing to take up
            for got, expected in _gone(turn.left, turn.screen):
                yield GONE.at(at(turn, what="the page after a reload"), got=got, expected=expected)


def _twice_after_reload(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield an answer that stands twice on a page that has taken it up: as it was stored, and as the stream begins it.

    useChat puts the answer of a stream behind the stored one where their ids differ.
    """
    given = letters(*(asked.said for turn in evidence.turns for asked in turn.asked))
    for turn in evidence.turns:
        if turn.resumed is None or not turn.resumed.is_stream or turn.resumed.refused:
            continue
        screen = letters(shown_text(turn.screen))
        for stored, streamed in pairwise(turn.screen):
            if stored.get("role") != "assistant" or streamed.get("role") != "assistant":
                continue
            words = letters(text_of(stored))
            begins_so = words and letters(text_of(streamed)).startswith(words)
            if begins_so and screen.count(words) > given.count(words):
                ids = f"{stored.get('id')} as it was stored, and in {streamed.get('id')} as the stream begins it"
                got = f"{screen.count(words)} times, in the message {ids}: {normal(text_of(stored))}"
                expected = counted(given.count(words), "time")
                yield GONE.at(at(turn, what="the page after a reload"), got=got, expected=expected, advice=_ONE_ID)


def _gone(screen: Sequence[Message], messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield the messages of the user, texts and results of a screen that other messages lack: got and expected."""
    shown = [normal(text_of(message)) for message in messages if message.get("role") == "user"]
    for text in (normal(text_of(message)) for message in screen if message.get("role") == "user"):
        if shown.count(text) != 1:
            yield f"{shown.count(text)} times", f"the user's message once: {text}"
    view = shown_text(messages)
    for message in screen:
        for part in message.get("parts", ()):
            text = str(part.get("text", ""))
            if message.get("role") == "assistant" and part.get("type") == "text" and not is_part_of(text, view):
                yield view, text
    results = {call.call_id for call in shown_calls(messages) if call.has_result}
    for call in shown_calls(screen):
        if call.state == "output-available" and call.call_id not in results:
            yield "no result", f"the call of {call.name} with its result"


def _changed_results(screen: Sequence[Message], messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield results that are empty, or that another call had on the screen; an object and its JSON text are the same.

    Another value may be what the tool returned later, in place of a word that it was interrupted.
    """
    shown, now = shown_outputs(screen), shown_outputs(messages)
    for call_id, output in shown.items():
        if call_id not in now or same_output(output, now[call_id]):
            continue
        others = any(same_output(other, now[call_id]) for other in shown.values())
        if others or now[call_id] in (None, ""):
            yield f"the result {now[call_id]!r}", f"the result of {call_id} as on the screen: {output!r}"


def _still_there(
    evidence: AppEvidence, screen: Sequence[Message], messages: Sequence[Message]
) -> Iterator[tuple[str, str]]:
    """Yield what the user has replaced, by an edit or by another answer, and what a reloaded page shows again."""
    on_screen, view = (_all_words(one) for one in (screen, messages))
    for turn in evidence.replaced(evidence.turns[-1]):
        for words in (turn.says, *(asked.said for asked in turn.asked)):
            if normal(words) and is_part_of(words, view) and not is_part_of(words, on_screen):
                yield words, "nothing of what the user has replaced"


def _doubled(evidence: AppEvidence, messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield the answers that a reloaded page shows more often than the model has given them."""
    view = normal(shown_text(messages))
    given = [normal(asked.said) for turn in evidence.turns for asked in turn.asked]
    for turn in evidence.turns:
        for words in (normal(asked.said) for asked in turn.asked if asked.is_whole):
            count = sum(text.count(words) for text in given) if words else 0
            if words and view.count(words) > count:
                yield f"{view.count(words)} times: {words}", counted(count, "time")


def _all_words(messages: Sequence[Message]) -> str:
    return "\n".join(text_of(message) for message in messages)


def _moved(evidence: AppEvidence, screen: Sequence[Message], messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield messages in another order than on the screen. An address may answer the newest message first.

    A message that was written while the run before it went on may stand on either side of what came of that run.
    """
    texts = [(m.get("role"), normal(text_of(m))) for m in screen if normal(text_of(m))]
    unique = [one for one in texts if sum(one[0] == role and one[1] in text for role, text in texts) == 1]
    there = [(m.get("role"), normal(text_of(m))) for m in messages]
    places = [next((i for i, (r, t) in enumerate(there) if r == role and text in t), None) for role, text in unique]
    found = [place for place in places if place is not None]
    if not evidence.meanwhile and found not in (sorted(found), sorted(found, reverse=True)):
        order = [text for _, text in texts]
        yield str([text for _, text in there]), f"the messages in the order of the screen: {order}"


def _done_halves(evidence: AppEvidence, messages: Sequence[Message]) -> Iterator[Finding]:
    """Yield half a text that a reloaded page holds as `done`, where nothing else says that the run was stopped.

    Where the model's stream breaks off, frameworks may close what is open: that the run failed is said otherwise.
    """
    asked = [one for turn in evidence.turns for one in turn.asked if one.plan is not None]
    whole = {normal(one.said) for one in asked if one.is_whole}
    left = [one for one in asked if one.outcome is ExchangeOutcome.DISCONNECTED]
    cut = [normal(one.plan.text) for one in left if one.plan is not None]
    answers = [message for message in messages if message.get("role") == "assistant"]
    for message in answers:
        for part in message["parts"]:
            text = normal(str(part.get("text", "")))
            is_half = text not in whole and any(one.startswith(text) and one != text for one in cut)
            if text and is_half and part.get("state") == "done" and not _is_marked(message, answers):
                expected = "the state streaming, or another field of the message that says that it was cut"
                yield HALF_AS_DONE.at(_PLACE, got=f"the state done of the text {text!r}", expected=expected)


def _is_marked(message: Message, answers: Sequence[Message]) -> bool:
    """Whether a field of an answer is another than that of all other answers, which have one value there, or none."""
    own = _fields(message)
    others = [_fields(one) for one in answers if one is not message]
    values = {name: [one.get(name) for one in others] for name in {*own, *(name for one in others for name in one)}}
    return any(all(one == seen[0] != own.get(name) for one in seen) for name, seen in values.items() if seen)


def _fields(message: Message) -> dict[str, Any]:
    """Return what a message says of itself: its fields, those of its metadata, and the kinds of its data parts."""
    data = sorted(str(part["type"]) for part in message["parts"] if str(part.get("type")).startswith("data-"))
    inner = message.get("metadata")
    fields = {**message, **(inner if isinstance(inner, Mapping) else {}), "data": data}
    return {name: value for name, value in fields.items() if name not in ("id", "parts", "metadata")}


def unreadable_view(view: Fetched) -> Finding:
    """Return that an answer has no messages."""
    return UNREADABLE.at(_PLACE, got=f"status {view.status}: {view.text}", expected="a list of UI messages")


def messages_in(value: Any) -> Sequence[Mapping[str, Any]] | None:
    """Return the UI messages of an answer: the value itself, or the first field of an object that is a list of them."""
    for candidate in [value, *(value.values() if isinstance(value, Mapping) else ())]:
        if isinstance(candidate, list) and all(map(_is_message, candidate)):
            return candidate
    return None


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and isinstance(value.get("parts"), list)


def _is_view(evidence: AppEvidence) -> bool:
    view = evidence.view
    return view is not None and (messages_in(view.value) is not None or find_thread(view.value) is None)


CHECK = AppCheck(
    name="same-view",
    clause="app.same-view",
    kinds=(GONE, UNREADABLE, HALF_AS_DONE, ID_REUSED),
    find=find,
    applies=lambda evidence: (
        _is_view(evidence)
        or any(turn.resumed is not None or turn.page is not None for turn in evidence.turns)
        or any(_reused_ids(evidence, ()))
    ),
)
