"""A type checker takes what is right about the public names, and finds a misspelt mode, reason, version or format."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from tests.in_process import quick_with

import tpharness
from tpharness.checking import RepairFormat
from tpharness.histories.conversations import READERS, ExportFormat, ImportFormat
from tpharness.histories.exchange.model_calls import FORMS
from tpharness.histories.stored.formats import STORED_FORMATS
from tpharness.protocol.versions import Version, VersionName
from tpharness.targets.node_packages import installed_packages
from tpharness.targets.nodejs import find_node

ROOT = Path(__file__).parents[2]
USAGE = Path(__file__).with_name("public_usage.py").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "starlette_chat"

MISSPELT = {
    '"contents"': 'diff({}, {}, mode="contents")',
    '"user_cancled"': 'fold("Hi", interrupted="user_cancled")',
    '"0.0.9" of fold': 'fold("Hi", version="0.0.9")',
    '"0.0.9" of convert': 'convert({}, "0.0.9")',
    '"ai_sdk" of import': 'import_messages([], format="ai_sdk")',
    '"claude" of export': 'export({}, format="claude")',
    '"ui" of repair': 'repair([], format="ui")',
}


@pytest.fixture(params=["public_usage.py", "user_tests.py"])
def user_code(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, list[int]]:
    """Return a file with what is right, then what is misspelt, and the lines of the latter."""
    file = tmp_path / "user_code.py"
    lines = "\n".join(MISSPELT.values())
    right = Path(__file__).with_name(request.param).read_text("utf-8")
    file.write_text(f"{right}\n\n{lines}\n", "utf-8")
    shutil.copy(EXAMPLE / "chat.py", tmp_path)
    first = file.read_text("utf-8").splitlines().index(lines.splitlines()[0]) + 1
    return file, list(range(first, first + len(MISSPELT)))


def test_mypy_takes_what_is_right_and_finds_what_is_misspelt(user_code: tuple[Path, list[int]]) -> None:
    """As strict as the project is, and with the memory of `scripts/check`, since mypy reads all of the package."""
    file, misspelt = user_code
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)
    found = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line]
    assert found == misspelt, done.stdout + done.stderr


@pytest.mark.node
def test_pyright_takes_what_is_right_and_finds_what_is_misspelt(user_code: tuple[Path, list[int]]) -> None:
    """In its strict mode, in which a type that it does not know is an error, too."""
    file, misspelt = user_code
    node = find_node()
    program = installed_packages(Path(__file__).with_name("pyright"), node) / "node_modules" / "pyright" / "index.js"
    config = file.with_name("pyrightconfig.json")
    config.write_text('{"typeCheckingMode": "strict", "include": ["user_code.py"]}', "utf-8")
    command = [str(node.executable), str(program), "-p", str(config), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=file.parent)
    diagnostics = json.loads(done.stdout)["generalDiagnostics"]
    assert [found["range"]["start"]["line"] + 1 for found in diagnostics] == misspelt, done.stdout


def test_the_tests_of_a_user_pass(pytester: pytest.Pytester) -> None:
    """In the folder of the example, with its configuration: the file that both type checkers take as it is."""
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    shutil.copy(Path(__file__).with_name("user_tests.py"), pytester.path / "test_user.py")
    for option in (["--snapshot-update"], []):
        pytester.runpytest_inprocess(*quick_with("syrupy"), "test_user.py", *option).assert_outcomes(passed=7)


def test_every_public_name_that_the_usage_needs_is_there() -> None:
    """And the names of the versions and of the formats are all of them."""
    assert set(get_args(ExportFormat)) == set(FORMS)
    assert {"thread", *get_args(ExportFormat)} == set(STORED_FORMATS)
    assert get_args(RepairFormat) == STORED_FORMATS
    assert set(get_args(ImportFormat)) == set(READERS)
    assert set(get_args(VersionName)) == {version.value for version in Version}
    namespace: dict[str, object] = {}
    exec(compile(USAGE, "public_usage.py", "exec"), namespace)  # noqa: S102  # our own file
    assert callable(namespace["use"])


STREAM = 'data: {"type":"start"}\n\ndata: [DONE]\n\n'


OTHER_STREAMS = (
    f": ping\n\n: tp 0\n{STREAM}",
    f"retry: 3000\nid: 1\n{STREAM}",
    '{"type": "start"}\n{"type":"finish"}\n',
    '{"index": 0, "part": {"content": "", "part_kind": "text"}, "event_kind": "part_start"}\n',
)


@pytest.mark.parametrize(
    "text", [STREAM, f"event: message\n{STREAM}", f"\n{STREAM}", "data:[DONE]\n\n", *OTHER_STREAMS]
)
def test_a_stream_as_text_is_not_what_the_user_said(text: str) -> None:
    """`response.text` in place of `response.content` says what to do."""
    with pytest.raises(tpharness.UsageError, match="a str is what the user said, and this one is a stream") as refused:
        tpharness.fold("Hi", text)
    assert "response.content" in refused.value.hint


@pytest.mark.parametrize(
    "text", ["data: what is it?", "My data: [1, 2]", "event: a party\nat ten", '{"type": "sofa"}', ": data: 1"]
)
def test_what_a_person_says_is_what_the_user_said(text: str) -> None:
    """Also where it looks a little like a stream."""
    assert tpharness.fold(text).thread["turns"][0]["parts"][0]["content"] == text
