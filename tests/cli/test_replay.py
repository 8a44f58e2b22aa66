"""`replay` shows the case that an id names, cut where the id says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call
from tests.counting import count_lines
from tests.run.test_truth import Changed
from tests.server_events.test_growth_of_events import KINDS

from tpharness.errors import UsageError
from tpharness.protocol.versions import Version
from tpharness.run.case_ids import case_of
from tpharness.run.plan import make_script
from tpharness.run.play import Players
from tpharness.scenario import ClientCut, CutUnit, Interrupt, Scenario, load_text
from tpharness.targets import Reference

SWEEP = """\
description: A run that is cut everywhere.
clauses: [cycle.kept]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
cut: CUT
"""

REFERENCE = Players(server=Reference(), client=Reference())


def scenario(cut: str) -> Scenario:
    """Return a scenario with one run and the sweep."""
    return load_text(SWEEP.replace("CUT", cut), id="mine/swept")


def interrupt_of(name: str, cut: str) -> Interrupt:
    """Return how the run of the case is cut."""
    (_, run), *_ = case_of(scenario(cut), name, [Version.V0_0_4], REFERENCE).scenario.runs
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
    found = re.fullmatch(r"it has mine/swept@byte-0 to mine/swept@byte-(\d+)", error.value.hint)
    assert found
    last = interrupt_of(f"mine/swept@byte-{found[1]}", "every-byte")
    (_, run), *_ = scenario("every-byte").runs
    assert last.server_after == len(run.events or ())
    within = interrupt_of(f"mine/swept@byte-{int(found[1]) - 1}", "every-byte")
    assert within.server_after == len(run.events or ())  # the server said it; its last byte was lost


def test_an_id_without_a_place_is_the_scenario_itself() -> None:
    """Also with the pattern that a report gives to all places of a sweep together."""
    for name in ("mine/swept", "mine/swept@event-*"):
        case = case_of(scenario("every-event"), name, [Version.V0_0_4], REFERENCE)
        assert case.id == "mine/swept"
        assert len(make_script(case).turns) == 2


@pytest.mark.parametrize("place", ["event-999", "event-x", "byte-1", "nowhere", "event-1:timeout", "turn-1-event-1"])
def test_a_place_that_does_not_exist_is_refused(place: str) -> None:
    """Never is another case shown in its stead."""
    with pytest.raises(UsageError, match="no"):
        case_of(scenario("every-event"), f"mine/swept@{place}", [Version.V0_0_4], REFERENCE)


def test_replay_tells_both_sides_and_whether_they_agree(call: Any) -> None:
    """Steps of the server, chunks of the client, the thread whenever it changed, and the verdict of the comparison."""
    called = call("replay", "basics/tool-call-and-answer")
    assert called.code == 0
    server, _, client = called.out.partition("\nclient\n")
    assert "   0 model_request" in server
    assert "=> agent complete: response(thinking text tool-call:c1) request(tool-return:c1) response(text)" in server
    assert '{"type":"finish"' in client
    assert called.out.endswith("both sides hold the same thread (exact)\nverdict: passed\n")


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
    replayed = call("replay", "chat/wrong", "--scenarios", str(folder.parent))
    assert replayed.code == 1
    assert "verdict: failed: outline-differs" in replayed.out
    explained = call("explain", "chat/wrong", "--scenarios", str(folder.parent))
    assert "A run that is cut everywhere." in explained.out


MUTE = "python:tests.run.test_truth:Mute"
"""A server whose stream lacks the thinking that its thread has."""
WRONG = "python:tests.run.test_truth:Changed"
"""A server and client whose threads lack the thinking."""
FORGETFUL = "python:tests.cli.test_replay:Forgetful"


class Forgetful(Changed):
    """A server that keeps what the user said, and nothing of the agent."""

    def __init__(self) -> None:
        super().__init__(lambda thread: {**thread, "turns": thread["turns"][:1]})


def test_a_failure_of_a_target_suggests_to_replay_that_target(call: Any) -> None:
    """And the replay shows what the target did, and fails as the run did, where the reference would pass."""
    name = "threads/right-and-not-only-the-same"
    failed = call("run", name, "--server", MUTE, "--compare", "content")
    command = f"tpharness replay {name} --server {MUTE} --compare content"
    assert command in failed.out
    _, *words = shlex.split(command)
    replayed = call(*words)
    assert replayed.code == 1
    server, _, client = replayed.out.partition("\nclient\n")
    assert '<- data: {"type":"text-delta"' in server
    assert "=> agent complete: response(thinking text tool-call:c1)" in server
    assert "=> agent complete: response(text tool-call:c1)" in client
    assert replayed.out.endswith("verdict: failed: identity-differs\n")
    assert call("replay", name).code == 0


def test_a_replayed_client_shows_what_it_was_given_and_what_it_holds(call: Any) -> None:
    """Two that are wrong alike: the replay says what the run says."""
    replayed = call("replay", "threads/right-and-not-only-the-same", "--server", WRONG, "--client", WRONG)
    assert replayed.code == 1
    _, _, client = replayed.out.partition("\nclient\n")
    assert '"type":"reasoning-delta"' in client
    assert "=> agent complete: response(text tool-call:c1)" in client
    assert replayed.out.endswith("verdict: failed: thread-departs\n")


def test_a_place_of_a_sweep_is_replayed_on_targets(call: Any) -> None:
    """The case is cut where its id says, and a case that does not apply is refused with the reason."""
    replayed = call("replay", "cycles/three-steps@event-1", "--server", MUTE)
    assert replayed.code == 0
    assert "verdict: passed" in replayed.out
    refused = call(
        "replay", "basics/tool-call-and-answer", "--server", "python:tests.run.test_truth:Oldest", "--dialect", "0.0.4"
    )
    assert refused.code == 2
    assert "does not apply to these targets: a scenario for 0.0.4; the server writes 2.0.0" in refused.err


@pytest.mark.parametrize("command", ["run", "replay"])
def test_bytes_of_targets_that_cannot_be_stepped_are_no_places(command: str, call: Any) -> None:
    """They are cut after events instead, and these places are called so: one id is one case in every command."""
    refused = call(command, "interruptions/every-byte@byte-1", "--server", MUTE)
    assert refused.code == 2
    assert "cut after events, not at bytes" in refused.err
    assert "it has interruptions/every-byte@event-0 to interruptions/every-byte@event-" in refused.err
    taken = call(command, "interruptions/every-byte@event-1", "--server", MUTE)
    assert taken.code == 0


def test_a_failed_place_of_a_sweep_over_bytes_is_replayed_with_the_same_verdict(call: Any) -> None:
    """The command that the run prints plays the place that failed."""
    failed = call("run", "interruptions/every-byte", "--server", FORGETFUL)
    (command,) = re.findall(r"tpharness (replay interruptions/every-byte@event-.*)", failed.out)
    codes = re.findall(r"^  ([a-z-]+): ", failed.out, re.MULTILINE)
    replayed = call(*shlex.split(command))
    assert replayed.code == 1
    assert replayed.out.endswith(f"verdict: failed: {', '.join(sorted(set(codes)))}\n")


def test_replay_grows_with_the_case_and_no_faster(tmp_path: Path, call: Call) -> None:
    """A thread for each step took hours of a long one; how many were looked at is said, of a short one all are."""
    folder = tmp_path / "mine"
    folder.mkdir()

    def work(n: int) -> tuple[int, str]:
        (folder / "long.yaml").write_text(KINDS["steps"](n), "utf-8")
        shown: list[str] = []
        lines = count_lines(
            lambda: shown.append(call("replay", "mine/long", "--scenarios", str(tmp_path), "--no-config").out)
        )
        return lines, shown[0]

    assert "states of the thread" not in work(4)[1]
    (few, _), (more, long) = work(70), work(280)
    assert len(re.findall(r"of \d+ states of the thread 2\d\d were looked at", long)) == 2
    assert more < 4 * 1.2 * few
