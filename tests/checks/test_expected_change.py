"""A thread that departs from what its scenario expects names the one change that corrects it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tpharness.checks import Delivery, Evidence, Side
from tpharness.checks.expectations import EXPECTATIONS, find_mismatch
from tpharness.checks.expected_change import (
    change_of_findings,
    change_of_value,
    is_in_data,
)
from tpharness.checks.outline_change import find_line_mismatches, regrouping
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.versions import Version
from tpharness.scenario.records import Compare, Expectation

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
    "a turn is missing": (["user"], "keep this turn: its run came to its end, so that it is a turn, and complete"),
    "a turn too much": (
        ["user", "user", AGENT],
        "leave this turn out: what the user said is a turn of its own, once",
    ),
    "a response without parts": (
        ["user", AGENT.replace("complete: ", "complete: response() ")],
        "leave message 0, response(), out: a response without a complete part is not a message",
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
    assert change_of_value(thread(), right, "/turns/2", "(absent)", wanted) == f"keep the third turn: {sentence}"


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
    assert found.startswith(f"keep message 3 of the second turn: {sentence}")


def test_a_finding_that_is_not_expected_says_what_to_do_about_itself() -> None:
    """Its place, its words and its remedy, and not that two lists of codes are to be compared."""
    finding = Kind("approval-id-reused").at(Place(side="client", event=20), "'approval' is asked for 'c1' and for 'c2'")
    found = change_of_findings([finding], ["approval-id-reused"], [])
    assert found == f"client event 20, 'approval' is asked for 'c1' and for 'c2': {finding.kind.remedy}"


def test_a_finding_that_is_missing_says_what_the_scenario_plays() -> None:
    """The stream is right where the scenario has something wrong in it."""
    change = change_of_findings([], [], ["part-without-start"])
    assert change.startswith(f"report `part-without-start`: {Kind('part-without-start').title}")
    assert "there is no finding with the code no-such" in change_of_findings([], [], ["no-such"])


def test_a_return_where_a_call_is_expected_says_that_a_message_is_missing() -> None:
    """Arguments cannot be added to a return: the messages of the turn have moved up."""
    held = {"turns": [{"messages": [{"parts": [{"part_kind": "tool-return", "tool_call_id": "c1"}]}]}]}
    wanted = {"turns": [{"messages": [{"parts": [{"args": {"n": 1}}]}]}]}
    found = change_of_value(held, wanted, "/turns/0/messages/0/parts/0/args", "(absent)", {"n": 1})
    assert found.startswith(
        "keep every message of the first turn: message 0 begins with tool-return where its call is expected"
    )


def test_an_event_after_the_error_that_ended_its_turn_is_left_out_for_that() -> None:
    """It was stored once: what is wrong is that the run had failed before."""
    right = "agent interrupted error: response(text) event(data-tp-error)"
    (found,) = find_line_mismatches([f"{right} event(data-tp-error)"], [right])
    assert found.change.startswith("leave message 2, event(data-tp-error), out")
    assert found.change.endswith("and not after the error that ended that (R27)")


def test_equal_outlines_have_no_change() -> None:
    """There is nothing to correct."""
    assert find_line_mismatches(["user", AGENT], ["user", AGENT]) == []


def test_a_reason_is_named_as_a_reason() -> None:
    """Both are interrupted: the status is right."""
    (found,) = find_line_mismatches(["agent interrupted error"], ["agent interrupted user_cancelled"])
    assert found.change == (
        "an interruption has the reason that the server knows, its abort, error or limit, and a word of `abort` that "
        "clients do not know is user_cancelled (R27): "
        "interrupted user_cancelled, not interrupted error"
    )


RIGHT, WRONG = {"turns": [{"agent_id": "a"}]}, {"turns": [{"agent_id": "b"}]}


@pytest.mark.parametrize(
    ("server", "client", "truth", "said"),
    [
        (RIGHT, WRONG, None, True),
        (RIGHT, WRONG, RIGHT, False),
        (RIGHT, WRONG, WRONG, False),
        (WRONG, WRONG, None, False),
        (WRONG, RIGHT, None, False),
        (None, WRONG, None, False),
    ],
)
def test_the_stream_is_named_only_where_nobody_knows_what_it_had_to_say(
    server: Any, client: Any, truth: Any, said: bool
) -> None:
    """The client's thread alone is wrong, and nothing says what is made of its stream."""
    found = judged(client=Side(name="client", thread=client, truth=truth), server=server)
    assert len(found) == (client is WRONG) + (server is WRONG)
    assert all(("correct what the server sends" in one.advice) is said for one in found)


def judged(*, client: Side, server: Any = RIGHT) -> list[Finding]:
    """Return what is found where a scenario expects `RIGHT`, but for what was reported of events and streams."""
    piece = Evidence(
        case="a/b",
        version=Version.V2_0_0,
        mode=Compare.CONTENT,
        delivery=Delivery.WHOLE,
        server=None if server is None else Side(name="server", thread=server),
        client=client,
        expectation=Expectation(thread={Version.V2_0_0: RIGHT}),
    )
    return [one for one in EXPECTATIONS.judge(piece) if one.code == "expected-thread-differs"]


@pytest.mark.parametrize(
    ("byte", "line", "said"),
    [
        (0, b"\xef\xbb\xbfdata: {}", True),
        (128, b"\xef\xbb\xbfdata: {}", False),  # one inside is part of its line
        (0, b"date: {}", False),
    ],
)
def test_a_byte_order_mark_that_was_not_skipped_is_named(byte: int, line: bytes, said: bool) -> None:
    """The client reports the first line of its stream as one of a field that nobody knows, with the mark in it."""
    report = Kind("sse-unknown-field").at(Place(byte=byte, side="client"), got=line)
    (found,) = judged(client=Side(name="client", thread=WRONG, findings=(report,), truth=RIGHT))
    assert found.advice.startswith("skip the byte order mark (EF BB BF) at the beginning of the stream") is said
    mine, own = judged(client=Side(name="client", thread=WRONG, findings=(report,)), server=WRONG)
    assert "byte order mark" not in mine.advice, "the server's thread does not come of a stream"
    assert ("byte order mark" in own.advice) is said


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
        "keep message 2 of the second turn: ",
    ),
    "a field is missing": (
        lambda t: t["turns"][1]["messages"][2].pop("event_type"),
        'write `event_type` of message 2 of the second turn: "data-app-a"',
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
    assert found == (
        'write `tool_call_id`: "caf\\xe9", not "cafe\\u0301": '
        "an id is stored and compared whole, character by character"
    )


def test_a_value_that_is_wanted_absent_is_left_out() -> None:
    """A scenario writes null for a field that must not be there (R37)."""
    held, wanted = thread(source_agent="a"), thread(source_agent=None)
    miss = find_mismatch(held, wanted)
    assert miss is not None
    assert change_of_value(held, wanted, *miss) == (
        "leave `source_agent` a out: it is the agent that this event names, and no other event (R39)"
    )


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


CALL = "response(tool-call:c1)"
RETURN = "request(tool-return:c1)"
OUTLINES = {
    "two turns in one": (
        ["user", "agent complete: response(text) event(note)"],
        ["user", "agent complete: response(text)", "agent complete: event(note)"],
        "begin another turn at message 1, event(note): where another agent is named, by an id that is compared whole",
    ),
    "one turn as two": (
        ["user", f"agent complete: {CALL}", f"agent complete: {RETURN}"],
        ["user", f"agent complete: {CALL} {RETURN}"],
        f"go on in this turn with {RETURN}: a run is one turn as long as its agent is the same (R45)",
    ),
    "two responses in one": (
        [f"agent complete: response(tool-call:c1 text) {RETURN}"],
        [f"agent complete: {CALL} {RETURN} response(text)"],
        "put text into a response of its own, not into message 0: each call of the model is a response",
    ),
    "a request for each return": (
        ["agent complete: request(tool-return:c2) request(user-prompt) request(tool-return:c1)"],
        ["agent complete: request(user-prompt) request(tool-return:c1 tool-return:c2)"],
        "put tool-return:c1 tool-return:c2 into one request: the returns of a response are one request",
    ),
    "an event by another name": (
        ["agent complete: event(error) response(text)"],
        ["agent complete: event(app-error) response(text)"],
        "name message 0 `app-error`, not `error`: the protocol's own events have the names of this version",
    ),
    "a kind without its namespace": (
        ["agent complete: response(mock.thing text)"],
        ["agent complete: response(custom:mock.thing text)"],
        "in message 0 (response) write the part_kind of part 0 with its namespace: custom:mock.thing, not mock.thing",
    ),
    "a retry prompt without its call": (
        [f"agent complete: {CALL} request(retry-prompt)"],
        [f"agent complete: {CALL} request(retry-prompt:c1)"],
        "in message 1 (request) write the tool_call_id of part 0 (retry-prompt): c1, not (absent)",
    ),
    "many that are moved": (
        ["agent complete: event(b) event(c) event(a) response(text)"],
        ["agent complete: event(a) response(text) event(b) event(c)"],
        "put event(a) in the place of event(b), message 0, and so on: an event stands where it happened",
    ),
    "a turn of the user lost": (
        ["user", "agent complete", "agent complete: response(text)"],
        ["user", "agent complete", "user", "agent complete: response(file)", "user"],
        "keep this turn: what the user said is a turn of its own, once",
    ),
    "a turn that completed and did not": (
        ["user", "agent complete: response(text)"],
        ["user"],
        "leave this turn out: its run was cut or failed, so that it is not complete, and nothing in it had finished",
    ),
    "a turn of open calls": (
        ["user", "agent interrupted error: response(tool-call:c1)"],
        ["user"],
        "leave this turn out: a run in which nothing finished before it was cut is not stored, and a response",
    ),
    "a return that nobody gave": (
        ["user", f"agent interrupted error: {CALL} {RETURN}"],
        ["user"],
        "leave this turn out: a run in which nothing finished before it was cut is not stored; progress of a tool",
    ),
    "a result that counts as none": (
        ["user"],
        ["user", f"agent interrupted error: {CALL} {RETURN}"],
        f"keep this turn: a run is a turn, once something in it has finished: {CALL} {RETURN} had, since each call has",
    ),
    "a text that was finished": (
        ["user"],
        ["user", "agent interrupted error: response(text)"],
        "keep this turn: a run is a turn, once something in it has finished: response(text) had, which finished",
    ),
    "an event alone": (
        ["user"],
        ["user", "agent interrupted error: event(data-tp-error)"],
        "keep this turn: a run is a turn, also if an event of the protocol is all that was finished in it (R24)",
    ),
    "an event of the application alone": (
        ["user", "agent interrupted error: event(data-app-note)"],
        ["user"],
        "leave this turn out: a run in which nothing finished is not stored, and an event of the application does not",
    ),
    "open calls of a complete turn lost": (
        ["user", "agent complete"],
        ["user", f"agent complete: {CALL}"],
        f"keep {CALL} as message 0: a turn that completed has each response that finished, with its open calls (R30)",
    ),
}


@pytest.mark.parametrize("name", OUTLINES)
def test_items_in_another_turn_message_or_name_are_put_where_they_belong(name: str) -> None:
    """What merely stands elsewhere, or is called otherwise, is neither left out nor kept."""
    got, wanted, change = OUTLINES[name]
    (found,) = find_line_mismatches(got, wanted)
    assert found.change.startswith(change)


def test_a_version_without_interrupted_turns_says_so() -> None:
    """R18: the run was cut, and the version cannot say it."""
    (found,) = find_line_mismatches(["user", "agent complete: response(text)"], ["user"], interrupted=False)
    assert found.change == "leave this turn out: its run was cut, and this version has no interrupted turns (R18)"


def test_what_a_side_holds_in_other_turns_is_named_for_its_thread() -> None:
    """Where two threads are compared, merged and parted turns are one difference; others have words of their own."""
    one, two = ["user", "agent complete: response(text) event(n)"], ["agent complete: response(text)"]
    found = regrouping(one, ["user", *two, "agent complete: event(n)"])
    assert found.startswith("in the second turn begin another turn at message 1, event(n)")
    assert regrouping(one, ["user", *two]) == ""
    assert regrouping(one, one) == ""


def turns(*items: dict[str, Any]) -> dict[str, Any]:
    """Return a thread of these turns."""
    return {"turns": list(items)}


def said(text: str) -> dict[str, Any]:
    """Return a turn of the user."""
    return {"turn_type": "user", "parts": [{"part_kind": "user-prompt", "content": text}]}


def ran(*messages: dict[str, Any], agent: str = "a") -> dict[str, Any]:
    """Return a turn of an agent."""
    return {"turn_type": "agent", "agent_id": agent, "completion_status": "complete", "messages": list(messages)}


def response(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a response."""
    return {"message_type": "response", "parts": list(parts)}


def returns(*ids: str) -> dict[str, Any]:
    """Return the request with the returns of calls."""
    parts = [{"part_kind": "tool-return", "tool_call_id": one, "content": one} for one in ids]
    return {"message_type": "request", "parts": parts}


def text(content: str) -> dict[str, Any]:
    """Return a part."""
    return {"part_kind": "text", "content": content}


LISTS = {
    "what the user said twice": (
        turns(said("Hello?"), ran()),
        turns(said("Anybody?"), said("Hello?"), ran()),
        "keep the first turn: what the user said is a turn of its own, once",
    ),
    "the first turns": (
        turns(said("3"), ran()),
        turns(said("1"), ran(response(text("a"))), said("3"), ran()),
        "keep the first turn to the second one: what the user said is a turn of its own, once",
    ),
    "two agents in one turn": (
        turns(ran(response(text("a")), response(text("b")))),
        turns(ran(response(text("a"))), ran(response(text("b")), agent="A")),
        "begin another turn with message 1 of the first turn: each input of the user is a turn, each run is one",
    ),
    "two prompts in one turn": (
        turns({"turn_type": "user", "parts": [text("a"), text("b")]}),
        turns(said("a"), said("b")),
        "",
    ),
    "two responses in one": (
        turns(ran(response(text("a"), text("b")))),
        turns(ran(response(text("a")), {"message_type": "request", "parts": []}, response(text("b")))),
        "begin another message with part 1 of message 0: each call of the model is a response",
    ),
    "two texts in one": (
        turns(ran(response(text("onetwo")))),
        turns(ran(response(text("one"), text("two")))),
        "begin another part behind 3 characters of part 0: texts with a start and an end each are not joined (R13)",
    ),
    "a return that was not seen": (
        turns(ran(response(), returns("b"), response())),
        turns(ran(response(), returns("a", "b"), response())),
        "keep part 0 (a) of message 1 of the first turn: the returns of a response are kept with it, and the ids",
    ),
    "parts in another order": (
        turns(ran(response(text("b"), text("a")))),
        turns(ran(response(text("a"), text("b")))),
        "put part 1 of message 0 of the first turn at 0: parts stand in the order of their starts (R11)",
    ),
    "deltas in another block": (
        turns(ran(response(text("ab"), text("")))),
        turns(ran(response(text("b"), text("a")))),
        'put the deltas of part 1, "a", there and not into part 0: a delta belongs to the part whose id it has',
    ),
    "no delta in its block": (
        turns(ran(response(text(""), text("aX")))),
        turns(ran(response(text("a"), text("b")))),
        'put the deltas of part 0, "a", there and not into part 1: a delta belongs to the part whose id it has',
    ),
    "one value of many that are alike": (
        turns(ran({"message_type": "response", "finish_reason": "stop"}, {"message_type": "response"})),
        turns(ran({"finish_reason": "error"}, {"finish_reason": "stop"})),
        'write `finish_reason`: "error", not "stop": it is the word of the response\'s model call',
    ),
    "markup that was escaped": (
        turns(said("&lt;b&gt;")),
        turns(said("<b>")),
        "keep the text at `content` as it came: markup in it is text, and is not escaped",
    ),
    "halves of a character": (
        turns(said("a\ud83d\ude80")),
        turns(said("a\U0001f680")),
        "join the halves of a character in the text at `content`: two deltas may have one each (R43)",
    ),
    "characters that were replaced": (
        turns(said("a??b")),
        turns(said("a\U0001f680b")),
        "keep each character of the text at `content`: join the bytes and the halves of a character before decoding",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_item_that_is_lost_joined_or_elsewhere_is_named_before_a_value_in_its_place(name: str) -> None:
    """What stands where another item should is not corrected field by field."""
    held, wanted, change = LISTS[name]
    miss = find_mismatch(held, wanted)
    assert miss is not None
    found = change_of_value(held, wanted, *miss)
    assert found.startswith(change)
    assert found
