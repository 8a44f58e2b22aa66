"""The command of `effects`: what it prints is a number, and it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tpharness.apps.effects.counting import count_effects
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
