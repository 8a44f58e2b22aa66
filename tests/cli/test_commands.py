"""Each command through the real entry point: output, exit code, and clear words for bad input."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from unittest import mock

import jsonschema_rs
import pytest

from tpharness.cli import main
from tpharness.resources import scenarios_dir, schema_path

RECORDED = scenarios_dir() / "recorded" / "pydantic-ai"


def tpharness(*args: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the entry point in this process, with standard streams of its own: a process takes a second to start."""
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", write_through=True) for data in (stdin, b"", b"")]
    given, out, err = streams
    with (
        mock.patch.multiple(sys, argv=["tpharness", *args], stdin=given, stdout=out, stderr=err),
        contextlib.chdir(cwd or Path.cwd()),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return subprocess.CompletedProcess(args, code or 0, out.buffer.getvalue(), err.buffer.getvalue())


def program(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "tpharness", *args]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)  # ourselves


def words(result: subprocess.CompletedProcess[bytes]) -> str:
    """Return everything that was printed; a traceback is never among it."""
    text = (result.stdout + result.stderr).decode()
    assert "Traceback" not in text
    return text


@pytest.fixture
def thread(tmp_path: Path) -> Path:
    """Return a file with a whole thread, folded from a recorded stream."""
    result = tpharness("fold", str(RECORDED / "parallel-tools.sse"))
    assert result.returncode == 0
    file = tmp_path / "thread.json"
    file.write_bytes(result.stdout)
    return file


def test_run_plays_a_scenario_and_says_passed() -> None:
    """A verdict on one line, exit code 0."""
    result = tpharness("run", "basics/tool-call-and-answer")
    assert result.returncode == 0
    assert "PASSED 1 scenario, " in words(result)


def test_run_tells_a_failure_with_what_where_and_what_to_do(tmp_path: Path) -> None:
    """A wrong expectation fails with got and expected, and the command that replays it; exit code 1."""
    folder = tmp_path / "mine"
    folder.mkdir()
    source = (scenarios_dir() / "parts" / "file.yaml").read_text("utf-8")
    (folder / "wrong.yaml").write_text(source.replace("response(text file)", "response(text)"), encoding="utf-8")
    result = tpharness("run", "--scenarios", str(tmp_path))
    assert result.returncode == 1
    text = words(result)
    for part in (
        "FAILED mine/wrong",
        "outline-differs",
        "response(text file)",
        "expected",
        "tpharness replay mine/wrong",
    ):
        assert part in text


def test_run_writes_reports_whole(tmp_path: Path) -> None:
    """The JSON report fits its schema, the JUnit report is XML, and nothing else is left in the folder."""
    result = tpharness(
        "run",
        "numbers",
        "recorded/pydantic-ai/tool-exception",
        "--report",
        "json:r.json",
        "--report",
        "junit:r.xml",
        cwd=tmp_path,
    )
    assert result.returncode == 0
    assert words(result) == ""
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    schema = json.loads(schema_path("report").read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(schema).validate(report)
    assert report["passed"]
    assert {r["outcome"] for r in report["results"]} == {"passed", "expected"}
    assert (tmp_path / "r.xml").read_text("utf-8").startswith("<?xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.xml"]


def test_run_refuses_what_it_does_not_know() -> None:
    """Unknown scenarios, targets, versions, reports: exit code 2 and the alternatives."""
    for args, part in (
        (["run", "basics/tool-cal"], "did you mean basics/tool-call-and-answer"),
        (["run", "--server", "nobody"], "targets are"),
        (["run", "--dialect", "1.0"], "known versions are"),
        (["run", "--report", "pdf:x"], "reports are"),
        (["run", "--compare", "loose"], "exact or content"),
        (["run", "--baseline", "nothing.yaml"], "nothing.yaml"),
        (["run", "--jobs", "0"], "jobs"),
    ):
        result = tpharness(*args)
        assert result.returncode == 2, args
        assert part in words(result)


def test_run_in_one_dialect_and_by_content() -> None:
    """Options narrow what is played and loosen how it is compared."""
    result = tpharness("run", "threads", "--dialect", "0.0.3", "--compare", "content", "--jobs", "2")
    assert result.returncode == 0
    assert "versions 0.0.3" in words(result)


@pytest.mark.parametrize("what", ["scenarios", "clauses", "rulings", "targets", "faults", "findings"])
def test_list_prints_lines_or_json(what: str) -> None:
    """Everything that can be listed is listed both ways."""
    lines = tpharness("list", what)
    assert lines.returncode == 0
    items = json.loads(tpharness("list", what, "--json").stdout)
    assert len(items) == len(lines.stdout.decode().splitlines())


def test_list_of_nothing_known_is_refused() -> None:
    """The lists that there are are named."""
    result = tpharness("list", "things")
    assert result.returncode == 2
    assert "clauses" in words(result)


@pytest.mark.parametrize("name", ["cycle.all-returns", "R20", "parts/file", "identity-differs"])
def test_explain_explains(name: str) -> None:
    """A clause, a ruling, a scenario and a finding each have their explanation."""
    result = tpharness("explain", name)
    assert result.returncode == 0
    assert len(words(result).splitlines()) >= 3


def test_explain_of_nothing_known_offers_the_nearest() -> None:
    """A slip of the pen is recognised."""
    result = tpharness("explain", "cycle.all-return")
    assert result.returncode == 2
    assert "cycle.all-returns" in words(result)


def test_check_passes_what_is_right(thread: Path) -> None:
    """A thread, a scenario and a stream in one call."""
    files = [str(thread), str(scenarios_dir() / "parts" / "file.yaml"), str(RECORDED / "plain-text.sse")]
    result = tpharness("check", *files)
    assert result.returncode == 0, words(result)
    assert "nothing wrong" in words(result)


BAD_THREADS = {
    "not json": (b"{", "json-invalid"),
    "empty": (b"", "json-invalid"),
    "not utf-8": (b'{"a": "\xff"}', "json-not-utf8"),
    "nested deep": (b"[" * 10_000 + b"]" * 10_000, "json-too-deep"),
    "unsafe integer": (b'{"version": "0.0.4", "n": 9007199254740993}', "json-not-interoperable"),
    "lone surrogate": (b'{"version": "0.0.4", "s": "\\ud83d"}', "json-not-interoperable"),
    "duplicate keys": (b'{"version": "0.0.4", "version": "0.0.3"}', "json-duplicate-key"),
    "unknown version": (b'{"version": "7.0", "turns": []}', "thread-version-unknown"),
    "no thread": (b"[1, 2]", "thread-schema"),
}


@pytest.mark.parametrize("name", BAD_THREADS)
def test_check_names_what_is_wrong_with_a_thread(name: str) -> None:
    """Bad input on standard input is a finding with a remedy, exit code 1."""
    data, code = BAD_THREADS[name]
    result = tpharness("check", "-", stdin=data)
    assert result.returncode == 1
    assert code in words(result)
    found = json.loads(tpharness("check", "-", "--json", stdin=data).stdout)
    assert code in [finding["code"] for finding in found]


def cut_run(interrupt: str) -> str:
    """Return a scenario whose run is cut so."""
    run = f"{{steps: [{{response: [{{text: hi}}], label: r}}], interrupt: {interrupt}}}"
    return f"description: A run is cut.\nclauses: [cycle.kept]\nturns: [{run}]"


BAD_SCENARIOS = {
    "broken yaml": "description: [",
    "unknown key": "descripton: x\nclauses: [cycle.kept]\nturns: [{user: hi}]",
    "duplicate key": "description: x\ndescription: y",
    "unknown label": cut_run("{reason: timeout, after: nowhere}"),
    "cut outside": cut_run("{reason: timeout, after: {event: 99}}"),
    "contradiction": cut_run("{reason: timeout, after: {event: 1}, client: {after: r}}"),
}


@pytest.mark.parametrize("name", BAD_SCENARIOS)
def test_check_names_the_line_of_what_is_wrong_with_a_scenario(name: str, tmp_path: Path) -> None:
    """A scenario that cannot be loaded is told with file, line and column."""
    file = tmp_path / "bad.yaml"
    file.write_text(BAD_SCENARIOS[name], encoding="utf-8")
    result = tpharness("check", str(file))
    assert result.returncode == 1
    assert f"{file}:" in words(result)


def test_check_reports_a_stream_that_is_out_of_order(tmp_path: Path) -> None:
    """A violation is named by the index of its event."""
    file = tmp_path / "bad.sse"
    file.write_bytes(b'data: {"type":"start"}\n\ndata: {"type":"text-delta","id":"t","delta":"x"}\n\n')
    result = tpharness("check", str(file))
    assert result.returncode == 1
    assert "part-without-start" in words(result)
    assert "event 1" in words(result)


def test_hash_is_stable_and_equal_to_the_canonical_bytes(thread: Path) -> None:
    """The hash of a file is that of standard input."""
    by_file, by_pipe = tpharness("hash", str(thread)), tpharness("hash", "-", stdin=thread.read_bytes())
    assert by_file.stdout == by_pipe.stdout
    assert by_file.stdout.startswith(b"sha256:")
    assert tpharness("hash", "--canonical", str(thread)).stdout.startswith(b'{"turns":[')


def test_hash_of_what_has_no_canonical_form_is_refused() -> None:
    """An unsafe integer has no hash."""
    bad = b'{"version":"0.0.4","turns":[{"turn_type":"user","n":9007199254740993}]}'
    result = tpharness("hash", "-", stdin=bad)
    assert result.returncode == 1
    assert "/turns/0/n" in words(result)


def test_diff_speaks(thread: Path, tmp_path: Path) -> None:
    """Equal threads have exit code 0; a changed text is named by turn, message, part and character."""
    assert tpharness("diff", str(thread), str(thread)).returncode == 0
    other = tmp_path / "other.json"
    other.write_text(thread.read_text("utf-8").replace("Paris is 72F", "Paris is 71F"), encoding="utf-8")
    result = tpharness("diff", str(thread), str(other))
    assert result.returncode == 1
    assert "differs at character" in words(result)
    assert json.loads(tpharness("diff", "--json", str(thread), str(other)).stdout)


def test_convert_goes_both_ways_and_tells_what_it_drops(thread: Path, tmp_path: Path) -> None:
    """0.0.4 to 2.0.0 and back is the same thread; interrupted turns are dropped with a word."""
    old = tmp_path / "old.json"
    assert tpharness("convert", str(thread), "--to", "2.0.0", "-o", str(old)).returncode == 0
    back = tpharness("convert", str(old), "--to", "0.0.4")
    assert json.loads(back.stdout) == json.loads(thread.read_text("utf-8"))
    cut = tpharness("fold", str(RECORDED / "parallel-tools.sse"), "--after", "20")
    result = tpharness("convert", "-", "--to", "0.0.3", stdin=cut.stdout)
    assert b"dropped /turns/0" in result.stderr


def test_fold_streams_and_events_at_any_place() -> None:
    """A stream and the server's events of one run give one thread, and each can be cut."""
    stream = json.loads(tpharness("fold", str(RECORDED / "parallel-tools.sse")).stdout)
    events = json.loads(tpharness("fold", str(RECORDED / "parallel-tools.events.jsonl")).stdout)
    kinds = [[m["message_type"] for m in t["turns"][0]["messages"]] for t in (stream, events)]
    assert kinds == [["response", "request", "response"]] * 2
    at = "2025-01-20T10:00:15Z"
    cut = tpharness(
        "fold", str(RECORDED / "parallel-tools.sse"), "--after", "20", "--interrupt", f"user_cancelled@{at}"
    )
    (turn,) = json.loads(cut.stdout)["turns"]
    assert turn["interruption"] == {"reason": "user_cancelled", "interrupted_at": at}
    assert [m["message_type"] for m in turn["messages"]] == ["response", "request"]


def test_replay_shows_both_sides() -> None:
    """What arrived, and what became canonical."""
    result = tpharness("replay", "interruptions/between-steps")
    assert result.returncode == 0
    for part in (
        "server",
        "client",
        "function_tool_result",
        "tool-output-available",
        "=> agent interrupted network_failure",
    ):
        assert part in words(result)


@pytest.mark.parametrize("command", [["hash"], ["check"], ["fold"], ["diff", "-"], ["convert", "--to", "0.0.4"]])
def test_files_that_cannot_be_read_are_usage_errors(command: list[str], tmp_path: Path) -> None:
    """A missing file and a folder: exit code 2, named, no traceback."""
    for path in (tmp_path / "missing.json", tmp_path):
        result = tpharness(*command, str(path), stdin=b'{"version":"0.0.4","turns":[]}')
        assert result.returncode == 2
        assert str(path) in words(result)


MISSHAPEN = [
    '{"version":"0.0.4","turns":[3]}',
    '{"version":"0.0.4","turns":[{"turn_type":"agent","messages":null}]}',
    '{"version":"0.0.4","turns":[{"turn_type":"agent","messages":[{"parts":"x"}]}]}',
    '{"version":"0.0.4","turns":[{"turn_type":"agent","messages":[{"event_type":3}]}]}',
    '{"version":"0.0.4","turns":[],"agents":[]}',
]


@pytest.mark.parametrize("text", MISSHAPEN)
@pytest.mark.parametrize("command", [["hash"], ["convert", "--to", "0.0.3"]], ids=["hash", "convert"])
def test_what_is_not_shaped_like_a_thread_is_refused(command: list[str], text: str) -> None:
    """Wrong types where turns, messages and parts belong: exit code 2, with the place."""
    result = tpharness(*command, "-", stdin=text.encode())
    assert result.returncode == 2
    assert "is not a thread" in words(result)


def test_as_a_program_it_does_the_same() -> None:
    """Standard input, standard output, standard error and exit code are those of the process."""
    for args, stdin in (
        (("check", "-"), b"{"),
        (("hash", "-"), b"{"),
        (("hash", "-"), b'{"version":"0.0.4","turns":[]}'),
    ):
        outside, inside = program(*args, stdin=stdin), tpharness(*args, stdin=stdin)
        for name in ("returncode", "stdout", "stderr"):
            assert getattr(outside, name) == getattr(inside, name)


def test_version_and_help() -> None:
    """The usual options of a command line."""
    assert words(tpharness("--version")).startswith("tpharness 0.")
    assert "replay" in words(tpharness("--help"))
