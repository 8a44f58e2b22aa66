"""Five unmodified servers, recorded in seven sets: each rule that they break is found, where they break it.

The expected values are what a person read in the streams: see docs/AG_UI.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tpharness.checking import check
from tpharness.clauses import load_wire_rules
from tpharness.findings import Level, load_kinds
from tpharness.resources import docs_dir

RECORDED = Path(__file__).parent / "recorded"

EVERY = "every run"
CUT = {"slow-args", "slow-text", "slow-tool"}  # where the client left
AFTER_A_CALL = {  # the turn after one whose call has no result in the client
    f"{name}.second"
    for name in ("bare-tool", "err-args", "one-tool", "slow-args", "slow-tool", "tool-fails", "two-tools")
}

EXPECTED: dict[str, dict[str, str | set[str]]] = {
    "pydantic-ai-2.68.0": {"ag-ui-truncated": CUT},
    "pydantic-ai-2.68.0+cancel": {},
    "ag-ui-strands-1.0.2": {"ag-ui-pending-unnamed": {"frontend"}, "ag-ui-truncated": CUT},
    "ag-ui-langgraph-0.0.47": {
        "ag-ui-version-missing": EVERY,
        "ag-ui-custom-unprefixed": {"approval", "approval.second"},
        "ag-ui-interrupt-unsaid": {"approval", "approval.second"},
        "ag-ui-pending-unnamed": {"frontend"},
        "ag-ui-message-renamed": {"bad-args", "bare-tool", "one-tool", "two-tools"},
        "ag-ui-truncated": CUT,
    },
    "ag-ui-langgraph-0.0.47+outcome": {
        "ag-ui-version-missing": EVERY,
        "ag-ui-custom-unprefixed": {"approval"},
        "ag-ui-history-streamed": {"approval.second"},
        "ag-ui-pending-unnamed": {"frontend"},
        "ag-ui-message-renamed": {"approval.second", "one-tool"},
        "ag-ui-truncated": {"slow-tool"},
    },
    "agent-framework-ag-ui-1.7.0": {
        "ag-ui-version-missing": EVERY,
        "ag-ui-custom-unprefixed": "every usage",
        "ag-ui-standard-as-custom": "every usage of a run that finished",
        "ag-ui-pending-unnamed": {"frontend"},
        "ag-ui-message-renamed": {"approval.second"},
        "ag-ui-truncated": CUT,
    },
    "tanstack-ai-0.58.0": {
        "ag-ui-version-missing": EVERY,
        "ag-ui-run-ids": EVERY,
        "ag-ui-after-end": {"bad-args", "bare-tool", "one-tool", "tool-fails", "two-tools"},
        "ag-ui-message-id-reused": {"one-tool", "two-tools", *AFTER_A_CALL},
        "ag-ui-first-event": AFTER_A_CALL,
        "ag-ui-frontend-interrupt": {"frontend"},
        "ag-ui-truncated": {
            *CUT,
            "err-args.second",
            "tool-fails.second",
        },
        "stream-unfinished": {"frontend.second"},  # the answer to no input: it is empty
        "stream-without-events": {"frontend.second"},
    },
}


def found(server: str) -> dict[str, set[str]]:
    """Return in which cases each code was found."""
    cases: dict[str, set[str]] = {}
    for file in sorted((RECORDED / server).glob("*.sse")):
        for finding in check(file):
            cases.setdefault(finding.code, set()).add(file.name.removesuffix(".sse"))
    return cases


@pytest.mark.parametrize("server", EXPECTED)
def test_what_a_real_server_breaks_is_found_where_it_does(server: str) -> None:
    """And nothing else is: a finding too many is as wrong as one that is missing."""
    files = {file.name.removesuffix(".sse"): file.read_bytes() for file in (RECORDED / server).glob("*.sse")}
    runs = {name for name, body in files.items() if b'"RUN_STARTED"' in body}
    usage = {name for name, body in files.items() if b'"name":"usage"' in body}
    finished = {name for name, body in files.items() if b'"RUN_FINISHED"' in body}
    in_every = {"every run": runs, "every usage": usage, "every usage of a run that finished": usage & finished}
    expected = {code: in_every.get(str(where), where) for code, where in EXPECTED[server].items()}
    assert found(server) == expected


def test_all_recordings_are_judged() -> None:
    """As many as there are; one that is empty, as no model answered, is not a stream of anything."""
    files = sorted(RECORDED.glob("*/*.sse"))
    assert len(files) == 178
    assert {file.parent.name for file in files} == set(EXPECTED)
    empty = [file for file in files if not file.read_bytes()]
    assert [f"{file.parent.name}/{file.name}" for file in empty] == ["tanstack-ai-0.58.0/frontend.second.sse"]


PAGE = (docs_dir() / "AG_UI.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| (.+) \| (.+) \| (.+) \|$", PAGE.split("<!-- servers -->")[1].partition("<!-- /servers -->")[0], re.MULTILINE
)[1:]
NAMES = {
    "pydantic-ai-slim 2.68.0": "pydantic-ai-2.68.0",
    "ag-ui-strands 1.0.2": "ag-ui-strands-1.0.2",
    "ag-ui-langgraph 0.0.47": "ag-ui-langgraph-0.0.47",
    "the same with `emit_interrupt_outcome=True`": "ag-ui-langgraph-0.0.47+outcome",
    "agent-framework-ag-ui 1.7.0": "agent-framework-ag-ui-1.7.0",
    "@tanstack/ai 0.58.0": "tanstack-ai-0.58.0",
}


def test_the_page_has_what_was_found_of_each_server() -> None:
    """By the number of the rule that each finding names first, MUST and SHOULD apart."""
    assert {row[0] for row in ROWS} == set(NAMES)
    for name, *columns in ROWS:
        codes = EXPECTED[NAMES[name]].keys() - {"ag-ui-truncated", "stream-unfinished", "stream-without-events"}
        kinds = [load_kinds()[code] for code in codes]
        for level, text in zip((Level.MUST, Level.SHOULD), columns, strict=True):
            shown = {int(number) for number in re.findall(r"\b\d+\b(?!\.)", text)}
            assert shown == {int(kind.clauses[0][5:]) for kind in kinds if kind.level is level}, name


def test_the_page_has_the_table_of_the_rules() -> None:
    """As the script writes it: a row for each of the 114."""
    script = Path(__file__).parents[3] / "scripts" / "ag_ui_page.py"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0
    assert len(re.findall(r"^\| \d+ \|", PAGE.split("<!-- rules -->")[1], re.MULTILINE)) == len(load_wire_rules())


def test_the_page_counts_the_rules_by_what_judges_them() -> None:
    """And says of how many why they are not judged."""
    rules = load_wire_rules().values()
    judged = Counter(rule.judged for rule in rules)
    rest = [rule for rule in rules if rule.judged == "nowhere"]
    free = [rule for rule in rest if rule.level in ("MAY", "none")]
    clients = [rule for rule in rest if rule.binds == "consumer" and rule not in free]
    table = PAGE.split("<!-- counts -->")[1].partition("<!-- /counts -->")[0]
    numbers = [judged["wire"], judged["input"], judged["posts"], len(rest), len(clients), len(free)]
    assert [int(number) for number in re.findall(r"\b\d+\b", table)] == [*numbers, len(rest) - len(clients) - len(free)]


def test_the_page_counts_the_rules_by_what_has_to_be_seen_for_a_verdict() -> None:
    """Three classes, and the rest."""
    counts = Counter(rule.verdict for rule in load_wire_rules().values())
    said = PAGE.split("The class of verdict is")[1].partition("\n\n")[0]
    numbers = [int(one) for one in re.findall(r"\b\d+\b", said)]
    assert numbers == [counts[name] for name in ("wire", "input", "model", "none")]
    assert f"{counts['model']} rules, not judged here" in PAGE
