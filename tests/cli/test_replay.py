"""`replay` shows the case that an id names, cut where the id says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tpharness.cli.places import case_of
from tpharness.errors import UsageError
from tpharness.protocol.versions import Version
from tpharness.run.plan import make_script
from tpharness.scenario import ClientCut, CutUnit, Interrupt, Scenario, load_text

SWEEP = """\
description: A run that is cut everywhere.
clauses: [cycle.kept]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
cut: CUT
"""


def scenario(cut: str) -> Scenario:
    """Return a scenario with one run and the sweep."""
    return load_text(SWEEP.replace("CUT", cut), id="mine/swept")


def interrupt_of(name: str, cut: str) -> Interrupt:
    """Return how the run of the case is cut."""
    (_, run), *_ = case_of(scenario(cut), name, [Version.V0_0_4]).scenario.runs
    assert run.interrupt is not None
    return run.interrupt


def test_a_place_after_an_event_cuts_both_sides_there() -> None:
    """As many server events as the id says have happened, and the client is told no more."""
    cut = interrupt_of("mine/swept@event-2", "every-event")
    assert (cut.server_after, cut.client_after) == (2, None)


def test_a_place_at_a_byte_cuts_the_stream_there() -> None:
    """The client gets so many bytes; the server has played what the next byte tells of (R32)."""
    cut = interrupt_of("mine/swept@byte-0", "every-byte")
    assert (cut.server_after, cut.client_after) == (0, ClientCut(unit=CutUnit.BYTE, count=0))
    with pytest.raises(UsageError) as error:
        interrupt_of("mine/swept@byte-99999999", "every-byte")
    found = re.search(r"the run has (\d+) bytes", str(error.value))
    assert found
    last = interrupt_of(f"mine/swept@byte-{found[1]}", "every-byte")
    (_, run), *_ = scenario("every-byte").runs
    assert last.server_after == len(run.events or ())
    within = interrupt_of(f"mine/swept@byte-{int(found[1]) - 1}", "every-byte")
    assert within.server_after == len(run.events or ())  # the server said it; its last byte was lost


def test_an_id_without_a_place_is_the_scenario_itself() -> None:
    """Also with the pattern that a report gives to all places of a sweep together."""
    for name in ("mine/swept", "mine/swept@event-*"):
        case = case_of(scenario("every-event"), name, [Version.V0_0_4])
        assert case.id == "mine/swept"
        assert len(make_script(case).turns) == 2


@pytest.mark.parametrize("place", ["event-999", "event-x", "byte-1", "nowhere", "event-1:timeout", "turn-1-event-1"])
def test_a_place_that_does_not_exist_is_refused(place: str) -> None:
    """Never is another case shown in its stead."""
    with pytest.raises(UsageError, match="no"):
        case_of(scenario("every-event"), f"mine/swept@{place}", [Version.V0_0_4])


def test_replay_tells_both_sides_and_whether_they_agree(call: Any) -> None:
    """Steps of the server, chunks of the client, the thread whenever it changed, and the verdict of the comparison."""
    called = call("replay", "basics/tool-call-and-answer")
    assert called.code == 0
    server, _, client = called.out.partition("\nclient\n")
    assert "   0 model_request" in server
    assert "=> agent complete: response(thinking text tool-call:c1) request(tool-return:c1) response(text)" in server
    assert '{"type":"finish"' in client
    assert called.out.rstrip().endswith("both sides hold the same thread (exact)")


def test_replay_of_a_place_stops_there(call: Any) -> None:
    """Nothing of what the run would have done later is shown."""
    called = call("replay", "interruptions/every-byte@byte-1")
    assert called.code == 0
    assert "agent_run_result" not in called.out
    assert '"type":"finish"' not in called.out
    assert "a prefix (R32)" in called.out


def test_replay_shows_the_version_that_is_asked_for(call: Any) -> None:
    """R18: in 2.0.0 an interrupted turn never appears."""
    called = call("replay", "interruptions/between-steps", "--dialect", "2.0.0")
    assert called.code == 0
    assert "=> user" in called.out
    assert "=> agent" not in called.out


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("basics", "replay shows one"),
        ("basics/*", "for example basics/"),
        ("parts/file@event-3", "has no sweep"),
        ("basics/tool-cal", "did you mean basics/tool-call-and-answer"),
    ],
)
def test_replay_refuses_what_names_no_single_case(name: str, part: str, call: Any) -> None:
    """Exit code 2 and what to name instead."""
    called = call("replay", name)
    assert called.code == 2
    assert part in called.err


def test_the_command_that_a_failure_suggests_works(call: Any, tmp_path: Path) -> None:
    """Also for a scenario of one's own, whose folder the command names."""
    folder = tmp_path / "my own" / "chat"
    folder.mkdir(parents=True)
    text = SWEEP.replace("cut: CUT", "expect: {outline: [user]}")
    (folder / "wrong.yaml").write_text(text, encoding="utf-8")
    failed = call("run", "--scenarios", str(folder.parent))
    assert failed.code == 1
    assert f"tpharness replay chat/wrong --scenarios '{folder.parent}'" in failed.out
    assert call("replay", "chat/wrong", "--scenarios", str(folder.parent)).code == 0
    explained = call("explain", "chat/wrong", "--scenarios", str(folder.parent))
    assert "A run that is cut everywhere." in explained.out
