"""What the rest of a thread says of a difference is in the advice: the field, and the ruling that decides."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tpharness.checks.contract import Side
from tpharness.checks.thread_change import change_of_threads
from tpharness.protocol.diff import diff

Thread = dict[str, Any]
Change = Callable[[Thread], object]


def thread() -> Thread:
    """Return a thread of a run that called a tool, which refused the arguments, and was interrupted by an error."""
    call = {"part_kind": "tool-call", "tool_name": "book", "tool_call_id": "c1", "args": {"n": 1}}
    refusal = {"part_kind": "tool-return", "tool_name": "book", "tool_call_id": "c1", "content": "no n"}
    return {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": "2026-01-01T00:00:00Z",
        "turns": [
            {
                "turn_type": "user",
                "parts": [{"part_kind": "user-prompt", "content": "Book."}],
                "submitted_at": "2026-01-01T00:00:00Z",
            },
            {
                "turn_type": "agent",
                "agent_id": "a",
                "started_at": "2026-01-01T00:00:01Z",
                "completion_status": "interrupted",
                "interruption": {"reason": "error", "interrupted_at": "2026-01-01T00:00:05Z"},
                "messages": [
                    {"message_type": "response", "timestamp": "2026-01-01T00:00:02Z", "parts": [call]},
                    {
                        "message_type": "request",
                        "timestamp": "2026-01-01T00:00:03Z",
                        "parts": [refusal | {"status": "validation_error"}],
                    },
                    event("data-tp-error", "2026-01-01T00:00:05Z"),
                ],
            },
        ],
    }


def event(name: str, at: str) -> Thread:
    """Return an event with its time."""
    return {"message_type": "system", "timestamp": at, "event_type": name, "event_data": {"error": name}}


def output(call_id: str) -> Thread:
    """Return what the provider's search has found."""
    return {"part_kind": "builtin-tool-return", "tool_name": "search", "tool_call_id": call_id, "content": "found"}


def messages(one: Thread) -> list[Any]:
    """Return the messages of the agent's turn."""
    found: list[Any] = one["turns"][1]["messages"]
    return found


def advise(wrong: Thread, right: Thread, name: str = "client") -> str:
    """Return what is said of the first difference."""
    other = "server" if name == "client" else "client"
    first = diff(right, wrong, names=(other, name), mode="exact")[0]
    return change_of_threads(Side(name=name, thread=wrong), Side(name=other, thread=right), first)


WRONG: dict[str, tuple[Change, str]] = {
    "the input of a refusal overwrites that of its call": (
        lambda t: messages(t)[0]["parts"][0].update(args=None),
        (
            'keep the input with which the call became available: `args` {"n": 1}, not null: a `tool-input-error` '
            "behind it answers the call, and its `input` changes nothing (R22, R36)"
        ),
    ),
    "an event behind the error is kept": (
        lambda t: messages(t).append(event("data-app-x", "2026-01-01T00:00:07Z")),
        (
            "leave system(data-app-x) out of the client's thread: it came after the error that interrupted the turn, "
            "and what comes after an error counts only if a `finish` follows that does not say `error` (R27)"
        ),
    ),
    "an output stays whose call was taken back": (
        lambda t: messages(t)[0]["parts"].append(output("b1")),
        (
            'leave builtin-tool-return b1 "found" out of the client\'s thread: no call has the `tool_call_id` b1; an '
            "output goes with its call, and where that was taken back (`reset-step`) or dropped its id names none "
            "(R42, R36)"
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_rest_of_the_thread_says_why(name: str) -> None:
    """The field is named, what changes nothing, and the ruling."""
    change, sentence = WRONG[name]
    wrong = deepcopy(thread())
    change(wrong)
    assert advise(wrong, thread()) == sentence


ELSEWHERE: dict[str, tuple[Change, Change]] = {
    "a number of a refused call": (lambda t: messages(t)[0]["parts"][0].update(args={"n": 2}), lambda _: None),
    "arguments of a call that was not refused": (
        lambda t: messages(t)[0]["parts"][0].update(args=None),
        lambda t: messages(t)[1]["parts"][0].update(status="success"),
    ),
    "an event before the error": (
        lambda t: messages(t).insert(2, event("data-app-x", "2026-01-01T00:00:04Z")),
        lambda _: None,
    ),
    "an event behind the error of a run that went on": (
        lambda t: messages(t).append(event("data-app-x", "2026-01-01T00:00:07Z")),
        lambda t: t["turns"][1].update(completion_status="complete", interruption=None),
    ),
    "a second output of a call": (
        lambda t: messages(t)[0]["parts"].append(output("b1")),
        lambda t: messages(t)[0]["parts"].append({**output("b1"), "part_kind": "builtin-tool-call", "args": {}}),
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_nothing_is_guessed_of_another_mistake(name: str) -> None:
    """What looks alike has the advice of its difference alone."""
    change, ground = ELSEWHERE[name]
    right = thread()
    ground(right)
    wrong = deepcopy(right)
    change(wrong)
    assert advise(wrong, right) == ""
