"""Stored conversations in three formats, some broken in known ways, which know nothing of what finds them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["BREAKAGES", "make_store", "ui_conversation"]

AT = "2025-01-20T{:02d}:{:02d}:{:02d}Z"
Conversation = Any


def _time(second: int) -> str:
    return AT.format(10 + second // 3600, second // 60 % 60, second % 60)


# ------------------------------------------------------------------------------------------------ what is right


def ui_conversation(number: int, turns: int = 3) -> Conversation:
    """Return UI messages: in each second answer a tool is called."""
    messages: list[Any] = []
    for turn in range(turns):
        said = {"type": "text", "text": f"How warm is it in town {number}, now {turn}?"}
        messages.append({"id": f"u{turn}", "role": "user", "parts": [said]})
        parts: list[Any] = [{"type": "step-start"}, {"type": "text", "text": "Let me look.", "state": "done"}]
        if turn % 2 == 0:
            call = {"type": "tool-weather", "toolCallId": f"c{number}-{turn}", "state": "output-available"}
            parts.append({**call, "input": {"town": number}, "output": {"degrees": turn}})
            parts += [{"type": "step-start"}, {"type": "text", "text": f"It is {turn} degrees.", "state": "done"}]
        messages.append({"id": f"a{turn}", "role": "assistant", "parts": parts})
    return messages


def pydantic_conversation(number: int, turns: int = 3) -> Conversation:
    """Return the same as Pydantic AI's messages."""
    messages: list[Any] = []

    def add(kind: str, *parts: Any) -> None:
        messages.append({"kind": kind, "timestamp": _time(len(messages)), "parts": list(parts)})

    for turn in range(turns):
        add("request", {"part_kind": "user-prompt", "content": f"How warm is it in town {number}, now {turn}?"})
        named = {"tool_name": "weather", "tool_call_id": f"c{number}-{turn}"}
        text = {"part_kind": "text", "content": "Let me look."}
        if turn % 2 == 0:
            add("response", text, {"part_kind": "tool-call", **named, "args": {"town": number}})
            add("request", {"part_kind": "tool-return", **named, "content": {"degrees": turn}, "outcome": "success"})
        add("response", {"part_kind": "text", "content": f"It is {turn} degrees."})
    return messages


def thread_conversation(number: int, turns: int = 3) -> Conversation:
    """Return the same as a thread."""
    second, made = 0, []

    def now() -> str:
        nonlocal second
        second += 1
        return _time(second)

    def message(kind: str, *parts: Any) -> Any:
        return {"message_type": kind, "timestamp": now(), "agent_id": "assistant", "parts": list(parts)}

    for turn in range(turns):
        prompt = {"part_kind": "user-prompt", "content": f"How warm is it in town {number}, now {turn}?"}
        made.append({"turn_type": "user", "submitted_at": now(), "parts": [prompt]})
        named = {"tool_name": "weather", "tool_call_id": f"c{number}-{turn}"}
        agent: Any = {"turn_type": "agent", "agent_id": "assistant", "completion_status": "complete"}
        agent |= {"started_at": now(), "messages": []}
        if turn % 2 == 0:
            text = {"part_kind": "text", "content": "Let me look."}
            agent["messages"].append(message("response", text, {"part_kind": "tool-call", **named, "args": {"a": 1}}))
            returned = {"part_kind": "tool-return", **named, "status": "success", "content": {"degrees": turn}}
            agent["messages"].append(message("request", returned))
        agent["messages"].append(message("response", {"part_kind": "text", "content": f"It is {turn} degrees."}))
        made.append({**agent, "completed_at": now()})
    registry = {"assistant": {"agent_id": "assistant", "agent_name": "Assistant", "created_at": _time(0)}}
    header = {"version": "0.0.4", "thread_id": f"t{number}", "created_at": _time(0), "updated_at": now()}
    return {**header, "agents": registry, "turns": made}


MAKERS: dict[str, Callable[[int], Conversation]] = {
    "ai-sdk": ui_conversation,
    "pydantic-ai": pydantic_conversation,
    "thread": thread_conversation,
}

# ------------------------------------------------------------------------------------------------ what is broken


def _call(parts: list[Any]) -> Any:
    return next(part for part in parts if "toolCallId" in part or part.get("part_kind") == "tool-call")


def _ui(change: Callable[[list[Any], list[Any], Any], None]) -> Callable[[Conversation], None]:
    """Break the first answer: the change gets the messages, the parts of the answer and its call."""
    return lambda messages: change(messages, messages[1]["parts"], _call(messages[1]["parts"]))


def _unanswer(call: Any) -> None:
    call["state"] = "input-available"
    call.pop("output")


def _first_turn(thread: Any) -> Any:
    return thread["turns"][1]


BREAKAGES: dict[str, tuple[str, str, Callable[[Conversation], None]]] = {
    "ui-call-unanswered": ("ai-sdk", "repaired", _ui(lambda _, __, call: _unanswer(call))),
    "ui-half-arguments": ("ai-sdk", "not repaired", _ui(lambda _, __, call: call.update(input='{"town": 1'))),
    "ui-invalid-json": (
        "ai-sdk",
        "not repaired",
        _ui(lambda _, __, call: call.update(input={"INVALID_JSON": '{"town'})),
    ),
    "ui-arguments-in-text": ("ai-sdk", "repaired", _ui(lambda _, __, call: call.update(input='{"town": 1}'))),
    "ui-unknown-state": ("ai-sdk", "repaired", _ui(lambda _, __, call: call.update(state="result"))),
    "ui-message-twice": ("ai-sdk", "repaired", lambda messages: messages.insert(1, copy.deepcopy(messages[0]))),
    "ui-call-twice": ("ai-sdk", "repaired", _ui(lambda _, parts, call: parts.insert(2, copy.deepcopy(call)))),
    "ui-empty-answer": ("ai-sdk", "repaired", lambda messages: messages[1].update(parts=[])),
    "ui-no-output": ("ai-sdk", "not repaired", _ui(lambda _, __, call: call.pop("output"))),
    "ui-role": ("ai-sdk", "not repaired", lambda messages: messages[1].update(role="bot")),
    "ui-still-streaming": (
        "ai-sdk",
        "repaired",
        _ui(lambda _, parts, __: parts[-1].update(state="streaming")),
    ),
    "pydantic-return-gone": ("pydantic-ai", "repaired", lambda messages: messages.pop(2)),
    "pydantic-call-gone": ("pydantic-ai", "not repaired", lambda messages: messages.pop(1)),
    "pydantic-return-late": ("pydantic-ai", "repaired", lambda messages: messages.insert(4, messages.pop(2))),
    "pydantic-return-twice": (
        "pydantic-ai",
        "repaired",
        lambda messages: messages[2]["parts"].append(copy.deepcopy(messages[2]["parts"][0])),
    ),
    "pydantic-message-twice": (
        "pydantic-ai",
        "repaired",
        lambda messages: messages.insert(1, copy.deepcopy(messages[0])),
    ),
    "pydantic-half-arguments": (
        "pydantic-ai",
        "not repaired",
        lambda messages: _call(messages[1]["parts"]).update(args='{"town'),
    ),
    "thread-return-gone": ("thread", "repaired", lambda thread: _first_turn(thread)["messages"].pop(1)),
    "thread-call-gone": ("thread", "not repaired", lambda thread: _first_turn(thread)["messages"].pop(0)),
    "thread-return-twice": (
        "thread",
        "repaired",
        lambda thread: _first_turn(thread)["messages"][1]["parts"].append(
            copy.deepcopy(_first_turn(thread)["messages"][1]["parts"][0])
        ),
    ),
    "thread-no-end": ("thread", "repaired", lambda thread: _first_turn(thread).pop("completed_at")),
    "thread-empty-message": ("thread", "repaired", lambda thread: _first_turn(thread)["messages"][2].update(parts=[])),
    "thread-version": ("thread", "not repaired", lambda thread: thread.update(version="0.9")),
    "cut-file": ("ai-sdk", "unreadable", lambda messages: messages.append("the file is cut here")),
}
"""Each way to break a conversation: its format, what `repair` can do about it, and the change."""


def make_store(folder: Path, number: int, *, seed: int = 7, broken: float = 0.05) -> dict[str, str]:
    """Write conversations in three formats into folders of their names; return how each broken one is broken."""
    chance = random.Random(seed)  # the same conversations each time
    wanted = max(len(BREAKAGES), round(number * broken))
    names = [list(BREAKAGES)[n % len(BREAKAGES)] for n in range(wanted)]
    of_format = {form: [name for name in names if BREAKAGES[name][0] == form] for form in MAKERS}
    truth = {}
    for position, (form, make) in enumerate(MAKERS.items()):
        (folder / form).mkdir(parents=True)
        count = number // 3 + (position < number % 3)
        places = dict(zip(chance.sample(range(count), len(of_format[form])), of_format[form], strict=True))
        for n in range(count):
            conversation = make(n)
            path = folder / form / f"{n:05}.json"
            if n in places:
                truth[f"{form}/{path.name}"] = places[n]
                BREAKAGES[places[n]][2](conversation)
            text = json.dumps(conversation)
            path.write_text(text[: len(text) // 2] if places.get(n) == "cut-file" else text, "utf-8")
    return truth
