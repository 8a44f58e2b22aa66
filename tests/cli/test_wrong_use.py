"""Slips of the hand at the command line: each is told with what was wrong and what to do, none passes for success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tpharness.report.progress import RunProgress
from tpharness.resources import scenarios_dir
from tpharness.targets import Reference, Script, TargetOutput


class Raises(Reference):
    """A server whose code is wrong."""

    async def serve(self, script: Script) -> TargetOutput:
        """Raise what Python raises for a slip."""
        raise KeyError("delta" if script.turns else "turns")


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


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("list", "scenrios"), "did you mean scenarios?"),
        (("list", "xyz"), "there are lists of scenarios, clauses"),
        (("run", "cylces"), "did you mean cycles?"),
        (("run", "--dialect", "langchian"), "did you mean langchain?"),
        (("run", "--dialect", "0.0.5"), "known versions are 2.0.0, 0.0.3, 0.0.4"),
        (("compare", "--dialect", "langgrpah"), "did you mean langgraph?"),
        (("sweep", "--side", "bth"), "did you mean both?"),
        (("sweep", "--side", "zzz"), "`tpharness docs FUZZING` says what each means"),
        (("sweep", "--cuts", "byte"), "did you mean bytes?"),
        (("sweep", "--cuts", "chunks"), "after all events, or after all bytes"),
        (("fuzz", "--kind", "program"), "did you mean programs?"),
        (("fuzz", "--kind", "zzz"), "`tpharness docs FUZZING` says what each generates"),
        (("history", "-", "--for", "antropic"), "did you mean anthropic?"),
        (("history", "-", "--for", "claude"), "one of pydantic-ai, ai-sdk"),
        (("import", "-", "--from", "pydantic"), "did you mean pydantic-ai?"),
        (("run", "--server", "python:json:dump_s"), "did you mean dumps?"),
        (("run", "--server", "python:json:nothing"), "name an object that the module defines"),
        (("fold", str(STREAM), "--after", "9999"), "give a number from 0 to "),
    ],
)
def test_a_slip_is_told_with_what_was_meant(call: Any, arguments: tuple[str, ...], hint: str) -> None:
    """The nearest name, or all of them."""
    called = call(*arguments)
    assert called.code == 2
    assert hint in called.err


@pytest.mark.parametrize("arguments", [("run", "--order"), ("merge",)])
def test_a_report_that_is_nested_without_end_is_no_report(
    call: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """It is refused as any other file that is not a report, without a traceback."""
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000 + "]" * 100_000)
    called = call(*arguments, str(file))
    assert called.code == 2
    assert "a report that --report json:PATH has written" in called.err.replace("give reports", "a report")


def test_the_folder_of_a_recording_that_cannot_be_made_is_told(call: Any, tmp_path: Path) -> None:
    """The theme folder is made; where something else has its name, the error says what to do."""
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "x").write_text("")
    called = call(
        "record", "reference", "--play", "interruptions/mid-text", "-o", str(tmp_path / "live" / "x" / "y.yaml")
    )
    assert called.code == 2
    assert "name another path" in called.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "basics", "--html"),
        ("trend", "peer:ai-sdk-client", "basics/tool-call-and-answer", "--releases", "5.0.0,6.0.0", "-o"),
    ],
    ids=["compare", "trend"],
)
def test_what_cannot_be_written_is_refused_before_anything_is_played(
    call: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Nobody waits for a result that is then lost."""
    called = call(*arguments, str(tmp_path / "missing" / "out"))
    assert (called.code, called.out) == (2, "")
    assert "make the folder first" in called.err
    assert "release 1" not in called.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("sweep", "basics"), "4 scenario"),
        (("sweep", "basics", "--orders"), "4 scenario"),
        (("compare", "basics"), "4 scenario"),
        (("mutate", "tests.seeded_defects", "basics", "--defect", "partial-text-kept"), "1 defect"),
        (("certify", "--profile", "history", "-o", "cert"), "11"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_may_take_long_says_how_far_it_is(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    """On standard error, as `run` does."""
    monkeypatch.chdir(tmp_path)
    begun: list[str] = []
    monkeypatch.setattr(RunProgress, "start", lambda _, *args: begun.append(" ".join(map(str, args))))
    call(*arguments)
    assert set(begun) == {told}


RAISES = "python:tests.cli.test_wrong_use:Raises"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "basics/tool-call-and-answer", "--server", RAISES), 1),
        (("run", "basics/tool-call-and-answer", "cycles/late-return", "--server", RAISES, "--jobs", "2"), 1),
        (("replay", "basics/tool-call-and-answer", "--server", RAISES), 1),
        (("sweep", "basics/tool-call-and-answer", "--server", RAISES, "--budget", "2"), 1),
        (("record", RAISES, "--play", "basics/tool-call-and-answer", "-o", "live/x.yaml"), 2),
    ],
    ids=["run", "run --jobs", "replay", "sweep", "record"],
)
def test_an_error_of_a_target_in_python_is_that_of_its_code(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    """It names the target, and the line of its file; tpharness has not failed, and there is no traceback."""
    monkeypatch.chdir(tmp_path)
    called = call(*arguments)
    assert called.code == code
    assert f"{RAISES} raised KeyError: 'delta', in test_wrong_use.py:" in called.out + called.err
    assert "tpharness itself failed" not in called.out


@pytest.mark.parametrize("store", ["", ".", ":memory:"])
def test_a_store_that_is_not_a_file_is_refused(call: Any, store: str) -> None:
    """It would keep nothing, or fail when the first thread is stored."""
    done = call("serve", "--store", store)
    assert (done.code, done.out) == (2, "")
    assert "--store" in done.err
