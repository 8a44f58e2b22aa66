"""Evidence of a case → the verdict on the thread that the application has written, apart from the one on the case.

Four properties: each document that was fetched keeps the rules of its version; a later document extends an earlier one;
the last one and the thread that our own client folds of the same streams agree; and nothing that the model had not
finished when its turn was cut is canonical. Only the traffic with the model's API shows the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tpharness.apps.checks.contract import at
from tpharness.apps.checks.truth import normal
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.judge import size_of, state_of
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.apps.thread.document import Document, read_document
from tpharness.apps.thread.fold import NOT_COMPARED, FoldedChat, fold_streams
from tpharness.checks.growth import first_missing
from tpharness.checks.identity import DIFFERS
from tpharness.checks.monotonicity import SHRANK
from tpharness.checks.prefix import NOT_PREFIX
from tpharness.findings import Finding, Kind
from tpharness.ordinals import nth
from tpharness.protocol.compare import same_content
from tpharness.protocol.diff import diff
from tpharness.protocol.versions import Version
from tpharness.scenario.records import Compare
from tpharness.verdict import CheckState, Outcome, Result
from tpharness.verdict.result import THREAD_SUFFIX

__all__ = ["KINDS", "judge_thread"]

KEEPS_UNFINISHED = Kind("thread-keeps-unfinished")
NOT_CUT = Kind("thread-turn-not-cut")
KINDS = (KEEPS_UNFINISHED, NOT_CUT)
_MOST = 3  # differences shown; later ones often follow from the first
_CUT = (ExchangeOutcome.DISCONNECTED, ExchangeOutcome.BROKEN)


def judge_thread(evidence: AppEvidence) -> Result | None:
    """Judge the thread of a case; None where the application has never answered one.

    Nor is it judged where another answer takes the place of one: no rule says what becomes of the turn.
    """
    if any(turn.again for turn in evidence.case.turns):
        return None
    fetched = [turn for turn in evidence.turns if turn.view is not None and turn.view.status]
    documents = [(turn, read_document(turn.view)) for turn in fetched]
    threads = [(turn, document) for turn, document in documents if document is not None]
    if not threads:
        return None
    turn, last = documents[-1]
    folded = fold_streams(evidence.streams)
    found: dict[str, list[Finding] | None] = {
        "thread-rules": _broken_rules(threads),
        "thread-grows": [*_shrunk(threads), *_gone(documents)] if len(documents) > 1 else None,
        "thread-agrees": None,
        "thread-unfinished": None,
    }
    if last is not None and last.version is not None and folded is not None:
        found["thread-agrees"] = list(_differs(turn, last, last.version, folded))
        found["thread-unfinished"] = list(_unfinished(evidence, last, last.version, folded))
    case = evidence.case.id + THREAD_SUFFIX
    states = {name: _state(findings) for name, findings in found.items()}
    return Result(
        id=case,
        outcome=Outcome.FAILED if CheckState.FAILED in states.values() else Outcome.PASSED,
        checks=states,
        findings=tuple(f.with_place(case=case) for findings in found.values() for f in findings or ()),
        reason=_describe(last, folded),
        size=size_of(evidence),
    )


def _state(findings: Sequence[Finding] | None) -> CheckState:
    return CheckState.NOT_APPLICABLE if findings is None else state_of(findings)


def _describe(document: Document | None, folded: FoldedChat | None) -> str:
    """Say in a line how the thread was judged."""
    if document is None:
        return "not compared with the client's thread: the last answer was not a thread"
    if document.version is None:
        return "not compared with the client's thread: it breaks the rules of its version"
    if folded is None:
        return f"{document.version.value}, not compared with the client's thread: {NOT_COMPARED}"
    owed = "the client's whole thread" if folded.is_whole else "as much as the client has seen to its end"
    return f"{document.version.value}, compared with {owed}"


def _broken_rules(threads: Sequence[tuple[TurnSeen, Document]]) -> list[Finding]:
    """Return what is wrong with the documents, each once at the first document that has it."""
    found: dict[tuple[str, str | None], Finding] = {}
    for turn, document in threads:
        for finding in document.findings:
            place = at(turn, what="the thread")
            found.setdefault((finding.code, finding.place.pointer), finding.with_place(side=place.side))
    return list(found.values())


def _shrunk(threads: Sequence[tuple[TurnSeen, Document]]) -> Iterator[Finding]:
    for (earlier, before), (later, after) in pairwise(threads):
        if before.version is None or after.version is None:
            continue
        missing = first_missing(before.thread, after.thread, Compare.EXACT)
        if missing is not None:
            pointer, words = missing
            turns = " and ".join(nth(turn.number - 1, "turn") for turn in (earlier, later))
            message = f"between the threads after {turns}, {words}"
            yield SHRANK.at(at(later, what=f"the thread {pointer}"), message)


def _gone(documents: Sequence[tuple[TurnSeen, Document | None]]) -> Iterator[Finding]:
    for (_, before), (turn, after) in pairwise(documents):
        if before is not None and after is None:
            got = "nothing" if turn.view is None else f"status {turn.view.status}: {turn.view.text}"
            yield SHRANK.at(at(turn, what="the thread"), "the thread that was there is gone", got=got)


def _differs(turn: TurnSeen, document: Document, version: Version, folded: FoldedChat) -> Iterator[Finding]:
    """Yield where the thread and the client's own disagree: equal where nothing was lost, else an extension of it."""
    place = at(turn, what="the thread")
    theirs, ours = _comparable(document.thread), _comparable(folded.thread(version))
    if not folded.is_whole:
        missing = first_missing(ours, theirs, Compare.CONTENT)
        if missing is not None:
            pointer, words = missing
            yield NOT_PREFIX.at(place, f"of the client's thread ({pointer}) in the application's, {words}")
    elif not same_content(theirs, ours):
        for one in diff(theirs, ours, names=("application", "client"), mode="content")[:_MOST]:
            yield DIFFERS.at(place, f"{one.pointer}: {one.text}{f' ({one.cites})' if one.cites else ''}")


def _comparable(thread: Mapping[str, Any]) -> dict[str, Any]:
    """Return a thread without what only the application knows of a user's message: its form and metadata."""
    return {**thread, "turns": [_said(turn) if turn["turn_type"] == "user" else turn for turn in thread["turns"]]}


def _said(turn: Mapping[str, Any]) -> dict[str, Any]:
    parts = [{**part, "content": _text(part)} if part["part_kind"] == "user-prompt" else part for part in turn["parts"]]
    return {"turn_type": "user", "submitted_at": turn["submitted_at"], "parts": parts}


def _text(part: Mapping[str, Any]) -> Any:
    """Return the content of a prompt as one text, where it is made of texts alone."""
    content = part["content"]
    if isinstance(content, list) and all(isinstance(item, str) for item in content):
        return "".join(content)
    return content


def _unfinished(evidence: AppEvidence, document: Document, version: Version, folded: FoldedChat) -> Iterator[Finding]:
    """Yield what the thread keeps of answers that the model could not finish, in turns that the client saw cut."""
    for turn in evidence.turns:
        last = turn.asked[-1] if turn.asked else None
        if last is None or last.outcome not in _CUT:
            continue
        answers = _answers(document.thread, turn.says)
        place = at(turn, what="the thread")
        complete = sum(_is_complete(answer, version) for answer in answers)
        if complete > folded.completed_turns(turn.says):
            yield NOT_CUT.at(place, got="complete", expected=f"cut: the model's answer {len(turn.asked)} was")
        whole = [asked for asked in turn.asked if asked.outcome is ExchangeOutcome.COMPLETED]
        for message in (m for answer in answers for m in answer["messages"] if m["message_type"] == "response"):
            kept = _kept(message, last, whole)
            if kept:
                yield KEEPS_UNFINISHED.at(place, got=kept, expected=f"nothing of {last.said!r}, which was not finished")


def _answers(thread: Mapping[str, Any], says: str) -> list[Mapping[str, Any]]:
    """Return the agent turns behind a message of the user."""
    found, answers = [], False
    for turn in thread["turns"]:
        if turn["turn_type"] == "user":
            answers = says in str([_text(part) for part in turn["parts"] if part["part_kind"] == "user-prompt"])
        elif answers:
            found.append(turn)
    return found


def _is_complete(turn: Mapping[str, Any], version: Version) -> bool:
    return not version.features.interrupted_turns or turn.get("completion_status") != "interrupted"


def _kept(message: Mapping[str, Any], cut: Asked, whole: Sequence[Asked]) -> str:
    """Return what a response has of an answer that was cut, empty for nothing; `whole` are the finished answers."""
    called = {call.call_id for call in cut.called}
    for part in message["parts"]:
        if part["part_kind"] == "tool-call" and part["tool_call_id"] in called:
            return f"the call {part['tool_call_id']} of {part['tool_name']}"
    text = normal("".join(str(part["content"]) for part in message["parts"] if part["part_kind"] == "text"))
    finished = any(normal(asked.said) == text for asked in whole)
    return text if text and not finished and normal(cut.said).startswith(text) else ""
