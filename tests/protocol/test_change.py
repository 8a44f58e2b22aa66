"""A departure names the one change that removes it: side, what, values of this case, and why."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tpharness.protocol.change import change_for, rule_for, stream_change_for
from tpharness.protocol.diff import diff

Thread = dict[str, Any]


def thread() -> Thread:
    """Return a thread in which a question was answered by a call and a text."""
    call = {"part_kind": "tool-call", "tool_name": "book", "tool_call_id": "c1", "args": {"city": "Paris"}}
    result = {
        "part_kind": "tool-return",
        "tool_name": "book",
        "tool_call_id": "c1",
        "content": "booked",
        "status": "success",
    }
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
                "completion_status": "complete",
                "completed_at": "2026-01-01T00:00:09Z",
                "messages": [
                    {"message_type": "response", "timestamp": "2026-01-01T00:00:02Z", "parts": [call]},
                    {"message_type": "request", "timestamp": "2026-01-01T00:00:04Z", "parts": [result]},
                    {
                        "message_type": "response",
                        "timestamp": "2026-01-01T00:00:05Z",
                        "parts": [
                            {"part_kind": "thinking", "content": "Fine.", "provider_name": "p"},
                            {"part_kind": "text", "content": "Done: it is booked."},
                        ],
                    },
                ],
            },
        ],
    }


def messages(one: Thread) -> list[Any]:
    """Return the messages of the agent's turn."""
    found: list[Any] = one["turns"][1]["messages"]
    return found


Change = Callable[[Thread], object]


def answer_again(one: Thread) -> None:
    """Put an output of the provider into the last response, whose call has another one."""
    part = {"part_kind": "builtin-tool-return", "tool_name": "search", "tool_call_id": "ws1", "content": {"hits": 5}}
    messages(one)[2]["parts"].append(part)


CASES: dict[str, tuple[Change, str]] = {
    "a second output of the provider": (
        answer_again,
        'leave builtin-tool-return ws1 {"hits": 5} out of the server\'s thread: its call has another return already',
    ),
    "a response lacks": (
        lambda t: messages(t).pop(2),
        'keep response(thinking "Fine.", text "Done: it is booked.") in the server\'s thread: it had finished',
    ),
    "a request lacks": (
        lambda t: messages(t).pop(1),
        'keep request(tool-return c1 "booked") in the server\'s thread: these are the returns of the response',
    ),
    "a part lacks": (
        lambda t: messages(t)[2]["parts"].pop(0),
        'keep thinking "Fine." in the server\'s thread: its end was seen before its response had finished',
    ),
    "a response too many": (
        lambda t: messages(t).append({**messages(t)[2], "parts": [{"part_kind": "text", "content": "Half an"}]}),
        'leave response(text "Half an") out of the server\'s thread: it had not finished streaming',
    ),
    "an event too many": (
        lambda t: messages(t).append(
            {"message_type": "system", "event_type": "data-app-x", "timestamp": "2026-01-01T00:00:06Z"}
        ),
        "leave system(data-app-x) out of the server's thread: no such event happened in the turn",
    ),
    "a time": (
        lambda t: messages(t)[2].update(timestamp="2026-01-01T00:00:08Z"),
        "a response's timestamp is its start: 2026-01-01T00:00:05Z, not 2026-01-01T00:00:08Z",
    ),
    "a time of returns": (
        lambda t: messages(t)[1].update(timestamp="2026-01-01T00:00:03Z"),
        (
            "the timestamp of a request of returns is that of its last return: "
            "2026-01-01T00:00:04Z, not 2026-01-01T00:00:03Z"
        ),
    ),
    "a text": (
        lambda t: messages(t)[2]["parts"][1].update(content="Done: it is"),
        'the content is what the events or chunks said, whole and in their order: "Done: it is booked.", not "Done:',
    ),
    "arguments": (
        lambda t: messages(t)[0]["parts"][0].update(args='{"city": "Paris"}'),
        "arguments are the parsed JSON value, and text where they are not JSON: ",
    ),
    "a field lacks": (
        lambda t: t["turns"][1].pop("completed_at"),
        (
            "keep `completed_at` 2026-01-01T00:00:09Z in the server's thread: "
            "a complete turn has the time of its end, and an interrupted one has none"
        ),
    ),
    "arguments of equal keys": (
        lambda t: messages(t)[0]["parts"][0].update(args={"city": "Rome"}),
        "arguments are the parsed JSON value, and text where they are not JSON: the deltas of a call are joined",
    ),
    "an argument lacks": (
        lambda t: messages(t)[0]["parts"][0]["args"].clear(),
        "keep `city` Paris in the server's thread: arguments are the parsed JSON value, and text where they are not",
    ),
    "a text with another behind it": (
        lambda t: messages(t)[2]["parts"][1].update(content="Done: it is booked.More"),
        'end it behind 19 characters: "More" is not of this part, since a start begins another one',
    ),
    "a name": (
        lambda t: messages(t)[1]["parts"][0].update(tool_name="Book"),
        "write `tool_name` as the other side has it: book, not Book: the name of a tool is stored as it came",
    ),
    "a result as its text": (
        lambda t: messages(t)[1]["parts"][0].update(content='"booked"'),
        (
            "the content is what the events or chunks said, whole and in their order; "
            "a preliminary output is not a result (R14): "
        ),
    ),
    "a turn that ended lacks": (
        lambda t: t["turns"].pop(1),
        "keep response(",
    ),
    "a source of what was taken back": (
        lambda t: messages(t).append(
            {"message_type": "system", "event_type": "data-source.url", "timestamp": "2026-01-01T00:00:08Z"}
        ),
        "leave system(data-source.url) out of the server's thread: a source goes with its response",
    ),
    "the order of parts": (
        lambda t: messages(t)[2]["parts"].reverse(),
        "put the parts of the server's thread in the order in which they started",
    ),
    "a turn lacks": (
        lambda t: t["turns"].pop(0),
        'keep user-prompt "Book." in the server\'s thread: what the user said',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_departure_names_its_change(name: str) -> None:
    """The right thread is the client's; the sentence is about the server's."""
    change, sentence = CASES[name]
    wrong = deepcopy(thread())
    change(wrong)
    first, *_ = diff(wrong, thread(), names=("server", "client"))
    assert change_for(first, wrong="server", right="client").startswith(sentence)


def test_a_message_at_another_place_is_moved() -> None:
    """By the places that it has and should have, whichever side comes first."""
    wrong = thread()
    system = {"message_type": "system", "event_type": "data-app-x", "timestamp": "2026-01-01T00:00:03Z"}
    right = thread()
    messages(right).insert(1, system)
    messages(wrong).append(system)
    found = [
        change_for(one, wrong="server", right="client")
        for one in (*diff(wrong, right, names=("server", "client")), *diff(right, wrong, names=("client", "server")))
    ]
    assert found == ["move it from place 3 to place 1 in the server's thread: messages stand in order of time"] * 2


STREAMS: dict[str, tuple[Change, str]] = {
    "the reason is not sent": (
        lambda t: t["turns"][1].update(
            interruption={"reason": "user_cancelled", "interrupted_at": "2026-01-01T00:00:09Z"}
        ),
        "have the stream say `reason` timeout, not user_cancelled: the end of the stream says why",
    ),
    "a delta is lost": (
        lambda t: messages(t)[2]["parts"][1].update(content="Done: "),
        'have the stream say `content` "Done: it is booked.", not "Done: ": everything that the server stores is sent',
    ),
    "an output is not sent": (
        lambda t: messages(t).pop(1),
        'send request(tool-return c1 "booked"), which is in the server\'s thread: an output, or an error',
    ),
    "the end of a text is not sent": (
        lambda t: messages(t)[2]["parts"].pop(1),
        'send text "Done: it is booked.", which is in the server\'s thread: its start, all of its deltas, and its end',
    ),
    "a field has no carrier": (
        lambda t: messages(t)[2]["parts"][0].pop("provider_name"),
        "send `provider_name` p, which is in the server's thread: a carrier says it",
    ),
    "something is sent that is not stored": (
        lambda t: messages(t)[2]["parts"].append({"part_kind": "text", "content": "Half an"}),
        'do not send text "Half an", which is not in the server\'s thread',
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_says_something_else_is_what_changes(name: str) -> None:
    """The server's thread is right: what a client makes of its stream is what was sent, and nothing to be followed."""
    change, sentence = STREAMS[name]
    right = thread()
    right["turns"][1]["interruption"] = {"reason": "timeout", "interrupted_at": "2026-01-01T00:00:09Z"}
    sent = deepcopy(right)
    change(sent)
    first, *_ = diff(right, sent, names=("server", "client"))
    assert stream_change_for(first, server="server", client="client").startswith(sentence)


def test_a_stream_that_finishes_a_run_that_was_cut_ends_otherwise() -> None:
    """The client has a complete turn, which the server does not keep, since nothing in it had finished."""
    right = thread()
    sent = deepcopy(right)
    sent["turns"].append({"turn_type": "agent", "agent_id": "a", "messages": [], "completion_status": "complete"})
    first, *_ = diff(right, sent, names=("server", "client"))
    assert stream_change_for(first, server="server", client="client") == (
        "end the stream as the run did: it says that the run completed, "
        "so that a client has the complete turn without messages"
    )


def test_a_run_that_was_cut_is_not_complete() -> None:
    """A server that completes it has a turn that nobody else has."""
    wrong = thread()
    wrong["turns"].append({"turn_type": "agent", "agent_id": "a", "messages": [], "completion_status": "complete"})
    first, *_ = diff(wrong, thread(), names=("server", "client"))
    assert change_for(first, wrong="server", right="client") == (
        "leave the complete turn without messages out of the server's thread: "
        "its run was cut, or a filter ended it: it is interrupted, and stored if something had finished"
    )


def test_an_interrupted_turn_with_an_open_call_says_which_one() -> None:
    """R21: one return is not enough, and what had finished is not why the turn goes."""
    calls: list[Any] = [
        {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": one, "args": {}} for one in ("c8", "c9")
    ]
    returned = {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c8", "content": 1, "status": "success"}
    wrong = thread()
    wrong["turns"].append(
        {
            "turn_type": "agent",
            "agent_id": "a",
            "completion_status": "interrupted",
            "messages": [
                {"message_type": "response", "parts": calls},
                {"message_type": "request", "parts": [returned]},
            ],
        }
    )
    first, *_ = diff(wrong, thread(), names=("server", "client"))
    assert change_for(first, wrong="server", right="client").endswith(
        "call c9 had no return when the run was cut, so that the response and its returns go (R21)"
    )


def test_a_turn_that_came_to_its_end_is_kept_whatever_came_after() -> None:
    """R26, R27: neither a cut after the end nor a filter of an earlier response interrupts it."""
    wrong = thread()
    wrong["turns"].pop(1)
    first, *_ = diff(wrong, thread(), names=("server", "client"))
    assert change_for(first, wrong="server", right="client").endswith(
        "its run came to its end: a cut after it, or a filter or error of others, changes nothing (R27)"
    )


def test_returns_in_another_order_stand_in_that_of_their_calls() -> None:
    """R11: a return does not start."""
    right = thread()
    second = {
        "part_kind": "tool-return",
        "tool_name": "book",
        "tool_call_id": "c2",
        "content": "x",
        "status": "success",
    }
    messages(right)[1]["parts"].append(second)
    wrong = deepcopy(right)
    messages(wrong)[1]["parts"].reverse()
    first, *_ = diff(wrong, right, names=("server", "client"))
    assert change_for(first, wrong="server", right="client") == (
        "put the returns of the server's thread in the order of their calls (R11)"
    )


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (
            lambda t: messages(t)[0].update(timestamp="2026-01-01T00:00:02.5Z"),
            "a response's timestamp is its start; the server has",
        ),
        (lambda t: messages(t)[1]["parts"][0].pop("status"), "one of both is wrong about `status` success"),
        (lambda t: messages(t).pop(1), 'keep request(tool-return c1 "booked") in the server\'s thread if these are'),
    ],
)
def test_where_nobody_knows_which_side_is_right_the_rule_and_both_values_are_named(
    break_it: Change, sentence: str
) -> None:
    """Where both sides are the reference nothing else decides; the advice was to start with the first difference."""
    one = thread()
    break_it(one)
    first, *_ = diff(one, thread(), names=("server", "client"))
    assert rule_for(first, ("server", "client")).startswith(sentence)


def test_a_null_that_a_tool_returned_is_kept_whoever_lost_it() -> None:
    """It is a result as any other: the side that has it is right."""
    kept = thread()
    messages(kept)[1]["parts"][0]["content"] = None
    lost = deepcopy(kept)
    del messages(lost)[1]["parts"][0]["content"]
    first, *_ = diff(lost, kept, names=("server", "client"))
    assert rule_for(first, ("server", "client")) == (
        "keep `content` null in the server's thread: null is what the tool returned (R22)"
    )
