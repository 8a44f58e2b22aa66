"""The pytest plugin: scenario files of your own as tests.

Name the folders in the ini option `tpharness_scenarios`, or on the command line with `--tpharness-scenarios DIR`; every
scenario file (`*.yaml`, `*.yml`) in them becomes one test, called by the scenario's id. YAML files elsewhere are left
alone. The folders are visited whatever `testpaths` says; those of the ini option are left out when a run names files or
folders of its own. The fixture `tpharness_app` judges a chat application of `tpharness.toml` as it runs. Nothing heavy
is imported until one of both is used, since pytest loads this module always.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["AppJudge", "ScenarioFile", "ScenarioItem", "tpharness_app"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("tpharness", "ThreadProtocol scenarios")
    group.addoption(
        "--tpharness-scenarios",
        action="append",
        default=[],
        metavar="DIR",
        help="Collect the scenario files in this folder as tests; may be given again.",
    )
    group.addoption("--tpharness-server", default="reference", metavar="TARGET", help="The server that scenarios play.")
    group.addoption("--tpharness-client", default="reference", metavar="TARGET", help="The client that scenarios play.")
    parser.addini("tpharness_scenarios", "Folders with scenario files to collect as tests.", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Add the configured folders to the collection. A missing folder is an error of pytest, never zero tests."""
    here = config.invocation_params.dir
    visited = [(here / arg.partition("::")[0]).resolve() for arg in config.args]
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    for root in _named(config) if chosen else _roots(config):
        if not any(root.is_relative_to(path) for path in visited):
            config.args.append(str(root))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect the scenario files of the configured folders."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    for root in _roots(parent.config):
        if file_path.resolve().is_relative_to(root):
            node = ScenarioFile.from_parent(parent, path=file_path)
            node.root = root
            return node
    return None


def _named(config: pytest.Config) -> list[Path]:
    return [(config.invocation_params.dir / name).resolve() for name in config.getoption("--tpharness-scenarios")]


def _roots(config: pytest.Config) -> list[Path]:
    return [*(path.resolve() for path in config.getini("tpharness_scenarios")), *_named(config)]


@pytest.fixture(scope="session")
def tpharness_app(request: pytest.FixtureRequest) -> AppJudge:
    """Judge an application of the root folder's `tpharness.toml`: `tpharness_app("chat")`, in a test without a loop."""
    return AppJudge(request.config.rootpath)


class AppJudge:
    """Plays cases on an application and fails the test if one is not green."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str | None = None, *ids: str, **options: Any) -> list[Any]:
        """Play the cases, all without `ids`, and return their results; `options` are those of `AppOptions`."""
        from tpharness.apps.config import CONFIG_FILE, load_config  # noqa: PLC0415
        from tpharness.apps.engine import AppOptions, run_app  # noqa: PLC0415
        from tpharness.run import ResultReady, RunFinished  # noqa: PLC0415

        config = load_config(name, self.folder / CONFIG_FILE)
        events = list(run_app(AppOptions(config=config, ids=ids, **options)))
        results = [event.result for event in events if isinstance(event, ResultReady)]
        problems = [f.line() for event in events if isinstance(event, RunFinished) for f in event.problems]
        failed = [result for result in results if not result.outcome.green]
        if failed or problems:
            again = f"tpharness app {config.name} {{id}}"
            raise AssertionError("\n\n".join([str(NotGreenError(failed, again=again)), *problems]).strip())
        return results


class ScenarioFile(pytest.File):
    """One scenario file."""

    root: Path

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the test of the file. A file that does not load fails its test."""
        from tpharness.scenario import scenario_id  # noqa: PLC0415  # see the module's docstring

        yield ScenarioItem.from_parent(self, name=scenario_id(self.path, self.root))


class ScenarioItem(pytest.Item):
    """The test of one scenario, including its sweep."""

    def runtest(self) -> None:
        """Play the scenario; the test fails if a result is not green."""
        from tpharness.run import RunOptions, play_one  # noqa: PLC0415
        from tpharness.scenario import load_scenario  # noqa: PLC0415

        file = self.parent
        if not isinstance(file, ScenarioFile):
            raise TypeError("a scenario test belongs to a scenario file")
        options = RunOptions(
            server=self.config.getoption("--tpharness-server"), client=self.config.getoption("--tpharness-client")
        )
        results = play_one(load_scenario(file.path, root=file.root), options)
        failed = [result for result in results if not result.outcome.green]
        if failed:
            raise NotGreenError(failed, file.root)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Format the failure as the command line does."""
        from tpharness.errors import ScenarioError, TpharnessError  # noqa: PLC0415

        error = excinfo.value
        if isinstance(error, NotGreenError):
            return str(error)
        if isinstance(error, ScenarioError):
            return "\n".join(f"{f.line()}\n  {f.kind.remedy}" for f in error.findings)
        if isinstance(error, TpharnessError):
            return f"{error}\n  {error.hint}".rstrip()
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the id of the scenario."""
        return self.path, None, f"scenario {self.name}"


class NotGreenError(Exception):
    """A scenario that did not pass; its text is the failure block of each result."""

    def __init__(self, results: list[Any], root: Path | None = None, *, again: str = "") -> None:
        from tpharness.report import failure_lines  # noqa: PLC0415

        blocks = []
        for result in results:
            lines = [line for _, line in failure_lines(result, roots=(root,) if root is not None else (), again=again)]
            blocks.append("\n".join([f"{result.outcome.value.upper()} {result.id}", *(f"  {line}" for line in lines)]))
        super().__init__("\n\n".join(blocks))
