"""How the tests are dealt out to processes, and how many scenarios those on live targets play.

The whole suite is dealt out to all processors, a part of it to none but this one.

`pytest` alone takes half as long on two processors. A part of the suite is quicker without workers, which take seconds
to start, and easier to debug; `-n 2` or `-n auto` on the command line has them all the same, `-n 0` never.

A real framework, or a server in another language, takes up to a minute for all scenarios, and there are a dozen such
tests. Each of them plays a fifth, another one each, so that all five together are the suite; --every-scenario has each
play all of them, as a job of CI does, and the closing lines say which it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tpharness.resources import scenarios_dir
from tpharness.scenario_files import find_files

MOST = 8
"""Workers at most: each has 200 MB, and some start browsers and servers."""
FIFTHS = 5

_FIFTH = "fifth"

ChosenScenarios = Callable[..., tuple[str, ...]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption("--every-scenario", action="store_true", help="each live target plays all scenarios, not a fifth")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "whole_suite: plays the suite on a live target, which takes long")


@pytest.fixture
def chosen_scenarios(request: pytest.FixtureRequest) -> ChosenScenarios:
    """Return a function that says what a live target plays: a fifth by its number, and of that what is in `folders`.

    Nothing is returned for all scenarios, which is what an empty selection means to `run_suite`.
    """

    def choose(number: int, *folders: str) -> tuple[str, ...]:
        if request.config.getoption("every_scenario"):
            return folders
        request.node.user_properties.append((_FIFTH, number))
        ids = sorted(one.id for one in find_files((scenarios_dir(),)).values())
        return tuple(one for one in ids[number % FIFTHS :: FIFTHS] if not folders or one.split("/")[0] in folders)

    return choose


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much the tests on live targets have played: a fifth is not the whole suite."""
    ran = sum(
        (_FIFTH in dict(report.user_properties)) and report.when == "call"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    )
    if ran:
        terminalreporter.line(
            f"{ran} tests on live targets played a fifth of the scenarios each;"
            " pytest -m whole_suite --every-scenario plays all of them"
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
    long = [item for item in items if item.get_closest_marker("whole_suite")]
    short = [item for item in items if not item.get_closest_marker("whole_suite")]
    share = -(-len(short) // workers)  # pytest-xdist deals out a list in parts of the same length, as they come
    items[:] = [
        item
        for number in range(workers)
        for item in (*long[number::workers], *short[number * share : (number + 1) * share])
    ]
