"""`tpharness show` shows first where the failing side and the reference part, whatever is in a trace."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tpharness.cli import app
from tpharness.errors import UsageError

TARGET = """
from tpharness.targets import Reference
from tpharness.targets.reference import ReferenceServer


class Session(ReferenceServer):
    def threads(self, cut=None):
        threads = super().threads(cut)
        return {version: {**one, "turns": list(map(self.shorter, one["turns"]))} for version, one in threads.items()}

    def shorter(self, turn):
        messages = turn.get("messages", [])
        return {**turn, "messages": messages[:-1]} if len(messages) > 2 else turn


class Forgetful(Reference):
    def server_session(self, script):
        return Session(script)
"""


@pytest.fixture(name="cli")
def _cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run commands in a folder of their own, where a server that forgets its last message can be named."""
    (tmp_path / "forgetful_server.py").write_text(TARGET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TPHARNESS_TRACE", "failed")
    return lambda *words: CliRunner().invoke(app, list(words))


RUN = ("run", "basics/client-loses-the-end", "--server", "python:forgetful_server:Forgetful")


def test_a_failed_run_says_what_to_type_and_that_shows_the_place(cli: Callable[..., Result]) -> None:
    """The last message of the server's thread is missing: it is that of the text, which is complete at its end.

    The response ends with the event that says so; from there on the reference holds it.
    """
    ran = cli(*RUN)
    assert ran.exit_code == 1
    *_, trace, look = ran.output.rstrip().splitlines()
    assert trace == "trace: tpharness-trace.zip (1 case)"
    command = look.removeprefix("look at it: tpharness ").split(" ")
    shown = cli(*command).output
    head, _, timeline = shown.partition("the server's events, the wire")
    assert "FAILED basics/client-loses-the-end" in head
    assert "thread-departs: the second turn (agent, assistant), message 3 (response: text)" in head
    assert "    at        server /turns/1/messages/3\n" in head
    assert "because   sync.truth:" in head
    assert "decided   R51: The right thread" in head
    assert ">   14 model_response_end" in head
    assert "  > agent complete: response(tool-call:c1) event(data-app-clock) request(tool-return:c1)\n" in head
    assert "request(tool-return:c1) response(text)" in head
    assert "x-   1984 data: [DONE]" in timeline  # what the server sent and the client did not get
    assert "the client's stream ends: network_failure" in timeline


def test_the_cases_of_a_trace_are_listed(cli: Callable[..., Result]) -> None:
    """Without a case the list comes, and the command for the first one."""
    cli("run", "basics", "--server", "python:forgetful_server:Forgetful", "--trace-to", "mine")
    shown = cli("show", "mine").output
    assert "mine: " in shown
    assert "failed   basics/tool-call-and-answer  identity-differs" in shown
    assert "look at one: tpharness show mine basics/client-loses-the-end" in shown
    listed = json.loads(cli("show", "mine", "--json").output)
    assert listed["format"] == "tpharness-trace/1"
    assert {one["outcome"] for one in listed["cases"]} == {"failed"}


def test_json_has_the_place_and_both_threads(cli: Callable[..., Result]) -> None:
    """A program finds in it what a person sees."""
    cli(*RUN)
    found = json.loads(cli("show", "tpharness-trace.zip", "basics/client-loses-the-end", "--json").output)
    parting = found["parting"]
    assert (parting["side"], parting["pointer"], parting["step"]["event"]) == ("server", "/turns/1/messages/3", 15)
    assert parting["right"]["turns"][1]["messages"][:-1] == parting["held"]["turns"][1]["messages"]


def test_a_run_that_passes_takes_the_old_trace_away(cli: Callable[..., Result], tmp_path: Path) -> None:
    """Else a passing run would be looked at with the failure of the run before."""
    cli(*RUN)
    assert (tmp_path / "tpharness-trace.zip").exists()
    ran = cli("run", "basics/client-loses-the-end")
    assert "trace:" not in ran.output
    assert not (tmp_path / "tpharness-trace.zip").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("run", "nosuch"),
        ("run", "cycles/three-steps@event-9999"),
        ("run", "basics", "-k", "nosuch"),
        ("run", "basics", "--server", "http://127.0.0.1:9"),
        ("run", "basics", "--server", "http://127.0.0.1:9", "--server", "http://127.0.0.1:10"),
        ("run", "basics", "--report", "json:nowhere/r.json"),
        ("sweep", "nosuch"),
        ("sweep", "basics", "--server", "http://127.0.0.1:9"),
        ("fuzz", "--replay", "nosuch.yaml"),
        ("app", "http://192.0.2.1/api/chat"),  # which is not on this machine
    ],
    ids=" ".join,
)
def test_a_command_that_plays_nothing_leaves_the_last_trace(
    cli: Callable[..., Result], call: Any, tmp_path: Path, wrong: tuple[str, ...]
) -> None:
    """A typo loses nothing."""
    cli(*RUN)
    before = (tmp_path / "tpharness-trace.zip").read_bytes()
    assert call(*wrong).code != 0
    assert (tmp_path / "tpharness-trace.zip").read_bytes() == before


@pytest.mark.parametrize(
    "option",
    [("--trace-to", "nowhere/t.zip"), ("--trace-to", "nowhere/t"), ("--write-baseline", "nowhere/b.yaml")],
    ids=" ".join,
)
def test_what_cannot_be_written_in_the_end_is_told_before_the_run(
    cli: Callable[..., Result], call: Any, option: tuple[str, str]
) -> None:
    """Nobody waits for a run whose trace or baseline has no folder."""
    del cli
    called = call(*RUN, "--trace", "all", *option)
    assert (called.code, called.out) == (2, "")
    assert f"cannot be written to {option[1]}: the folder nowhere does not exist" in called.err


@pytest.mark.parametrize(
    "option", [("--trace-to", "held/t.zip"), ("--write-baseline", "held/b.yaml"), ("--report", "json:held/r.json")]
)
def test_a_folder_that_may_not_be_written_is_told_before_the_run(
    cli: Callable[..., Result], call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str]
) -> None:
    """The operating system is asked, which lets an administrator write everywhere: its answer is played here."""
    del cli
    held = tmp_path.resolve() / "held"
    held.mkdir()
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).resolve() != held and real(path, mode))
    called = call(*RUN, *option)
    assert (called.code, called.out) == (2, "")
    assert "the folder held may not be written" in called.err
    assert ("or leave no trace: --trace none" in called.err) is (option[0] == "--trace-to")


def test_none_writes_nothing(cli: Callable[..., Result], tmp_path: Path) -> None:
    """Not even where a case fails."""
    ran = cli(*RUN, "--trace", "none")
    assert ran.exit_code == 1
    assert not list(tmp_path.glob("tpharness-trace*"))


@pytest.mark.parametrize("cuts", [(), ("--side", "client"), ("--side", "server", "--jobs", "2")])
def test_a_sweep_leaves_a_trace_of_each_cause(cli: Callable[..., Result], cuts: tuple[str, ...]) -> None:
    """Each failure that a sweep tells has its trace, under the id that it tells."""
    words = ("sweep", "basics/tool-call-and-answer", "cycles/three-steps", *cuts)
    swept = cli(*words, "--server", "python:forgetful_server:Forgetful", "--trace-to", "t")
    told = [line.removeprefix("FAILED ") for line in swept.output.splitlines() if line.startswith("FAILED ")][:-1]
    entries = json.loads(cli("show", "t", "--json").output)["cases"]
    assert told
    assert sorted(told) == sorted(one["case"] for one in entries)
    for one in told:
        assert f"FAILED {one}" in cli("show", "t", one).output


def test_a_case_that_was_left_out_names_one_that_fails_alike(cli: Callable[..., Result]) -> None:
    """Of a sweep the first places are traced; the hint is a case that can be shown."""
    cli("run", "cycles/three-steps", "--server", "python:forgetful_server:Forgetful")
    entries = json.loads(cli("show", "tpharness-trace.zip", "--json").output)["cases"]
    without = [one for one in entries if "file" not in one]
    for one in without:
        shown = cli("show", "tpharness-trace.zip", one["case"])
        assert shown.exception is not None
        assert "like" in one, one


def test_hostile_text_of_a_target_is_only_text(cli: Callable[..., Result], tmp_path: Path) -> None:
    """Escape sequences and markup in a thread are shown as what they are."""
    scenario = tmp_path / "scenarios" / "a" / "b.yaml"
    scenario.parent.mkdir(parents=True)
    evil = r"\e[31m[bold]x[/bold] \u202e <script>"
    scenario.write_text(
        "description: Hostile text.\nclauses: [cycle.kept]\nturns:\n  - user: go\n"
        f'  - steps:\n      - response: [{{text: "{evil}"}}, {{call: t, id: c1, args: {{a: "{evil}"}}}}]\n'
        f'      - returns: {{c1: "{evil}"}}\n      - response: [{{text: done}}]\n'
    )
    cli("run", "--scenarios", "scenarios", "--trace", "all", "--trace-to", "t")
    shown = cli("show", "t", "--all")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    assert "\u202e" not in shown.output
    assert "[bold]x[/bold]" in shown.output


@pytest.mark.parametrize(
    "words", [("show", "missing.zip"), ("show", "forgetful_server.py"), ("show", "."), ("show", "t", "a/zz")]
)
def test_what_cannot_be_shown_is_one_error_with_a_hint(cli: Callable[..., Result], words: tuple[str, ...]) -> None:
    """Another file, a folder without a trace, a case that is not there."""
    cli(*RUN, "--trace-to", "t")
    shown: Any = cli(*words).exception
    assert type(shown).__name__ in ("InputError", "UsageError")
    assert shown.hint


def test_a_foreign_file_is_not_overwritten(cli: Callable[..., Result], tmp_path: Path) -> None:
    """A slip in --trace-to is refused before anything is played."""
    ran = cli(*RUN, "--trace-to", "forgetful_server.py")
    assert "is there and is not a trace" in str(ran.exception)
    assert (tmp_path / "forgetful_server.py").read_text() == TARGET


OLD = """
from tpharness.targets import Reference
from tpharness.targets.reference import ReferenceServer


class Session(ReferenceServer):
    def threads(self, cut=None):
        threads = super().threads(cut)
        return {v: {**one, "turns": one["turns"][: 1 if v.value == "0.0.3" else None]} for v, one in threads.items()}


class Old(Reference):
    def server_session(self, script):
        return Session(script)
"""
OLD_SERVER = ("--server", "python:old_server:Old", "--report", "json:r.json", "--report", "console")

LINES = """
import json, sys
for line in sys.stdin:
    with open("asked.jsonl", "a") as file:
        file.write(line)
    q = json.loads(line)
    told = {"contract": "1.0", "name": "lines", "roles": ["server", "client"]}
    answer = {"capabilities": told} if q["op"] == "start" else {"error": {"message": "cannot"}}
    print(json.dumps({"id": q["id"], **answer}), flush=True)
"""


def test_the_request_of_a_case_is_printed_as_it_was_given(cli: Callable[..., Result], tmp_path: Path) -> None:
    """The very lines, after one that starts the program: whoever pipes them into it gets its answer again."""
    (tmp_path / "lines.py").write_text(LINES)
    name = "parts/file"
    target = f"stdio:{sys.executable} lines.py"
    assert cli("run", name, "--server", target).exit_code == 1
    asked = (tmp_path / "asked.jsonl").read_text().splitlines()
    shown = cli("show", "tpharness-trace.zip", name, "--request")
    assert shown.exit_code == 0, shown.output
    start, *rest = shown.output.splitlines()
    assert json.loads(start) == {"op": "start", "id": 0, "contract": json.loads(asked[0])["contract"]}
    assert len(rest) == 1
    assert rest[0] in asked[1:]
    assert cli("show", "tpharness-trace.zip", name, "--request", "--side", "server").output == shown.output
    wrong = cli("show", "tpharness-trace.zip", name, "--request", "--side", "client")
    assert "asked the client nothing over standard input" in str(wrong.exception)
    assert isinstance(cli("show", "tpharness-trace.zip", name, "--side", "client").exception, UsageError)


def test_a_side_is_named_where_both_were_asked_in_lines(cli: Callable[..., Result], tmp_path: Path) -> None:
    """A client is asked to receive what the server has sent."""
    (tmp_path / "lines.py").write_text(LINES)
    name = "parts/file"
    target = f"stdio:{sys.executable} lines.py"
    assert cli("run", name, "--client", target).exit_code == 1
    shown = cli("show", "tpharness-trace.zip", name, "--request").output.splitlines()
    assert json.loads(shown[1])["op"] == "receive"
    assert cli(*RUN).exit_code == 1
    nobody = cli("show", "tpharness-trace.zip", RUN[1], "--request")
    assert "asked nobody over standard input" in str(nobody.exception)


def test_a_failure_names_its_version_and_is_replayed_in_it(cli: Callable[..., Result], tmp_path: Path) -> None:
    """A server that is wrong in 0.0.3 alone: console, JSON and the command that is suggested say so."""
    (tmp_path / "old_server.py").write_text(OLD)
    ran = cli("run", "basics/parallel-returns-in-call-order", *OLD_SERVER)
    assert ran.exit_code == 1
    assert "    in        0.0.3\n" in ran.output
    (line,) = [one for one in ran.output.splitlines() if "tpharness replay" in one]
    assert " --dialect 0.0.3 " in line
    found = json.loads((tmp_path / "r.json").read_text())["results"][0]["findings"]
    assert {tuple(one["versions"]) for one in found if one["level"] == "must"} == {("0.0.3",)}
    command = line.partition("tpharness ")[2].split(" ")
    replayed = cli(*command)
    assert replayed.exit_code == 1
    assert "version 0.0.3" in replayed.output
    assert replayed.output.rstrip().endswith("verdict: failed: identity-differs, outline-differs")
    shown = cli("show", "tpharness-trace.zip", "basics/parallel-returns-in-call-order").output
    assert "    in        0.0.3\n" in shown
    assert "holds, 0.0.3" in shown
