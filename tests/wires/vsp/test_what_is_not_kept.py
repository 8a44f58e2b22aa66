"""What a server does not keep is not on its wire either, and changes nothing behind it.

Each run was found by `compare-targets`, where the plain examples parted from the reference. The client's thread is the
oracle: it is folded from the stream by code that the encoder does not share.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tpharness.run.session import Session
from tpharness.scenario import load_scenario

ASKED = {"user": "Go on"}
PROMPTS = [{"part_kind": "user-prompt", "content": content} for content in ("Quickly", "Go on")]
STEERED = {"event_kind": "enqueued_messages", "messages": [{"parts": PROMPTS}]}
RESET = {"event_kind": "response_reset"}
RESULT = {"event_kind": "agent_run_result"}


def start(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Return the start of a part."""
    return {"event_kind": "part_start", "index": index, "part": {"part_kind": kind, **fields}}


def end(index: int, **part: Any) -> dict[str, Any]:
    """Return the end of a part."""
    return {"event_kind": "part_end", "index": index, "part": part}


def call(index: int, ident: str) -> dict[str, Any]:
    """Return the start of a call without arguments."""
    return start(index, "tool-call", tool_name="look", tool_call_id=ident)


def late(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for the call of part 1."""
    return {"event_kind": "part_delta", "index": 1, "delta": {"part_delta_kind": "tool_call", "args_delta": args}}


OUTPUT = start(0, "builtin-tool-return", tool_name="search", tool_call_id="b", content="found")
SEARCH = start(0, "builtin-tool-call", tool_name="search", tool_call_id="b", args="{}")
ANSWERED = {
    "event_kind": "function_tool_result",
    "part": {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c", "content": "seen"},
}
RUNS = {
    "an output without its call, then a prompt that repeats the user's": [ASKED, [OUTPUT, STEERED]],
    "a text that is taken back, then such a prompt": [
        ASKED,
        [start(0, "text", content="Hm"), end(0, part_kind="text", content="Hm"), RESET, STEERED],
    ],
    "a return that stays while its response is taken back, then such a prompt": [
        [call(0, "c"), RESULT],
        ASKED,
        [start(0, "text", content="Hm"), ANSWERED, RESET, STEERED],
    ],
    "a provider's output that is taken back, then such a prompt": [
        ASKED,
        [SEARCH, {**OUTPUT, "index": 1}, RESET, STEERED],
    ],
    "arguments behind the end of their response": [
        [call(1, "c"), {"event_kind": "model_response_end"}, late({"late": 0}), RESULT],
    ],
    "an answered call begun again, taken back, and begun again": [
        [call(0, "c"), RESULT],
        [ANSWERED, call(0, "c"), RESET, call(0, "c"), RESULT],
    ],
}


def found(turns: list[Any], folder: Path) -> Iterator[str]:
    """Play runs and messages of the user on the reference; yield the findings about both threads."""
    played = [turn if isinstance(turn, dict) else {"server": turn} for turn in turns]
    document = {"description": "Both sides agree.", "clauses": ["sync.identity"], "turns": played}
    path = folder / "kept.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with Session() as session:
        for result in session.run(session.play(load_scenario(path, root=folder))):
            yield from (f.code for f in result.findings if f.code in ("identity-differs", "thread-departs"))


@pytest.mark.parametrize("turns", RUNS.values(), ids=RUNS)
def test_both_sides_hold_the_same(turns: list[Any], tmp_path: Path) -> None:
    """What the recorder refuses or takes back is neither sent nor remembered."""
    assert not list(found(turns, tmp_path))
