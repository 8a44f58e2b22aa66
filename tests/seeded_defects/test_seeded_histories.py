"""Mistakes in the histories of other systems are found, and every row of their tables finds one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.histories.langchain.folding import history, short
from tests.histories.langchain.table import CODE, ROWS
from tests.histories.message_parts.build import conversation, journal_of, scenario
from tests.histories.message_parts.kept import KEPT
from tests.histories.stored.test_stored import DOUBTFUL, MESSAGES, UI
from tests.histories.thread_log.test_thread_log_rules import STATEMENTS as LOGS
from tests.histories.thread_log.test_thread_log_rules import lines as lines_of
from tests.seeded_defects.histories import (
    CHOICE_DEFECTS,
    LANGCHAIN_DEFECTS,
    PART_DEFECTS,
    PLAYED_DEFECTS,
    HistoryDefect,
)

from tpharness.findings import load_kinds
from tpharness.histories.kept import compare_documents
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.message_parts.codec import loads
from tpharness.histories.play import CHECK_NAMES, play_history
from tpharness.histories.registry import HISTORIES
from tpharness.histories.stored.formats import check_stored
from tpharness.histories.thread_log.rules import check_log

STORED = (*PART_DEFECTS, *LANGCHAIN_DEFECTS, *CHOICE_DEFECTS.values())
UNDECODABLE = {
    "history-line-dropped": '{"type": "AssistantMessage", "data": 5}',
    "history-ui-extra-dropped": '{"type": "DeveloperMessage", "data": {"parts": [], "ui_extra": 5}}',
}
"""Lines that a reader of the history of messages and parts drops, or a part of which it drops."""


def unlike_the_tables() -> set[str]:
    """Return the rows of both tables that what is stored now differs from."""
    found = set()
    for (variant, name), lines in KEPT.items():
        document = MESSAGE_PARTS[f"message-parts/{variant}"].store(journal_of(scenario(f"histories/{name}")))
        if conversation(document) != lines:
            found.add(f"{variant} {name}")
    for row in ROWS:
        for dialect in row.dialects:
            state = dialect.store(history(row.scenario, row.turns))
            if short(state) != list(row.state) or state["response_buffer"] or state["tool_call_buffers"]:
                found.add(f"{dialect.variant} {row.name}")
    try:
        CODE.store(history("tools/interleaved-arguments"))
        found.add("documented GAP-6")
    except UnsupportedError:
        pass
    return found


def found_by(defect: HistoryDefect) -> set[str]:
    """Return the rows that a defect fails."""
    with defect.seed():
        return unlike_the_tables()


def test_what_is_stored_wrongly_differs_from_the_tables_and_each_row_finds_something() -> None:
    """Each defect fails a row, and each row is failed; without a defect none is, before and afterwards."""
    assert not unlike_the_tables()
    found = {defect.name: found_by(defect) for defect in STORED}
    assert not unlike_the_tables()
    assert [name for name, rows in found.items() if not rows] == []
    rows = {f"{variant} {name}" for variant, name in KEPT}
    rows |= {f"{dialect.variant} {row.name}" for row in ROWS for dialect in row.dialects} | {"documented GAP-6"}
    assert rows - set[str]().union(*found.values()) == set()


@pytest.mark.parametrize("defect", PLAYED_DEFECTS, ids=lambda defect: defect.name)
def test_what_is_shown_read_or_sent_wrongly_is_found(defect: HistoryDefect) -> None:
    """Playing the scenario finds its codes with the defect, and none of them without; nothing else is new."""
    played, right = scenario(defect.scenario), HISTORIES[defect.history]
    before = {finding.code for result in play_history(played, right) for finding in result.findings}
    with defect.seed():
        after = {finding.code for result in play_history(played, right) for finding in result.findings}
    assert after - before == defect.codes


@pytest.mark.parametrize("code", UNDECODABLE)
def test_a_line_that_does_not_decode_is_found(code: str) -> None:
    """And nothing else is."""
    assert [finding.code for finding in loads(UNDECODABLE[code], "current").findings] == [code]


BARE: tuple[list[dict[str, Any]], ...] = (
    [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    [{"id": "m1", "role": "user", "content": "Hi"}],
)
"""A message without an id, and one of the AI SDK 4."""


def test_each_kind_of_finding_about_histories_is_seen() -> None:
    """A new kind that nothing was seen to trip is noticed here."""
    stored = {code for cases in (UI, MESSAGES) for _, found, _ in cases.values() for code, _ in found}
    stored |= {found[0] for _, _, found in DOUBTFUL.values()}
    stored |= {finding.code for chat in BARE for finding in check_stored(chat, "ai-sdk")}
    stored |= {finding.code for one in LOGS for finding in check_log(lines_of(one["breaks"]))}
    line = {"type": "UserMessage", "data": {"role": "user", "parts": []}}
    stored |= {finding.code for finding in compare_documents([], [line], MESSAGE_PARTS["message-parts/plan"])}
    tripped = stored.union(UNDECODABLE, *(defect.codes for defect in PLAYED_DEFECTS))
    assert {kind.code for kind in load_kinds().values() if kind.room == "histories"} <= tripped


def test_each_check_of_histories_is_seen_to_fail() -> None:
    """So is a new check."""
    failed = set()
    for defect in PLAYED_DEFECTS:
        with defect.seed():
            for result in play_history(scenario(defect.scenario), HISTORIES[defect.history]):
                failed |= {name for name, state in result.checks.items() if state.value == "failed"}
    # No history of the suite is written for Ollama; its rules are seen to fail on payloads.
    assert failed == set(CHECK_NAMES) - {"accepted-ollama"}


def test_defects_say_what_they_do() -> None:
    """Names are unique and in kebab-case, and each has a sentence."""
    defects = (*STORED, *PLAYED_DEFECTS)
    assert len({defect.name for defect in defects}) == len(defects)
    for defect in defects:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", defect.name)
        assert re.fullmatch(r"[A-Z][^\n]{10,150}\.", defect.sentence)
