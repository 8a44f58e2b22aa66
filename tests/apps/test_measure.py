"""The uncut run before the cases: a command that counts nothing is named, and nobody is judged by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.chat_app import ChatApp
from tests.apps.chat_model import ModelError
from tests.apps.playing import play

from tpharness.errors import UsageError
from tpharness.verdict import Outcome


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("wc -l < {folder}/efects.txt", "fails although the tool has run: .*efects.txt"),
        ("false", "fails although the tool has run: status 1"),
        ("cat {folder}/efects.txt 2>/dev/null | wc -l", "counts 0 before and after a run of book_hotel"),
        ("echo 4", "counts 4 before and after a run of book_hotel; it ran: the model was sent its result"),
    ],
)
def test_a_command_that_does_not_count_the_tool_is_not_judged_by(tmp_path: Path, command: str, words: str) -> None:
    """A misspelt file would never have an effect in it, and what forgets effects would pass; also in one case alone."""
    app = ChatApp(effects=tmp_path / "effects.txt", tool_seconds=0.0)
    with pytest.raises(UsageError, match=words) as raised:
        play(app, "model-drops/in-text", effects=command.format(folder=tmp_path))
    assert "how often the tool has run" in str(raised.value.hint)


@pytest.mark.parametrize("approvals", [False, True])
def test_a_file_that_the_first_effect_makes_may_be_counted_by_a_command_that_needs_it(
    tmp_path: Path, approvals: bool
) -> None:
    """It fails until the tool has run."""
    effects = tmp_path / "effects.txt"
    app = ChatApp(effects=effects, tool_seconds=0.0, approvals=approvals)
    (result,) = play(app, "uncut/tool-call", effects=f"wc -l < {effects}")
    assert (result.outcome, result.findings) == (Outcome.PASSED, ())


def test_an_application_whose_tool_never_returns_is_judged_all_the_same(tmp_path: Path) -> None:
    """Nobody knows whether it has run, so the command may be right."""

    class Breaks(ChatApp):
        async def _run_tools(self, *_: object) -> None:
            raise ModelError("no database")

    (result,) = play(Breaks(), "uncut/tool-call", effects=f"wc -l < {tmp_path}/effects.txt")
    assert result.outcome in (Outcome.PASSED, Outcome.FAILED)
