"""What the writer of a journal knows of calls when a turn is cut, and that this takes no more than the turn has."""

from __future__ import annotations

import copy
import random
import tracemalloc
from typing import Any

import pytest

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal.writer import JournalWriter
from tpharness.protocol.versions import Version
from tpharness.readings import Readings

AT = "2025-01-20T10:00:00Z"
IDS = ("a", "b", "c")


def call(writer: JournalWriter, kind: str, call_id: str) -> None:
    """Record a part that is complete at once."""
    writer.add_part(kind, {"tool_name": "t", "tool_call_id": call_id, "args": {}})


def do_something(writer: JournalWriter, chance: random.Random) -> None:
    """Record what a server could do next: a response, a call of either kind, a return, what is taken back."""
    call_id = chance.choice(IDS)
    match chance.choice(("response", "call", "call", "provider", "provider's return", "return", "return", "reset")):
        case "call" if writer.response_open:
            call(writer, "tool-call", call_id)
        case "provider" if writer.response_open:
            call(writer, "builtin-tool-call", call_id)
        case "provider's return" if writer.response_open and writer.provider_calls.get(call_id) is not None:
            call(writer, "builtin-tool-return", call_id)
        case "return" if writer.call_key(call_id) is not None and not writer.has_return(call_id):
            writer.add_return(call_id, "tool-return", {"tool_call_id": call_id, "content": 1}, AT)
        case "reset" if writer.response_open:
            writer.reset_response()
        case _:
            writer.finish_response()
            writer.begin_response(AT)


def known(writer: JournalWriter) -> list[Any]:
    """Return all that can be asked of the writer about calls."""
    calls = writer.provider_calls
    provider = [(part and part.fields, part is not None and calls.answered(i)) for i in IDS for part in (calls.get(i),)]
    own = [(writer.call_key(i), writer.has_return(i), writer.tool_name(i)) for i in IDS]
    return [own, writer.waiting_calls, provider, calls.waiting, writer.journal()]


@pytest.mark.parametrize("seed", range(200))
def test_what_comes_after_an_error_changes_nothing_of_a_turn_that_it_ends(seed: int) -> None:
    """R27: a writer that was cut at the error, by a copy of it, knows the same of each call; so does the next turn."""
    chance = random.Random(seed)  # noqa: S311  # made again from its number
    writer = JournalWriter()
    for _ in range(3):
        writer.begin_turn("agent", AT)
        for _ in range(chance.randrange(8)):
            do_something(writer, chance)
        if chance.random() < 0.2:
            writer.complete_turn(AT)
            continue
        cut = copy.deepcopy(writer)
        cut.interrupt_turn("error", AT)
        writer.hold_interruption("error", AT)
        for _ in range(chance.randrange(8)):
            do_something(writer, chance)
        if chance.random() < 0.3:
            writer.complete_turn(AT)
        else:
            writer.interrupt_turn("error", AT)
            assert known(writer) == known(cut)


@pytest.mark.parametrize("held", [False, True])
def test_a_cut_takes_no_more_of_a_long_thread(held: bool) -> None:
    """Whoever copies the calls of all turns at each cut takes time in proportion to their square."""
    writer = JournalWriter()
    most = []
    for number in range(4_000):
        writer.begin_turn("agent", AT)
        writer.begin_response(AT)
        call(writer, "tool-call", f"c{number}")
        call(writer, "builtin-tool-call", f"p{number}")
        call(writer, "builtin-tool-return", f"p{number}")
        writer.finish_response()
        writer.add_return(f"c{number}", "tool-return", {"tool_call_id": f"c{number}", "content": 1}, AT)
        if number % 2:
            writer.complete_turn(AT)
            continue
        if number > 3_900:
            tracemalloc.start()
        if held:
            writer.hold_interruption("error", AT)
        writer.interrupt_turn("error", AT)
        if number > 3_900:
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert min(most) < 10_000


def test_late_returns_stand_in_the_order_in_which_their_calls_started() -> None:
    """R11: the call that starts first has its arguments last, and its return comes last, in another turn (R61)."""
    writer = JournalWriter()
    writer.begin_turn("agent", AT)
    writer.begin_response(AT)
    first, second = (
        writer.open_part("tool-call", {"tool_name": "t", "tool_call_id": name}, None) for name in ("first", "second")
    )
    writer.close_part(second, args={})
    writer.close_part(first, args={})
    writer.finish_response()
    writer.complete_turn(AT)
    writer.begin_turn("agent", AT)
    for name in ("second", "first"):
        writer.add_return(name, "tool-return", {"tool_name": "t", "tool_call_id": name, "content": 1}, AT)
    writer.complete_turn(AT)
    header = ThreadHeader(thread_id="00000000-0000-4000-8000-000000000000", created_at=AT, agents={})
    thread: Any = DIALECTS[Version.V0_0_4].renderer(header, Readings()).render(writer.journal())
    answered = [part["tool_call_id"] for message in thread["turns"][1]["messages"] for part in message["parts"]]
    assert answered == ["first", "second"]
