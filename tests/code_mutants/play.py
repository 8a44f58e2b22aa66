"""Play mutants: each in a child of this process, which plays scenarios until one fails.

In: a subject, its mutants, scenarios. Out: for each mutant the scenario that fails it, if one does. A child is a fork,
so that nothing is started or loaded again for a mutant, and a mutant that loops for ever costs its limit of seconds and
no more. These are seconds of the processor, and a child that is ended for any other reason has not been judged: a busy
machine kills no mutant. Which scenarios run a mutant's block at all is found once for each subject; those alone are
played, first once each, then with everything that `tpharness run` plays of them.
"""

from __future__ import annotations

import gc
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from conformance.goldens import read_golden, text
from tests.code_mutants.answers import Answers
from tests.code_mutants.child import Child
from tests.code_mutants.documents import PREFIX, PROGRAM_JUDGES, document_names, judge_document, judge_program
from tests.code_mutants.mutants import Mutant
from tests.code_mutants.subjects import NodeSubject, Pair, ReferenceSubject, Subject

from tpharness.checks import Delivery
from tpharness.errors import TargetError
from tpharness.protocol.canonical import canonical_thread
from tpharness.run.baselines import load_baseline
from tpharness.run.judge import judge
from tpharness.run.play import play
from tpharness.run.session import Session
from tpharness.scenario import Compare, Scenario
from tpharness.targets.forms import ANSWERS
from tpharness.targets.stdio import StdioClient
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.result import Outcome

__all__ = ["Coverage", "Fate", "find_coverage", "play_listed", "play_mutants"]

_LEAST_SECONDS = 4
_DEPARTS = "does not hold the golden thread"
_GLANCES = 40
_LONGEST = 1 << 16
"""Characters of a line that is asked again; longer ones, cuts of long streams, take most of the time."""
Playing = tuple[str, int]
"""A scenario's id, and the index of the pair that plays it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """By playing, the blocks of a subject that run in it, and the seconds that it takes.

    `departing` are the playings in which an example, unchanged, does not hold the golden thread to the letter, and
    `answers` is what it has answered, by playing and step, if it is a program.
    """

    blocks: Mapping[Playing, frozenset[int]]
    seconds: Mapping[Playing, float]
    departing: frozenset[Playing] = frozenset()
    answers: Answers | None = None

    def touching(self, block: int, first: Sequence[str] = ()) -> list[Playing]:
        """Return the playings that run a block (0: all), `first` and then those that run most in least time."""
        found = [one for one, blocks in self.blocks.items() if block in blocks or not block]
        return sorted(found, key=lambda one: (one[0] not in first, self.seconds[one] / (1 + len(self.blocks[one]))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a mutant: the scenario that failed it, "" if none did, and how.

    `covered`: whether any scenario runs it.
    """

    mutant: Mutant
    killer: str
    how: str
    covered: bool
    seconds: float


@cache
def _baseline() -> Baseline:
    return load_baseline()


@cache
def _golden(scenario: str, version: Any) -> str:
    return _text(read_golden(scenario, version))


def _text(value: Any) -> str:
    """Return a thread as text to compare it; 1 and 1.0 are one number, which not every language tells apart (R38)."""
    return text(_with_whole_numbers(value))


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Player:
    """Plays scenarios on the pairs of a subject, each pair in one session."""

    def __init__(
        self, pairs: Sequence[Pair], scenarios: Mapping[str, Scenario], departing: frozenset[Playing] = frozenset()
    ) -> None:
        self._pairs = pairs
        self._departing = departing
        self._scenarios = scenarios
        self._sessions = []
        for pair in pairs:
            session = Session(wire=pair.wire)
            session.players = pair.players
            session.__enter__()
            self._sessions.append(session)

    def glance(self, name: str, index: int) -> str:
        """Play a scenario once; return how it fails: a check, or a golden thread that a side does not hold."""
        pair, session = self._pairs[index], self._sessions[index]
        if name in PROGRAM_JUDGES:
            return judge_program(name, lambda asked: self._answer(index, asked))
        if name.startswith(PREFIX):
            return judge_document(name)
        scenario = self._scenarios[name]
        case, reason = session.run(session.adapt(scenario))
        if reason:
            return ""
        evidence = session.run(play(case, pair.players, thorough=False))
        result = _baseline().apply(judge(case.id, evidence))
        if result.outcome is Outcome.FAILED:
            return ", ".join(sorted(result.failing_codes))
        if (name, index) in self._departing:
            return ""
        for piece in evidence:
            same = piece.mode is Compare.EXACT and piece.delivery is Delivery.WHOLE
            both = same and scenario.id not in _baseline().entries
            for role in pair.judged:
                side = piece.server if role == "server" else piece.client
                if side is None or (role == "client" and not both and piece.server is not None):
                    continue
                if _text(canonical_thread(side.thread)) != _golden(scenario.id, piece.version):
                    return f"in {piece.version.value}, the {role} {_DEPARTS}"
        return ""

    def _answer(self, index: int, asked: bytes | dict[str, Any]) -> dict[str, Any]:
        """Return what the program of a pair answers, which may be asked as either side."""
        client = self._pairs[index].players.client
        assert isinstance(client, StdioClient)
        assert isinstance(asked, dict)
        request = {key: value for key, value in asked.items() if key not in ("op", "id")}
        try:
            answer = self._sessions[index].run(client.answer(asked["op"], request))
        except TargetError as error:
            return {"error": str(error)}
        return {{**ANSWERS, "serve": "served", "receive": "received"}[asked["op"]]: answer}

    def run(self, name: str, index: int) -> str:
        """Return how `tpharness run` fails the scenario, "" if it passes."""
        if name.startswith(PREFIX):
            return ""
        scenario = self._scenarios[name]
        session = self._sessions[index]
        for result in map(_baseline().apply, session.run(session.play(scenario))):
            if not result.outcome.green:
                return f"{result.id}: {', '.join(sorted(result.failing_codes)) or result.reason}"
        return ""


def find_coverage(subjects: Sequence[Subject], scenarios: Mapping[str, Scenario]) -> dict[str, Coverage]:
    """Play everything on subjects as they are, all at once; return the coverage of each file.

    RuntimeError if a scenario fails: no mutant could be judged then.
    """

    def work(_say: Callable[[str], None]) -> Any:
        watched = {subject.file: subject.watch() for subject in subjects}
        pairs = next(iter(watched.values()))[0]
        player = _Player(pairs, scenarios)
        found, seconds, wrong, departing, answers = {}, {}, [], set(), Answers()
        playings = [(name, index) for name in scenarios for index in range(len(pairs))]
        playings += subjects[0].judges()
        for name, index in playings:
            begun = time.perf_counter()
            failure = player.glance(name, index)
            if failure.endswith(_DEPARTS) and not isinstance(subjects[0], ReferenceSubject):
                departing.add((name, index))
                failure = ""
            tape = pairs[index].tape
            heard = tape.take() if tape else []
            answers.add((name, index, "glance"), heard)
            failure = failure or player.run(name, index)
            rest = [one for one in (tape.take() if tape else ()) if one not in heard and len(one[0]) < _LONGEST]
            answers.add((name, index, "run"), rest)
            seconds[name, index] = time.perf_counter() - begun
            found[name, index] = frozenset((file, block) for file, (_, ran) in watched.items() for block in ran())
            if failure:
                wrong.append(f"{name}: {failure}")
        return found, seconds, wrong, frozenset(departing), answers.save() if answers.said else None

    child = Child(work, 900)
    while not child.over:
        child.read()
    if child.result is None:
        raise RuntimeError(f"what is mutated cannot be played unchanged: {child.said}")
    found, seconds, wrong, departing, said = child.result
    if wrong:
        raise RuntimeError(f"what is mutated fails unchanged: {wrong}")
    files = {
        subject.file: {one: frozenset(b for f, b in hits if f == subject.file) for one, hits in found.items()}
        for subject in subjects
    }
    more = {"seconds": seconds, "departing": departing, "answers": said and Answers.load(said)}
    return {file: Coverage(blocks=blocks, **more) for file, blocks in files.items()}


def play_mutants(
    subject: Subject,
    mutants: Iterable[Mutant],
    scenarios: Mapping[str, Scenario],
    coverage: Coverage,
    *,
    jobs: int = 1,
    killers: Mapping[str, str] | None = None,
    glance_only: bool = False,
) -> Iterator[Fate]:
    """Play mutants, `jobs` at a time, each scenario that `killers` names for one before the others."""
    waiting = list(mutants)[::-1]
    running: dict[int, tuple[Child, Mutant]] = {}
    document_names()  # read here, and not in every child anew
    _baseline()
    gc.collect()
    gc.freeze()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            playings = coverage.touching(mutant.edit.block, (killers or {}).get(mutant.name, "").split())
            if glance_only:
                playings = playings[:_GLANCES]
            limit = _LEAST_SECONDS + 4 * sum(coverage.seconds[one] for one in playings)
            child = Child(
                _make_work(subject, mutant, playings, scenarios, coverage, glance_only),
                limit,
                subject.limits_memory,
            )
            running[child.pipe] = child, mutant
        for pipe in select.select(list(running), [], [])[0]:
            child, mutant = running[pipe]
            child.read()
            if child.over:
                del running[pipe]
                killer, how, covered = child.result or child.without_result()
                yield Fate(mutant=mutant, killer=killer, how=how, covered=covered, seconds=child.seconds)


def play_listed(
    subject: Subject,
    mutants: Sequence[Mutant],
    scenarios: Mapping[str, Scenario],
    killers: Mapping[str, str],
    *,
    jobs: int = 1,
) -> Iterator[Fate]:
    """Play each mutant with nothing but the scenario that is known to fail it."""
    for killer in sorted({killers[one.name] for one in mutants}):
        judges = [one for one in subject.judges() if one[0] == killer]
        playings: list[Playing] = judges or [(killer, index) for index in range(subject.pairs)]
        everything = frozenset({0, *(one.edit.block for one in mutants)})
        coverage = Coverage(blocks=dict.fromkeys(playings, everything), seconds=dict.fromkeys(playings, 1.0))
        chosen = [one for one in mutants if killers[one.name] == killer]
        yield from play_mutants(subject, chosen, scenarios, coverage, jobs=jobs)


def _make_work(
    subject: Subject,
    mutant: Mutant,
    playings: Sequence[Playing],
    scenarios: Mapping[str, Scenario],
    coverage: Coverage,
    glance_only: bool,
) -> Callable[[Callable[[str], None]], Any]:
    def work(say: Callable[[str], None]) -> Any:
        say(playings[0][0] if playings else "")
        try:
            pairs = subject.install(mutant.source(subject.source()), tables=mutant.edit.block == 0)
            player = _Player(pairs, scenarios, coverage.departing)
        except Exception as error:  # noqa: BLE001  # a mutant may make anything raise anything
            return (playings[0][0] if playings else "-"), f"cannot be loaded: {error!r}"[:200], 0
        for step in (player.glance, player.run)[: 1 if glance_only else 2]:
            for name, index in _worth_playing(subject, mutant, playings, step.__name__, coverage.answers):
                say(name)
                try:
                    how = step(name, index)
                except BaseException as error:  # noqa: BLE001
                    how = f"{type(error).__name__}: {error}"[:200]
                if how:
                    return name, how, True
        return "", "", bool(playings)

    return work


def _worth_playing(
    subject: Subject, mutant: Mutant, playings: Sequence[Playing], step: str, answers: Answers | None
) -> Iterator[Playing]:
    """Yield the playings of a step that can fail: of a program those in which it answers otherwise than unchanged."""
    if answers is None or not isinstance(subject, NodeSubject):
        yield from playings
        return
    command = subject.command(mutant.source(subject.source()))
    for name, index, _ in answers.differing(command, [(*one, step) for one in playings]):
        yield name, index
