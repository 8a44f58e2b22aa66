"""What a figure of `docs/PERFORMANCE.md` is: a ratio that is measured in one process, at several sizes.

A figure is one function, declared in `core_figures`, `suite_figures` or `floor_figures`; nothing else knows of it:

    @figure("decoding a `data-*` chunk / a typed chunk", unit="chunk", at_most=2.5)
    def data_chunk(size: int) -> Pair:
        return Pair(ours=lambda: ..., peer=lambda: ...)

It returns two pieces of work of the same size. In a round each is repeated, in turn, until both have had time enough to
be compared, so that what else the machine does strikes both, and the figure is the median of the ratios. With `at_most`
a ratio is ours by the peer's, with `at_least` the peer's by ours. A figure that takes its own time, such as one of
several processes or of memory, returns its ratios as a list.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version

__all__ = ["FIGURES", "Figure", "Pair", "Point", "figure", "peer_version"]

_ROUNDS, _ROUNDS_OF_GROWTH, _LARGE = 5, 2, 100_000
_LEAST = 0.3
"""Seconds that each of a pair has to have taken in a round: the speed of a shared machine changes within less."""
_SHARE = 0.4
"""The part of the time of the slower one that the faster one has to have taken, for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two pieces of work on the same input, of which the time is taken; `clock` is processor time by default."""

    ours: Callable[[], object]
    peer: Callable[[], object]
    clock: Callable[[], float] = time.process_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measure, its limit, and the sizes at which it is taken; the verdict is on the one at `head`.

    `unit` is what a size counts, in the singular; `peer` the distributions that are compared with, for their versions.
    """

    key: str
    name: str
    unit: str
    make: Callable[[int], Pair | list[float]]
    at_most: float | None = None
    at_least: float | None = None
    head: int = 10_000
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    peers: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The limit as it is shown."""
        return f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}" if self.at_least else ""

    def keeps(self, ratio: float) -> bool:
        """Whether a ratio is within the limit."""
        return ratio <= (self.at_most or float("inf")) and ratio >= (self.at_least or 0)

    def measure(self, size: int) -> Point:
        """Take the figure at one size."""
        made = self.make(size)
        if not isinstance(made, Pair):
            return Point(key=self.key, size=size, value=statistics.median(made), low=min(made), high=max(made))
        for _ in range(size < _LARGE):
            _round(made)  # what is loaded on first use does not count
        rounds = [_round(made) for _ in range(_ROUNDS if size == self.head else _ROUNDS_OF_GROWTH)]
        ratios = [peer / ours if self.at_least is not None else ours / peer for ours, peer in rounds]
        each = statistics.median(ours for ours, _ in rounds) / size
        value = statistics.median(ratios)
        return Point(key=self.key, size=size, value=value, low=min(ratios), high=max(ratios), seconds=each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A figure at one size: the median ratio, the least and the greatest, and the seconds of ours for one unit."""

    key: str
    size: int
    value: float
    low: float
    high: float
    seconds: float | None = None


FIGURES: dict[str, Figure] = {}
"""Every figure by its key, in the order in which they are declared."""


def figure(
    name: str,
    *,
    unit: str,
    at_most: float | None = None,
    at_least: float | None = None,
    head: int = 10_000,
    sizes: Sequence[int] = (1_000, 10_000, 100_000),
    peers: Sequence[str] = (),
) -> Callable[[Callable[[int], Pair | list[float]]], Callable[[int], Pair | list[float]]]:
    """Declare a function as a figure; its name is the key."""

    def declare(make: Callable[[int], Pair | list[float]]) -> Callable[[int], Pair | list[float]]:
        key = make.__name__.replace("_", "-")
        FIGURES[key] = Figure(
            key=key,
            name=name,
            unit=unit,
            make=make,
            at_most=at_most,
            at_least=at_least,
            head=head,
            sizes=tuple(sizes),
            peers=tuple(peers),
        )
        return make

    return declare


def peer_version(distribution: str) -> str:
    """Return a distribution with its version; `npm:` stands before one that `peer:ai-sdk-client` installs."""
    name = distribution.removeprefix("npm:")
    if name == distribution:
        return f"{name} {version(name)}"
    pinned = json.loads((resources.files("tpharness.peers") / "ai_sdk" / "package.json").read_text("utf-8"))
    return f"{name} {pinned['dependencies'][name]}"


def _round(pair: Pair) -> tuple[float, float]:
    """Return the mean seconds of both, which are repeated in turn, with the garbage collector at rest."""
    works, took, times = (pair.ours, pair.peer), [0.0, 0.0], [0, 0]
    gc.collect()
    gc.freeze()  # or it would look through all that is there before each piece of work, which is most of the time
    while not _suffice(*took):
        one = took.index(min(took))
        gc.collect()
        gc.disable()
        begun = pair.clock()
        works[one]()
        took[one] += pair.clock() - begun
        gc.enable()
        times[one] += 1
    return took[0] / times[0], took[1] / times[1]


def _suffice(ours: float, peer: float) -> bool:
    """Whether both have taken long enough to be compared."""
    return min(ours, peer) >= max(_LEAST, _SHARE * max(ours, peer))
