"""Orders: which events may swap, that each state is gone through once, and the law that the threads keep."""

from __future__ import annotations

from math import factorial
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import TWO_TOOLS

from tpharness.explore.orders.play import OrderOptions, play_orders
from tpharness.explore.orders.reduction import find_orders, reorder
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.sweeps.scenarios import ScenarioReport
from tpharness.scenario import load_scenario
from tpharness.targets.remote import CannotPlayError


def delta(index: int) -> dict[str, Any]:
    """Return a delta of a text."""
    return {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": "text", "content_delta": "x"}}


def start(index: int) -> dict[str, Any]:
    """Return the start of a text."""
    return {"event_kind": "part_start", "index": index, "part": {"part_kind": "text"}}


def end(index: int) -> dict[str, Any]:
    """Return the end of a text."""
    return {"event_kind": "part_end", "index": index, "part": {"part_kind": "text"}}


def call(name: str) -> dict[str, Any]:
    """Return the start of a tool."""
    return {"event_kind": "function_tool_call", "part": {"tool_name": "t", "tool_call_id": name}}


def result(name: str) -> dict[str, Any]:
    """Return what a tool gives."""
    return {"event_kind": "function_tool_result", "part": {"tool_name": "t", "tool_call_id": name}}


NOTE = {"event_kind": "system_event", "event_type": "data-app-note"}
REQUEST = {"event_kind": "model_request"}
RESULT = {"event_kind": "agent_run_result"}


def counted(*events) -> int | None:
    """Return how many orders the events have."""
    return find_orders(events, bound=1000, seed=0).interleavings


@pytest.mark.parametrize(
    ("events", "ways"),
    [
        ((start(0), delta(0), delta(0), end(0)), 1),  # one part is in order
        ((start(0), start(1)), 1),  # R11: parts stand in the order of their starts
        ((start(0), start(1), delta(0), delta(1)), 3),  # 0 0 1 1 with start 0 first: 0011, 0101, 0110 as starts 0, 1
        ((call("a"), call("b"), result("a"), result("b")), 3),  # calls in order, each result behind its own call
        ((call("a"), result("a"), NOTE), 3),  # the note anywhere
        ((NOTE, NOTE), 1),  # what an application says stays in order
        ((REQUEST, RESULT), 1),
        ((REQUEST, NOTE, RESULT), 2),  # a note may come before the model is asked, not after the result
        ((result("a"), result("b"), result("c")), factorial(3)),
        (({"event_kind": "error"}, NOTE), 1),  # an error is a boundary
    ],
)
def test_the_legal_orders_are_counted(events, ways):
    """Counted by hand from what may swap."""
    assert counted(*events) == ways


def test_a_call_whose_arguments_come_late_stays_before_all_results():
    """R40: the first result finishes the response, and a call without arguments is not complete in it."""
    part = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": "b"}
    parts = ({**start(0), "part": part}, {"event_kind": "model_response_end"})
    tools = (call("a"), call("b"), result("a"), result("b"))
    assert counted(*parts, *tools) == 2
    assert counted({**parts[0], "part": {**part, "args": {}}}, parts[1], *tools) == 3


def test_a_handoff_stays_where_it_is():
    """The agent that goes on is named right after it (R45)."""
    handoff = {"event_kind": "system_event", "event_type": "data-tp-agent_handoff"}
    assert counted(REQUEST, handoff, RESULT) == 1


def test_a_part_may_not_move_into_another_response():
    """The same index again is a part of the next response."""
    response = (start(0), end(0), {"event_kind": "model_response_end"})
    assert counted(*response, *response) == 1


def test_every_state_and_step_is_gone_through_once():
    """Three results: 8 states, 12 steps; 6 orders, of which the own one is left out, cover all of them at most."""
    events = (result("a"), result("b"), result("c"))
    found = find_orders(events, bound=100, seed=0)
    assert found.complete
    assert (found.states, found.interleavings) == (8, 6)
    steps = {(frozenset(order[:i]), order[i]) for order in (*found.chosen, (0, 1, 2)) for i in range(3)}
    assert len(steps) == 12
    assert len(set(found.chosen)) == len(found.chosen) <= 5


def test_equal_orders_are_tried_once():
    """Six results have 720 orders and 64 states; 192 steps need far fewer than 720 orders."""
    found = find_orders([result(name) for name in "abcdef"], bound=1000, seed=0)
    assert found.interleavings == factorial(6)
    assert found.states == 2**6
    assert found.complete
    assert len(found.chosen) < 6 * 2**5


def test_beyond_the_bound_a_seed_decides():
    """So many and no more, the same for the same seed, each of them legal."""
    events = [call("a"), call("b"), *(result(name) for name in "ab"), *(result(name) for name in "cdefg")]
    one, again = (find_orders(events, bound=7, seed=1) for _ in range(2))
    assert one == again
    assert len(one.chosen) == 7
    assert not one.complete
    assert one.classes > 7
    assert all(order.index(0) < order.index(1) and order.index(0) < order.index(2) for order in one.chosen)


def test_more_states_than_can_be_listed_are_sampled():
    """Thirty results have 2^30 states."""
    found = find_orders([result(f"c{n}") for n in range(30)], bound=20, seed=0)
    assert found.interleavings is None
    assert 0 < len(found.chosen) <= 20


def test_time_goes_by_in_another_order_as_well():
    """An event takes the time of the place it comes to, and so does what it says of its return."""
    events = (
        {**result("a"), "at": "1"},
        {"event_kind": "function_tool_result", "part": {"tool_call_id": "b", "timestamp": "2"}, "at": "2"},
    )
    moved = reorder(events, (1, 0))
    assert [event["at"] for event in moved] == ["1", "2"]
    assert moved[0]["part"]["timestamp"] == "1"


# ------------------------------------------------------------------------------------------------ the law


def ordered(root: Path, ids: tuple[str, ...], save: Path, client: str = "reference", bound: int = 60):
    """Play scenarios in other orders."""
    with Session(client=client) as session:
        return list(play_orders(select_scenarios(ids, (root,)), session, OrderOptions(bound=bound, save=save)))


@pytest.mark.sampled
def test_the_reference_keeps_the_law(tmp_path, sample):
    """Cycles and tools of the suite, in other orders."""
    chosen = sample(select_scenarios(("cycles", "tools", "parts"), (scenarios_dir(),)))
    found = ordered(scenarios_dir(), tuple(one.id for one in chosen), tmp_path)
    assert [failure.cause for one in found for failure in one.failures] == []
    assert sum(one.tried for one in found) > len(chosen)
    assert not list(tmp_path.iterdir())


def test_returns_as_they_finish_break_the_law(tmp_path, monkeypatch):
    """Both sides keep returns as they came: they agree, and only another order shows that R11 is broken."""
    (tmp_path / "two.yaml").write_text(TWO_TOOLS)
    assert [one.failures for one in ordered(tmp_path, (), tmp_path / "failures")] == [()]
    monkeypatch.setattr("tpharness.dialects.messages.sorted", lambda members, **_: members, raising=False)
    (found,) = ordered(tmp_path, (), tmp_path / "failures")
    assert isinstance(found, ScenarioReport)
    failure = next(f for f in found.failures if "order-matters" in f.cause.codes)
    assert "R11" in failure.cause.rulings
    assert failure.file is not None
    scenario = load_scenario(failure.file, root=failure.file.parent)
    (played,) = play_one(scenario, RunOptions())
    assert "expected-thread-differs" in played.failing_codes  # the file pins what the own order gives


def test_a_budget_is_a_sample_of_all_orders(tmp_path):
    """So many in all scenarios together, by the seed, and the count of all orders stays."""
    selected = select_scenarios(("tools/every-status", "tools/metadata-of-every-kind"), (scenarios_dir(),))
    with Session() as session:
        whole, some, again = (
            list(play_orders(selected, session, OrderOptions(bound=30, budget=budget, save=tmp_path)))
            for budget in (None, 5, 5)
        )
    assert sum(one.tried for one in whole) > 5
    assert [one.tried for one in some] == [one.tried for one in again]
    assert sum(one.tried for one in some) == 5
    assert [one.places for one in some] == [one.places for one in whole]


def test_the_orders_of_a_scenario_are_found_once(tmp_path, monkeypatch):
    """Those that a budget chooses from are played; finding them takes most of the time."""
    found: list[Any] = []

    def find(events: Any, **options: Any) -> Any:
        found.append(events)
        return find_orders(events, **options)

    (tmp_path / "two.yaml").write_text(TWO_TOOLS)
    monkeypatch.setattr("tpharness.explore.orders.play.find_orders", find)
    with Session() as session:
        options = OrderOptions(budget=3, save=tmp_path / "failures")
        (report,) = play_orders(select_scenarios((), (tmp_path,)), session, options)
    assert report.tried == 3
    assert len(found) == 1


def test_an_order_that_the_server_cannot_play_has_not_failed(tmp_path, monkeypatch):
    """As in `run` and in a sweep of places: it is counted apart, with the reason."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise CannotPlayError("plain returns only")

    (tmp_path / "two.yaml").write_text(TWO_TOOLS)
    monkeypatch.setattr("tpharness.explore.orders.play.play", refuse)
    (found,) = ordered(tmp_path, (), tmp_path / "failures")
    assert (found.tried, found.passed, found.failures) == (0, 0, ())
    assert found.refused == found.places > 0
    assert found.note.endswith("cannot be played: plain returns only")
