"""A thread that departs from what its scenario expects names the one change that corrects it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tpharness.checks.expectations import find_mismatch
from tpharness.checks.expected_change import (
    change_of_findings,
    change_of_value,
    find_line_mismatches,
    is_in_data,
)
from tpharness.findings import Kind, Place

AGENT = "agent complete: response(text tool-call:c1) request(tool-return:c1) event(note) response(text)"

LINES = {
    "a message is missing": (
        ["user", "agent complete: response(text tool-call:c1) request(tool-return:c1) response(text)"],
        "keep event(note) as message 2: an event that happened in a turn stays",
    ),
    "a message too much": (
        ["user", f"{AGENT} response(text)"],
        "leave message 4, response(text), out: a response is left out if it did not finish streaming",
    ),
    "a message at another place": (
        ["user", "agent complete: response(text tool-call:c1) event(note) request(tool-return:c1) response(text)"],
        "move event(note) from message 1 to message 2: an event stands where it happened",
    ),
    "a part is missing": (
        ["user", AGENT.replace("text tool-call", "tool-call")],
        "in message 0 (response) keep text as part 0: a part is kept if its end was seen",
    ),
    "a part too much": (
        ["user", AGENT.replace("tool-call:c1)", "tool-call:c1 tool-call:c2)")],
        "in message 0 (response) leave part 2, tool-call:c2, out: a part is kept if its end was seen",
    ),
    "parts in another order": (
        ["user", AGENT.replace("text tool-call:c1", "tool-call:c1 text")],
        "in message 0 (response) move tool-call:c1 from part 0 to part 1: parts stand in the order of their starts",
    ),
    "interrupted": (
        ["user", AGENT.replace("complete", "interrupted error")],
        "a turn is `interrupted` if its run was cut or failed, and `complete` otherwise: complete, not interrupted",
    ),
    "a turn is missing": (["user"], "keep this turn: a run is a turn, once something in it has finished"),
    "a turn too much": (
        ["user", "user", AGENT],
        "leave this turn out: what the user said is a turn of its own, once",
    ),
    "many differences": (["user", "agent complete: event(a) event(b)"], ""),
}


@pytest.mark.parametrize("name", LINES)
def test_the_change_of_an_outline(name: str) -> None:
    """A turn, message or part that is missing, too much or elsewhere is named, with the rule; else nothing is said."""
    got, change = LINES[name]
    (found,) = find_line_mismatches(got, ["user", AGENT])
    assert found.change.startswith(change)
    assert bool(found.change) == bool(change)


def test_returns_stand_in_the_order_of_their_calls() -> None:
    """R11 has another order for returns than for the parts of a response."""
    right = "agent complete: response(tool-call:c1 tool-call:c2) request(tool-return:c1 tool-return:c2)"
    (found,) = find_line_mismatches([right.replace("return:c1 tool-return:c2", "return:c2 tool-return:c1")], [right])
    assert found.change == (
        "in message 1 (request) move tool-return:c2 from part 0 to part 1: "
        "returns stand in the order of their calls (R11)"
    )


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"messages": [{}]}, "a run is a turn, once something in it has finished"),
        ({"parts": [{"content": "Go"}]}, "what the user said is a turn of its own, once"),
        ({"agent_id": "a"}, "a run is a turn, once something in it has finished"),
    ],
)
def test_a_turn_of_which_a_scenario_names_a_few_fields_is_kept_for_its_reason(
    wanted: dict[str, Any], sentence: str
) -> None:
    """What is wanted says what it is, also without its type; its JSON is not the reason."""
    right = {"turns": [{}, {}, wanted]}
    assert change_of_value(thread(), right, "/turns/2", "(absent)", wanted) == f"keep turn 2: {sentence}"


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"usage": {}}, "a response is kept if it finished streaming"),
        ({"parts": [{"part_kind": "tool-return"}]}, "the returns of a response are kept with it"),
        ({"event_data": 1}, "an event that happened in a turn stays"),
    ],
)
def test_a_message_of_which_a_scenario_names_a_few_fields_is_kept_for_its_reason(
    wanted: dict[str, Any], sentence: str
) -> None:
    """A message is known by the fields that only its kind has."""
    right = {"turns": [{}, {"messages": [{}, {}, {}, wanted]}]}
    found = change_of_value(thread(), right, "/turns/1/messages/3", "(absent)", wanted)
    assert found.startswith(f"keep message 3 of turn 1: {sentence}")


def test_a_finding_that_is_not_expected_says_what_to_do_about_itself() -> None:
    """Its place, its words and its remedy, and not that two lists of codes are to be compared."""
    finding = Kind("approval-id-reused").at(Place(side="client", event=20), "'approval' is asked for 'c1' and for 'c2'")
    found = change_of_findings([finding], ["approval-id-reused"], [])
    assert found == f"client event 20, 'approval' is asked for 'c1' and for 'c2': {finding.kind.remedy}"


def test_a_finding_that_is_missing_says_what_the_scenario_plays() -> None:
    """The stream is right where the scenario has something wrong in it."""
    assert change_of_findings([], [], ["part-without-start"]).startswith(Kind("part-without-start").title)
    assert "there is no finding with the code no-such" in change_of_findings([], [], ["no-such"])


def test_equal_outlines_have_no_change() -> None:
    """There is nothing to correct."""
    assert find_line_mismatches(["user", AGENT], ["user", AGENT]) == []


def test_a_reason_is_named_as_a_reason() -> None:
    """Both are interrupted: the status is right."""
    (found,) = find_line_mismatches(["agent interrupted error"], ["agent interrupted user_cancelled"])
    assert found.change == (
        "an interruption has the reason that the server knows: its abort, error or limit: "
        "interrupted user_cancelled, not interrupted error"
    )


def thread(**event: Any) -> dict[str, Any]:
    """Return a thread with a response, its return and an event."""
    call = {"part_kind": "tool-call", "tool_call_id": "c1", "args": {"n": 3000000000, "list": [1, None, 3]}}
    result = {"part_kind": "tool-return", "tool_call_id": "c1", "content": "x" * 300, "status": "success"}
    return {
        "turns": [
            {"turn_type": "user", "parts": [{"part_kind": "user-prompt", "content": "Go"}]},
            {
                "turn_type": "agent",
                "completion_status": "complete",
                "messages": [
                    {"message_type": "response", "timestamp": "2026-01-01T00:00:01Z", "parts": [call]},
                    {"message_type": "request", "timestamp": "2026-01-01T00:00:02Z", "parts": [result]},
                    {"message_type": "system", "event_type": "data-app-a", "event_data": {"a": None, "b": "é"}} | event,
                ],
            },
        ]
    }


Break = Callable[[dict[str, Any]], object]

VALUES: dict[str, tuple[Break, str]] = {
    "a key of data is lost": (
        lambda t: t["turns"][1]["messages"][2]["event_data"].pop("a"),
        "keep `a` in `event_data`, null: data is stored as it came, with every key and every null",
    ),
    "a key is added to data": (
        lambda t: t["turns"][1]["messages"][2]["event_data"].update(id="7"),
        'leave `id` in `event_data`, "7", out: nothing is added to data',
    ),
    "an item of a list in data is lost": (
        lambda t: t["turns"][1]["messages"][0]["parts"][0]["args"]["list"].pop(1),
        "keep the items of `list` in `args` as they came: 3, not 2, and the one at 1 is null",
    ),
    "a number of 32 bits": (
        lambda t: t["turns"][1]["messages"][0]["parts"][0]["args"].update(n=-1294967296),
        "keep the number at `n` in `args` as it came: 3000000000, not -1294967296, which is what 32 bits hold of it",
    ),
    "a number as a text": (
        lambda t: t["turns"][1]["messages"][0]["parts"][0]["args"].update(n="3000000000"),
        'keep `n` in `args` as it came: 3000000000, not "3000000000"',
    ),
    "a text that is cut": (
        lambda t: t["turns"][1]["messages"][1]["parts"][0].update(content="x" * 255),
        "keep the text at `content` whole: 255 of its 300 characters are there",
    ),
    "a letter in another form": (
        lambda t: t["turns"][1]["messages"][2]["event_data"].update(b="e\u0301"),
        "keep the text at `b` in `event_data` as it came: it is not normalised",
    ),
    "the time of a request": (
        lambda t: t["turns"][1]["messages"][1].update(timestamp="2026-01-01T00:00:01Z"),
        'the timestamp of a request of returns is that of its last return: "2026-01-01T00:00:02Z", not "2026',
    ),
    "a status": (
        lambda t: t["turns"][1]["messages"][1]["parts"][0].update(status="error"),
        'a return has the status that its tool reported: "success", not "error"',
    ),
    "a message is missing": (
        lambda t: t["turns"][1]["messages"].pop(2),
        "keep message 2 of turn 1: ",
    ),
    "a field is missing": (
        lambda t: t["turns"][1]["messages"][2].pop("event_type"),
        'write `event_type` of message 2 of turn 1: "data-app-a"',
    ),
    "the user's turn stands there": (
        lambda t: t["turns"].pop(1) and t["turns"].append({"turn_type": "user"}),
        'write `turn_type`: "agent", not "user"',
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_change_of_a_value(name: str) -> None:
    """What is lost, added or written otherwise is named with its place, the values of this case and the rule."""
    break_it, change = VALUES[name]
    held = thread()
    break_it(held)
    miss = find_mismatch(held, thread())
    assert miss is not None
    found = change_of_value(held, thread(), *miss)
    assert found.startswith(change)


def test_two_ids_that_look_alike_are_told_apart() -> None:
    """An accent that is a character of its own is shown as one."""
    pointer = "/turns/1/messages/1/parts/0/tool_call_id"
    found = change_of_value(thread(), thread(), pointer, "cafe\u0301", "caf\u00e9")
    assert found == 'write `tool_call_id`: "caf\\xe9", not "cafe\\u0301"'


def test_a_value_that_is_wanted_absent_is_left_out() -> None:
    """A scenario writes null for a field that must not be there (R37)."""
    held, wanted = thread(source_agent="a"), thread(source_agent=None)
    miss = find_mismatch(held, wanted)
    assert miss is not None
    assert change_of_value(held, wanted, *miss) == "leave `source_agent` a out"


@pytest.mark.parametrize(
    ("pointer", "in_data"),
    [
        ("/turns/1/messages/2/event_data/a", True),
        ("/turns/1/messages/1/parts/0/content", True),
        ("/turns/0/parts/0/content", False),
        ("/turns/1/messages/2/source_agent", False),
    ],
)
def test_null_is_a_value_in_data_alone(pointer: str, *, in_data: bool) -> None:
    """The result of a tool is data, and the text of the user is not."""
    assert is_in_data(thread(), pointer) is in_data
