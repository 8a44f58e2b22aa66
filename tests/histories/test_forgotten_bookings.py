"""The table "Which of these forgets a booking?" is what was played: histories here, releases by a script each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.histories.message_parts.build import inline, journal_of

from tpharness.errors import UsageError
from tpharness.findings import Level
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.registry import HISTORIES
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES

TOP = Path(__file__).parents[2]
GUIDE = (TOP / "docs" / "HISTORIES.md").read_text("utf-8")
SECTION = GUIDE.partition("## Which of these forgets a booking?\n")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| ") and line.count("|") == 6 and not line.startswith("| program")
]
PLAYED = [row for row in ROWS if row[4] == "`compare`"]
SCRIPTS = [row for row in ROWS if row[4] != "`compare`"]
TURNS = {
    "answer": """
  - user: Book a room.
  - steps:
      - response: [{call: book, id: c1, args: {room: 7}}]
      - returns: {c1: booked as 4711}
      - response: [{text: ["It is ", booked.], label: says}]
    interrupt: {reason: user_cancelled, after: says.mid}
""",
    "tool": """
  - user: Book a room.
  - steps:
      - response: [{call: book, id: c1, args: {room: 7}}]
      - {start_tools: true, label: runs}
    interrupt: {reason: user_cancelled, after: runs}
""",
    "beside": """
  - user: Book a room and pay.
  - steps:
      - response: [{call: book, id: c1, args: {room: 7}}, {call: pay, id: c2, args: {amount: 125}}]
      - {start_tools: true}
      - returns: {c1: booked as 4711}
        label: booked
    interrupt: {reason: user_cancelled, after: booked}
""",
}


def read_of_it(history: str, moment: str) -> str:
    """Return what the model reads of the booking in the next request, the same for each API."""
    try:
        document = HISTORIES[history].store(journal_of(inline(TURNS[moment])))
    except UnsupportedError as why:
        return "waits" if "waits for the tools that run, and keeps what they return" in str(why) else str(why)
    (word,) = {_word(history, document, api) for api in API_NAMES} - {"not compared"}
    return word


def _word(history: str, document: Any, api: Any) -> str:
    try:
        payload = HISTORIES[history].model_input(document, api, next_user="Is it?")
    except UsageError:
        return "not compared"  # the program does not write requests for this API
    refused = any(finding.level is Level.MUST for finding in check_payload(api, payload))
    text = json.dumps(payload)
    if refused:
        return "refused"
    if api == "ollama":
        return "not compared"  # its server compares no calls with their results, so that it refuses none of these
    if "4711" in text:
        return "known"
    return "interrupted" if '"book"' in text else "in a text" if "interrupted" in text else "forgotten"


@pytest.mark.parametrize("row", PLAYED, ids=lambda row: row[0])
def test_what_a_history_says_of_a_booking_is_what_the_table_says(row: list[str]) -> None:
    """At each of the three moments, for every API."""
    (name,) = re.findall(r"`([^`]+)`", row[0])[-1:]
    assert [read_of_it(name, moment) for moment in TURNS] == row[1:4]


@pytest.mark.parametrize("row", SCRIPTS, ids=lambda row: row[0])
def test_a_release_of_the_table_is_the_one_that_its_script_installs(row: list[str]) -> None:
    """With the version that the row names; at least one moment was played."""
    script = (TOP / "findings" / f"{row[4].strip('`')}.sh").read_text("utf-8")
    (version,) = re.findall(r"\d+\.\d+\.\d+", row[0])
    assert f"=={version}" in script or f"@{version}" in script, row
    assert set(row[1:4]) != {"–"}


def test_every_word_of_the_table_is_explained_and_every_family_is_there() -> None:
    """A family of histories has a row at least; ThreadProtocol's older versions lose the same."""
    used = {cell for row in ROWS for cell in row[1:4]}
    explained = {line.strip("|").split("|")[0].strip() for line in SECTION.splitlines() if line.count("|") == 3}
    assert used <= explained
    named = {re.findall(r"`([^`]+)`", row[0])[-1].partition("/")[0] for row in PLAYED}
    assert named >= {name.partition("/")[0] for name in HISTORIES} - {"2.0.0"}
    assert len(SCRIPTS) >= 9


HELPERS = GUIDE.partition("## What the helpers of SDKs hold of a cut stream\n")[2].partition("\n## ")[0]
HELPER_ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in HELPERS.splitlines()
    if line.count("|") == 5 and not line.startswith(("| helper", "|---"))
]


@pytest.mark.parametrize("row", HELPER_ROWS, ids=lambda row: f"{row[0]}, {row[1]}")
def test_what_a_helper_holds_is_shown_by_a_script_with_its_release(row: list[str]) -> None:
    """Each row has one, which installs the version that the row names."""
    script = (TOP / "findings" / f"{row[3].strip('`')}.sh").read_text("utf-8")
    (version,) = re.findall(r"\d+\.\d+\.\d+", row[0])
    assert f"=={version}" in script or f"@{version}" in script, row


def test_helpers_of_both_languages_are_in_the_table() -> None:
    """Of the three vendors."""
    names = " ".join(row[0] for row in HELPER_ROWS)
    for package in ("anthropic ", "@anthropic-ai/sdk ", "openai ", "google-genai ", "@google/genai "):
        assert package in names
