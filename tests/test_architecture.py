"""The layers of ARCHITECTURE.md hold: a file imports only from lower layers or from its own package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "tpharness"

FLOORS = (
    (
        "resources",
        "suite_yaml",
    ),
    (
        "facts",
        "findings",
        "imports",
        "judging_time",
        "lazy_names",
        "ordinals",
        "printable",
        "readings",
        "waiting",
    ),
    (
        "clauses",
        "errors",
        "finding_log",
        "journal",
        "schema_misfits",
    ),
    (
        "extras",
        "file_lock",
        "output",
        "profiles",
        "project_file",
        "protocol",
        "scenario_files",
    ),
    (
        "document_files",
        "model_apis",
        "server_events",
        "trace",
    ),
    (
        "dialects",
        "wires",
    ),
    ("faults",),
    (
        "folding",
        "scenario",
    ),
    ("server_folding",),
    (
        "checking",
        "verdict",
    ),
    (
        "checks",
        "rooms",
    ),
    (
        "assertions",
        "targets",
    ),
    (
        "reference_app",
        "run",
    ),
    (
        "certificate",
        "peers",
        "picture",
    ),
    (
        "apps",
        "explore",
        "histories",
        "report",
        "site",
    ),
    (
        "http_clients",
        "snapshots",
        "strategies",
        "testing",
    ),
    (
        "cli",
        "pytest_plugin",
    ),
    (
        "__init__",
        "__main__",
    ),
)
"""Packages and modules, from the ground up."""

LAYERS = {name: floor for floor, names in enumerate(FLOORS, start=-1) for name in names}

# The command line and the plugin are loaded by every `tpharness` and every pytest: they import what a command needs
# when it needs it. Nobody else may import inside a function, which is how cycles are hidden.
LAZY = ("cli", "pytest_plugin")

FILES = sorted(SRC.rglob("*.py"))


def files_with(*words: str) -> Iterator[tuple[Path, str]]:
    """Yield the files that have one of the words in their text, which is quicker than parsing all of them."""
    for path in FILES:
        text = path.read_text("utf-8")
        if any(word in text for word in words):
            yield path, text


def package_of(path: Path) -> str:
    """Return the top-level package or module below tpharness that a file belongs to."""
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.AST, *, in_function: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what a module imports from tpharness: top-level package, and whether inside a function."""
    for node in ast.iter_child_nodes(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "tpharness" else [f"tpharness.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):  # an expression has no imports in it
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imported(node, in_function=in_function or function)
        yield from ((name.split(".")[1], in_function) for name in names if name.startswith("tpharness."))


def test_imports_point_down() -> None:
    """A file imports from lower layers or its own package, and not inside functions."""
    wrong = []
    for path in FILES:
        own = package_of(path)
        assert own in LAYERS, f"{own} has no layer: decide where it belongs"
        for other, in_function in imported(ast.parse(path.read_text("utf-8"))):
            if other != own and LAYERS[other] >= LAYERS[own]:
                wrong.append(f"{path.relative_to(SRC)} ({own}) imports {other}, which is not below it")
            if in_function and own not in LAZY:
                wrong.append(f"{path.relative_to(SRC)} imports {other} inside a function")
    assert wrong == []


def test_what_is_printed_goes_through_one_place() -> None:
    """`say` escapes and cuts whatever it is given; nobody else writes to standard output."""
    speakers = set()
    for path in FILES:
        text = path.read_text("utf-8")
        if not re.search(r"\b(print|say)\(", text):
            continue  # which is quicker than parsing it
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "say"):
                speakers.add((package_of(path), node.func.id))
    assert speakers == {("printable", "print"), ("cli", "say")}


# Who may read the time of day, which can be set back and forward at any moment. Whoever waits or measures may not.
READS_THE_CLOCK = {
    "apps/client/wall_clock.py": "once; what has passed since is measured",
    "model_apis/openai_chat/answer.py": "`created`, which the API states and nobody judges",
    "model_apis/openai_responses/answer.py": "`created_at`, which the API states and nobody judges",
    "cli/certify.py": "when a certificate was made, once",
    "cli/record_live.py": "when a stream was recorded, once",
    "cli/verify.py": "whether the time is over that a certificate states for itself",
    "trace/write.py": "when the run began, for whoever reads the trace",
}


def test_no_verdict_depends_on_the_time_of_day() -> None:
    """Limits and durations are measured by a monotonic clock; the time of day is read where this file says why."""
    clocks = {"time": {"time", "time_ns", "localtime", "gmtime", "ctime"}, "datetime": {"now", "utcnow", "today"}}
    clocks["date"] = clocks["datetime"]
    readers = set()
    for path, text in files_with("time.time", "localtime", "gmtime", "ctime", ".now", ".utcnow", ".today", "from time"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in clocks.get(getattr(node.value, "id", ""), ()):
                readers.add(path.relative_to(SRC).as_posix())
            elif isinstance(node, ast.ImportFrom) and node.module == "time":
                assert not clocks["time"] & {alias.name for alias in node.names}, path
    assert readers == set(READS_THE_CLOCK)


def test_no_session_keeps_cookies() -> None:
    """What a target sets in one case is not sent in the next, nor to another host: every case begins alike."""
    sessions = [
        (path.relative_to(SRC).as_posix(), {word.arg: ast.unparse(word.value) for word in node.keywords})
        for path, text in files_with("ClientSession")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "aiohttp.ClientSession"
    ]
    assert len(sessions) > 4
    assert [path for path, words in sessions if words.get("cookie_jar") != "aiohttp.DummyCookieJar()"] == []


def test_no_file_outgrows_one_idea() -> None:
    """No file is longer than 500 lines."""
    lengths = {str(path.relative_to(SRC)): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_the_glossary_is_short() -> None:
    """ARCHITECTURE.md explains at most 25 words of ours, in order of the alphabet, in less than 120 lines."""
    text = (SRC.parents[1] / "ARCHITECTURE.md").read_text("utf-8")
    rows = [
        line.split("|")[1].strip() for line in text.partition("## Glossary")[2].splitlines() if line.startswith("| ")
    ]
    words = rows[1:]  # after the head of the table
    assert 0 < len(words) <= 25
    assert words == sorted(words)
    assert len(text.splitlines()) < 120


def test_no_two_test_files_have_the_same_name() -> None:
    """A test file is imported by its name alone: the second of one name fails, in one order of collection."""
    tests = sorted(p.name for folder in ("tests", "conformance") for p in (SRC.parents[1] / folder).rglob("test_*.py"))
    assert tests == sorted(set(tests))
