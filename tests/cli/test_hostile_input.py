"""Whatever a file holds, a command says in words what is wrong with it: an exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.places import places, replace_at

import tpharness
from tpharness.protocol import parse
from tpharness.resources import conformance_dir, scenarios_dir

THREAD = b'{"version":"0.0.4","turns":[]}'
STREAM = scenarios_dir() / "recorded" / "pydantic-ai" / "plain-text.sse"
READERS = {
    "check": ["check", "-"],
    "hash": ["hash", "-"],
    "convert": ["convert", "-", "--to", "0.0.3"],
    "diff": ["diff", "-", "other.json"],
    "history": ["history", "-", "--for", "ai-sdk"],
}
BAD = {
    "empty": b"",
    "not json": b"{",
    "not utf-8": b'{"a": "\xff"}',
    "nested deep": b"[" * 10_000 + b"]" * 10_000,
    "a huge number": b'{"n": ' + b"9" * 5000 + b"}",
    "a list": b"[1, 2]",
    "unknown version": b'{"version":"7","turns":[]}',
}


REQUESTS: dict[str, Any] = {
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "system": "Be kind.",
        "thinking": {"type": "enabled"},
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text"}]}]},
        ],
        "tools": [{"name": "f", "input_schema": {}}],
    },
    "openai-responses": {
        "model": "gpt-5",
        "store": False,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"role": "assistant", "content": "Hello"},
        ],
    },
}


VALUES: tuple[Any, ...] = (None, 5, "x", [], {}, [7], [None], {"a": {"b": 1}}, True, 1e400, "\ud83d", [[]])


@pytest.mark.parametrize("command", ["hash", "convert", "history"])
@pytest.mark.parametrize("name", BAD)
def test_a_command_that_needs_a_thread_refuses_what_is_none(command: str, name: str, call: Any) -> None:
    """Exit code 2, one clear line and what to do, on standard error; nothing on standard output."""
    called = call(*READERS[command], stdin=BAD[name])
    assert called.code == 2
    assert called.out == ""
    assert called.err.startswith("tpharness: ")


@pytest.mark.parametrize("source", ["pydantic-ai", "ai-sdk"])
@pytest.mark.parametrize("name", [name for name in BAD if name != "unknown version"])
def test_an_import_refuses_what_is_not_a_list_of_messages(name: str, source: str, call: Any) -> None:
    """The same for messages, of which a list of numbers is none."""
    called = call("import", "-", "--from", source, stdin=BAD[name])
    assert called.code == 2
    assert called.out == ""
    assert called.err.startswith("tpharness: ")


MESSAGES: dict[str, Any] = {
    "pydantic-ai": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "user-prompt", "content": ["Hi", {"kind": "binary", "data": "eA==", "media_type": "a/b"}]}
            ],
            "timestamp": "2025-01-20T10:00:00Z",
            "run_id": "r",
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "Hm.", "id": "t", "provider_name": "openai"},
                {"part_kind": "file", "content": {"kind": "binary", "data": "eA==", "media_type": "image/png"}},
                {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "c1", "args": "{}"},
            ],
            "usage": {"input_tokens": 3, "details": {}},
            "finish_reason": "stop",
            "state": "complete",
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "look",
                    "tool_call_id": "c1",
                    "content": 1,
                    "outcome": "failed",
                },
                {"part_kind": "retry-feedback", "content": "again", "retry": {}},
                {"part_kind": "compaction", "content": "x"},
            ],
        },
    ],
    "ai-sdk": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}, {"type": "file", "url": "x"}]},
        {
            "id": "2",
            "role": "assistant",
            "metadata": {},
            "parts": [
                {"type": "step-start"},
                {
                    "type": "reasoning",
                    "text": "Hm.",
                    "state": "done",
                    "providerMetadata": {"openai": {"signature": "s"}},
                },
                {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {}, "output": 1},
                {
                    "type": "dynamic-tool",
                    "toolName": "x",
                    "toolCallId": "c2",
                    "state": "output-error",
                    "errorText": "e",
                },
                {"type": "tool-look", "toolCallId": "c3", "state": "output-denied", "approval": {"reason": "No."}},
                {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,eA=="},
                {"type": "data-note", "data": 1},
            ],
        },
    ],
}


@pytest.mark.parametrize("source", MESSAGES)
def test_a_wrong_type_anywhere_in_messages_is_told_in_words(source: str, call: Any) -> None:
    """Any value replaced by one of another type: a valid thread, or exit code 2 and a sentence; never a traceback."""
    accepted = 0
    every = [(at, value) for at in [(), *places(MESSAGES[source])] for value in VALUES]
    for at, value in every[::5]:
        data = json.dumps(replace_at(MESSAGES[source], at, value)).encode()
        called = call("import", "-", "--from", source, stdin=data)
        assert called.code in (0, 2), (at, value)
        assert (called.out == "") is (called.code == 2), (at, value)
        accepted += called.code == 0
    assert accepted > 20


def test_a_lone_surrogate_is_printed_as_an_escape(call: Any, tmp_path: Path) -> None:
    """R38: such a text has no UTF-8, so it comes out as the JSON escape that it came in as; nothing converts it."""
    file = tmp_path / "surrogate.jsonl"
    file.write_bytes(
        b'{"event_kind":"system_event","event_type":"x","event_data":"\\ud83d"}\n{"event_kind":"agent_run_result"}'
    )
    folded = call("fold", str(file))
    assert json.loads(folded.out)["turns"][0]["messages"][0]["event_data"] == "\ud83d"
    checked = call("check", "-", stdin=folded.out.encode())
    assert checked.code == 1
    assert "lone surrogate" in checked.out
    converted = call("convert", "-", "--to", "0.0.3", stdin=folded.out.encode())
    assert converted.code == 2
    assert "/turns/0/messages/0/event_data" in converted.err


def test_standard_input_is_read_once(call: Any) -> None:
    """A second `-` would be empty: that is refused instead of told as a difference."""
    for args in (["diff", "-", "-"], ["check", "-", "-"]):
        called = call(*args, stdin=THREAD)
        assert called.code == 2
        assert "only once" in called.err


def test_input_beyond_the_limit_is_refused(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, and a stream on standard input, of more bytes than tpharness reads: exit code 2, no half result."""
    assert parse.MAX_SIZE > 10
    monkeypatch.setattr(parse, "MAX_SIZE", 10)
    file = tmp_path / "large.sse"
    file.write_bytes(b":" * 11)
    for args in (["check", str(file)], ["fold", str(file)], ["fold", "-"]):
        called = call(*args, stdin=b":" * 11)
        assert called.code == 2
        assert "more than" in called.err
        assert called.out == ""


CUT_EVENTS = (
    b'{"event_kind": "model_request"}\n{"event_kind": "part_start", "index": 0, "part": {"part_kind": "text"}}\n'
)


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [("a.sse", b"data: [DONE]\n\n", "byte 14"), ("a.jsonl", CUT_EVENTS, "event 2")],
)
def test_a_recording_without_its_end_is_of_an_interruption(
    name: str, data: bytes, place: str, call: Any, tmp_path: Path
) -> None:
    """R27: a stream without finish or abort and events without a result were interrupted."""
    file = tmp_path / name
    file.write_bytes(data)
    called = call("check", str(file))
    assert called.code == 0
    assert "SHOULD stream-unfinished" in called.out
    assert f"{file} {place}: " in called.out
    assert called.out.endswith("1 file checked, nothing at MUST\n")


def test_a_whole_stream_is_not_called_unfinished(call: Any) -> None:
    """A recording with its finish has nothing wrong, for any major of the SDK that it was made for."""
    called = call("check", str(STREAM), "--major", "6")
    assert called.code == 0
    assert called.out == "1 file checked, nothing wrong\n"


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--interrupt", "user_canceled@2025-01-20T10:00:15Z"], "did you mean user_cancelled?"),
        (["--interrupt", "timeout@noon"], "'noon' is not a time"),
        (["--interrupt", "@2025-01-20T10:00:15Z"], "REASON@TIME"),
        (["--at", "2025-02-30T10:00:00Z"], "is not a time"),
        (["--version", "3"], "known versions are"),
    ],
)
def test_fold_refuses_a_cut_that_makes_no_sense(args: list[str], part: str, call: Any) -> None:
    """A time or a reason that would end up in a thread is looked at first: exit code 2."""
    called = call("fold", str(STREAM), *args)
    assert called.code == 2
    assert part in called.err


def test_fold_brings_the_time_of_a_cut_to_utc(call: Any) -> None:
    """A reason of its own is allowed; the time is stored with Z (R37)."""
    own = call("fold", str(STREAM), "--after", "14", "--interrupt", "power_cut@2025-01-20T11:00:15+01:00")
    assert own.code == 0
    tools = STREAM.with_name("parallel-tools.sse")
    cut = call("fold", str(tools), "--after", "20", "--interrupt", "power_cut@2025-01-20T11:00:15+01:00")
    (turn,) = json.loads(cut.out)["turns"]
    assert turn["interruption"] == {"reason": "power_cut", "interrupted_at": "2025-01-20T10:00:15Z"}


def test_events_that_are_not_json_are_refused_with_their_line(call: Any, tmp_path: Path) -> None:
    """The line is named; nesting beyond any stack and bytes that are not UTF-8 are no exceptions."""
    file = tmp_path / "bad.jsonl"
    deep, long = "the document is nested deeper than 500 levels", "an integer has more than 4300 digits"
    refused = ((b"{", "not JSON: "), (b"\xff", "not JSON: "), (b"[" * 100_000, deep), (b"7" * 5000, long))
    for line, why in refused:
        file.write_bytes(b'{"event_kind":"model_request"}\n' + line)
        called = call("fold", str(file))
        assert called.code == 2
        assert f"{file}:2: {why}" in called.err


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (b"{", "MUST json-invalid at {file}:2:2: "),
        (b"\xff", "MUST json-not-utf8 at {file}:2: byte 0xff"),
        (b"[" * 100_000, "MUST json-too-deep at {file}:2: "),
    ],
)
def test_events_that_are_not_json_are_a_finding_of_check(line: bytes, finding: str, call: Any, tmp_path: Path) -> None:
    """To find that is the task of check, and it goes on with the other files."""
    file, other = tmp_path / "bad.jsonl", tmp_path / "other.json"
    file.write_bytes(b'{"event_kind":"model_request"}\n' + line)
    other.write_bytes(b"{")
    called = call("check", str(file), str(other))
    assert (called.code, called.err) == (1, "")
    assert finding.format(file=file) in called.out
    assert f"MUST json-invalid at {other}:1:2" in called.out


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("golden", ["events/sources", "approvals/answered-in-a-later-turn"])
def test_a_wrong_type_anywhere_in_a_thread_is_told_in_words(
    golden: str, command: str, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any value of a thread replaced by one of another type: exit code 0, 1 or 2, and nothing but an exit."""
    monkeypatch.chdir(tmp_path)
    thread = json.loads((conformance_dir() / "golden" / f"{golden}.json").read_bytes())
    (tmp_path / "other.json").write_text(json.dumps(thread), "utf-8")
    every = [(at, value) for at in [(), *places(thread)] for value in VALUES]
    names = ("part_kind", "interruption", "event_type", "messages", "parts")
    told_apart = [(at, value) for at, value in every if at and at[-1] in names]  # what the commands branch on
    for at, value in [*every[::31], *told_apart[::5]]:  # each value at some places, each of these places with some
        called = call(*READERS[command], stdin=json.dumps(replace_at(thread, at, value)).encode())
        assert called.code in (0, 1, 2), (at, value)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes what is written to")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_what_is_closed_is_not_written_to(closed: str, tmp_path: Path) -> None:
    """The verdict is still the exit code, and nothing that is printed ends in the report."""
    report = tmp_path / "report.json"
    reports = f"--report console --report json:{report}"
    command = f"{sys.executable} -m tpharness run parts/file {reports} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(report.read_text("utf-8"))["format"] == "tpharness-report/1"


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use cannot be deleted there")
def test_a_current_folder_that_was_deleted_is_named(tmp_path: Path) -> None:
    """Commands that do not need it work."""
    gone = tmp_path / "gone"
    head = f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {sys.executable} -m tpharness"
    more: Any = {"capture_output": True, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(Path(tpharness.__file__).parents[1])}
    for command, code, said in (
        ("list rulings", 0, ""),
        ("run basics/tool-call-and-answer --server peer:serve", 2, "tpharness: the current folder: No such file"),
    ):
        done = subprocess.run(["/bin/sh", "-c", f"{head} {command}"], check=False, env=environment, **more)
        assert done.returncode == code
        assert done.stderr.startswith(said)


@pytest.mark.parametrize("name", [name for name in BAD if name not in ("unknown version", "a list")])
def test_a_request_that_cannot_be_read_is_refused(name: str, call: Any) -> None:
    """With and without a name of an API."""
    for named in ([], ["--api", "anthropic"]):
        called = call("accept", "-", *named, stdin=BAD[name])
        assert (called.code, called.out) == (2, ""), named
        assert called.err.startswith("tpharness: ")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_wrong_type_anywhere_in_a_request_is_judged_or_told_in_words(name: str, call: Any) -> None:
    """Any value replaced by one of another type: a verdict, or exit code 2 and a sentence; never a traceback."""
    verdicts = set()
    every = [(at, value) for at in [(), *places(REQUESTS[name])] for value in VALUES]
    for at, value in every[::5]:
        data = json.dumps(replace_at(REQUESTS[name], at, value)).encode()
        called = call("accept", "-", "--json", stdin=data)
        assert called.code in (0, 1, 2), (at, value)
        assert (called.out == "") is (called.code == 2), (at, value)
        verdicts.add(called.code)
    assert verdicts == {0, 1, 2}
