"""The command of `effects`: what it prints is a number, and it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.apps.chat_app import ChatApp
from tests.apps.playing import codes_of, count_lines, playing, together

from tpharness.apps.effects.counting import count_effects, counting_alone
from tpharness.errors import UsageError


@pytest.mark.parametrize(("command", "count"), [("echo 3 effects", 3), ("wc -l < not-there-yet", 0)])
def test_the_first_number_counts(tmp_path: Path, command: str, count: int) -> None:
    """A command that fails without one counts as 0: there was no effect yet."""
    assert asyncio.run(count_effects(command, tmp_path, 10, has_run=False)) == count


@pytest.mark.parametrize(
    ("command", "limit", "words"),
    [
        ("echo none", 10, "effects: 'echo none' does not print a number"),
        ("no-such-command-here", 10, "effects: 'no-such-command-here' cannot be started"),
        ("sleep 100", 0.05, "effects: 'sleep 100' does not end within 0.05 s"),
        ("sleep 100 | cat", 0.05, "effects: 'sleep 100 | cat' does not end within 0.05 s"),
        ("exit 3", 10, "effects: 'exit 3' fails although the tool has run: status 3"),
        (
            "echo no file >&2; exit 3",
            10,
            "effects: 'echo no file >&2; exit 3' fails although the tool has run: no file",
        ),
    ],
)
def test_a_command_that_counts_nothing_is_named(tmp_path: Path, command: str, limit: float, words: str) -> None:
    """With what it does, and what it has to do; nothing that it has started is left, which would hold its pipe open."""
    with pytest.raises(UsageError) as raised:
        asyncio.run(count_effects(command, tmp_path, limit, has_run=True))
    assert str(raised.value) == words
    assert raised.value.hint


def test_two_runs_that_count_with_one_command_do_so_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two workers of pytest-xdist, or terminals: each would find the other's effects, as a tool that ran twice."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    effects = tmp_path / "effects.txt"
    waits: list[str] = []
    options: dict[str, Any] = {"options": {"on_wait": waits.append}, "effects": count_lines(effects)}
    plays = (playing(ChatApp(effects=effects), "uncut/tool-call", "uncut/two-calls", **options) for _ in range(2))
    for results in together(*plays):
        assert codes_of(results) == set()
    assert [line.partition(" in ")[0] for line in waits] == [
        f"another run counts effects with {count_lines(effects)!r}"
    ]


def test_where_no_lock_can_be_kept_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose home is not there: a run alone is right all the same."""
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    async def main() -> bool:
        async with counting_alone("wc -l", tmp_path):
            return True

    assert asyncio.run(main())
