"""`tpharness import` without --from: each document is recognised, and a thread is passed on as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.test_batch import thread, ui_messages


def test_a_store_of_mixed_formats_is_imported_as_it_is_recognised(tmp_path: Path, call: Any) -> None:
    """As `check` does; threads are passed on as they are, so that the new store is whole."""
    store, out = tmp_path / "store", tmp_path / "out"
    store.mkdir()
    documents = {
        "ui": ui_messages(1),
        "library": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}],
        "thread": thread(1),
        "broken": {**thread(2), "turns": 5},
        "request": {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "system": "x",
            "messages": [{"role": "user", "content": "Hi"}],
        },
        "numbers": [1],
    }
    for name, value in documents.items():
        (store / f"{name}.json").write_text(json.dumps(value), "utf-8")
    called = call("import", str(store), "-o", str(out))
    assert called.code == 2
    total = called.err.splitlines()[-1]
    assert total.startswith("6 documents: ")
    for part in ("2 imported", "1 a thread already", "1 refused", "2 not recognised"):
        assert part in total
    assert {path.stem for path in out.glob("*.json")} == {"ui", "library", "thread"}
    assert json.loads((out / "thread.json").read_bytes()) == thread(1)
    assert "broken.json is a thread already, and not a valid one" in called.err
    assert "request.json looks like anthropic, and import has no reader for it" in called.err
    assert "numbers.json could be in several formats, or in none that is known" in called.err
    for name in ("ui", "library"):
        alone = call("import", str(store / f"{name}.json"))
        assert (alone.code, len(json.loads(alone.out)["turns"])) == (0, 1)
    for name in ("broken", "request", "numbers"):
        assert call("import", str(store / f"{name}.json")).code == 2


def test_a_thread_needs_no_import(tmp_path: Path, call: Any) -> None:
    """It is said so, where it was asked whether the log of chimera was meant."""
    path = tmp_path / "thread.json"
    path.write_text(json.dumps(thread(1)), "utf-8")
    called = call("import", str(path), "--from", "thread")
    assert (called.code, called.out) == (2, "")
    assert "a thread needs no import" in called.err
    assert "thread-log" not in called.err
    alone = call("import", str(path))
    assert (alone.code, json.loads(alone.out)) == (0, thread(1))
    assert "a thread already, passed on as it is" in alone.err
