"""The pytest plugin: scenarios as tests, and fixtures for tests of your own servers. `docs/PYTEST.md` has the options.

pytest loads this module in every project of every environment that has tpharness. It adds options and fixtures and
imports nothing but pytest; what collects, plays and starts servers is imported by the first run that asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tpharness.pytest_plugin.app import App
    from tpharness.pytest_plugin.playing import ScenarioPlayer, Targets

__all__ = [
    "tpharness_app",
    "tpharness_app_ready",
    "tpharness_baseline",
    "tpharness_client",
    "tpharness_dialect",
    "tpharness_faults",
    "tpharness_play",
    "tpharness_server",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options. Each has the same name in the configuration file, and takes the place of what is said there."""
    group = parser.getgroup("tpharness", "ThreadProtocol scenarios")
    group.addoption(
        "--tpharness-scenarios",
        action="append",
        default=[],
        metavar="DIR",
        help="Collect the scenario files in this folder as tests; may be given again.",
    )
    group.addoption(
        "--tpharness-builtin",
        action="append",
        default=[],
        metavar="ID",
        help="Collect built-in scenarios as tests: an id, a folder or a pattern with *; may be given again.",
    )
    group.addoption("--tpharness-server", metavar="TARGET", help="The server that scenarios play [reference].")
    group.addoption("--tpharness-client", metavar="TARGET", help="The client that scenarios play [reference].")
    group.addoption("--tpharness-wire", metavar="NAME", help="What the streams are: vsp or ag-ui [vsp].")
    group.addoption(
        "--tpharness-app", metavar="APP", help="The application of tpharness_app: URL, command, MODULE:APP."
    )
    group.addoption(
        "--tpharness-apps",
        action="append",
        default=[],
        metavar="NAME",
        help="Collect the cases of this application of tpharness.toml as tests; may be given again.",
    )
    group.addoption(
        "--tpharness-app-ready", metavar="SECONDS", help="How long a command may take until it listens [60]."
    )
    group.addoption("--tpharness-baseline", metavar="FILE", help="A YAML file of known failures, which are xfailed.")
    group.addoption(
        "--tpharness-dialect", action="append", metavar="VERSION", help="Only this version; may be given again."
    )
    group.addoption(
        "--tpharness-faults",
        action="append",
        metavar="NAME",
        help="Play with this fault on the wire, or all; may be given again.",
    )
    group.addoption("--tpharness-places", action="store_true", help="Make a test of every place at which a sweep cuts.")
    parser.addini("tpharness_scenarios", "Folders with scenario files to collect as tests.", type="paths", default=[])
    parser.addini(
        "tpharness_builtin", "Built-in scenarios to collect: ids, folders, patterns.", type="args", default=[]
    )
    parser.addini("tpharness_server", "The server that scenarios play: a target, or app.", default="reference")
    parser.addini("tpharness_client", "The client that scenarios play: a target, or app.", default="reference")
    parser.addini("tpharness_wire", "What the streams are: vsp or ag-ui.", default="vsp")
    parser.addini("tpharness_app", "The application of tpharness_app: a URL, a command or MODULE:APP.", default="")
    parser.addini("tpharness_apps", "Applications of tpharness.toml whose cases are tests.", type="args", default=[])
    parser.addini("tpharness_app_ready", "Seconds that a command may take until it listens.", default="")
    parser.addini("tpharness_baseline", "A YAML file of known failures, which are xfailed.", default="")
    parser.addini("tpharness_dialect", "Versions to play, all if empty.", type="args", default=[])
    parser.addini("tpharness_faults", "Faults on the wire to play with.", type="args", default=[])
    parser.addini("tpharness_places", "Whether every place of a sweep is a test.", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Collect scenarios and applications where some are named. Nothing is imported in any other project."""
    named = ("tpharness_scenarios", "tpharness_builtin")
    if any(config.getini(name) or config.getoption(name) for name in named):
        collecting = import_module("tpharness.pytest_plugin.collecting")
        config.pluginmanager.register(collecting, "tpharness-collecting")
        collecting.add_roots(config)
    if config.getini("tpharness_apps") or config.getoption("tpharness_apps"):
        config.pluginmanager.register(import_module("tpharness.pytest_plugin.app_cases"), "tpharness-app-cases")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what cases of an application have found and fail no test for: at SHOULD, and policies."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    properties = [one for report in reports for one in getattr(report, "user_properties", ())]
    if any(name == "tpharness-advice" for name, _ in properties):
        terminalreporter.section("tpharness: found in an application, and no failure")
        for line in import_module("tpharness.pytest_plugin.advice").advice_lines(properties):
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    op: str, left: object, right: object
) -> Generator[None, list[list[str] | None], list[list[str] | None]]:
    """Say in lines what `assert check(thread) == []` has found, and how a thread differs from its snapshot.

    It wraps the other hooks because syrupy's own comes first otherwise.
    """
    others = yield
    lines: list[str] = []
    # The type is asked first: comparing a snapshot with [] would be one more comparison of that snapshot.
    if op == "==" and isinstance(right, list) and not right and "tpharness.findings" in sys.modules:
        lines = _finding_lines(left)
    snapshot: Any = next((one for one in (left, right) if type(one).__name__ == "SnapshotAssertion"), None)
    if snapshot is not None:
        from tpharness.snapshots import explain  # noqa: PLC0415  # few tests compare with snapshots

        lines = explain(snapshot)
    return [lines] if lines else others


def _finding_lines(left: object) -> list[str]:
    from tpharness.findings import Finding  # noqa: PLC0415  # it is loaded
    from tpharness.printable import counted  # noqa: PLC0415  # with what has made findings

    found = left if isinstance(left, list) and left and all(isinstance(one, Finding) for one in left) else []
    return [counted(len(found), "finding"), *(one.line() for one in found)] if found else []


def _setting(config: pytest.Config, name: str) -> object:
    """Return an option of the command line, or else of the configuration file."""
    given = config.getoption(name)
    return config.getini(name) if given is None else given


@pytest.fixture(scope="session")
def tpharness_server(request: pytest.FixtureRequest) -> str:
    """Return the server that scenarios play, as `--server` takes it. Override it to name another one.

    `app` in the configuration stands for the address of `tpharness_app`.
    """
    return _target(request, "tpharness_server")


@pytest.fixture(scope="session")
def tpharness_client(request: pytest.FixtureRequest) -> str:
    """Return the client that scenarios play, as `--client` takes it; otherwise like `tpharness_server`."""
    return _target(request, "tpharness_client")


@pytest.fixture(scope="session")
def tpharness_wire(pytestconfig: pytest.Config) -> str:
    """Return the name of what runs between the server and the client, as `--wire` takes it."""
    return str(_setting(pytestconfig, "tpharness_wire"))


def _target(request: pytest.FixtureRequest, name: str) -> str:
    named = str(_setting(request.config, name))
    return str(request.getfixturevalue("tpharness_app").url) if named == "app" else named


@pytest.fixture(scope="session")
def tpharness_app_ready(pytestconfig: pytest.Config) -> float | None:
    """Return how many seconds a command of `tpharness_app` may take until it listens, None for the usual time."""
    given = str(_setting(pytestconfig, "tpharness_app_ready"))
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise pytest.UsageError(f"tpharness_app_ready is {given!r}, which is not a number of seconds above 0")
    return seconds


@pytest.fixture(scope="session")
def tpharness_baseline(pytestconfig: pytest.Config) -> str:
    """Return the file of known failures, relative to the root folder; empty for the built-in ones."""
    return str(_setting(pytestconfig, "tpharness_baseline"))


@pytest.fixture(scope="session")
def tpharness_dialect(pytestconfig: pytest.Config) -> list[str]:
    """Return the versions that are played, all if empty."""
    return list(_setting(pytestconfig, "tpharness_dialect"))  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="session")
def tpharness_faults(pytestconfig: pytest.Config) -> list[str]:
    """Return the faults with which scenarios are played; they are played unharmed if empty."""
    return list(_setting(pytestconfig, "tpharness_faults"))  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="session")
def _tpharness_targets(pytestconfig: pytest.Config) -> Iterator[Targets]:
    """Start a target when it is first played, and end all of them after the last test."""
    from tpharness.pytest_plugin.outdated import LEDGER  # noqa: PLC0415
    from tpharness.pytest_plugin.playing import Targets  # noqa: PLC0415

    targets = Targets()
    targets.ledger = pytestconfig.stash.get(LEDGER, targets.ledger)
    yield targets
    targets.close()


@pytest.fixture
def tpharness_play(
    pytestconfig: pytest.Config,
    _tpharness_targets: Targets,
    tpharness_server: str,
    tpharness_client: str,
    tpharness_wire: str,
    tpharness_baseline: str,
    tpharness_dialect: list[str],
    tpharness_faults: list[str],
) -> ScenarioPlayer:
    """Play scenarios on the targets of the other fixtures, which are started once for all tests.

    `tpharness_play("cycles/late-return")` fails the test for what is not green, and returns the results.
    """
    from tpharness.errors import TpharnessError  # noqa: PLC0415
    from tpharness.pytest_plugin.playing import ScenarioPlayer  # noqa: PLC0415

    try:
        return ScenarioPlayer.make(
            _tpharness_targets,
            folder=pytestconfig.rootpath,
            server=tpharness_server,
            client=tpharness_client,
            wire=tpharness_wire,
            baseline=tpharness_baseline,
            dialects=tpharness_dialect,
            faults=tpharness_faults,
        )
    except TpharnessError as error:
        wrong = error.line
    pytest.fail(wrong, pytrace=False)  # out of the handler, which would be shown


@pytest.fixture(scope="session")
def tpharness_app(pytestconfig: pytest.Config, tpharness_app_ready: float | None) -> Iterator[App]:
    """Hand out the application under test: `.url`, and `.client`, an `httpx.Client` for it.

    The configuration names it in `tpharness_app`: a URL, a command, or `MODULE:APP` for an ASGI application, which is
    served in this process. It is started when it is first used, and ended after the last test. `tpharness_app("chat")`
    judges an application of the root folder's `tpharness.toml` as it runs, in a test without an event loop.
    """
    from tpharness.pytest_plugin.advice import AdviceReports  # noqa: PLC0415
    from tpharness.pytest_plugin.app import App  # noqa: PLC0415

    reports, named = AdviceReports(), str(_setting(pytestconfig, "tpharness_app"))
    pytestconfig.pluginmanager.register(reports)
    app = App(named, pytestconfig.rootpath, ready=tpharness_app_ready, noted=reports.noted)
    yield app
    pytestconfig.pluginmanager.unregister(reports)
    app.close()
