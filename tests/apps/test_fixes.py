"""conformance/fixes.yaml: the change for a framework is said where it is known, and makes the case pass."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scripts import fixes
from scripts.apps_page import APPS, CONFIG, DATA, copy_application, folder_of, tables
from tests.distribution import Sample

from tpharness.apps.cases.case import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.config import AppConfig, load_config
from tpharness.apps.fixes import Fix, load_fixes, load_frameworks, require_known_framework, with_fixes
from tpharness.errors import UsageError
from tpharness.findings import Kind, Place, load_kinds
from tpharness.suite_yaml import load_suite_yaml
from tpharness.targets.node_packages import installed_packages
from tpharness.targets.nodejs import find_node
from tpharness.verdict import CheckState, Outcome, Result

PLAYED = load_suite_yaml(DATA)
OF_NODE = [fix for fix in load_fixes() if folder_of(tables()[fix.application]) == "ai-sdk"]
OF_PYTHON = [fix for fix in load_fixes() if folder_of(tables()[fix.application]) == "pydantic-ai"]
CHAT = AppConfig(name="chat", url="http://127.0.0.1:3000/chat", on_disconnect="stop")


def failed(code: str, case: str, got: str = "") -> Result:
    """Return a case that failed for one finding."""
    found = Kind(code).at(Place(case=case), got=got)
    return Result(id=case, outcome=Outcome.FAILED, checks={"alive": CheckState.FAILED}, findings=(found,))


def remedy(result: Result, *agents: str, **config: str) -> str:
    """Return what is said to do about the one finding of a case."""
    (finding,) = with_fixes(result, agents, replace(CHAT, **config)).findings  # type: ignore[arg-type]
    return finding.remedy


BRICKED = failed("chat-bricked", "user-leaves/while-tool-runs", "the stream says: An error occurred.")
AI_SDK = "ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81 node.js/v22.1.0"
MASTRA = "mastra/1.71.0 ai-sdk/openai/3.0.88 ai-sdk/provider-utils/4.0.53 runtime/node.js/v22.1.0"


def test_the_page_is_what_the_table_says() -> None:
    """`python scripts/fixes.py --render` changes nothing."""
    assert fixes.render() == fixes.PAGE.read_text("utf-8")


def test_a_change_is_said_where_the_framework_is_known_by_its_name() -> None:
    """It says where the change is, and that the framework does the same alone, in which release."""
    said = remedy(BRICKED, AI_SDK)
    assert "the state output-error before convertToModelMessages" in said
    assert "tpharness docs FIXES ai-sdk-call-without-result" in said
    assert "the framework does the same alone (ai 7.0.173, Node 22; tpharness docs ai_sdk_stopped_tool.mjs)" in said


@pytest.mark.parametrize(
    ("code", "case", "agents", "config", "fix"),
    [
        (
            "cycle-lost",
            "model-drops/in-answer",
            ["Agents/JavaScript 0.20.0"],
            {"history": "last-message"},
            "agents-js-s",
        ),
        (
            "effect-denied",
            "user-leaves/while-tool-runs",
            ["agent-framework-python/1.23.0 AsyncOpenAI/Python 3.57.0"],
            {"history": "ag-ui"},
            "agent-framework-skipped",
        ),
        (
            "tool-ran-twice",
            "user-leaves/while-tool-runs",
            ["AsyncOpenAI/Python 2.54.0"],
            {"history": "ag-ui", "framework": "strands"},
            "strands-run-again",
        ),
        (
            "chat-answer-twice",
            "user-leaves/in-answer",
            [AI_SDK],  # what the table says comes first
            {"history": "ag-ui", "framework": "ag-ui-langgraph"},
            "ag-ui-langgraph-results",
        ),
    ],
)
def test_a_framework_is_known_by_its_name_or_by_the_table(
    code: str, case: str, agents: list[str], config: dict[str, str], fix: str
) -> None:
    """Some frameworks send the name of OpenAI's package to the model's API."""
    assert f"tpharness docs FIXES {fix}" in remedy(failed(code, case), *agents, **config)


def test_a_framework_that_names_itself_nowhere_is_not_guessed() -> None:
    """An empty beginning would fit every name."""
    result = failed("tool-ran-twice", "user-leaves/while-tool-runs")
    assert remedy(result, "AsyncOpenAI/Python 2.54.0", history="ag-ui") == result.findings[0].kind.remedy


def test_a_framework_that_has_no_fixes_is_refused() -> None:
    """With the name that is most like it."""
    with pytest.raises(UsageError, match="framework is 'strand', which has no fixes") as refused:
        require_known_framework(replace(CHAT, framework="strand"))
    assert "did you mean strands?" in str(refused.value.hint)


def test_what_no_program_shows_of_the_framework_alone_is_not_decided() -> None:
    """Nobody is blamed by a table."""
    said = remedy(failed("arguments-invented", "model-stops/at-length-in-arguments"), AI_SDK)
    assert said.endswith("whether framework or application is to blame is not decided")


@pytest.mark.parametrize(
    ("result", "agent", "config"),
    [
        (BRICKED, "OpenAI/Python 3.57.0", {}),
        (BRICKED, MASTRA, {}),
        (BRICKED, AI_SDK, {"history": "ag-ui"}),
        (BRICKED, AI_SDK, {"history": "python:mine:Own"}),
        (failed("chat-bricked", "user-leaves/in-text", "the stream says: An error occurred."), AI_SDK, {}),
        (failed("chat-bricked", "user-leaves/while-tool-runs", "status 409, text/plain: busy"), AI_SDK, {}),
        (failed("effect-forgotten", "user-leaves/in-text"), AI_SDK, {"on_disconnect": "continue"}),
        (failed("user-turn-lost", "user-leaves/in-text"), AI_SDK, {}),
    ],
    ids=["unknown", "mastra", "other-wire", "own-profile", "elsewhere", "other-cause", "goes-on", "other-framework"],
)
def test_what_may_have_another_cause_keeps_the_general_advice(
    result: Result, agent: str, config: dict[str, str]
) -> None:
    """A change that does not fit costs its reader an hour."""
    (finding,) = result.findings
    assert remedy(result, agent, **config) == finding.kind.remedy


def test_the_table_names_what_there_is() -> None:
    """Frameworks, findings at MUST, cases, applications, and the cases that failed there for these findings."""
    cases = {one.id for one in all_cases(CaseTool(name="tool", args={"text": ""}), ledger=True, sweep=False)}
    ids = [fix.id for fix in load_fixes()]
    assert len(set(ids)) == len(ids)
    for fix in load_fixes():
        assert fix.framework in load_frameworks(), fix.id
        assert {load_kinds()[code].level.value for code in fix.codes} == {"must"}, fix.id
        assert set(fix.passes) <= cases, fix.id
        config = load_config(fix.application, CONFIG)
        for case in fix.passes:
            found = PLAYED[fix.application]["cases"][case]["must"]
            assert set(found) & set(fix.codes), f"{fix.id}: {case}"
        assert config.history in load_frameworks()[fix.framework].history, fix.id


@pytest.mark.parametrize("fix", load_fixes(), ids=lambda fix: fix.id)
def test_a_change_can_be_applied(fix: Fix, tmp_path: Path) -> None:
    """Each place of it occurs once in the application that it names, and not any more afterwards."""
    copied = copy_application(fix.application, tmp_path)
    fixes.apply_diff(fix.diff, copied.parent)
    with pytest.raises(ValueError, match="has this 0 times"):
        fixes.apply_diff(fix.diff, copied.parent)


@pytest.mark.long
@pytest.mark.sampled
def test_a_change_for_a_framework_in_python_makes_its_cases_pass(sample: Sample[Fix], tmp_path: Path) -> None:
    """They fail without it, and say what to change."""
    for fix in sample(OF_PYTHON):
        config = load_config(fix.application, CONFIG)
        folder = copy_application(fix.application, tmp_path / fix.id).parent
        command = (sys.executable, *config.command[1:])
        assert list(fixes.play_fix(fix, replace(config, command=command, stop_within=5.0), folder)) == []


@pytest.mark.long
@pytest.mark.node
@pytest.mark.sampled
def test_a_change_for_a_framework_for_node_makes_its_cases_pass(sample: Sample[Fix], tmp_path: Path) -> None:
    """They fail without it, and say what to change."""
    node = find_node()
    packages = installed_packages(APPS / "ai-sdk", node) / "node_modules"
    for fix in sample(OF_NODE):
        config = load_config(fix.application, CONFIG)
        copied = copy_application(fix.application, tmp_path / fix.id)
        (copied / "node_modules").symlink_to(packages)
        command = (str(node.executable), *config.command[1:])
        assert list(fixes.play_fix(fix, replace(config, command=command, stop_within=5.0), copied.parent)) == []


def test_the_script_starts_as_it_says() -> None:
    """By its path, as CONTRIBUTING names it: the folder above it is found by itself."""
    command = [sys.executable, str(Path(fixes.__file__)), "--help"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
