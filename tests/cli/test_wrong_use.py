"""Slips of the hand at the command line: each is told with what was wrong and what to do, none passes for success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tpharness.resources import scenarios_dir

STREAM = scenarios_dir() / "recorded" / "ai-sdk" / "one-tool.sse"
SCENARIO = (scenarios_dir() / "basics" / "tool-call-and-answer.yaml").read_text("utf-8")


@pytest.mark.parametrize(("name", "place", "what"), [("a.sse", "byte 0", "a stream"), ("a.jsonl", "event 0", "a run")])
def test_an_empty_file_is_no_stream(call: Any, tmp_path: Path, name: str, place: str, what: str) -> None:
    """A download that failed leaves one: there is nothing in it that was checked."""
    file = tmp_path / name
    file.touch()
    called = call("check", str(file))
    assert called.code == 1
    assert "MUST stream-without-events at " in called.out
    assert f"{file} {place}: the file does not contain an event of {what}\n" in called.out


@pytest.mark.parametrize("body", [b"garbage", b"{}", b"[]", b'{"turns": null}', bytes(range(1, 256))], ids=repr)
@pytest.mark.parametrize("command", ["fold", "check"])
def test_a_file_without_an_event_is_no_stream(call: Any, tmp_path: Path, command: str, body: bytes) -> None:
    """A JSON document or an HTML page under the name of a stream is not a good stream that says nothing."""
    file = tmp_path / "body.sse"
    file.write_bytes(body)
    called = call(command, str(file))
    assert called.code == 1
    assert "stream-without-events" in called.err + called.out


def test_more_events_than_there_are_is_refused(call: Any) -> None:
    """`--after` beyond the end would pass for the whole stream."""
    called = call("fold", str(STREAM), "--after", "9999")
    assert called.code == 2
    assert "--after 9999" in called.err


def test_an_agent_has_a_name(call: Any) -> None:
    """An empty id is no id (R2)."""
    assert call("fold", str(STREAM), "--agent", "").code == 2


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("python:json:dumps", "calling dumps() gave TypeError"),
        ("python::x", "'' is not the name of a module"),
        ("python:.:x", "'.' is not the name of a module"),
        ("python:os.path:join", "calling join() gave TypeError"),
        ("python:nosuchmodule:x", "cannot import nosuchmodule"),
        ("python:json:nothing", "json has no nothing"),
        ("python:antigravity_:x", "cannot import"),
    ],
)
@pytest.mark.parametrize("side", ["--server", "--client"])
def test_a_target_that_is_none_is_refused(call: Any, side: str, spec: str, words: str) -> None:
    """Whatever the module does when it is imported or called."""
    called = call("run", side, spec, "basics")
    assert called.code == 2
    assert words in called.err


def test_a_report_into_a_folder_that_is_not_there_is_refused_before_the_run(call: Any, tmp_path: Path) -> None:
    """Nobody waits for a run whose report cannot be written."""
    called = call("run", "basics", "--report", f"json:{tmp_path}/nowhere/x.json")
    assert called.code == 2
    assert "does not exist" in called.err
    assert called.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--report=json:{}", "--write-baseline={}"])
def test_a_folder_in_place_of_a_file_is_refused_before_the_run(call: Any, tmp_path: Path, option: str) -> None:
    """The option names a folder, which nobody means to be replaced."""
    called = call("run", "basics", option.format(tmp_path))
    assert called.code == 2
    assert f"cannot be written to {tmp_path}, which is a folder" in " ".join(called.err.split())
    assert "name a file" in called.err
    assert called.out == ""


def test_two_scenarios_under_one_id_are_refused(call: Any, tmp_path: Path) -> None:
    """None of them is left out without a word."""
    folder = tmp_path / "chat"
    folder.mkdir()
    for name in ("My_Case.yaml", "my-case.yml"):
        (folder / name).write_text(SCENARIO, "utf-8")
    called = call("run", "--scenarios", str(tmp_path))
    assert called.code == 2
    assert "two scenarios are called 'chat/my-case'" in called.err


def test_both_suffixes_of_yaml_are_scenarios(call: Any, tmp_path: Path) -> None:
    """A file is not passed over for the length of its suffix."""
    folder = tmp_path / "chat"
    folder.mkdir()
    (folder / "one.yml").write_text(SCENARIO, "utf-8")
    called = call("run", "--scenarios", str(tmp_path))
    assert called.code == 0
    assert "1 scenario," in called.out


def test_an_id_is_looked_for_in_the_folder_that_was_named(call: Any, tmp_path: Path) -> None:
    """The error names the folder, and a command that lists what is in it, or how built-in scenarios are named."""
    folder = tmp_path / "chat"
    folder.mkdir()
    (folder / "one.yaml").write_text(SCENARIO, "utf-8")
    called = call("run", "zzz", "--scenarios", str(tmp_path))
    assert called.code == 2
    assert f"no scenario in {tmp_path} is called 'zzz'" in called.err
    assert f"tpharness list scenarios --scenarios {tmp_path}" in called.err
    for built_in in ("basics", "cycles/three-steps@event-12", "cycles/three*"):
        told = call("run", built_in, "--scenarios", str(tmp_path)).err
        assert f"is called '{built_in}'" in told
        assert "that is built in: name it with --scenarios built-in" in told


def test_a_command_as_a_target_is_told_how_it_is_written(call: Any) -> None:
    """It has a blank, as no other target has."""
    told = call("run", "basics", "--server", "node my_target.mjs").err
    assert "there is no target 'node my_target.mjs'" in told
    assert "write 'stdio:node my_target.mjs' for a program" in told


def test_an_address_as_a_target_is_told_how_it_is_written(call: Any) -> None:
    """A host and a port are what people copy from the first line of a server."""
    told = call("run", "basics", "--server", "127.0.0.1:8765").err
    assert "there is no target '127.0.0.1:8765'\n  write http://127.0.0.1:8765 for an address" in told
    assert "write http://localhost:80/base for an address" in call("run", "--client", "localhost:80/base").err
    assert "targets are reference" in call("run", "--client", "nobody:here").err


def test_a_command_without_quotes_is_recognised(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its second word is taken for an id, and if it names a file, for a folder of scenarios."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.mjs").touch()
    for word in ("gone.mjs", "there.mjs"):
        told = call("run", "basics", "--client", "stdio:node", word).err
        assert f"no built-in scenario is called '{word}'" in told
        assert 'a command with blanks is quoted: --client "stdio:node …"' in told
    assert "quoted" not in call("run", "basicz", "--client", "stdio:./client").err


def test_check_reads_server_events(call: Any, tmp_path: Path) -> None:
    """A line that is not an event is a finding with its place."""
    file = tmp_path / "run.jsonl"
    file.write_text('{"event_kind":"model_request"}\n{"event_kind":"part_start","index":[1],"part":{}}\n', "utf-8")
    called = call("check", str(file))
    assert called.code == 1
    assert "server-event-malformed" in called.out


def test_a_document_that_is_not_json_is_named_without_a_level(call: Any, tmp_path: Path) -> None:
    """An unreadable input is no verdict."""
    file = tmp_path / "t.json"
    file.write_text('{"turns":', "utf-8")
    called = call("hash", str(file))
    assert called.code == 2
    assert "MUST" not in called.err
    assert f"{file}:1:10" in called.err
