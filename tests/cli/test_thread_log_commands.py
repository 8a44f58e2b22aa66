"""The commands read a thread log, write one, and say what it is where it is not what they read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.histories.thread_log.test_thread_log_exchange import recorded


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return a file with a log of the real program."""
    path = tmp_path / "thread.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in recorded("drop-answer", "python", "turn2")), "utf-8")
    return str(path)


def test_the_commands_read_a_log_and_write_one(file: str, tmp_path: Path, call: Any) -> None:
    """Check, import, history and view, one after the other; each says what its result does not have."""
    assert call("check", file).out == "1 file checked, nothing wrong\n"
    thread, again = str(tmp_path / "thread.json"), str(tmp_path / "again.jsonl")
    imported = call("import", "--from", "thread-log", file, "-o", thread)
    assert (imported.code, imported.err.splitlines()) == (
        0,
        [
            "left out /0/blueprint/space/agents/0/basePrompt: a system prompt; system prompts are never stored (R8)",
            "left out /0/blueprint/space/agents/0/widgets: widgets; they are the program's",
            "left out /4: why the turn was cut; no line says it; user_cancelled is written",
        ],
    )
    wrote = call("history", thread, "--for", "thread-log", "-o", again)
    assert wrote.code == 0
    assert "that the turn was cut (user_cancelled); thread-log 0.0.7 has no word for it" in wrote.err
    assert call("check", again).out == "1 file checked, nothing wrong\n"
    assert [json.loads(line)["type"] for line in Path(again).read_text("utf-8").splitlines()][:2] == [
        "thread-blueprint",
        "data-user-turn-start",
    ]
    page = tmp_path / "page.html"
    assert call("view", file, "-o", str(page)).code == 0
    assert "A thread log, as the thread that is made of it" in page.read_text("utf-8")


def test_the_other_commands_say_what_a_log_is(file: str, tmp_path: Path, call: Any) -> None:
    """A log is not a stream; what is wrong with one is not repaired, and it stays as it is."""
    folded = call("fold", file)
    assert (folded.code, "import --from thread-log" in folded.err) == (2, True)
    locked = tmp_path / "locked.jsonl"
    locked.write_text("".join(f"{json.dumps(one)}\n" for one in recorded("halt-tool", "python", "turn2")), "utf-8")
    repaired = call("repair", str(locked))
    assert repaired.code == 1
    assert "not repaired: MUST thread-log-call-locked" in repaired.out
    assert call("check", str(locked)).out.startswith(f"MUST thread-log-call-locked at {locked}:10: ")
    named = call("import", "--from", "thread-log", str(locked), "--thread-id", "mine")
    assert json.loads(named.out)["thread_id"] == "mine"
    assert "MUST thread-log-call-locked at /9" in named.err
