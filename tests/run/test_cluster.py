"""A run on a cluster has the verdict of the run in this process, also when workers are lost on the way.

Dask runs in a process of its own here: its loops and its logging are none of pytest's business.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tpharness.errors import TargetError, UsageError
from tpharness.run.cluster import check_address, run_on_cluster

DYING = """
import os, sys
from pathlib import Path
from tpharness.run.cluster import run_on_cluster

folder = Path(sys.argv[1])

def work(item):
    flag = folder / f"died-{item}"
    if item % 3 == 0 and not flag.exists():
        flag.touch()
        os._exit(1)  # a worker that is killed says nothing
    return item * item

if __name__ == "__main__":
    print(list(run_on_cluster("local:2", work, range(7))))
"""

LOST = """
import multiprocessing, os, re, signal, sys
from pathlib import Path
from tpharness.run.cluster import run_on_cluster

def square(item):
    return item * item

def schedule(pipe):
    import distributed
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False, protocol="tcp://"
    )
    pipe.send(cluster.scheduler_address)
    pipe.recv()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    scheduler = context.Process(target=schedule, args=(theirs,), daemon=True)
    scheduler.start()
    results = run_on_cluster(ours.recv(), square, range(100_000), patience=float(sys.argv[2]))
    print(next(results), next(results))
    os.kill(scheduler.pid, getattr(signal, sys.argv[1]))
    try:
        print(len(list(results)))
    except Exception as error:
        print(type(error).__name__, re.sub(" at [^ ]*[0-9]", "", str(error)))
    scheduler.kill()
"""


def test_the_verdict_is_that_of_the_run_in_this_process(tmp_path: Path) -> None:
    """Every case, every finding, the same counts; only the times differ."""
    told = []
    for name, options in (("here", ()), ("there", ("--cluster", "local:2"))):
        file = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", "tpharness", "run", "basics", "tools", *options, "--report", f"json:{file}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        report = json.loads(file.read_text("utf-8"))
        del report["seconds"]
        for result in report["results"]:
            del result["seconds"]
            result.pop("played_again", None)  # a machine that stands still is not part of the verdict
        told.append(report)
    assert told[0] == told[1]


def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    """Each third piece of work kills its worker once; all results come, in order."""
    script = tmp_path / "dying.py"
    script.write_text(textwrap.dedent(DYING), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False, timeout=90
    )
    assert done.stdout.strip() == "[0, 1, 4, 9, 16, 25, 36]", done.stderr
    assert sorted(path.name for path in tmp_path.glob("died-*")) == ["died-0", "died-3", "died-6"]


def test_a_scheduler_that_is_lost_in_the_middle_is_an_error_of_ours(tmp_path: Path) -> None:
    """Not one of Dask's, with its traceback: whoever plays the items knows what was not played."""
    assert lose_scheduler(tmp_path, "SIGKILL", 30).startswith("TargetError the scheduler was lost: ")


def test_a_scheduler_that_hangs_is_lost_too(tmp_path: Path) -> None:
    """Its connection stays open, and nothing ever comes: it is asked, and does not answer in time."""
    told = lose_scheduler(tmp_path, "SIGSTOP", 3.0)
    assert told == "TargetError the scheduler does not answer: it has been silent for 3 s"


def lose_scheduler(folder: Path, number: str, patience: float) -> str:
    """Signal a scheduler when two results have come; return what is raised then."""
    script = folder / "lost.py"
    script.write_text(textwrap.dedent(LOST), encoding="utf-8")
    command = [sys.executable, str(script), number, str(patience)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    first, told = done.stdout.splitlines()
    assert first == "0 1"
    return told


@pytest.mark.parametrize("text", ["", "remote", "local:0", "http://x", "tcp://"])
def test_what_is_no_cluster_is_refused(text: str) -> None:
    """Before anything is started."""
    with pytest.raises(UsageError, match="is not the address of a cluster"):
        check_address(text)


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core does without it."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TargetError, match="a cluster needs Dask") as told:
        list(run_on_cluster("local:1", abs, [1]))
    assert told.value.hint == "pip install 'tpharness[cluster]'"
