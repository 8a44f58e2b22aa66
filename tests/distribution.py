"""How the tests are dealt out to processes, and how much of everything a test plays that could play all of it.

The whole suite is dealt out to all processors, a part of it to none but this one.

`pytest` alone takes half as long on two processors. A part of the suite is quicker without workers, which take seconds
to start, and easier to debug; `-n 2` or `-n auto` on the command line has them all the same, `-n 0` never.

A real framework, or a server in another language, takes up to a minute for all scenarios; a table of all histories, or
what a thousand defects do, takes as long. Such a test has the marker `sampled` and takes a tenth of what it is about:
`chosen_scenarios` gives live targets another tenth each, so that ten together are the suite, and `sample` gives any
other test one that depends on its name. With --whole each takes everything, as CI has it, and the closing lines say
which it was. A test that takes as long and plays everything at each run has the marker `long`. Both are started first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

from tpharness.printable import counted
from tpharness.resources import scenarios_dir
from tpharness.scenario_files import find_files

MOST = 8
"""Workers at most: each has 200 MB, and some start browsers and servers."""
PARTS = 10

_SAMPLED = "sampled"
_T = TypeVar("_T")

ChosenScenarios = Callable[..., tuple[str, ...]]
Sample = Callable[[Sequence[_T]], tuple[_T, ...]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption("--whole", action="store_true", help="tests that take a tenth of what they play take all of it")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    config.addinivalue_line("markers", "sampled: takes a tenth of what it plays, all of it with --whole; starts first")
    config.addinivalue_line("markers", "long: takes many seconds, and is started first")


def _is_whole(request: pytest.FixtureRequest) -> bool:
    """Say whether everything is asked for, and note that a sample was taken where it is not."""
    if not request.node.get_closest_marker(_SAMPLED):
        pytest.fail("a test that takes a sample needs the marker `sampled`: CI chooses by it what it plays whole")
    if request.config.getoption("whole"):
        return True
    request.node.user_properties.append((_SAMPLED, True))
    return False


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Sample[_T]:
    """Return a function that takes a tenth of a sequence, in its order: at least one, which ones by the test's name."""
    first = crc32(request.node.nodeid.encode()) % PARTS

    def take(every: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(every) if _is_whole(request) else tuple(every[min(first, len(every) - 1) :: PARTS])

    return take


@pytest.fixture
def chosen_scenarios(request: pytest.FixtureRequest) -> ChosenScenarios:
    """Return a function that says what a live target plays: a tenth by its number, and of that what is in `folders`.

    Nothing is returned for all scenarios, which is what an empty selection means to `run_suite`.
    """

    def choose(number: int, *folders: str) -> tuple[str, ...]:
        if _is_whole(request):
            return folders
        ids = sorted(one.id for one in find_files((scenarios_dir(),)).values())
        return tuple(one for one in ids[number % PARTS :: PARTS] if not folders or one.split("/")[0] in folders)

    return choose


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests took a sample: a tenth is not everything."""
    ran = sum(
        (_SAMPLED in dict(report.user_properties)) and report.when == "call"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    )
    if ran:
        terminalreporter.line(
            f"{counted(ran, 'test')} took a tenth of what they are about; pytest -m sampled --whole takes all of it"
        )


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
    long = [item for item in items if _is_long(item)]
    short = [item for item in items if not _is_long(item)]
    share = -(-len(short) // workers)  # pytest-xdist deals out a list in parts of the same length, as they come
    items[:] = [
        item
        for number in range(workers)
        for item in (*long[number::workers], *short[number * share : (number + 1) * share])
    ]


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("long", _SAMPLED))
