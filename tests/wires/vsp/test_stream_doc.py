"""docs/STREAM.md says what the table of states does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tpharness import fold
from tpharness.clauses import load_clauses, load_rulings
from tpharness.resources import conformance_dir
from tpharness.wires.vsp.records import RECORDS, DataChunk, Done, UnknownChunk
from tpharness.wires.vsp.states import ORDER, Reaction, StreamState

DOC = Path(__file__).parents[3] / "docs" / "STREAM.md"
WORDS = {Reaction.FOLD: "folded", Reaction.NO_PART_OPEN: "violation", Reaction.OBSERVE: "observed", None: "violation"}
KINDS: dict[str, type] = {**RECORDS, "data-*": DataChunk, "(unknown)": UnknownChunk, "[DONE]": Done}


def table() -> list[str]:
    """Return the rows of the table, from the machine's own table."""
    states = list(StreamState)
    rows = [f"| chunk | {' | '.join(state.name.lower() for state in states)} |", "|---|" + "---|" * len(states)]
    for name, record in KINDS.items():
        cells = [WORDS[ORDER[state].get(record)] for state in states]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return rows


def test_the_table_in_the_document_is_the_table_of_the_machine() -> None:
    """Every chunk in every state, as documented."""
    lines = DOC.read_text("utf-8").splitlines()
    start = lines.index(table()[0])
    assert lines[start : start + len(table())] == table()


def test_each_answer_has_a_golden_and_a_ruling_that_exist() -> None:
    """A row names the clause or ruling that decides, and a scenario whose thread shows it."""
    known = {*load_rulings(), *load_clauses()}
    answers = DOC.read_text("utf-8").partition("## What is easily guessed wrongly")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in answers.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 6
    for _, _, decided, goldens in rows:
        assert set(re.findall(r"R\d+|[a-z]+\.[a-z-]+", decided)) <= known
        for name in re.findall(r"`([^`]+)`", goldens):
            assert (conformance_dir() / "golden" / f"{name}.json").is_file(), name


def turn(name: str) -> dict[str, Any]:
    """Return the agent's first turn in a golden."""
    golden = json.loads((conformance_dir() / "golden" / f"{name}.json").read_text("utf-8"))
    found: dict[str, Any] = next(one for one in golden["turns"] if one["turn_type"] == "agent")
    return found


def test_the_goldens_are_what_the_answers_say() -> None:
    """Judged without the fold."""
    kinds = [[p["part_kind"] for p in m["parts"]] for m in turn("stream/chunks-that-lack-a-field")["messages"]]
    assert kinds == [["text"]]
    event = turn("stream/unknown-chunk-type")["messages"][0]
    assert (event["event_type"], event["event_data"]["level"]) == ("vendor-thing", 3)
    assert [m["event_data"] for m in turn("sse/ping-events-and-odd-ids")["messages"]] == [1, 3, 4, 5]
    assert turn("sse/lines-that-are-no-data")["messages"][0]["parts"][0]["content"] == "Hello"
    assert [m["message_type"] for m in turn("events/sources")["messages"]] == ["response", "system"]
    assert [p["status"] for p in turn("tools/every-status")["messages"][1]["parts"]][2] == "validation_error"
    assert [len(m["parts"]) for m in turn("stream/input-refused-twice")["messages"]] == [1, 1]
    late = turn("stream/provider-outputs-late-and-twice")["messages"]
    assert [[p.get("tool_call_id") for p in m["parts"]] for m in late] == [["b1", "b2", "b1"], ["b2", None]]
    refused = turn("stream/input-refused-then-cut")
    assert [len(m["parts"]) for m in refused["messages"]] == [2, 1]
    assert refused["interruption"]["reason"] == "user_cancelled"
    steered = [m["message_type"] for m in turn("threads/steering-that-repeats-the-prompt")["messages"]]
    assert steered == ["system", "response", "request", "response"]
    assert [m["message_type"] for m in turn("recorded/ai-sdk/reset-step")["messages"]] == ["system", "response"]
    assert [m["message_type"] for m in turn("carriers/odd-carriers")["messages"]] == ["response"]
    assert turn("carriers/not-recorded")["agent_id"] == "other"
    assert turn("stream/nothing-before-the-start")["started_at"] == "2025-01-20T10:00:02Z"
    assert turn("events/time-of-its-own")["messages"][2]["timestamp"] == "2025-01-20T10:00:30Z"
    assert [m["message_type"] for m in turn("events/source-that-opens-its-step")["messages"]] == ["response", "system"]
    executed = [p["part_kind"] for p in turn("stream/provider-executed-said-late")["messages"][0]["parts"]]
    assert executed == ["builtin-tool-call", "builtin-tool-return"] * 2
    reset = [[p["part_kind"] for p in m["parts"]] for m in turn("stream/reset-keeps-earlier-returns")["messages"]]
    assert reset == [["tool-call"], ["tool-return"], ["text"]]
    assert [m["parts"][0]["content"] for m in turn("stream/reset-takes-all-of-its-response")["messages"]] == ["Again"]
    steering = [m["message_type"] for m in turn("threads/steering-ends-its-response")["messages"]]
    assert steering == ["response", "request", "response"]
    repeated = [m["message_type"] for m in turn("threads/prompt-repeated-in-an-answer")["messages"]]
    assert repeated == ["system", "response"]
    assert turn("carriers/agent-changes-at-its-own-time")["completed_at"] == "2025-01-20T10:00:04Z"


@pytest.mark.parametrize(("name", "counts"), [("message", True), ("delta", True), ("Ping", True), ("ping", False)])
def test_the_name_of_an_event_takes_a_chunk_away_only_where_the_document_says_so(name: str, counts: bool) -> None:
    """Every name but `ping` is that of a chunk."""
    assert "Only an event named `ping` is not a chunk." in DOC.read_text("utf-8")
    stream = f'event: {name}\ndata: {{"type":"data-app-note","data":1}}\n\ndata: {{"type":"finish"}}\n\n'
    (_, answer) = fold("Hi", stream.encode()).thread["turns"]
    assert [message["event_type"] for message in answer["messages"]] == (["data-app-note"] if counts else [])


@pytest.mark.parametrize(
    ("reason", "counts"), [("stop", True), ("error", False), ("interrupted", False), ("content-filter", False)]
)
def test_a_finish_after_an_error_completes_the_turn_as_the_document_says(reason: str, counts: bool) -> None:
    """The reasons that it names leave the turn as it was at the error."""
    (line,) = re.findall(
        r"completes the turn: one with any other reason than ([^(]*) \(R26, R27\)", DOC.read_text("utf-8")
    )
    assert (f"`{reason}`" in line) is not counts
    chunks = [{"type": "error", "errorText": "slow"}, {"type": "data-app-note", "data": 1}]
    chunks.append({"type": "finish", "finishReason": reason})
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    (_, answer) = fold("Hi", stream.encode()).thread["turns"]
    assert answer["completion_status"] == ("complete" if counts else "interrupted")
    assert ("data-app-note" in [message["event_type"] for message in answer["messages"]]) is counts
