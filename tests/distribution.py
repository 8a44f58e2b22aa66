"""How the tests are dealt out to processes: the whole suite to all processors, a part of it to none but this one.

`pytest` alone takes half as long on two processors. A part of the suite is quicker without workers, which take seconds
to start, and easier to debug; `-n 2` or `-n auto` on the command line has them all the same, `-n 0` never.
"""

from __future__ import annotations

import os

import pytest

MOST = 8
"""Workers at most: each has 200 MB, and some start browsers and servers."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "whole_suite: plays the whole suite on a live target, which takes long")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many workers `-n auto` means, as pyproject.toml has it."""
    asked = any(arg.startswith(("-n", "--numprocesses")) for arg in config.invocation_params.args)
    part = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.option.collectonly or (part and not asked):
        return 0
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found + 1, MOST)  # a fifth of the time they wait for processes, sockets and browsers


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have each worker begin with its share of the long tests: one that begins last is what all others wait for."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    long = [item for item in items if item.get_closest_marker("whole_suite")]
    short = [item for item in items if not item.get_closest_marker("whole_suite")]
    share = -(-len(short) // workers)  # pytest-xdist deals out a list in parts of the same length, as they come
    items[:] = [
        item
        for number in range(workers)
        for item in (*long[number::workers], *short[number * share : (number + 1) * share])
    ]
