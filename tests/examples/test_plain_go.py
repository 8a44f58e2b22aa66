"""What the example in plain Go stands beyond the suite: requests that are wrong, and texts in odd pieces.

That it passes the suite is in test_plain_suite.py, for all three examples.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.examples.stdio import Ask, asked
from tests.golang import build, find_gofmt

pytestmark = pytest.mark.go

SOURCE = Path(__file__).parents[2] / "examples" / "plain_go.go"
START = "2025-01-20T10:00:00Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": START}}
RESULT = {"event_kind": "agent_run_result", "at": START}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the example, compiled."""
    found = tmp_path_factory.mktemp("go") / "plain_go"
    build(SOURCE, found)
    return found


@pytest.fixture
def ask(program: Path) -> Iterator[Ask]:
    """Start one process; return what writes it one line and gives its answer."""
    with asked(program) as ask:
        yield ask


def texts_kept(ask: Ask, *pieces: str) -> list[Any]:
    """Serve a run with one text that comes in these pieces of JSON; return the contents of its parts."""
    start = '{"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": ""}}'
    end = '{"event_kind": "part_end", "index": 0, "part": {"part_kind": "text"}}'
    deltas = [
        f'{{"event_kind": "part_delta", "index": 0, "delta": {{"part_delta_kind": "text", "content_delta": {p}}}}}'
        for p in pieces
    ]
    events = ", ".join([start, *deltas, end, json.dumps(RESULT)])
    run = f'{{"turn_type": "agent", "agent_id": "a", "started_at": "{START}", "events": [{events}]}}'
    head = f'"thread_id": "t", "created_at": "{START}", "versions": ["0.0.4"], "agents": {json.dumps(AGENTS)}'
    told = ask(f'{{"op": "serve", "id": 1, "case": {{{head}, "turns": [{run}]}}}}'.encode("utf-8", "surrogatepass"))
    (turn,) = told["served"]["threads"]["0.0.4"]["turns"]
    return [part["content"] for part in turn["messages"][0]["parts"]]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"hello", "not a request"),
        (b"[]", "not a request"),
        (b'{"id": 1}', 'no op ""'),
        (b'{"id": 1, "op": "dance"}', "dance"),
        (b'{"id": 1, "op": "serve", "case": {"turns": [7]}}', "cannot unmarshal"),
    ],
    ids=["no-json", "list", "no-op", "unknown-op", "turn-that-is-none"],
)
def test_a_wrong_line_is_answered_and_the_next_one_too(line: bytes, named: str, ask: Ask) -> None:
    """The process goes on, and says what is wrong."""
    assert named in ask(line)["error"]["message"]
    assert "capabilities" in ask(b'\n{"op": "start", "id": 2, "contract": "1.1"}')


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (['"a\\ud83d"', '"\\ude80b"'], "a🚀b"),
        (['"a\\ud83d\\ude80"', '"b"'], "a🚀b"),
        (['"\\ud83d"', '""', '"\\ude80"'], "🚀"),
        (['"\\ud83d"', '"x\\ude80"'], "\ud83dx\ude80"),
        (['"\\ude80"', '"\\ud83d"'], "\ude80\ud83d"),
        (['"\\\\ud83d"', '"\\\\\\\\ude80"'], "\\ud83d\\\\ude80"),
        (['"\\u0041\\n\\"\\u2028"', '"\u2028\\/é"'], 'A\n"\u2028\u2028/é'),
    ],
    ids=["split", "whole", "an-empty-piece-between", "alone", "the-wrong-way", "backslashes", "other-escapes"],
)
def test_halves_of_characters_are_put_together_where_they_meet(pieces: list[str], text: str, ask: Ask) -> None:
    """And stay halves where they do not, for the harness to find (R43, R38)."""
    assert texts_kept(ask, *pieces) == [text]


def test_a_file_without_a_content_changes_nothing(ask: Ask) -> None:
    """As any event that lacks a field (R36)."""
    kept = texts_kept(ask, '"a"}}, {"event_kind": "part_start", "index": 1, "part": {"part_kind": "file", "x": 1')
    assert kept == ["a"]


def test_it_is_formatted() -> None:
    """As every file of Go is."""
    done = subprocess.run([find_gofmt(), "-l", SOURCE], capture_output=True, text=True, check=True)
    assert done.stdout == ""
