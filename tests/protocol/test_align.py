"""Alignment of two lists, and what a diff says because of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpharness.protocol.align import align
from tpharness.protocol.compare import Mode
from tpharness.protocol.diff import diff


def first_letter(word: str) -> str:
    """Return what two words have to share to be versions of one another."""
    return word[0]


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        ("", "", []),
        ("a b", "a b", [(0, 0), (1, 1)]),
        ("a b c", "a c", [(0, 0), (1, None), (2, 1)]),
        ("a c", "a b c", [(0, 0), (None, 1), (1, 2)]),
        ("a b1 c", "a b2 c", [(0, 0), (1, 1), (2, 2)]),
        ("a b1 b2 c", "a b2 c", [(0, 0), (1, None), (2, 1), (3, 2)]),
        ("a x c", "a y c", [(0, 0), (1, 1), (2, 2)]),
        ("a x c", "a y z c", [(0, 0), (1, None), (None, 1), (None, 2), (2, 3)]),
    ],
)
def test_like_items_are_paired_before_similar_ones(one: str, other: str, pairs: list[Any]) -> None:
    """Equal words are paired first, then words with the same letter, then what is left of equal length."""
    assert list(align(one.split(), other.split(), (str, first_letter))) == pairs


@given(st.lists(st.sampled_from(["a1", "a2", "b1", "b2", "c"])), st.lists(st.sampled_from(["a1", "a2", "b1", "c"])))
def test_every_item_stands_in_exactly_one_pair_in_order(one: list[str], other: list[str]) -> None:
    """No index is lost, told twice or told out of order."""
    pairs = list(align(one, other, (str, first_letter)))
    assert [i for i, _ in pairs if i is not None] == list(range(len(one)))
    assert [j for _, j in pairs if j is not None] == list(range(len(other)))
    assert (None, None) not in pairs


def test_many_items_of_one_kind_are_paired_in_order_without_a_search() -> None:
    """Thousands of items that nothing tells apart are paired from the front."""
    one, other = [f"a{n}" for n in range(2000)], [f"a-{n}" for n in range(1999)]
    assert list(align(one, other, (str, first_letter)))[-2:] == [(1998, 1998), (1999, None)]


def replies(*texts: str, second: int = 1) -> dict[str, Any]:
    """Return a thread of one agent turn with a response for each text, a second apart."""
    messages = [
        {
            "message_type": "response",
            "timestamp": f"2025-01-20T10:00:{second + n:02d}Z",
            "agent_id": "a",
            "parts": [{"part_kind": "text", "content": text}],
        }
        for n, text in enumerate(texts)
    ]
    return {"version": "0.0.4", "turns": [{"turn_type": "agent", "agent_id": "a", "messages": messages}]}


@pytest.mark.parametrize("mode", ["exact", "content"])
def test_a_missing_reply_among_like_ones_is_one_difference(mode: Mode) -> None:
    """The replies after the missing one are recognised, and not compared with their neighbours."""
    one, other = replies("A", "B", "C", "D"), replies("A", "B", "C", "D")
    del other["turns"][0]["messages"][1]
    found = diff(one, other, names=("server", "client"), mode=mode)
    assert [d.pointer for d in found] == ["/turns/0/messages/1"]
    assert "only on the server side" in found[0].text


def test_replies_at_other_times_are_recognised_by_what_they_say() -> None:
    """A reply that comes later on one side differs in its time only, the missing one is missing."""
    found = diff(replies("A", "B", "C"), replies("A", "C", second=1))
    assert [d.pointer for d in found] == ["/turns/0/messages/1", "/turns/0/messages/2/timestamp"]


def called_then_said(order: str, status: str = "complete") -> dict[str, Any]:
    """Return a thread of one turn with a call, its return and an answer, in the order of their initials."""
    parts = {
        "c": ("response", {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "c1", "args": {}}),
        "r": ("request", {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c1", "content": 1}),
        "t": ("response", {"part_kind": "text", "content": "One."}),
    }
    messages = [
        {"message_type": kind, "timestamp": f"2025-01-20T10:00:0{n}Z", "agent_id": "a", "parts": [part]}
        for n, (kind, part) in enumerate(parts[initial] for initial in order)
    ]
    turn = {"turn_type": "agent", "agent_id": "a", "completion_status": status, "messages": messages}
    return {"version": "0.0.4", "turns": [turn]}


@pytest.mark.parametrize("mode", ["exact", "content"])
def test_a_message_at_another_place_is_one_difference_that_the_order_in_time_decides(mode: Mode) -> None:
    """It is not missing on one side and surplus on the other."""
    found = diff(called_then_said("crt"), called_then_said("ctr"), names=("server", "client"), mode=mode)
    (moved,) = [one for one in found if not one.pointer.endswith("/timestamp")]
    assert "stands at another place: " in moved.text
    assert {"1 on the server side, 2 on the client side", "2 on the server side, 1 on the client side"} & {
        moved.text.partition("another place: ")[2]
    }
    assert moved.rulings == ("R25",)


@pytest.mark.parametrize(("status", "rulings"), [("complete", ("R40",)), ("interrupted", ("R20",))])
def test_what_a_cut_drops_decides_only_where_a_turn_was_cut(status: str, rulings: tuple[str, ...]) -> None:
    """An answer that a complete turn lacks was not dropped."""
    (lacking,) = diff(called_then_said("crt", status), called_then_said("cr", status))
    assert lacking.rulings == rulings


def test_an_id_that_both_sides_have_is_not_a_difference() -> None:
    """By content ids are compared by the order of their use, which one turn more changes for every id behind it."""

    def call(name: str) -> dict[str, Any]:
        parts = [{"part_kind": "tool-call", "tool_name": "t", "tool_call_id": name, "args": {}}]
        message = {"message_type": "response", "agent_id": "a", "parts": parts}
        return {"turn_type": "agent", "agent_id": "a", "completion_status": "complete", "messages": [message]}

    def thread(*names: str) -> dict[str, Any]:
        return {"version": "0.0.4", "turns": [call(name) for name in names]}

    (found,) = diff(thread("c2"), thread("c1", "c2"), mode="content")
    assert "is only on the b side" in found.text
    assert not diff(thread("c1"), thread("d1"), mode="content")
    assert len(diff(thread("c1", "c2"), thread("c2", "c2"), mode="content")) == 1
