"""examples/apps: every application can be installed as it was, says what it is, and has its table in tpharness.toml."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "apps"
APPLICATIONS = sorted(path.parent.name for path in FOLDER.glob("*/README.md"))
NODE = [name for name in APPLICATIONS if (FOLDER / name / "package.json").is_file()]
PYTHON = [name for name in APPLICATIONS if name not in NODE]
TABLES: dict[str, Any] = tomllib.loads((FOLDER / "tpharness.toml").read_text("utf-8"))["apps"]
BESIDE = {"baselines", "runs", "traces"}  # what is known of them, was recorded, and what they leave behind
LISTENS_BY_ITSELF = {"pydantic-ai-web", "langgraph-server", "adk-server"}
BUILT = (".venv/", ".mastra/")  # what installing and building make
ROUTE = re.compile(r"(GET|POST) /\S+")


def command_path(table: dict[str, Any]) -> str:
    """Return what of the command says which program runs, relative to examples/apps."""
    command: list[str] = [word.removeprefix("../").removeprefix("../") for word in table["command"]]
    return command[1] if "/" in command[1] else command[0]


def test_each_folder_is_an_application() -> None:
    """A folder without a README would be seen by no other test."""
    folders = sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name not in BESIDE)
    assert folders == APPLICATIONS
    assert len(APPLICATIONS) >= 7


@pytest.mark.parametrize("name", NODE)
def test_npm_installs_what_was_tried_and_from_wherever_the_user_gets_packages(name: str) -> None:
    """Exact versions, the lock file of just these, and no address in it."""
    package = json.loads((FOLDER / name / "package.json").read_text("utf-8"))
    lock = json.loads((FOLDER / name / "package-lock.json").read_text("utf-8"))
    root, *others = lock["packages"].items()
    assert root[1]["dependencies"] == package["dependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["dependencies"].values())
    assert "omit-lockfile-registry-resolved=true" in (FOLDER / name / ".npmrc").read_text("utf-8").splitlines()
    assert others
    for path, entry in others:
        assert path.startswith("node_modules/")
        assert "resolved" not in entry, path
        assert entry["integrity"].startswith("sha512-"), path


@pytest.mark.parametrize("name", NODE)
def test_npm_ci_would_accept_the_lock_file(name: str) -> None:
    """Npm refuses a lock without a package that an entry depends on, optional ones for other systems among them."""
    packages = json.loads((FOLDER / name / "package-lock.json").read_text("utf-8"))["packages"]
    for path, entry in packages.items():
        for wanted in (*entry.get("dependencies", {}), *entry.get("optionalDependencies", {})):
            places, inner = [], path
            while inner:
                places.append(f"{inner}/node_modules/{wanted}")
                inner = inner.rpartition("/node_modules/")[0] if "/node_modules/" in inner else ""
            assert any(place in packages for place in (*places, f"node_modules/{wanted}")), f"{path} needs {wanted}"


@pytest.mark.parametrize("name", PYTHON)
def test_pip_installs_what_was_tried(name: str) -> None:
    """Every line is a version, no line an option or an address."""
    lines = (FOLDER / name / "requirements.txt").read_text("utf-8").splitlines()
    assert len(lines) > 20
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line), line


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_readme_says_where_it_comes_from_and_what_is_posted(name: str) -> None:
    """In a page that is read at a glance."""
    text = (FOLDER / name / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 20
    for word in ("- Source: ", "Install", "start", "Route", "- Request", "- Answer", "- On disconnect: "):
        assert word in text
    assert ("npm ci" if name in NODE else "pip install -r requirements.txt") in text
    mine = [table for table in TABLES.values() if command_path(table).startswith(f"{name}/")]
    assert mine
    for table in mine:
        path = table["url"].removeprefix("http://127.0.0.1:{port}")
        assert path in text


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_readme_names_the_version_that_the_lock_file_has(name: str) -> None:
    """The first version of the README is that of the framework."""
    version = re.search(r"\b\d+\.\d+\.\d+\b", (FOLDER / name / "README.md").read_text("utf-8"))
    assert version is not None
    lock = FOLDER / name / ("package.json" if name in NODE else "requirements.txt")
    assert version[0] in lock.read_text("utf-8")


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_recipe_has_a_table(name: str) -> None:
    """What is a program of the folder, and not a module of others, is started by a table."""
    started = {command_path(table) for table in TABLES.values()}
    for path in FOLDER.glob(f"{name}/*.*js"):
        assert f"{name}/{path.name}" in started
    for path in FOLDER.glob(f"{name}/*.py"):
        program = re.search(r"^(listen|uvicorn\.run)\(", path.read_text("utf-8"), re.MULTILINE) is not None
        own = [t["command"][1] for t in TABLES.values() if t["command"][0].startswith(f"../../{name}/")]
        assert (f"../../{name}/{path.name}" in own) is program


@pytest.mark.parametrize("name", TABLES)
def test_a_table_starts_a_program_of_a_folder_on_the_loopback_interface(name: str) -> None:
    """It says who keeps the history, which tool may be called, and how its effects are counted."""
    table = TABLES[name]
    program = command_path(table)
    folder, _, rest = program.partition("/")
    assert folder in APPLICATIONS
    assert rest.startswith(BUILT) or (FOLDER / program).is_file()
    assert table["url"].startswith("http://127.0.0.1:{port}/")
    assert table["history"] in {"client", "last-message", "mastra", "pydantic-ai", "ag-ui", "langgraph", "adk"}
    assert table.get("on_disconnect", "stop") in {"stop", "continue"}
    assert all(ROUTE.fullmatch(table[key]) for key in ("stop", "thread", "resume") if key in table)
    own = table["cwd"] == folder and table["effects"] == "ledger"  # its program has to be started in its folder
    assert table["cwd"] == f"runs/{name}" or own  # two applications never count each other's effects
    calls = [{"city": "Paris", "nights": 2}, {"city": "Rome", "nights": 3}]  # other arguments for a second call at once
    assert table["tools"] == {"allow": ["book_hotel"], "args": {"book_hotel": calls}}
    assert table["effects"] == "ledger" or "effects.txt" in table["effects"]
    assert table["env"]["MODEL_API"] in {"chat", "responses", "anthropic", "gemini"}


@pytest.mark.parametrize("name", [name for name in APPLICATIONS if name not in LISTENS_BY_ITSELF])
def test_the_programs_listen_on_the_loopback_interface_and_leave_a_mark(name: str) -> None:
    """`pai web`, `langgraph dev` and `adk api_server` listen there by themselves."""
    sources = [path for path in FOLDER.glob(f"{name}/**/*") if path.suffix in {".mjs", ".ts", ".py"}]
    own = [path for path in sources if not {"node_modules", ".venv", ".mastra"} & set(path.parts)]
    code = "\n".join(path.read_text("utf-8") for path in own)
    assert '"127.0.0.1"' in code
    assert "effects.txt" in code
    assert "book_hotel" in code
    assert not re.search(r"https?://(?!127\.0\.0\.1)", code), "an address of the model stands in the code"


def test_helpers_that_several_applications_have_are_the_same() -> None:
    """Each folder stands alone, and a change in one is made in all."""
    assert len({path.read_text("utf-8") for path in FOLDER.glob("*/lib/listen.mjs")}) == 1
    agents = [path.read_text("utf-8").partition('"""\n\nimport')[2] for path in FOLDER.glob("*/agent.py")]
    assert len(agents) == 2
    assert len(set(agents)) == 1
