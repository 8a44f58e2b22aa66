"""What is found wrong with a thread log is what chimera does with it: each clause has a log that breaks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.places import places, replace_at

from tpharness.checking import check
from tpharness.findings import load_kinds
from tpharness.histories.thread_log.lines import is_line, misfits
from tpharness.histories.thread_log.rules import check_log
from tpharness.resources import conformance_dir, schema_path
from tpharness.suite_yaml import load_suite_yaml

AGENT = {"type": "inline", "id": "guide", "name": "Guide", "description": "helps", "basePrompt": "Be brief."}
SPACE = {"type": "reference", "className": "chimera_core.spaces.GenericSpace", "agents": [AGENT]}
NAMED = {"agentId": "guide", "agentName": "Guide", "messageId": "msg_1"}
LINES: dict[str, Any] = {
    "BLUEPRINT": {"type": "thread-blueprint", "threadProtocolVersion": "0.0.7", "blueprint": {"space": SPACE}},
    "ASKED": {"type": "data-user-message", "data": {"content": "Hi"}},
    "BEGUN": {"type": "data-agent-start", "data": NAMED},
    "DONE": {"type": "data-agent-finish", "data": NAMED},
    "STEP": {"type": "finish-step"},
}
STATEMENTS = load_suite_yaml(conformance_dir() / "statements" / "thread-log-0.0.7.yaml")
ODD: tuple[Any, ...] = (None, 1, "x", [], {}, True)
RUNS_WITH_A_CALL = ("tool", "halt-tool", "drop-answer")
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


def lines(named: list[Any]) -> list[Any]:
    """Return the lines that a list of the statements stands for."""
    return [LINES[line] if isinstance(line, str) else line for line in named]


@pytest.mark.parametrize("statement", STATEMENTS, ids=[one["id"] for one in STATEMENTS])
def test_a_log_that_breaks_a_clause_is_found_for_it_alone(statement: dict[str, Any]) -> None:
    """And the nearest log that keeps it is right."""
    assert [finding.code for finding in check_log(lines(statement["breaks"]))] == statement["findings"]
    assert [finding.code for finding in check_log(lines(statement["keeps"]))] == []


def test_every_finding_of_a_log_is_of_a_clause() -> None:
    """And the other way round."""
    cited = {code for one in STATEMENTS for code in one["findings"]}
    assert cited == {code for code in load_kinds() if code.startswith("thread-log-")}


def test_the_schema_of_a_line_says_what_the_rules_say() -> None:
    """Of each line that was recorded or stated, and of each with something else at each place, or without it."""
    schema = json.loads(schema_path("thread-log-line").read_text("utf-8"))
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    known = [line for one in STATEMENTS for line in lines([*one["breaks"], *one["keeps"]])]
    for file in RECORDED:
        for client in json.loads(file.read_text("utf-8")).values():
            known += client["thread"]
    tried = 0
    for line in {json.dumps(line): line for line in known}.values():
        for path in ((), *places(line)):
            for new in ODD:
                changed = replace_at(line, path, new)
                if is_line(changed):
                    tried += 1
                    assert valid(changed) == (not list(misfits(changed))), changed
        for name in line:
            changed = {key: value for key, value in line.items() if key != name}
            assert not is_line(changed) or valid(changed) == (not list(misfits(changed))), changed
    assert tried > 1000


def test_the_web_client_of_chimera_stores_what_locks_the_chat() -> None:
    """Whenever a tool was called. Its command line does so when a tool was stopped and another turn follows."""
    found = {}
    for file in RECORDED:
        for client, stored in json.loads(file.read_text("utf-8")).items():
            for name in ("thread", "turn2"):
                levels = [one.code for one in check_log(stored[name]) if one.level.value == "must"]
                found[file.stem, client, name] = levels
    wrong = {key: codes for key, codes in found.items() if codes}
    outside = ["thread-log-call-outside-turn"]
    assert wrong == {
        **{(run, "typescript", name): outside for run in RUNS_WITH_A_CALL for name in ("thread", "turn2")},
        ("halt-tool", "python", "turn2"): ["thread-log-call-locked"],
    }


def test_check_recognises_a_log_by_its_first_line(tmp_path: Path) -> None:
    """A file of lines, a list, and what a client posts; a place in a file is a line of it."""
    log = lines(["BLUEPRINT", "BEGUN", {"type": "tool-input-available", "toolName": "look", "input": {}}, "DONE"])
    file = tmp_path / "thread.jsonl"
    file.write_text("\n\n".join(json.dumps(line) for line in log), "utf-8")
    (found,) = check(file)
    assert (found.code, found.place.line, found.place.pointer) == ("thread-log-line-malformed", 5, "/toolCallId")
    posted = tmp_path / "posted.json"
    posted.write_text(json.dumps({"thread_protocol": log, "user_input": "Hi"}), "utf-8")
    assert [(one.code, one.place.pointer) for one in check(posted)] == [(found.code, "/2/toolCallId")]
    assert [one.place.pointer for one in check(log, format="thread-log")] == ["/2/toolCallId"]


def test_a_line_that_is_not_json_is_found_and_the_others_are_read(tmp_path: Path) -> None:
    """As chimera's command line leaves it out."""
    file = tmp_path / "thread.jsonl"
    file.write_text(f'{json.dumps(LINES["BLUEPRINT"])}\n{{"type":\n{json.dumps(LINES["DONE"])}\n', "utf-8")
    found = check(file)
    places = [(one.code, one.place.line) for one in found]
    assert places == [("json-invalid", 2), ("thread-log-finish-without-start", 3)]


@pytest.mark.parametrize("value", [None, 1, {}, [], [1], [None], [{"type": 1}], {"thread_protocol": 1}])
def test_what_is_not_a_log_is_said_to_be_none(value: Any) -> None:
    """Whatever it is."""
    assert {one.code for one in check_log(value)} <= {"thread-log-not-a-line", "thread-log-without-blueprint"} != set()
