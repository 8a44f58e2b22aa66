"""Sweeps: every place is tried and counted, a failure has a place that can be played again, a sample says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.explore.defects import line_splitting, reordered_returns
from tests.scenarios import TWO_TOOLS

from tpharness.errors import UsageError
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one
from tpharness.run.plan import base_case, cut_time, place_name
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.sweeps.pair import SessionPair
from tpharness.run.sweeps.places import CutPlace, Places, SideCut, cut_scenario, existing_id
from tpharness.run.sweeps.scenarios import ScenarioReport, SweepOptions, sweep_scenarios
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import AgentRun, ClientCut, CutAt, CutPlan, CutUnit, WireEnd, load_scenario, load_text
from tpharness.targets import Reference
from tpharness.verdict import Outcome

DEFECTS = "tests.explore.defects"
THREE_STEPS = TWO_TOOLS + "      - response: [{text: Done}]\n"


@pytest.fixture
def two_tools(tmp_path: Path) -> Path:
    """Return a folder with one scenario."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "two-tools.yaml").write_text(THREE_STEPS)
    return tmp_path


def swept(root: Path, ids: tuple[str, ...] = (), *, client: str = "reference", **options) -> list[ScenarioReport]:
    """Sweep the scenarios of a folder."""
    roots = () if root == scenarios_dir() else (root,)
    with Session(client=client) as session:
        given = {"save": root / "failures", "roots": roots, **options}
        return list(sweep_scenarios(select_scenarios(ids, (root,)), session, SweepOptions(**given)))


def events_of(root: Path) -> int:
    """Return how many events the one run of the scenario has."""
    scenario = load_scenario(root / "mine" / "two-tools.yaml", root=root)
    return len(scenario.runs[0][1].events or ())


# ------------------------------------------------------------------------------------------------ counting


def test_there_is_a_place_after_every_event_and_before_the_first(two_tools):
    """A run of N events has N + 1 places for each reason."""
    (found,) = swept(two_tools, reasons=("timeout", "error"))
    assert found.places == found.tried == found.passed == 2 * (events_of(two_tools) + 1)


def test_there_is_a_place_before_every_byte_and_after_the_last(two_tools):
    """A stream of N bytes has N + 1 places."""
    scenario = load_scenario(two_tools / "mine" / "two-tools.yaml", root=two_tools)
    (result, *_) = play_one(scenario, RunOptions())
    assert result.outcome is Outcome.PASSED
    (found,) = swept(two_tools, at=CutAt.EVERY_BYTE)
    (sampled,) = swept(two_tools, at=CutAt.EVERY_BYTE, budget=10)
    assert found.tried == found.passed == found.places == sampled.places
    assert found.tried > 1000


def test_two_sides_have_a_place_for_every_pair(two_tools):
    """A server further than the client: N (N + 1) / 2 pairs, each of which stands when its neighbours do (R32)."""
    events = events_of(two_tools)
    (found,) = swept(two_tools, side=SideCut.APART)
    assert found.places == found.tried == found.passed == events * (events + 1) // 2


def test_pairs_are_numbered_without_gaps():
    """Every number is a pair of its own, the server further than the client."""
    scenario = load_text(THREE_STEPS, id="mine/two-tools")
    places = Places(scenario, SideCut.APART, CutAt.EVERY_EVENT, ("timeout",), [[1] * 5])
    pairs = {(place.server, place.client.count) for place in places if place.client is not None}
    assert pairs == {(server, client) for server in range(1, 5) for client in range(server)}
    assert len(places) == 10
    with pytest.raises(IndexError):
        places[10]


def test_pairs_that_were_judged_stand_for_those_played_one_by_one(two_tools):
    """The linear sweep passes, and so does every pair when it is played by itself."""
    events = events_of(two_tools)
    (one_by_one,) = swept(two_tools, side=SideCut.APART, budget=10_000)
    assert one_by_one.tried == one_by_one.passed == events * (events + 1) // 2


@pytest.mark.sampled
@pytest.mark.parametrize("side", list(SideCut), ids=lambda side: side.value)
def test_the_basic_scenarios_pass_on_every_side(side, sample):
    """What the suite calls basic holds wherever it is cut, for every reason."""
    reasons = ("user_cancelled", "network_failure", "timeout", "error", "safety_halt")
    basic = sample(select_scenarios(("basics", "cycles/three-steps"), (scenarios_dir(),)))
    found = swept(scenarios_dir(), tuple(one.id for one in basic), side=side, reasons=reasons)
    assert [failure.cause for one in found for failure in one.failures] == []
    assert sum(one.tried for one in found) > 10 * len(basic)


def test_a_recorded_stream_is_cut_as_well(tmp_path):
    """A scenario that has its own stream is cut in that too, at each event and at each byte."""
    ids = ("recorded/ai-sdk/abort-mid-text",)
    (events,) = swept(scenarios_dir(), ids, save=tmp_path)
    (data,) = swept(scenarios_dir(), ids, save=tmp_path, at=CutAt.EVERY_BYTE)
    assert events.tried == events.passed
    assert data.tried == data.passed > 10 * events.tried


def test_other_readings_are_not_cut_apart(two_tools):
    """R20 read otherwise takes back what it kept, which is known and no finding."""
    text = THREE_STEPS.replace("turns:", "readings: {R20: as-streamed}\nturns:", 1)
    (two_tools / "mine" / "two-tools.yaml").write_text(text)
    (found,) = swept(two_tools, side=SideCut.APART)
    assert found.tried == 0
    assert "R20" in found.note


@pytest.mark.sampled
@pytest.mark.parametrize("at", [CutAt.EVERY_EVENT, CutAt.EVERY_BYTE], ids=["events", "bytes"])
@pytest.mark.parametrize("target", [reordered_returns(), line_splitting()], ids=["order", "text"])
def test_what_a_sweep_leaves_out_changes_nothing(at, target, sample):
    """A place fails in a sweep, which judges only what is new, just when it fails by itself."""
    text = THREE_STEPS.replace("text: Done", 'text: "a\u2028b"')
    scenario = replace(load_text(text, id="mine/two-tools"), cut=CutPlan(at=at))
    case = base_case(scenario)
    found = sweep(case, target, target)
    failing = {result.id for _, result in found.failed}
    places = range(found.tried)
    for count in places if at is CutAt.EVERY_EVENT else sample(places[::23]):
        name = place_name(scenario, 1, "network_failure", count)
        alone = sweep(case, target, target, only=name)
        assert alone.tried == 1
        assert bool(alone.failed) == (name in failing)


@pytest.mark.parametrize(
    ("target", "reading", "everywhere"),
    [
        pytest.param(Reference(), "drop", False, id="the reference"),
        pytest.param(Reference(), "as-streamed", True, id="the reference that shows open parts"),
        pytest.param(line_splitting(), "drop", True, id="another target"),
    ],
)
def test_only_the_reference_is_believed_that_no_document_changed(target, reading, everywhere, monkeypatch):
    """It is not rendered where neither side says so, unless its reading shows parts that stream; others always are."""
    words = ", ".join(f"w{i}" for i in range(20))
    text = THREE_STEPS.replace("turns:", f"readings: {{R20: {reading}}}\nturns:", 1).replace("Done", f"[{words}]")
    case = base_case(replace(load_text(text, id="mine/two-tools"), cut=CutPlan(at=CutAt.EVERY_EVENT)))
    rendered = []
    was = SessionPair.threads

    def threads(pair, cut=None):
        rendered.append(cut)
        return was(pair, cut)

    monkeypatch.setattr(SessionPair, "threads", threads)
    found = sweep(case, target, target)
    assert found.tried > 30
    assert (len(rendered) == found.tried) == everywhere
    assert len(rendered) > 10


# ------------------------------------------------------------------------------------------------ samples


def test_a_budget_tries_so_many_places_and_says_how_many_there_are(two_tools):
    """What was not tried is the difference."""
    (found,) = swept(two_tools, budget=5)
    assert (found.tried, found.places) == (5, events_of(two_tools) + 1)


def test_a_seed_is_a_sample():
    """The same seed tries the same places, another one others; together they are workers over scenarios."""
    ids = ("basics",)
    one = swept(scenarios_dir(), ids, budget=8, seed=1)
    again = swept(scenarios_dir(), ids, budget=8, seed=1)
    other = swept(scenarios_dir(), ids, budget=8, seed=2)
    assert [found.tried for found in one] == [found.tried for found in again]
    assert sum(found.tried for found in one) == sum(found.tried for found in other) == 8
    assert [found.tried for found in one] != [found.tried for found in other]


def test_a_target_that_cannot_be_stepped_is_sampled(two_tools):
    """Each place is a playing of its own there."""
    (found,) = swept(two_tools, client=f"python:{DEFECTS}:plain", budget=6)
    assert (found.tried, found.passed) == (6, 6)


def test_bytes_of_a_server_that_cannot_be_stepped_are_the_clients(two_tools):
    """Nobody knows which event a byte of its stream belongs to."""
    with pytest.raises(UsageError, match="belong to no events"):
        swept(two_tools, client=f"python:{DEFECTS}:plain", at=CutAt.EVERY_BYTE)
    (found,) = swept(two_tools, client=f"python:{DEFECTS}:plain", at=CutAt.EVERY_BYTE, side=SideCut.CLIENT, budget=4)
    assert (found.tried, found.passed) == (4, 4)


# ------------------------------------------------------------------------------------------------ failures


def test_a_place_without_an_id_becomes_a_scenario_file(two_tools):
    """The file names what is wrong, loads, and fails for the same reason when it is played."""
    target = f"python:{DEFECTS}:reordered_returns"
    (found,) = swept(two_tools, client=target)
    (failure,) = found.failures
    assert failure.cause.codes == ("identity-differs", "returns-out-of-order")
    assert failure.replays
    assert failure.file is not None
    assert str(failure.file) in failure.command
    scenario = load_scenario(failure.file, root=failure.file.parent)
    assert "(R39)" in scenario.description
    assert len(scenario.description) <= 200
    (result,) = play_one(scenario, RunOptions(client=target))
    assert "identity-differs" in result.failing_codes
    # Both returns are there from the event on that brings the second one, up to the end.
    assert failure.count == found.tried - found.passed > 1


def test_a_place_of_the_scenarios_own_sweep_has_an_id(two_tools):
    """`run` takes the id, so no file is written."""
    path = two_tools / "mine" / "two-tools.yaml"
    path.write_text(THREE_STEPS + "cut: every-event\n")
    target = f"python:{DEFECTS}:reordered_returns"
    (found,) = swept(two_tools, client=target)
    (failure,) = found.failures
    assert failure.file is None
    assert failure.id.startswith("mine/two-tools@event-")
    assert failure.command == f"tpharness run {failure.id} --scenarios {two_tools}"
    scenario = load_scenario(path, root=two_tools)
    results = play_one(scenario, RunOptions(client=target), place=failure.id)
    assert [result.outcome for result in results] == [Outcome.FAILED]


def test_what_goes_away_again_is_found_at_different_places(two_tools):
    """A client that takes back what it showed breaks monotonicity, which the pairs rest on."""
    (found,) = swept(two_tools, client=f"python:{DEFECTS}:backwards", side=SideCut.CLIENT)
    assert any("canonical-shrank" in failure.cause.codes for failure in found.failures)


def test_a_cut_after_an_event_with_an_offset_is_just_after_it():
    """12:00 in Paris in January is 11:00 in UTC, and the cut comes a millisecond later."""
    run = AgentRun(agent_id="a", started_at="2025-01-20T10:00:00Z", events=({"at": "2025-01-20T12:00:00+01:00"},))
    assert cut_time(run, 1) == "2025-01-20T11:00:00.001Z"


def test_an_id_is_the_scenarios_own_only_for_the_same_cut():
    """Another reason, another unit or another side has no id."""
    scenario = load_text(THREE_STEPS + "cut: every-event\n", id="mine/two-tools")
    both = CutPlace(turn=1, reason="network_failure", wire=WireEnd.CUT, server=3, client=None)
    assert existing_id(scenario, both) == "mine/two-tools@event-3"
    other = CutPlace(turn=1, reason="timeout", wire=WireEnd.CUT, server=3, client=None)
    assert existing_id(scenario, other) is None
    seen = ClientCut(unit=CutUnit.BYTE, count=3)
    byte = CutPlace(turn=1, reason="network_failure", wire=WireEnd.CUT, server=0, client=seen)
    assert existing_id(scenario, byte) is None


def test_a_cut_scenario_ends_where_it_is_cut():
    """Turns after the cut are gone, and nothing is pinned any more."""
    scenario = load_text(THREE_STEPS + "  - user: Bye\n", id="mine/two-tools")
    place = CutPlace(turn=1, reason="timeout", wire=WireEnd.STALL, server=2, client=None)
    cut = cut_scenario(scenario, place)
    assert len(cut.turns) == 2
    interrupt = cut.runs[0][1].interrupt
    assert interrupt is not None
    assert (interrupt.reason, interrupt.server_after, interrupt.client_after) == ("timeout", 2, None)
