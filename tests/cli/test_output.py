"""What a command prints arrives whole, or the command says that it did not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

COMMAND = [sys.executable, "-m", "tpharness"]
FULL = Path("/dev/full")
THREAD = b'{"version":"0.0.4","turns":[]}'


@pytest.mark.skipif(not FULL.exists(), reason="only some systems have a disk that is always full")
@pytest.mark.parametrize("args", [["list", "clauses"], ["list", "rulings", "--json"], ["--version"], ["hash", "-"]])
def test_a_full_disk_is_no_success(args: list[str]) -> None:
    """A script that saves our output must not go on with an empty file: exit code 2, one line."""
    with FULL.open("wb") as full:
        result = subprocess.run(  # ourselves
            [*COMMAND, *args], input=THREAD, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 2
    assert b"No space left on device" in result.stderr
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["list", "clauses"],
        ["list", "clauses", "--json"],
        ["docs", "CLI"],
        ["--help"],
        ["run", "--help"],
        ["run", "sse"],
    ],
)
def test_a_reader_that_goes_away_is_no_error_to_talk_about(args: list[str]) -> None:
    """As with `head`: nothing on standard error, and the code of SIGPIPE: there are no findings."""
    process = subprocess.Popen(  # ourselves
        [*COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_an_interruption_from_the_keyboard_ends_with_130(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the middle of a run, whose console is taken away first."""

    def interrupted(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("tpharness.run.pairs.run_suite", interrupted)
    called = call("run")
    assert called.code == 130
    assert "Traceback" not in called.err


def test_json_output_is_utf_8_wherever_it_goes() -> None:
    """Whatever encoding the terminal is said to have, JSON is UTF-8 (RFC 8259)."""
    environment = {"PYTHONIOENCODING": "ascii"}
    at = "2025-01-20T10:00:00Z"
    parts = [{"part_kind": "user-prompt", "content": "Hi"}]
    turn = {"turn_type": "user", "submitted_at": at, "parts": parts, "note": "é"}
    thread = {"version": "0.0.4", "thread_id": "t", "created_at": at, "updated_at": at, "agents": {}, "turns": [turn]}
    data = json.dumps(thread, ensure_ascii=False).encode()
    command = [*COMMAND, "convert", "-", "--to", "0.0.3"]
    result = subprocess.run(command, input=data, capture_output=True, check=True, env=environment)
    assert json.loads(result.stdout.decode("utf-8"))["turns"][0]["note"] == "é"


def test_words_are_escaped_where_a_terminal_cannot_show_them() -> None:
    """A ruling with signs beyond ASCII is still told."""
    result = subprocess.run(  # ourselves
        [*COMMAND, "explain", "R4"], capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"}
    )
    assert rb"\u2265" in result.stdout


def test_what_a_peer_sends_never_reaches_the_terminal_raw(call: Any, tmp_path: Path) -> None:
    """Control characters in the name of a chunk are shown as escapes."""
    file = tmp_path / "evil.sse"
    kinds = '{"type":"start"}', '{"type":"evil\\u001b[2J\\n"}', '{"type":"text-end","id":"\\u001b]0;x"}'
    file.write_text("".join(f"data: {kind}\n\n" for kind in kinds), encoding="utf-8")
    for args in (["check", str(file)], ["fold", str(file)]):
        called = call(*args)
        assert called.code == 1
        assert "\x1b" not in called.out + called.err
        assert "\\x1b" in called.out + called.err


def test_reports_share_standard_output_with_nobody(call: Any) -> None:
    """With a report on `-`, standard output is that report; the console moves to standard error."""
    called = call("run", "parts/file", "--report", "json:-", "--report", "console")
    assert called.code == 0
    assert json.loads(called.out)["passed"]
    assert "PASSED 1 scenario" in called.err


def test_a_place_that_a_sweep_does_not_have_never_passes(call: Any) -> None:
    """Nothing played is nothing proved."""
    called = call("run", "interruptions/every-byte@byte-99999999")
    assert called.code != 0
    assert "PASSED" not in called.out
