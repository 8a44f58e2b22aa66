"""Which items become one task, on a clock of its own: what a cluster costs, and that nothing waits at the end."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

import pytest

from tpharness.run.batches import BatchAnswer, deal_batches

_TENTHS = """
80 176 218 193 548 253 177 193 105 244 137 204 495 101 109 271 339 200 134 286 76 77 67 139 91 191 62 175 81 100 104
111 147 111 206 221 196 175 208 190 104 132 365 94 274 184 116 147 164 256 217 90 392 195 74 190 106 135 157 102 147
80 42 46 188 261 136 115 86 180 85 184 223 203 148 149 394 113 155 185 113 148 88 579 122 216 163 140 128 169 258 97
97 207 154 119 118 103 118 179 111 153 55 152 72 259 267 89 125 77 63 63 112 169 121 62 73 471 110 105 85 99 112 93
189 59 70 94 78 90 112 110 98 114 84 143 108 108 215 89 94 177 60 76 77 92 112 135 99 136 155 71 118 97 127 130 70 67
125 120 103 106 103 87 294 65 45 110 95 169 75 127 91 75 82 122 97 151 134 136 107 156 117 450 1054 92 82 191 277 84
124 77 113 72 92 193 161 129 82 124 119 112 93 337 108 69 94 144 78 94 158 151 132 136 142 93 121 99 110 90 146 142
139 216 143 122 194 101 171 107 79 59 119 281 97 56 117 128 105 135 100 133 135 115 118 137 124 123 161 100 75 45 41
51 76 54 65 63 66 110 106 98 85 69 54 60 87 51 61 53 49 79 59 59 55 102 65 70 80 89 67 72 109 84 137 82 119 91 85 83
93 94 66 96 50 249 205 69 119 121 88 90 89 184 129 55 161 110 116 168 143 146 130 143 70 179 160 121 52 150 113 150 80
81 86 201 97 79 66 85 169 132 204 134 231 224 115 113 116 119 130 81 232 225 142 238 178 158 90 60 103 100 120 61 55
806 76 59 106 78 74 42 58 87 149 166 78 108 93 119 164 55 118 98 69 83 55 121 94 78 102 78 51 446 97 68 208 75 91 172
109 120 111 137 72 60 83 139 43 78 97 119 73 71 63 94 74 58 79 113 65 68 96 121 107 200 169 100 71 82 181 287 131 158
171 238 96 154 110 84 175 168 129 127 143 121 117 223 291 249 258 193 178 210 176 95 137 184 261 177 162 215 112 134
343 226 76 106 119 238
"""
SUITE = [int(tenths) / 10_000 for tenths in _TENTHS.split()]
"""Seconds of each scenario of the suite in process, in the order in which it was played, as they were recorded once."""

SUBMIT, COLLECT = 0.002, 0.001
"""Seconds that the scheduler and its client are busy with a task, one task after another."""
START = 0.003
"""Seconds from a task that is there to its first item."""


class BrokenError(Exception):
    """What an item raises."""


class VirtualCrew:
    """Workers that take tasks in order, whoever is free first; the one who deals out does one thing at a time."""

    def __init__(self, workers: int, seconds: Callable[[int], float], broken: int | None = None) -> None:
        self.now = 0.0
        self.tasks: list[int] = []
        self._seconds = seconds
        self._broken = broken
        self._free = [0.0] * workers
        self.ends: list[tuple[float, int, BatchAnswer[int]]] = []

    def size(self) -> int:
        """Return how many there are."""
        return len(self._free)

    def submit(self, items: Sequence[int]) -> int:
        """Have the worker play it that is free first."""
        self.now += SUBMIT
        begun = max(self.now, heapq.heappop(self._free)) + START
        good = list(items) if self._broken not in items else list(items)[: list(items).index(self._broken or 0)]
        took = sum(map(self._seconds, good))
        heapq.heappush(self._free, begun + took)
        error = BrokenError() if not good else None
        heapq.heappush(self.ends, (begun + took, len(self.tasks), BatchAnswer(results=good, seconds=took, error=error)))
        self.tasks.append(len(items))
        return len(self.tasks) - 1

    def wait(self) -> tuple[int, BatchAnswer[int]]:
        """Go on to the end of the first task that is done."""
        end, task, answer = heapq.heappop(self.ends)
        self.now = max(self.now, end) + COLLECT
        return task, answer


def played(workers: int, seconds: Sequence[float]) -> tuple[VirtualCrew, list[float]]:
    """Deal items that take so long; return the crew, and when each result was seen."""
    crew = VirtualCrew(workers, seconds.__getitem__)
    seen: list[float] = []
    for item in deal_batches(crew, range(len(seconds))):
        assert item == len(seen), "results come in the order of the items"
        seen.append(crew.now)
    return crew, seen


@pytest.mark.parametrize(("orders", "speed"), [(3, 14), (1, 13)])
def test_sixteen_workers_play_the_suite_fourteen_times_as_fast_as_one(orders: int, speed: int) -> None:
    """In the three orders of a certificate; once it takes 0.4 s, and its longest scenario a quarter of that."""
    seconds = SUITE * orders
    crew, seen = played(16, seconds)
    assert sum(seconds) / crew.now >= speed
    assert seen[0] < 0.1, "results are seen while others play"


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_what_a_cluster_costs_is_little(workers: int) -> None:
    """Of two workers, one as fast as this process: a task for each scenario would cost a fifth."""
    crew, _ = played(workers, SUITE)
    assert sum(SUITE) / crew.now >= 0.96 * workers
    assert len(crew.tasks) < len(SUITE) / 10


def test_long_items_are_not_kept_from_view() -> None:
    """Such as the scenarios of a slow target: each is a task, after the first few."""
    crew, seen = played(4, [2.0] * 40)
    assert crew.tasks[8:] == [1] * len(crew.tasks[8:])
    assert seen[0] < 9


def test_items_are_taken_as_they_are_needed() -> None:
    """Items may depend on results, so nobody runs ahead of them by much; how many there are is not known then."""
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = deal_batches(VirtualCrew(2, lambda _: 1.0), items())
    for count in range(20):
        assert next(results) == count
        assert len(taken) <= count + 9


def test_what_an_item_raises_is_raised_in_its_place() -> None:
    """After the results of those before it, which are in its batch, and only of a task that has it alone."""
    crew = VirtualCrew(2, lambda _: 0.01, broken=50)
    results = deal_batches(crew, range(100))
    assert [next(results) for _ in range(50)] == list(range(50))
    with pytest.raises(BrokenError):
        next(results)
    assert max(crew.tasks) > 1


def test_a_batch_that_breaks_off_is_played_to_its_end() -> None:
    """A worker was lost, for good, with several items: each is played by itself, once."""
    crew = VirtualCrew(2, lambda _: 0.01)
    submit, lost = crew.submit, list[int]()

    def losing(items: Sequence[int]) -> int:
        if 50 in items and len(items) > 1 and not lost:
            lost.extend(items)
            crew.tasks.append(len(items))
            heapq.heappush(crew.ends, (crew.now, len(crew.tasks) - 1, BatchAnswer(results=())))
            return len(crew.tasks) - 1
        return submit(items)

    crew.submit = losing  # type: ignore[method-assign]
    assert list(deal_batches(crew, range(100))) == list(range(100))
    assert len(lost) > 1
