"""Scenario files and built-in scenarios as tests. This module is a plugin of its own where a project names some.

The files of the named folders (`*.yaml`, `*.yml`) are visited whatever `testpaths` says; YAML files elsewhere are left
alone. A run that names files or folders of its own gets these, and what its command line names besides. Each scenario
is one test, called by its id, or one for each place of its sweep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tpharness.clauses import load_clauses
from tpharness.errors import TpharnessError, did_you_mean
from tpharness.profiles import find_profiles, load_profiles
from tpharness.protocol.versions import parse_version
from tpharness.pytest_plugin.outdated import LEDGER, OutdatedEntries
from tpharness.pytest_plugin.playing import NotGreenError, ScenarioPlayer
from tpharness.pytest_plugin.unjudged import register_unjudged
from tpharness.resources import scenarios_dir
from tpharness.run.citing import cited_clauses
from tpharness.run.plan import cut_places
from tpharness.run.requests import parse_faults
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import load_scenario, scenario_id
from tpharness.scenario.records import CutAt
from tpharness.scenario_files import SUFFIXES, find_ids

__all__ = ["BuiltinScenarios", "ScenarioFile", "ScenarioItem", "add_roots"]

BUILTIN = "tpharness"
"""The name under which built-in scenarios stand in ids of tests."""

MARKERS = (
    "tpharness_clause(id): a scenario that cites this clause, as in -m \"tpharness_clause(id='cycle.kept')\"",
    "tpharness_profile(name): a scenario of this profile, as in -m \"tpharness_profile(name='cycles')\"",
)


def add_roots(config: pytest.Config) -> None:
    """Add the configured folders to the collection. A missing folder is a usage error of pytest, never zero tests."""
    _check_words(config)
    config.pluginmanager.register(OutdatedEntries(config), "tpharness-outdated")
    register_unjudged(config)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    for root in _roots(config):
        if not root.is_dir():
            why = "is not a folder" if root.exists() else "does not exist"
            raise pytest.UsageError(f"tpharness_scenarios: {root} {why}; expected a folder with scenario files")
    here = config.invocation_params.dir
    visited = [(here / arg.partition("::")[0]).resolve() for arg in config.args]
    for root in _named(config) if _chosen(config) else _roots(config):
        if not any(root.is_relative_to(path) for path in visited):
            config.args.append(str(root))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect the scenario files of the configured folders."""
    if file_path.suffix not in SUFFIXES:
        return None
    for root in _roots(parent.config):
        if file_path.resolve().is_relative_to(root):
            return ScenarioFile.from_parent(parent, path=file_path, root=root)
    return None


def _check_words(config: pytest.Config) -> None:
    """Raise a usage error of pytest for a word that names nothing: before any test says so, or no test is left."""
    for name, parse in (("dialect", lambda words: list(map(parse_version, words))), ("faults", parse_faults)):
        given = config.getoption(f"tpharness_{name}")
        try:
            parse(list(config.getini(f"tpharness_{name}") if given is None else given))
        except TpharnessError as error:
            raise pytest.UsageError(f"tpharness_{name}: {error.line}") from None
    for kind, known in (("clause", load_clauses()), ("profile", load_profiles())):
        for name in re.findall(rf"tpharness_{kind}\(\w+ *= *['\"]([^'\"]*)", config.getoption("markexpr") or ""):
            if name not in known:
                hint = did_you_mean(name, known, f"`tpharness list {kind}s` names them")
                raise pytest.UsageError(f"-m: no {kind} is called {name!r}; {hint}")
    given = config.getoption("tpharness_baseline") or config.getini("tpharness_baseline")
    if given and not (config.rootpath / given).is_file():
        why = "expected a YAML file of known failures, relative to the root folder"
        raise pytest.UsageError(f"tpharness_baseline: {config.rootpath / given} is not a file; {why}")


@pytest.hookimpl(tryfirst=True)  # so that -k, -m and --lf see them
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the built-in scenarios, which are not files of the project."""
    named = config.getoption("tpharness_builtin") or ([] if _chosen(config) else config.getini("tpharness_builtin"))
    if named:
        node = BuiltinScenarios.from_parent(session, name=BUILTIN, nodeid=BUILTIN, named=named)
        node.ihook.pytest_collectstart(collector=node)
        report = node.ihook.pytest_make_collect_report(collector=node)
        node.ihook.pytest_collectreport(report=report)
        items += [item for item in report.result or () if isinstance(item, pytest.Item)]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which scenarios are to be played, and whether these are all that are configured."""
    config, ledger = session.config, session.config.stash[LEDGER]
    items = [item for item in session.items if isinstance(item, ScenarioItem)]
    ledger.owed |= {item.nodeid for item in items}
    roots = {*_named(config), *(path.resolve() for path in config.getini("tpharness_scenarios"))}
    files = {path.resolve() for root in roots for path in find_ids(root).values()}
    configured = config.getini("tpharness_builtin")
    named = config.getoption("tpharness_builtin") or ([] if _chosen(config) else configured)
    ledger.partial |= not files <= {item.one.path.resolve() for item in items} or not set(configured) <= set(named)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note that a scenario is not played."""
    for item in items:
        if isinstance(item, ScenarioItem):
            item.config.stash[LEDGER].partial = True


def _chosen(config: pytest.Config) -> bool:
    """Whether the command line names what to collect."""
    return config.args_source is pytest.Config.ArgsSource.ARGS


def _named(config: pytest.Config) -> list[Path]:
    return [(config.invocation_params.dir / name).resolve() for name in config.getoption("tpharness_scenarios")]


def _roots(config: pytest.Config) -> list[Path]:
    """Return the folders whose scenario files are tests: those of the command line, or else of the configuration.

    A file of either may be named where the command line names files.
    """
    configured = [path.resolve() for path in config.getini("tpharness_scenarios")]
    named = _named(config)
    return [*named, *configured] if _chosen(config) else named or configured


class ScenarioFile(pytest.File):
    """One scenario file; ids begin at `root`."""

    def __init__(self, *, root: Path, **given: Any) -> None:
        super().__init__(**given)
        self.root = root

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests of the file. A file that does not load fails its test."""
        yield from _items(
            self, [SelectedScenario(id=scenario_id(self.path, self.root), path=self.path, root=self.root)]
        )


class BuiltinScenarios(pytest.Collector):
    """The built-in scenarios that are named."""

    def __init__(self, *, named: list[str], **given: Any) -> None:
        super().__init__(**given)
        self._named = named

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests of the scenarios, in the order of their ids."""
        try:
            selected = select_scenarios(self._named, (scenarios_dir(),))
        except TpharnessError as error:
            raise self.CollectError(f"tpharness_builtin: {error}\n  {error.hint}".rstrip()) from None
        yield from _items(self, selected)


def _items(parent: pytest.Collector, selected: Iterable[SelectedScenario]) -> Iterator[pytest.Item]:
    places = parent.config.getoption("tpharness_places") or parent.config.getini("tpharness_places")
    for one in selected:
        yield from _items_of_places(parent, one) if places else [ScenarioItem.make(parent, one)]


def _items_of_places(parent: pytest.Collector, one: SelectedScenario) -> Iterator[pytest.Item]:
    """Yield a test for the scenario uncut, and one for each place of its sweep.

    A sweep over bytes stays one test, since what it cuts is known when it is played.
    """
    try:
        scenario = load_scenario(one.path, root=one.root)
    except TpharnessError:  # its test says why
        scenario = None
    plan = None if scenario is None else scenario.cut
    if scenario is None or plan is None or plan.at is CutAt.EVERY_BYTE or one.place:
        yield ScenarioItem.make(parent, one)
        return
    yield ScenarioItem.make(parent, replace(one, swept=False))
    for place in cut_places(scenario):
        yield ScenarioItem.make(parent, replace(one, place=place.id))


class ScenarioItem(pytest.Function):
    """The test of a scenario with its sweep, or of one place. It uses the fixtures of the project around it."""

    one: SelectedScenario

    @classmethod
    def make(cls, parent: pytest.Collector, one: SelectedScenario) -> ScenarioItem:
        """Return the test, with a marker for each clause that the scenario cites, and each of its profiles."""

        def play(tpharness_play: ScenarioPlayer) -> None:
            tpharness_play.run(one, again=again)

        item: ScenarioItem = cls.from_parent(parent, name=str(one), callobj=play)
        item.one = one
        again = f"pytest --tpharness-builtin {one}" if parent.nodeid == BUILTIN else f"pytest '{item.nodeid}'"
        clauses = cited_clauses(one) or ()
        for clause in clauses:
            item.add_marker(pytest.mark.tpharness_clause(id=clause))
        for profile in find_profiles(str(one), clauses):
            item.add_marker(pytest.mark.tpharness_profile(name=profile.name))
        return item

    def setup(self) -> None:
        """Start what the scenario is played on; what goes wrong with that is an error, and no failure of the test."""
        super().setup()
        player = self.funcargs["tpharness_play"]
        if isinstance(player, ScenarioPlayer):  # not of --setup-plan, or a fixture of the project
            player.start()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        """Format the failure as the command line does."""
        error = excinfo.value
        if isinstance(error, NotGreenError):
            return str(error)
        if isinstance(error, TpharnessError):
            return f"{error}\n  {error.hint}".rstrip()
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the id of the scenario."""
        return self.one.path, None, f"scenario {self.name}"
