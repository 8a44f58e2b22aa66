"""What a state holds, read back from its messages.

Calls are told from the text around them by the words that the reducer writes, which is all there is: a model that
writes those words itself is taken by them, as it would be by anybody who reads the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from tpharness.histories.langchain.reducer import CALL_TEXT, HALF_CALL_TEXT, INTERRUPTED_CALL
from tpharness.histories.langchain.state import Message, ai_calls
from tpharness.histories.projections import HeldCall, HeldResult, Holdings

__all__ = ["turn_holdings"]


def turn_holdings(messages: Sequence[Message]) -> list[Holdings]:
    """Return what is held of each agent turn: one a user's message, and one before the first if anything stands there.

    A state does not say where one run ends and the next begins without a user's message between them.
    """
    turns: list[list[Message]] = [[]]
    for message in messages:
        if message["type"] == "human":
            turns.append([])
        else:
            turns[-1].append(message)
    return [_holdings(turn) for turn in (turns if turns[0] else turns[1:])]


def _holdings(turn: Sequence[Message]) -> Holdings:
    texts: list[str] = []
    calls: list[HeldCall] = []
    interrupted = False
    for message in turn:
        if message["type"] != "ai":
            continue
        text, written, cut = _content(message["data"]["content"])
        calls += _calls(written, ai_calls(message))
        interrupted = interrupted or cut
        if text:
            texts.append(text)
    return Holdings(
        texts=tuple(texts),
        calls=tuple(calls),
        results=tuple(_result(message["data"]) for message in turn if message["type"] == "tool"),
        interrupted=interrupted,
    )


def _content(content: str) -> tuple[str, list[str], bool]:
    """Return the text before the calls, the texts of the calls, and whether they are said to be interrupted.

    GAP-7: the words before a half call say so of the call alone, not of the run.
    """
    cut = content.endswith(INTERRUPTED_CALL)
    content = content.removesuffix(INTERRUPTED_CALL)
    if content.startswith(HALF_CALL_TEXT):
        return "", [content.removeprefix(HALF_CALL_TEXT)], cut
    text, *written = content.split(CALL_TEXT)
    return text, written, cut


def _calls(written: Sequence[str], structured: Sequence[dict[str, Any]]) -> Iterator[HeldCall]:
    """Join the texts of calls with the structured calls that mean the same; a text alone has neither name nor id."""
    waiting = list(structured)
    for text in written:
        call = next((call for call in waiting if _says(text, call["args"])), None)
        if call is None:
            yield HeldCall(call_id=None, name=None, arguments=text)
        else:
            waiting.remove(call)
            yield HeldCall(call_id=call["id"], name=call["name"], arguments=text)
    for call in waiting:
        yield HeldCall(call_id=call["id"], name=call["name"], arguments=_canonical(call["args"]))


def _says(text: str, args: Any) -> bool:
    if isinstance(args, str):  # an invalid call holds the text itself
        return text == args
    try:
        return bool(json.loads(text or "{}") == args)
    except (ValueError, RecursionError):
        return False


def _canonical(args: Any) -> str:
    return (
        args if isinstance(args, str) else json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )


def _result(data: dict[str, Any]) -> HeldResult:
    outcome: Literal["success", "error"] = "error" if data.get("status") == "error" else "success"
    return HeldResult(call_id=data["tool_call_id"], outcome=outcome, content=data["content"])
