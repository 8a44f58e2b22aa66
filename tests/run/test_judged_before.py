"""What is played again is judged once where nothing differs, and judged anew where anything does."""

from __future__ import annotations

import asyncio
import copy
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.places import places, replace_at
from tests.scenarios import load_builtin

from tpharness.certificate import plan_playing
from tpharness.findings import Kind, Level, Place
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.run import judged_before
from tpharness.run.engine import play_suite
from tpharness.run.judge_played import judge_played
from tpharness.run.judged_before import JudgedBefore
from tpharness.run.plan import base_case
from tpharness.run.play import Given, Players, ask_targets, play
from tpharness.targets.contract import Capabilities, Script, Stream, TargetOutput
from tpharness.targets.reference import Reference
from tpharness.verdict import ResultReady
from tpharness.verdict.result import Outcome, Result

CASE = base_case(load_builtin("tools/metadata"))
SEEN = "seen again"
HELLO = "carriers/timestamps-canonical"
EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_python.py"


class Elsewhere(Reference):
    """A client outside of this process, as far as a run can see; `said` is the content of its first turn."""

    at_once = 1

    def __init__(self, said: Any = None) -> None:
        super().__init__()
        self.said = said

    async def open(self) -> None:
        """Nothing is to be started."""

    async def close(self) -> None:
        """Nothing is to be ended."""

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive as the reference does, and say something else."""
        received = await super().receive(script, turns)
        if self.said is None:
            return received
        path = ("turns", 0, "parts", 0, "content")
        changed = {v: replace_at(copy.deepcopy(thread), path, self.said) for v, thread in received.threads.items()}
        return replace(received, threads=changed)


class Declaring(Elsewhere):
    """One that declares something else."""

    @property
    def capabilities(self) -> Capabilities:
        """Those of the reference, by another name."""
        return replace(super().capabilities, name=SEEN)


def players(client: Reference | None = None) -> Players:
    """Return the reference with a client."""
    return Players(server=Reference(), client=client or Elsewhere())


def again(known: JudgedBefore, client: Reference | None = None) -> Result:
    """Play the case once more."""
    return asyncio.run(known.play(CASE, players(client)))


def given() -> Given:
    """Play the case and return what its targets gave."""
    return asyncio.run(ask_targets(CASE, players()))


def test_what_is_the_same_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of judging, and the second one is the first."""
    monkeypatch.setattr(judged_before, "ONE_IN", 10**9)
    known = JudgedBefore()
    first, second = again(known), again(known)
    assert first.outcome is Outcome.PASSED
    assert first == judge_played(CASE, asyncio.run(play(CASE, players())))
    assert second is first
    assert (known.reused, known.again) == (1, 0)


def test_what_differs_is_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that keeps something else in a later order fails there, and what it kept before passes still."""
    monkeypatch.setattr(judged_before, "ONE_IN", 10**9)
    known = JudgedBefore()
    outcomes = [again(known, Elsewhere(said)).outcome for said in (None, "something else", None, "something else")]
    assert outcomes == [Outcome.PASSED, Outcome.FAILED, Outcome.PASSED, Outcome.FAILED]
    assert known.reused == 2
    slower = replace(CASE, scenario=replace(CASE.scenario, description="another scenario of the same id"))
    assert asyncio.run(known.play(slower, players())).outcome is Outcome.PASSED
    assert known.reused == 2


def test_a_result_that_judging_does_not_give_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a known case is judged all the same, another result than the known one ends it."""
    monkeypatch.setattr(judged_before, "ONE_IN", 1)
    known = JudgedBefore()
    again(known)
    again(known)
    assert (known.reused, known.again) == (0, 1)
    (results,) = (results for _, results in known._results.values())
    ((digest, result),) = results.items()
    results[digest] = replace(result, outcome=Outcome.FAILED)
    with pytest.raises(RuntimeError, match="tools/metadata was judged before with another result"):
        again(known)


def test_one_in_a_thousand_is_judged_all_the_same() -> None:
    """Which one is known by its digest, so that the same run judges the same ones."""
    assert judged_before.ONE_IN == 1000
    known = JudgedBefore()

    async def judged() -> Result:
        return Result(id=CASE.id, outcome=Outcome.PASSED)

    for number in range(20):
        digest = (500 * number).to_bytes(8) + bytes(24)
        for _ in range(2):
            asyncio.run(known._look_up(CASE, digest, judged))
    assert (known.again, known.reused) == (10, 10)


def test_the_digest_covers_each_value_that_was_given() -> None:
    """Of a thread each place, its keys in their order, and numbers that Python takes for equal."""
    one = given()
    (version, thread), *_ = one.first.received.threads.items()

    def digest(changed: Any) -> bytes | None:
        received = replace(one.first.received, threads={**one.first.received.threads, version: changed})
        return judged_before._digest(players(), replace(one, first=replace(one.first, received=received)))

    others = [replace_at(thread, path, SEEN) for path in places(thread)]
    others += [dict(reversed(thread.items()))]
    values: tuple[Any, ...] = (1, 1.0, True, None, float("nan"), "1", [], {}, "")
    others += [{**thread, "x": value} for value in values]
    digests = [digest(other) for other in (thread, *others)]
    assert None not in digests
    assert len({*digests}) == len(digests) > 50
    assert digest(copy.deepcopy(thread)) == digests[0]


def test_the_digest_covers_all_that_targets_gave() -> None:
    """Each field of what was given, each of an output, and what the targets declare."""
    one = given()
    served = one.first.served
    assert served is not None
    found = {judged_before._digest(players(), one)}
    for field in fields(Given):
        other: Any = getattr(one, field.name)
        match other:
            case bool():
                other = not other
            case str():
                other += SEEN
            case Mapping():
                other = {Version.V0_0_4: {SEEN: 1}}
            case Sequence():
                other = (*other, SEEN)
            case _:
                continue
        found.add(judged_before._digest(players(), replace(one, **{field.name: other})))
    for name, other in (
        ("findings", (Kind("no-canonical-form").at(Place(case=SEEN), SEEN),)),
        ("streams", ()),
        ("ends", (SEEN,)),
        ("threads", {}),
    ):
        changed = replace(one.first, served=replace(served, **{name: other}))
        found.add(judged_before._digest(players(), replace(one, first=changed)))
    for first in (replace(one.first, turns=()), replace(one.first, served=None), replace(one.first, recorded=True)):
        found.add(judged_before._digest(players(), replace(one, first=first)))
    found.add(judged_before._digest(players(Declaring()), one))
    assert None not in found
    assert len(found) == 1 + (len(fields(Given)) - 2) + 4 + 3 + 1


def test_what_has_no_exact_form_is_judged_each_time() -> None:
    """Half a character, a number beyond 64 bits, and whatever a target in this process gives."""
    assert judged_before._digest(players(), given()) is not None
    for said in ("\ud800", 2**70):
        known = JudgedBefore()
        outcomes = [again(known, Elsewhere(said)).outcome for _ in range(2)]
        assert outcomes == [Outcome.FAILED] * 2
        assert (known.reused, known.again) == (0, 0)

    class Here(Reference):
        """A target in this process."""

    assert judged_before._digest(players(Here()), given()) is None


def test_what_the_script_brings_about_is_played_on_the_reference_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings at SHOULD that the reference gets as well are left out before a result is kept."""
    monkeypatch.setattr(judged_before, "ONE_IN", 10**9)
    case = base_case(load_builtin("approvals/answers-to-two-responses"))
    plain = judge_played(case, asyncio.run(play(case, players())))
    assert {finding.level for finding in plain.findings} == {Level.SHOULD}
    known = JudgedBefore()
    first, second = (asyncio.run(known.play(case, players())) for _ in range(2))
    assert (first.findings, second, known.reused) == ((), first, 1)


DIFFERING = """
import pathlib, subprocess, sys
example = subprocess.Popen([sys.executable, sys.argv[1], "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin.buffer:
    example.stdin.write(line)
    example.stdin.flush()
    answer = example.stdout.readline()
    if b'"op":"receive"' in line and pathlib.Path(sys.argv[2]).exists():
        answer = answer.replace(b"Hello", b"Hallo")
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
example.stdin.close()
example.wait()
"""


def test_a_target_that_differs_in_the_second_order_alone_fails_there_alone(tmp_path: Path) -> None:
    """As `certify` plays it: processes of its own in each order, and one memory of what was judged."""
    differs, program = tmp_path / "differs", tmp_path / "target.py"
    program.write_text(DIFFERING, "utf-8")
    target = f"stdio:{sys.executable} {program} {EXAMPLE} {differs}"
    known, outcomes = JudgedBefore(), []
    for number, order in enumerate(plan_playing(client=target)):
        differs.unlink(missing_ok=True)
        if number == 1:
            differs.touch()
        events = play_suite(replace(order, ids=(HELLO,)), known)
        outcomes.append({one.result.outcome for one in events if isinstance(one, ResultReady)})
    assert outcomes == [{Outcome.PASSED}, {Outcome.FAILED}, {Outcome.PASSED}]
    assert known.reused + known.again > 0
