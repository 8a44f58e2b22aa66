"""The example of a tested chat application: its tests pass, and say so if it keeps too much."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from tests.in_process import QUICK

TOP = Path(__file__).parents[2]
EXAMPLE = TOP / "examples" / "starlette_chat"

KEEPS_HALF = (
    """        async for chunk in words("2", text):
            yield chunk
        messages.append(response({"part_kind": "text", "content": text}))
""",
    """        half = {"part_kind": "text", "content": ""}
        messages.append(response(half))
        async for chunk in words("2", text):
            half["content"] += chunk.get("delta", "")
            yield chunk
            while self.thread["thread_id"] == "stopped" and half["content"].endswith("eighteen") and not self.stopped:
                await asyncio.sleep(PAUSE)  # Stop comes here, however busy the machine is
""",
)


@pytest.fixture
def example(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a copy of the example, in the current folder."""
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    return pytester


def test_the_example_passes_its_own_tests(example: pytest.Pytester) -> None:
    """With nothing but what is in its folder."""
    example.runpytest_inprocess(*QUICK).assert_outcomes(passed=2)


def test_the_document_shows_what_fails_if_it_keeps_a_half_answer(example: pytest.Pytester) -> None:
    """The most common mistake after Stop: the message says where the two sides part, and what decides."""
    text = (file := example.path / "chat.py").read_text("utf-8")
    assert KEEPS_HALF[0] in text
    file.write_text(text.replace(*KEEPS_HALF), "utf-8")
    result = example.runpytest_inprocess(*QUICK)
    result.assert_outcomes(passed=1, failed=1)
    shown = (TOP / "docs" / "PYTEST.md").read_text("utf-8").partition("    >       assert_same_thread(")[2]
    lines = [line.strip() for line in f">       assert_same_thread({shown}".partition("\n\n")[0].splitlines()]
    assert len(lines) > 5
    told = [line.strip() for line in result.outlines]
    begin = told.index(lines[0])
    assert told[begin : begin + len(lines)] == lines


def test_the_six_lines_of_the_readme_are_those_of_the_example() -> None:
    """What the README shows is what is run here."""
    (shown,) = re.findall(
        r"```python\n(from tpharness import assert_same_thread.*?)```",
        (TOP / "README.md").read_text("utf-8"),
        re.DOTALL,
    )
    first = (EXAMPLE / "test_chat.py").read_text("utf-8").partition("\n\n\ndef test_both_sides_keep")[0]
    assert shown.strip() == first.replace("assert_same_thread, assert_valid, fold", "assert_same_thread, fold")


def test_its_workflow_runs_pytest_on_its_own_groups() -> None:
    """What it installs is declared, and what it runs is what a person types."""
    workflow = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "test.yml").read_text("utf-8"))
    commands = [step["run"] for step in workflow["jobs"]["pytest"]["steps"] if "run" in step]
    assert commands == ["pip install . --group test", "pytest --junitxml tests.xml"]
    assert "[dependency-groups]\ntest = " in (EXAMPLE / "pyproject.toml").read_text("utf-8")
