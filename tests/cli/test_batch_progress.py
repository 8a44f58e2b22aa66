"""On a terminal a command says how far it is, also within one document; elsewhere there is no such line."""

from __future__ import annotations

import json
import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import pytest
from tests.cli.conftest import Called

from tpharness.cli.batch import progress
from tpharness.cli.check import CheckAs

_CHAT = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Is it warm? "}]}]


_PATIENCE = 60
Terminal: TypeAlias = tuple[TextIO, Callable[[], str]]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Return a terminal, and a function that waits until something is written on it."""
    ours, theirs = os.openpty()

    def read() -> str:
        ready, _, _ = select.select([ours], [], [], _PATIENCE)
        assert ready, "nothing is shown"
        return os.read(ours, 4096).decode()

    with os.fdopen(theirs, "w", encoding="utf-8") as err:
        monkeypatch.setattr(progress, "_LONG", 0.0)
        yield err, read
    os.close(ours)


def show(call: Callable[..., Called], terminal: Terminal, patch: pytest.MonkeyPatch, until: str, *args: str) -> None:
    """Have a command work on its last document until a terminal shows a text, and end."""
    err, read = terminal
    patch.setattr(sys, "stderr", err)
    patch.setenv("COLUMNS", "80")
    real = CheckAs.__call__

    def slow(self: CheckAs, document: Any) -> Any:
        shown = ""
        while document.name.endswith(("z.json", ":3")) and re.search(until, shown) is None:
            shown += read()  # the alarm interrupts the wait
        return real(self, document)

    patch.setattr(CheckAs, "__call__", slow)
    assert call("check", *args).code == 0


def write(path: Path, size: int = 1) -> str:
    """Write a conversation with a text of about this size."""
    parts = [{"type": "text", "text": "Is it warm? " * (size // 12 + 1)}]
    path.write_text(json.dumps([{**_CHAT[0], "parts": parts}]) + "\n", "utf-8")
    return str(path)


def test_a_large_document_is_shown_while_it_is_worked_on(
    terminal: Terminal, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its size and for how long."""
    until = r"\r\x1b\[K\.\.\..*/z\.json \(1\.2 MB\) takes \d+ s$"
    show(call, terminal, monkeypatch, until, write(tmp_path / "z.json", 1_200_000))
    assert terminal[1]().endswith("\r\x1b[K")


def test_of_many_the_large_one_is_shown(
    terminal: Terminal, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside how the others ended."""
    monkeypatch.setattr("tpharness.cli.batch.many._A_BATCH", 1)
    (folder := tmp_path / "chats").mkdir()
    monkeypatch.chdir(folder)
    for name in ("a", "b", "z"):
        write(folder / f"{name}.json")
    until = r"\r\x1b\[K2 documents: 2 valid; \d+\.\d s; z\.json \(0\.0 MB\) takes \d+ s$"
    show(call, terminal, monkeypatch, until, ".")
    assert terminal[1]().endswith("\r\x1b[K")


def test_of_json_lines_the_part_that_is_read_is_shown(
    terminal: Terminal, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its bytes."""
    monkeypatch.setattr("tpharness.cli.batch.many._A_BATCH", 1)
    chat = json.dumps(_CHAT) + "\n"
    (tmp_path / "c.jsonl").write_text(chat * 4, "utf-8")
    monkeypatch.chdir(tmp_path)
    show(call, terminal, monkeypatch, r"; 75% of the file; c\.jsonl:3 \(0\.0 MB\) takes \d+ s$", "c.jsonl")


def test_nothing_is_shown_where_there_is_no_terminal(
    tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No alarm is set either."""
    monkeypatch.setattr("signal.setitimer", lambda *_: pytest.fail("an alarm is set"))
    for paths in ([write(tmp_path / "z.json", 1_200_000)], [write(tmp_path / "a.json"), write(tmp_path / "b.json")]):
        called = call("check", *paths)
        assert (called.code, called.err) == (0, "")
        assert "\x1b" not in called.out
