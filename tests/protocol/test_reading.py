"""Clause `message.agent-id-filled` (R3): readers fill a missing agent in from its turn, writers may not omit it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conformance.bad_documents import load_good_threads
from tests.places import places, replace_at

from tpharness.cli.app import app
from tpharness.findings import Level
from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.reading import check_as_read, fill_agents
from tpharness.protocol.rules import check_thread

GOOD = load_good_threads()["hand-off"]


def without_agents() -> dict[str, Any]:
    """Return the thread of two agents as the amendments abbreviate: no message names its agent."""
    thread: dict[str, Any] = copy.deepcopy(GOOD)
    for turn in thread["turns"][1:]:
        for message in turn["messages"]:
            message.pop("agent_id", None)
    return thread


def test_each_request_and_response_gets_the_agent_of_its_turn() -> None:
    """A warning each, at the message; events have no agent_id."""
    given = without_agents()
    read, filled = fill_agents(given)
    assert read == GOOD
    assert given == without_agents()
    assert {(f.code, f.level) for f in filled} == {("agent-id-filled", Level.SHOULD)}
    at = [f.place.pointer for f in filled]
    assert at == ["/turns/1/messages/0", "/turns/2/messages/0", "/turns/2/messages/1"]
    assert [f.code for f in check_as_read(given)] == ["agent-id-filled"] * 3


def test_a_null_is_filled_and_a_wrong_value_is_not() -> None:
    """R37: null is absent; what somebody wrote is judged and not replaced."""
    path = ("turns", 1, "messages", 0, "agent_id")
    assert fill_agents(replace_at(GOOD, path, None))[0] == GOOD
    for wrong in ("", 7):
        document = replace_at(GOOD, path, wrong)
        assert fill_agents(document) == (document, [])


def test_whoever_writes_a_thread_is_held_to_it() -> None:
    """The schema requires it, so the thread of a target that leaves it out is wrong."""
    assert {f.code for f in check_thread(without_agents()) if f.level is Level.MUST} == {"message-without-agent"}


def test_any_json_value_is_read() -> None:
    """What is not a thread is returned as it is; `check` then says so."""
    odd: list[Any] = [None, 7, "x", [], {}]
    for value in odd:
        assert fill_agents(value) == (value, [])
    for path in places(GOOD):
        for value in odd:
            fill_agents(replace_at(GOOD, path, value))


@pytest.mark.parametrize(
    "words", [["check"], ["hash"], ["convert", "--to", "0.0.3"], ["diff"]], ids=lambda words: words[0]
)
def test_every_command_that_reads_threads_fills_in_and_warns(words: list[str], tmp_path: Path) -> None:
    """The abbreviated thread is the whole one to each of them, and the reader is told."""
    file, whole = tmp_path / "short.json", tmp_path / "whole.json"
    file.write_text(json.dumps(without_agents()), "utf-8")
    whole.write_text(json.dumps(GOOD), "utf-8")
    command, *options = words
    others = [str(whole)] if command == "diff" else []
    done = CliRunner().invoke(app, [command, str(file), *others, *options])
    assert done.exit_code == 0
    assert (done.stdout + done.stderr).count("agent-id-filled at ") == 3
    if command == "hash":
        assert done.stdout.strip() == thread_hash(GOOD)
    elif command == "convert":
        assert json.loads(done.stdout)["turns"][1]["messages"][0]["agent_id"] == GOOD["turns"][1]["agent_id"]
    elif command == "diff":
        assert done.stdout.strip() == "the threads are equal"
