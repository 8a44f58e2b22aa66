"""What a program that answers lines has answered, so that a mutant is judged only where it answers otherwise.

In: a program, asked everything that is played on it. Out: for each playing the lines and a digest of their answers; and
for a mutant of the program the playings in which its answers differ. A case goes over standard input whole, so that an
answer depends on its line alone, and a mutant that answers every line as the program does passes whatever judges it.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from tpharness.targets.process import LineProcess

__all__ = ["Answers", "Tape", "taped"]

Said = tuple[bytes, bytes]
"""A line, and the digest of its answer."""


class Tape:
    """What is asked of a program, and what it answers."""

    def __init__(self) -> None:
        self._said: list[Said] = []

    def hear(self, line: bytes, answer: bytes) -> None:
        """Add a line and its answer."""
        self._said.append((line, _digest(answer)))

    def take(self) -> list[Said]:
        """Return what was said since this was last asked."""
        said, self._said = self._said, []
        return said


def taped(target: type[Any], tape: Tape) -> type[Any]:
    """Return a class of stdio targets whose processes write down what they are asked, one after the other."""

    class Taped(target):  # type: ignore[misc]
        at_once = 1

        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._ids = itertools.repeat(1)  # the same request is the same line

        def _spawn(self) -> LineProcess:
            process: LineProcess = super()._spawn()
            ask = process.ask

            def heard(line: bytes, seconds: float) -> bytes:
                answer = ask(line, seconds)
                tape.hear(line, answer)
                return answer

            process.ask = heard  # type: ignore[method-assign]
            return process

    return Taped


@dataclass(slots=True, kw_only=True)
class Answers:
    """What was said, and by playing (any key) the places of it in `said`."""

    said: list[Said] = field(default_factory=list)
    playings: dict[Any, list[int]] = field(default_factory=dict)
    _places: dict[Said, int] = field(default_factory=dict)

    def add(self, playing: Any, said: Sequence[Said]) -> None:
        """Add what was said in a playing."""
        self.playings[playing] = sorted({self._places.setdefault(one, len(self._places)) for one in said})
        self.said += list(self._places)[len(self.said) :]

    def save(self) -> Path:
        """Write them to a file, which is too large for a pipe, and return its path."""
        file = Path(mkdtemp(prefix="tpharness-answers-")) / "answers"
        file.write_bytes(pickle.dumps((self.said, self.playings)))
        return file

    @classmethod
    def load(cls, file: Path) -> Answers:
        """Return what `save` has written."""
        said, playings = pickle.loads(file.read_bytes())  # noqa: S301  # our own
        return cls(said=said, playings=playings)

    def differing(self, command: Sequence[str], playings: Sequence[Any]) -> Iterator[Any]:
        """Yield those of the playings in which a program has another answer, in their order, as soon as it is known."""
        asked = list(dict.fromkeys(place for one in playings for place in self.playings[one]))
        judged = self._judged(command, asked)
        same: dict[int, bool] = {}
        for one in playings:
            while not all(place in same for place in self.playings[one]):
                same.update([next(judged)])
            if not all(same[place] for place in self.playings[one]):
                yield one

    def _judged(self, command: Sequence[str], asked: Sequence[int]) -> Iterator[tuple[int, bool]]:
        """Yield each place, and whether its answer is the same; a program that ends is started anew behind it."""
        while asked:
            answered = 0
            for answer in _answers(command, [self.said[place][0] for place in asked]):
                yield asked[answered], _digest(answer) == self.said[asked[answered]][1]
                answered += 1
            yield from ((place, False) for place in asked[answered : answered + 1])
            asked = asked[answered + 1 :]


def _digest(answer: bytes) -> bytes:
    return hashlib.sha256(answer.rstrip(b"\n")).digest()


def _answers(command: Sequence[str], lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield what a program answers to lines, until it ends."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=1 << 16
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        writer = Thread(target=_write, args=(process.stdin, lines), daemon=True)
        writer.start()
        try:
            yield from (line for line in process.stdout)
        finally:
            process.kill()
            writer.join()


def _write(pipe: Any, lines: Sequence[bytes]) -> None:
    try:
        for line in lines:
            pipe.write(line if line.endswith(b"\n") else line + b"\n")
        pipe.close()
    except OSError:
        pass  # it has ended
