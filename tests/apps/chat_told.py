"""What the chat application of the tests makes of its messages before it tells them to its model, right and wrong.

In: messages of Chat Completions without the system prompt. Out: such messages.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def swap_results(messages: list[Json]) -> None:
    """Give each result the content of another: of the last the first, of the last but one the second."""
    answers = [message for message in messages if message["role"] == "tool"]
    contents = [message["content"] for message in answers]
    for message, content in zip(answers, reversed(contents), strict=True):
        message["content"] = content


def renamed(message: Json) -> Json:
    """Return a message with the names of its calls in capitals."""
    calls = message.get("tool_calls", ())
    named = [{**call, "function": {**call["function"], "name": call["function"]["name"].upper()}} for call in calls]
    return {**message, "tool_calls": named} if named else message


def late(messages: list[Json], half: set[int]) -> list[Json]:
    """Return the messages, those of `half` behind the message of the user that follows them."""
    told: list[Json] = []
    waiting: list[Json] = []
    for index, message in enumerate(messages):
        if index in half and index + 1 < len(messages):
            waiting.append(message)
            continue
        told.append(message)
        if message["role"] == "user":
            told += waiting
            waiting = []
    return [*told, *waiting]


def merged(messages: list[Json]) -> list[Json]:
    """Return the messages with those of the user that follow each other made one."""
    merged: list[Json] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"] == "user":
            merged[-1] = {"role": "user", "content": f"{merged[-1]['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def reordered(messages: list[Json]) -> list[Json]:
    """Return the messages with the calls of each message, and the results behind it, in the opposite order."""
    turned: list[Json] = []
    results: list[Json] = []
    for message in [*messages, {"role": "end"}]:
        if message["role"] == "tool":
            results.insert(0, message)
            continue
        turned += results
        results = []
        calls = message.get("tool_calls")
        turned.append({**message, "tool_calls": calls[::-1]} if calls else message)
    return turned[:-1]


def without_words(message: Json) -> Json:
    """Return a message without its text, if it has calls."""
    return {**message, "content": None} if message.get("tool_calls") else message


def calls_again(messages: list[Json]) -> list[Json]:
    """Return the messages, and behind the results of each run its calls and results once more, under other ids."""
    told: list[Json] = []
    calls: list[Json] = []
    results: list[Json] = []
    for message in [*messages, {"role": "end"}]:
        if message["role"] == "tool":
            results.append({**message, "tool_call_id": f"{message['tool_call_id']}_again"})
        elif results:
            again = [{**call, "id": f"{call['id']}_again"} for call in calls]
            told += [{"role": "assistant", "content": None, "tool_calls": again}, *results]
            results = []
        calls = message.get("tool_calls", calls)
        told.append(message)
    return told[:-1]


def last_whole(messages: list[Json], count: int) -> list[Json]:
    """Return at most so many of the last messages, beginning with one of the user; the last turn is always whole."""
    starts = [index for index, message in enumerate(messages) if message["role"] == "user"]
    return messages[next((index for index in starts if len(messages) - index <= count), starts[-1]) :]


def last_before(messages: list[Json], count: int) -> list[Json]:
    """Return the last turn, and so many messages in front of it, whatever they begin with."""
    turn = max(index for index, message in enumerate(messages) if message["role"] == "user")
    return messages[max(0, turn - count) :]


def last_without_question(messages: list[Json], count: int) -> list[Json]:
    """Return so many of the last messages, without results whose call is not among them."""
    told = messages[-count:]
    while told[0]["role"] == "tool":
        told = told[1:]
    return told


def cleared(messages: list[Json]) -> list[Json]:
    """Return the messages, with a word in place of each result of an earlier turn."""
    turn = max(index for index, message in enumerate(messages) if message["role"] == "user")
    old = (message["role"] == "tool" and index < turn for index, message in enumerate(messages))
    return [{**m, "content": "[cleared]"} if is_old else m for m, is_old in zip(messages, old, strict=True)]


def without_calls(messages: list[Json]) -> list[Json]:
    """Return the messages without the calls of earlier turns and their results."""
    turn = max(index for index, message in enumerate(messages) if message["role"] == "user")
    old = [
        {"role": m["role"], "content": m["content"]} for m in messages[:turn] if m["role"] != "tool" and m["content"]
    ]
    joined: list[Json] = []
    for message in old:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += f" {message['content']}"
        else:
            joined.append(message)
    return [*joined, *messages[turn:]]


def joined_texts(messages: list[Json]) -> list[Json]:
    """Return the messages, with the texts of a run in its first message of the assistant."""
    told: list[Json] = []
    first: Json | None = None
    for message in messages:
        if message["role"] == "user":
            first = None
        elif message["role"] == "assistant":
            if first is not None:
                first["content"] = f"{first['content']} {message['content']}"
                continue
            first = dict(message)
            told.append(first)
            continue
        told.append(message)
    return told
