"""A run on a cluster has the verdict of the run in this process, also when workers are lost on the way.

Dask runs in a process of its own here: its loops and its logging are none of pytest's business.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run_in_process

from tpharness.errors import TargetError, UsageError
from tpharness.run.cluster import check_address, run_on_cluster

DYING = """
import os, sys
from pathlib import Path
from tpharness.run.cluster import run_on_cluster

folder = Path(sys.argv[1])

def work(item):
    flag = folder / f"died-{item}"
    if item == 1 and not flag.exists():
        flag.touch()
        os._exit(1)  # a worker that is killed says nothing
    return item * item

if __name__ == "__main__":
    print(list(run_on_cluster("local:2", work, range(4))))
"""

LOST = """
import multiprocessing, os, re, signal, time
import distributed
from tpharness.run.cluster import run_on_cluster

def square(item):
    return item * item

def schedule(pipe):
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False, protocol="tcp://"
    )
    pipe.send(cluster.scheduler_address)
    pipe.recv()

def lose(number, patience, noticed=False):
    ours, theirs = context.Pipe()
    scheduler = context.Process(target=schedule, args=(theirs,), daemon=True)
    scheduler.start()
    results = run_on_cluster(ours.recv(), square, range(100_000), patience=patience)
    print(next(results), next(results))
    os.kill(scheduler.pid, number)
    while noticed and any(client.status == "running" for client in distributed.Client._instances):
        time.sleep(0.01)
    try:
        print(len(list(results)))
    except Exception as error:
        print(type(error).__name__, re.sub(" at [^ ]*[0-9]", "", str(error)))
    scheduler.kill()

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")  # which imports Dask once for both
    lose(signal.SIGKILL, 30)
    lose(signal.SIGKILL, 30, noticed=True)
    lose(signal.SIGSTOP, 2.0)
"""


def test_the_verdict_is_that_of_the_run_in_this_process(tmp_path: Path) -> None:
    """Every case, every finding, the same counts; only the times differ."""
    here, there = (tmp_path / f"{name}.json" for name in ("here", "there"))
    assert run_in_process("run", "basics", "--report", f"json:{here}") == 0
    command = [sys.executable, "-m", "tpharness", "run", "basics", "--cluster", "local:2", "--report", f"json:{there}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert verdict(here) == verdict(there)


def verdict(file: Path) -> Any:
    """Read a report without what two runs never share: a machine that stands still is not part of the verdict."""
    report = json.loads(file.read_text("utf-8"))
    for one in (report, *report["results"]):
        del one["seconds"]
        one.pop("played_again", None)
    return report


def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    """One of four pieces of work kills its worker once; all results come, in order."""
    script = tmp_path / "dying.py"
    script.write_text(textwrap.dedent(DYING), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False, timeout=90
    )
    assert done.stdout.strip() == "[0, 1, 4, 9]", done.stderr
    assert sorted(path.name for path in tmp_path.glob("died-*")) == ["died-1"]


def test_a_scheduler_that_is_lost_in_the_middle_is_an_error_of_ours(tmp_path: Path) -> None:
    """Not one of Dask's, with its traceback: whoever plays the items knows what was not played.

    The client of the second one has seen that the connection is closed before it is asked for more. The third one
    hangs: its connection stays open, and nothing ever comes; it is asked, and does not answer in time.
    """
    script = tmp_path / "lost.py"
    script.write_text(textwrap.dedent(LOST), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[::2] == ["0 1"] * 3  # each error is one line, whoever notices first
    killed, noticed, silent = lines[1::2]
    assert killed.startswith("TargetError the scheduler was lost: ")
    assert noticed.startswith("TargetError the scheduler was lost: ")
    assert silent == "TargetError the scheduler does not answer: it has been silent for 2 s"


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
