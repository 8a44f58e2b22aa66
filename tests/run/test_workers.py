"""Work in processes of this machine: in order, as it is needed, and nothing is lost with a worker."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tpharness.errors import InputError, ScenarioError, TargetError, TpharnessError, UsageError
from tpharness.findings import Finding, Kind, Place
from tpharness.run import RunOptions, run_suite
from tpharness.run.workers import THIS_PROCESS, Workers, map_in_order, started
from tpharness.targets.remote import BrokenContractError, CannotPlayError, UnreachableError
from tpharness.verdict import RunFinished

KIND = Kind("identity-differs")
FOUND: Finding = KIND.at(Place(case="a/b"), "it is wrong")


class Item(int):
    """A number that says of itself what it is."""

    def __str__(self) -> str:
        return f"item {int(self)}"


def squared(item: int) -> int:
    """Return what shows which item it was."""
    return item * item


def dying(folder: Path, deaths: int, item: int) -> int:
    """Kill the process with every third item, so many times; a process that is killed says nothing."""
    flags = list(folder.glob(f"{int(item)}-*"))
    if item % 3 == 0 and len(flags) < deaths:
        (folder / f"{int(item)}-{os.getpid()}").touch()
        os._exit(1)
    return item * item


def refusing(item: int) -> int:
    """Raise for one item what a worker may raise."""
    if item == 2:
        raise ScenarioError("two is not a scenario", findings=(FOUND,), hint="take three")
    return item


@pytest.mark.parametrize("workers", [THIS_PROCESS, Workers(jobs=2)])
def test_results_come_in_the_order_of_the_items_which_are_taken_as_they_are_needed(workers: Workers) -> None:
    """Items may depend on results, so nobody runs ahead of them by much."""
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = map_in_order(squared, items(), workers)
    assert next(results) == 0
    assert len(taken) <= 4
    assert [next(results) for _ in range(20)] == [item * item for item in range(1, 21)]
    assert len(taken) <= 25


def test_workers_are_there_before_a_run_says_that_it_has_begun() -> None:
    """Whoever shows the run begins a thread then, and a process with threads cannot be forked: that took seconds."""
    events = run_suite(RunOptions(ids=("basics/client-loses-the-end", "basics/tool-call-and-answer"), jobs=2))
    before = set(multiprocessing.active_children())
    next(events)
    assert set(multiprocessing.active_children()) - before
    assert [type(event) for event in events][-1] is RunFinished
    assert not set(multiprocessing.active_children()) - before


def test_workers_take_items_again(tmp_path: Path) -> None:
    """After an item has ended them all, as after the last item: the rest of a run is dealt to the same."""
    with started(Workers(jobs=2)) as deal:
        assert list(deal(squared, range(5))) == [0, 1, 4, 9, 16]
        results = deal(partial(dying, tmp_path, 99), map(Item, [1, 3, 5]))
        assert next(results) == 1
        with pytest.raises(TargetError, match="item 3"):
            next(results)
        assert list(deal(squared, [4, 5])) == [16, 25]


def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    """What was under way is done again, whichever item it was that ended the process."""
    assert list(map_in_order(partial(dying, tmp_path, 1), range(7), Workers(jobs=2))) == [i * i for i in range(7)]
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == ["0", "3", "6"]


def test_the_item_that_ends_its_workers_is_named(tmp_path: Path) -> None:
    """And not one that was under way beside it; what came before it is there."""
    results = map_in_order(partial(dying, tmp_path, 99), map(Item, [1, 2, 3, 4, 5]), Workers(jobs=2))
    assert [next(results), next(results)] == [1, 4]
    with pytest.raises(TargetError, match="4 worker processes ended while they played item 3, the last by itself"):
        next(results)


def test_workers_end_with_the_process_that_deals_out(tmp_path: Path) -> None:
    """Also when that is killed, and can say nothing to them."""
    script = tmp_path / "dealing.py"
    script.write_text(
        "import os, signal\n"
        "from tpharness.run.workers import Workers, map_in_order\n"
        "def pid(_): return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    results = map_in_order(pid, range(9), Workers(jobs=2))\n"
        "    print(next(results), next(results), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # Its workers hold its standard output, so that is at its end when all have gone.
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 2


def test_an_error_comes_out_of_a_worker_whole() -> None:
    """With what it carries beside its message."""
    results = map_in_order(refusing, [1, 2, 3], Workers(jobs=2))
    assert next(results) == 1
    with pytest.raises(ScenarioError, match="two is not a scenario") as raised:
        next(results)
    assert (raised.value.hint, raised.value.findings) == ("take three", (FOUND,))


@pytest.mark.parametrize(
    "error",
    [
        *(kind("words", hint="do") for kind in (InputError, UsageError, TargetError, CannotPlayError)),
        UnreachableError("words", hint="do"),
        ScenarioError("words", findings=(FOUND,), hint="do"),
        BrokenContractError(FOUND),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_of_ours_can_be_pickled(error: TpharnessError) -> None:
    """What cannot be would break the pool instead of telling anything."""
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  # what was written a line above
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
