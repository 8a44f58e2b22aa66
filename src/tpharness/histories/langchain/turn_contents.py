"""What a state keeps of each agent turn, read back from its messages.

Calls are found in a message's text only by the words that the reducer writes, so the same words written by a model are
read as a call, as any reader of the state would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from tpharness.histories.langchain.reducer import CALL_TEXT, HALF_CALL_TEXT, INTERRUPTED_CALL
from tpharness.histories.langchain.state import Message, blocks_of, kept_calls, text_of
from tpharness.histories.projections import CallContent, ResultContent, TurnContent, canonical_text

__all__ = ["turn_contents"]


def turn_contents(messages: Sequence[Message]) -> list[TurnContent]:
    """Return what is kept of each agent turn: one for each user message, and one for messages before the first.

    A state does not show where one run ends and the next begins without a user message between them.
    """
    turns: list[list[Message]] = [[]]
    for message in messages:
        if message["type"] == "human":
            turns.append([])
        elif message["type"] != "system":
            turns[-1].append(message)
    return [_turn_content(turn) for turn in (turns if turns[0] else turns[1:])]


def _turn_content(turn: Sequence[Message]) -> TurnContent:
    texts: list[str] = []
    thinking: list[str] = []
    signatures: list[str] = []
    calls: list[CallContent] = []
    interrupted = False
    for message in turn:
        if message["type"] != "ai":
            continue
        text, written, cut = _content(text_of(message))
        calls += _calls(written, kept_calls(message))
        thinking += [block["thinking"] for block in blocks_of(message, "thinking")]
        signatures += [block["signature"] for block in blocks_of(message, "thinking") if block.get("signature")]
        interrupted = interrupted or cut
        if text:
            texts.append(text)
    return TurnContent(
        texts=tuple(texts),
        thinking=tuple(thinking),
        signatures=tuple(signatures),
        calls=tuple(calls),
        results=tuple(_result(message) for message in turn if message["type"] == "tool"),
        interrupted=interrupted,
    )


def _content(content: str) -> tuple[str, list[str], bool]:
    """Return the text before the calls, the texts of the calls, and whether the content says it was interrupted.

    GAP-7: the prefix of a half call says this only of the call, not of the run.
    """
    cut = content.endswith(INTERRUPTED_CALL)
    content = content.removesuffix(INTERRUPTED_CALL)
    if content.startswith(HALF_CALL_TEXT):
        return "", [content.removeprefix(HALF_CALL_TEXT)], cut
    text, *written = content.split(CALL_TEXT)
    return text, written, cut


def _calls(written: Sequence[str], structured: Sequence[dict[str, Any]]) -> Iterator[CallContent]:
    """Match the texts of calls with the structured calls of the same arguments; a text alone has no name and id."""
    waiting = list(structured)
    for text in written:
        call = next((call for call in waiting if _same_arguments(text, call["args"])), None)
        if call is None:
            yield CallContent(call_id=None, name=None, arguments=text)
        else:
            waiting.remove(call)
            yield CallContent(call_id=call["id"], name=call["name"], arguments=text)
    for call in waiting:
        yield CallContent(call_id=call["id"], name=call["name"], arguments=canonical_text(call["args"]))


def _same_arguments(text: str, args: Any) -> bool:
    if isinstance(args, str):  # an invalid call contains the text itself
        return text == args
    try:
        return bool(json.loads(text or "{}") == args)
    except (ValueError, RecursionError):
        return False


def _result(message: Message) -> ResultContent:
    outcome: Literal["success", "error"] = "error" if message["data"].get("status") == "error" else "success"
    return ResultContent(call_id=message["data"]["tool_call_id"], outcome=outcome, content=text_of(message))
