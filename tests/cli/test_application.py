"""`tpharness app`: the command, on the chat application of the tests as a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml
from tests.apps.playing import THREAD
from tests.cli.conftest import Call, run_in_process

from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.client import PROFILES
from tpharness.apps.config import AppConfig, load_config
from tpharness.apps.engine import run_app
from tpharness.apps.trouble import KINDS

TOP = Path(__file__).parents[2]
TABLE = """
[apps.{name}]
command = [{python}, "-m", "tests.apps.chat_app", "{{port}}"{defects}]
url = "http://127.0.0.1:{{port}}/api/chat"
history = "last-message"
on_disconnect = "stop"
stop_within = 0.4
tools = {{allow = ["book_hotel"]}}
effects = "cat effects.txt 2>/dev/null | wc -l"
env = {{EFFECTS = "1", PYTHONPATH = {path}}}
"""


def table(name: str, *defects: str) -> str:
    """Return the table of the chat application with these defects."""
    path = json.dumps(f"{TOP}{os.pathsep}{TOP / 'src'}")
    words = "".join(f", {json.dumps(defect)}" for defect in defects)
    return TABLE.format(name=name, python=json.dumps(sys.executable), defects=words, path=path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two applications, in which the command runs."""
    (tmp_path / "tpharness.toml").write_text(table("safe") + table("broken", "REPAIRS_ARGUMENTS"), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Judge the broken application in two cases; return what is printed, and the folder with its reports and trace."""
    folder = tmp_path_factory.mktemp("failed")
    (folder / "tpharness.toml").write_text(table("broken", "REPAIRS_ARGUMENTS"), "utf-8")
    options = [
        word for kind in ("console", "html:app.html", "json:r.json", "junit:r.xml") for word in ("--report", kind)
    ]
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as told:
        cases = ("user-leaves/in-arguments", "user-leaves/in-text")
        assert run_in_process("app", "broken", *cases, "--trace", "failed", *options) == 1
    return told.getvalue(), folder


def test_what_failed_is_in_a_trace_and_on_a_page(
    call: Call, failed: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last lines say what to type; the page shows what the model is told."""
    told, folder = failed
    monkeypatch.chdir(folder)
    *_, where, look = told.rstrip().splitlines()
    assert where == "trace: tpharness-trace.zip (1 case)"
    assert look == "look at it: tpharness show tpharness-trace.zip user-leaves/in-arguments"
    shown = call(*look.partition("tpharness ")[2].split(" "))
    assert "the model is told something else: book_hotel({})" in shown.out
    assert "What became of the first turn" in (folder / "app.html").read_text("utf-8")
    page = call("show", "tpharness-trace.zip", "--html", "one.html")
    assert (page.code, page.out) == (0, "written to one.html\n")
    assert "What became of the first turn" in (folder / "one.html").read_text("utf-8")
    assert call("view", "tpharness-trace.zip", "-o", "all.html").code == 0


def test_a_safe_application_passes_the_basic_cases(call: Call) -> None:
    """Exit code 0, a line for each case, and no more said than is known."""
    done = call("app", "safe", "basic")
    assert done.code == 0, done.out
    assert "PASSED 9 scenarios, 9 cases (9 passed)" in done.out
    # Nobody counts its effects, so that what it says in place of the result cannot be judged, and is shown.
    assert "user-leaves/while-tool-runs  policy         result-without-its-run" in done.out
    _, _, policy = done.out.partition("policy in user-leaves/while-tool-runs\n")
    assert policy.startswith(
        "  result-without-its-run: a tool ran, and what the model is told as its result was not seen"
    )
    assert "\n    got       " in policy.partition("PASSED")[0]
    assert "interruption-safe in all 9 cases that apply. This is not a statement about ThreadProtocol." in done.out


@pytest.mark.parametrize(
    ("name", "case", "said"),
    [
        ("safe", "model-drops/in-text", "interruption-safe in the one case that applies; 2 did not apply. This is"),
        ("broken", "user-leaves/in-arguments", "Not interruption-safe: 1 of 3 cases failed; 2 did not apply."),
    ],
)
def test_the_verdict_says_of_how_many_cases_it_is(call: Call, name: str, case: str, said: str) -> None:
    """A case that does not apply shows nothing of the application."""
    done = call("app", name, case, "stop-button/in-text", "reload/in-text", "--trace", "none")
    assert f"\n{said}" in done.out, done.out


def test_a_broken_application_fails_with_what_to_do(failed: tuple[str, Path]) -> None:
    """The finding is told as everywhere, and the same in JSON and JUnit."""
    told, folder = failed
    assert "arguments-invented: the model is told that it called a tool with arguments that it did not give" in told
    assert "because   app.prefix: " in told
    assert "alone: tpharness app broken user-leaves/in-arguments" in told
    assert "\nNot interruption-safe: 1 of 2 cases failed.\n" in told
    report = json.loads((folder / "r.json").read_text("utf-8"))
    codes = {finding["code"] for result in report["results"] for finding in result["findings"]}
    assert codes == {"arguments-invented"}
    assert 'classname="user-leaves" name="in-arguments"' in (folder / "r.xml").read_text("utf-8")


def test_the_command_that_plays_a_failed_case_alone_works(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the only application of the file, and has what the command was given, quoted."""
    (folder / "my apps.toml").write_text(table('"my chat"', "REPAIRS_ARGUMENTS"), "utf-8")
    case = "user-leaves/in-arguments"
    with monkeypatch.context() as patch:  # without a name no case can be named; all of them take long
        patch.setattr("tpharness.apps.engine.run_app", lambda options: run_app(replace(options, ids=(case,))))
        done = call("app", "--config", "my apps.toml", "--lenient", "--tool-args", 'book_hotel={"city": "Rome"}')
    (told,) = re.findall("alone: (.*)", done.out)
    assert shlex.split(told)[1:4] == ["app", "my chat", case]
    alone = call(*shlex.split(told)[1:])
    assert (alone.code, re.findall("alone: (.*)", alone.out)) == (1, [told])


def test_what_is_broken_at_should_is_told_once_with_what_to_do(call: Call, folder: Path) -> None:
    """The case passes and has no block of its own; the kind is shown with the first case that has it."""
    (folder / "tpharness.toml").write_text(table("torn", "TEARS_STREAM"), "utf-8")
    done = call("app", "torn", "model-drops/*")
    assert done.code == 0, done.out
    (told,) = done.out.split("SHOULD in ")[1:]
    assert re.match(r"model-drops/\S+ and \d more\n  failure-unsaid: the model's answer failed", told)
    assert "    expected  an error chunk\n" in told
    assert "    to do     catch the failure of the model's stream" in told
    assert done.out.count("passed, but    failure-unsaid") > 1
    assert re.search(r"\ninterruption-safe in all (\d+) cases that apply\. A SHOULD is broken in \d+ of them\.", told)


def test_a_should_fails_a_case_where_the_table_or_the_option_says_so(call: Call, folder: Path) -> None:
    """The same case passes without either; another value is refused."""
    (folder / "tpharness.toml").write_text(table("torn", "TEARS_STREAM"), "utf-8")
    done = call("app", "torn", "model-drops/in-text", "--fail-on", "should", "--trace", "none")
    assert done.code == 1, done.out
    assert "\nFAILED model-drops/in-text\n" in done.out
    assert "Interruption-safe, and failed: no MUST is broken, but a SHOULD in 1 of 1 case" in done.out
    own = (folder / "tpharness.toml").read_text("utf-8")
    (folder / "tpharness.toml").write_text(f'{own}fail_on = "may"\n', "utf-8")
    done = call("app", "torn", "model-drops/in-text")
    assert (done.code, "fail_on is 'may', expected must or should" in done.err) == (2, True)


def test_the_readme_shows_what_is_printed(failed: tuple[str, Path], folder: Path) -> None:
    """Its table is read as it stands, and its failure reads so."""
    readme = (TOP / "README.md").read_text("utf-8").partition("## Judge a chat application")[2]
    shown = readme.partition("    FAILED user-leaves/in-arguments\n")[2].partition("\n\n")[0]
    printed = {line.strip() for line in failed[0].splitlines()}
    assert {line.strip() for line in shown.splitlines()} <= printed
    (folder / "readme.toml").write_text(readme.partition("```toml\n")[2].partition("```")[0], "utf-8")
    config = load_config("chat", folder / "readme.toml")
    assert (config.command, config.allow) == (("npm", "start"), ("book_hotel",))


def test_the_guide_names_every_key_code_and_profile() -> None:
    """docs/APPLICATIONS.md is complete, and its table is read."""
    guide = (TOP / "docs" / "APPLICATIONS.md").read_text("utf-8")
    hidden = {"name", "folder", "allow", "args"}
    missing = [f.name for f in fields(AppConfig) if f.name not in hidden and not re.search(rf"\b{f.name}\b", guide)]
    assert missing == []
    assert [profile for profile in PROFILES if f"`{profile}`" not in guide] == []
    assert [check.name for check in APP_CHECKS if f"| `{check.name}` |" not in guide] == []
    assert [kind.code for kind in KINDS if f"`{kind.code}`" not in guide] == []
    themes = {source.id.partition("/")[0] for source in all_cases(None)}
    assert [theme for theme in themes if f"`{theme}`" not in guide] == []


@pytest.mark.parametrize("words", [(), ("trims",)], ids=["right", "wrong"])
def test_the_verdict_on_threads_is_apart(call: Call, folder: Path, words: tuple[str, ...]) -> None:
    """An application is interruption-safe or not, and its threads are right or not: two lines, one exit code."""
    own = table("writer", *words).replace("tests.apps.chat_app", "tests.apps.thread_app")
    own = re.sub("effects = .*", "", own)  # it does not write down any
    (folder / "tpharness.toml").write_text(own.replace("[apps.writer]\n", f"[apps.writer]\nthread = {THREAD!r}\n"))
    done = call("app", "writer", "uncut/tool-call", "user-leaves/in-answer")
    assert "interruption-safe in all 2 cases that apply." in done.out, done.out
    if words:
        assert done.code == 1
        told = "ThreadProtocol: the thread is wrong in 2 of 2 cases: "
        assert told in done.out
        assert {"identity-differs in 1", "prefix-broken in 1"} == set(
            done.out.partition(told)[2].splitlines()[0].split(", ")
        )
    else:
        assert (done.code, "ThreadProtocol: the thread is right in 2 cases." in done.out) == (0, True)


@pytest.mark.parametrize("reports", [("console",), ("console", "json:r.json"), ("junit:-", "json:r.json")])
def test_a_mistake_of_ours_ends_the_command_and_costs_no_other_report(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, reports: tuple[str, ...]
) -> None:
    """Exit code 2 when the application has ended, and what to do. A command that hangs has the test hang."""

    def fail(*_: object) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tpharness.report.junit.render_junit", fail)
    monkeypatch.setattr("tpharness.report.console.ConsoleReport._print_result", fail)
    options = [word for one in reports for word in ("--report", one)]
    done = call("app", "safe", "uncut/tool-call", "user-leaves/in-text", *options)
    assert done.code == 2
    assert "Traceback" in done.err
    *_, what, meaning, to_do = done.err.splitlines()
    assert what == "tpharness: internal error, ZeroDivisionError: division by zero"
    assert "a mistake in tpharness" in meaning
    assert "leave out the case or the report" in to_do
    if "json:r.json" in reports:
        written = json.loads((folder / "r.json").read_text("utf-8"))
        assert written["results"][0]["id"] == "uncut/tool-call"
        assert not written["passed"] or "console" not in reports  # the console has ended the run, the report did not


def test_a_known_failure_is_expected_and_a_stale_one_is_not(call: Call, folder: Path) -> None:
    """The baseline of an application is that of a run."""
    entry = "- id: {}/in-arguments\n  findings: [arguments-invented]\n  reason: The SDK repairs them.\n"
    (folder / "known.yaml").write_text(entry.format("user-leaves") + entry.format("model-drops"), "utf-8")
    done = call("app", "broken", "*/in-arguments", "--baseline", "known.yaml")
    assert (done.code, "2 known differences" in done.out) == (0, True), done.out
    assert "Not interruption-safe: 2 of 4 cases fail as the baseline says; 2 did not apply." in done.out
    assert "\ninterruption-safe" not in done.out
    done = call("app", "safe", "user-leaves/in-arguments", "--baseline", "known.yaml")
    assert (done.code, "baseline-stale" in done.out) == (1, True), done.out
    assert "\n  The SDK repairs them. (the reason of its entry in the baseline)\n" in done.out
    assert "baseline-stale: the baseline expects this case to fail, and it has passed\n" in done.out
    assert "to do     take the entry out of the baseline\n" in done.out


def test_a_run_may_end_after_the_first_failure(call: Call) -> None:
    """It has not passed, and says how much was not played; the entries of a baseline are not judged by it."""
    done = call("app", "broken", "*/in-arguments", "-x", "--trace", "none")
    assert done.code == 1
    assert "ended after one failure; 3 of 4 cases were not played" in done.out
    assert "alone: tpharness app broken user-leaves/in-arguments\n" in done.out
    assert "model-drops/in-arguments" not in done.out


def test_no_tool_is_called_that_is_not_allowed(call: Call, folder: Path) -> None:
    """Cases that need one are not applicable, and the first lines say so."""
    text = table("plain").replace('tools = {allow = ["book_hotel"]}', "")
    (folder / "tpharness.toml").write_text(text, "utf-8")
    done = call("app", "plain", "basic")
    assert done.code == 0, done.out
    assert done.out.startswith("No tool may be called")
    assert "not-applicable no tool may be called" in done.out
    assert not (folder / "effects.txt").exists()


def test_a_tool_that_is_not_offered_is_told_with_those_that_are(call: Call) -> None:
    """The names come from the application's own request."""
    done = call("app", "safe", "basic", "--allow-tool", "book_flight")
    assert done.code == 2
    assert "does not offer its model the tool 'book_flight'" in done.err
    assert "it offers book_hotel" in done.err


def test_an_application_that_runs_already_is_told_its_environment_and_awaited(call: Call) -> None:
    """The variables are printed before anything is waited for; nobody starts it here."""
    port, provider = two_ports()
    Path("tpharness.toml").write_text(
        f'[apps.a]\nurl = "http://127.0.0.1:{port}/chat"\nready = 0.2\nprovider_port = 0', "utf-8"
    )
    done = call("app", "a", "--provider-port", str(provider))
    assert done.code == 2
    assert "export OPENAI_BASE_URL=http://127.0.0.1:" in done.out
    assert "nothing listens there within 0.2 s" in done.err


DYING = """
import asyncio, os
from tests.apps.chat_app import ChatApp, running

class Dying(ChatApp):
    posts = 0

    async def _answer(self, *given):
        self.posts += 1
        if self.posts == {post}:
            os._exit(1)
        return await super()._answer(*given)

async def main():
    async with running(Dying(base_url="http://127.0.0.1:{provider}/v1", api_key="any"), {port}):
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A program that serves the chat application and ends at one of the posts."""


def two_ports() -> tuple[int, int]:
    """Return two ports of loopback on which nothing listens; two that are looked for one by one may be the same."""
    with socket.socket() as one, socket.socket() as other:
        for taken in (one, other):
            taken.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@pytest.fixture
def running() -> Iterator[tuple[str, str]]:
    """The chat application as a user starts it: its address, and the port that it has been told its model is on."""
    provider, port = two_ports()
    environment = {
        **os.environ,
        "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{provider}/v1",
        "OPENAI_API_KEY": "any",
    }
    process = subprocess.Popen([sys.executable, "-m", "tests.apps.chat_app", str(port)], env=environment)
    yield f"http://127.0.0.1:{port}/api/chat", str(provider)
    process.kill()
    process.wait()


def test_init_writes_what_it_has_seen_and_the_file_is_played(
    call: Call, running: tuple[str, str], folder: Path
) -> None:
    """The profile is found by trying; no tool is called; the table is read by the next command."""
    url, provider = running
    (folder / "tpharness.toml").unlink()
    done = call("app", "init", url, "--provider-port", provider)
    assert done.code == 0, done.err
    assert "model API       openai-chat" in done.out
    assert "history         last-message" in done.out
    assert "history         last-message; the server keeps it: the model knew the first message" in done.out
    assert "refused         ai-sdk: " in done.out
    assert "thread          GET /api/chat/{id} answered 200 with the message that was written\n" in done.out
    assert "stop            POST /api/chat/{id}/stop answered 200 when nothing ran" in done.out
    assert "resume          not found: GET /api/chat/{id}/stream answered 404\n" in done.out
    assert "on_disconnect   not declared; it stopped when its client left. Say in the table" in done.out
    assert "book_hotel; none was called" in done.out
    config = load_config("chat", folder / "tpharness.toml")
    assert (config.url, config.history, config.on_disconnect, config.allow) == (url, "last-message", None, ())
    assert (config.thread, config.stop) == ("GET /api/chat/{id}", "POST /api/chat/{id}/stop")
    assert config.resume is None
    played = call("app", "chat", "user-leaves/in-text", "--provider-port", provider)
    assert played.code == 0, played.out


def test_init_writes_every_option_that_it_is_given(call: Call, running: tuple[str, str], folder: Path) -> None:
    """Also where something else was seen, which is said: what was seen may be the mistake that is looked for."""
    url, provider = running
    (folder / "tpharness.toml").unlink()
    given = ["--allow-tool", "book_hotel", "--effects", "wc -l < bookings.jsonl", "--on-disconnect", "continue"]
    given += ["--concurrency", "3", "--fail-on", "should", "--baseline", "known.yaml", "--history", "last-message"]
    done = call("app", "init", url, "--provider-port", provider, *given)
    assert done.code == 0, done.err
    assert "on_disconnect   continue, but it stopped when its client left" in done.out
    assert "not counted" not in done.out
    config = load_config("chat", folder / "tpharness.toml")
    assert (config.effects, config.on_disconnect) == ("wc -l < bookings.jsonl", "continue")
    assert (config.concurrency, config.fail_on, config.baseline) == (3, "should", "known.yaml")
    assert (config.allow, config.provider_port) == (("book_hotel",), int(provider))


@pytest.mark.parametrize(
    ("option", "said"),
    [(("--sweep",), "--sweep"), (("--report", "json:r.json"), "--report"), (("--trace", "none"), "--trace")],
)
def test_init_refuses_what_it_does_nothing_with(call: Call, folder: Path, option: tuple[str, ...], said: str) -> None:
    """Before it asks anybody; so does init of an application that has a table, which it does not change."""
    (folder / "tpharness.toml").unlink()
    done = call("app", "init", "http://127.0.0.1:1/api/chat", *option)
    assert (done.code, done.out) == (2, "")
    assert f"init does not take {said}: it plays no cases" in done.err
    (folder / "tpharness.toml").write_text(table("safe"), "utf-8")
    done = call("app", "init", "safe", "--ci", "github", "--effects", "wc -l x")
    assert (done.code, "safe has a table already, and effects is not written into it" in done.err) == (2, True)


def test_a_run_says_what_it_cannot_see(call: Call, folder: Path) -> None:
    """Behind the verdict: effects that nobody counts, and an intent that nobody has declared."""
    own = re.sub("(effects|on_disconnect) = .*", "", table("blind"))
    (folder / "tpharness.toml").write_text(own, "utf-8")
    done = call("app", "blind", "model-drops/in-text", "--trace", "none")
    assert done.code == 0, done.out
    assert "Effects are not counted: a booking that is forgotten or made twice may not be seen." in done.out
    assert "Without the ledger nobody knows the result of a call: that two calls at once get each other's" in done.out
    assert 'is not declared, and not judged: set on_disconnect, to "stop" or "continue".' in done.out


@pytest.mark.parametrize("post", [2, 3, 4, 5])
def test_init_says_nothing_of_an_application_that_has_ended(call: Call, folder: Path, post: int) -> None:
    """Whatever it was asked then: one that does not answer has neither forgotten the first turn nor gone on."""
    port, provider = two_ports()
    source = DYING.format(post=post, port=port, provider=provider)
    (folder / "tpharness.toml").unlink()
    with subprocess.Popen([sys.executable, "-c", source], cwd=TOP, env={**os.environ, "PYTHONPATH": str(TOP)}) as dying:
        url = f"http://127.0.0.1:{port}/api/chat"
        done = call("app", "init", url, "--history", "last-message", "--provider-port", str(provider))
        dying.kill()  # where it was not asked often enough to end by itself, which is a failure and no hang
    assert dying.returncode == 1, done.err
    assert (done.code, done.out.count("history  ")) == (2, 0)
    assert "the application cannot be reached" in done.err
    assert not (folder / "tpharness.toml").exists()


def test_init_writes_a_table_for_an_address_with_a_dot(call: Call, running: tuple[str, str], folder: Path) -> None:
    """A key with a dot that is not in quotes would be a table in a table."""
    url, provider = running
    url = url.replace("/api/chat", "/api/v1.2/chat")
    options = ("--history", "last-message", "--provider-port", provider)
    assert call("app", "init", url, *options).code == 0
    assert load_config("v1.2-chat", folder / "tpharness.toml").url == url
    assert '[apps."v1.2-chat"] already' in call("app", "init", url, *options).err


def test_init_reads_the_file_before_it_waits_for_the_application(call: Call, folder: Path) -> None:
    """Nothing listens on port 1, and nothing is asked of it."""
    for text, said in [
        ("[apps.chat]", "tpharness.toml has a table [apps.chat] already"),
        ("[apps]\nchat = {}", "tpharness.toml has a table [apps.chat] already"),
        ("apps = 3", "tpharness.toml: apps is not a table"),
        ("[apps", "tpharness.toml cannot be read"),
    ]:
        (folder / "tpharness.toml").write_text(text, "utf-8")
        done = call("app", "init", "http://127.0.0.1:1/api/chat")
        assert (done.code, done.out) == (2, ""), text
        assert said in done.err


def test_an_application_that_runs_already_is_judged_by_its_address(call: Call, running: tuple[str, str]) -> None:
    """Everything can be said in options."""
    url, provider = running
    options = ["--history", "last-message", "--allow-tool", "book_hotel", "--on-disconnect", "stop"]
    options += ["--tool-args", 'book_hotel={"city": "Rome", "nights": 1}', "--provider-port", provider]
    done = call("app", url, "user-leaves/in-arguments", *options)
    assert done.code == 0, done.out
    assert "Tools that will be called, for real: book_hotel" in done.out


def test_what_fails_is_written_as_a_baseline(call: Call, folder: Path) -> None:
    """With an empty reason, which is refused; with one the run passes, and an entry that nobody needs is taken out."""
    cases = ("user-leaves/in-arguments", "user-leaves/in-text")
    done = call("app", "broken", *cases, "--write-baseline", "known.yaml")
    assert done.code == 1, done.out
    assert "known.yaml: 1 cause to give a reason for" in done.err
    (entry,) = yaml.safe_load((folder / "known.yaml").read_text("utf-8"))
    assert (entry["reason"], entry["cases"]) == ("", {"arguments-invented": ["user-leaves/in-arguments"]})
    refused = call("app", "broken", *cases, "--baseline", "known.yaml")
    assert (refused.code, "the reason is empty" in refused.err) == (2, True)
    text = (folder / "known.yaml").read_text("utf-8").replace("reason: ''", "reason: known")
    (folder / "known.yaml").write_text(text, "utf-8")
    assert call("app", "broken", *cases, "--baseline", "known.yaml").code == 0
    kept = call("app", "broken", *cases, "--baseline", "known.yaml", "--write-baseline", "known.yaml")
    assert (kept.code, yaml.safe_load((folder / "known.yaml").read_text("utf-8"))) == (0, yaml.safe_load(text))
    other = call("app", "broken", *cases, "--write-baseline", "known.yaml")
    assert (other.code, "may have reasons that somebody wrote" in other.err) == (2, True)


def test_what_has_changed_since_an_earlier_report_is_said(call: Call, folder: Path) -> None:
    """On the console and in the comment; a file that is no report is refused before anything is played."""
    case = "user-leaves/in-arguments"
    assert call("app", "safe", case, "--report", "json:main.json").code == 0
    done = call("app", "broken", case, "--compare-to", "main.json", "--report", "console", "--report", "markdown:c.md")
    assert done.code == 1
    said = "Compared with main.json, which is the report on safe (openai-chat): 1 new, 0 gone, 0 still there."
    assert f"\n{said}\n  new   arguments-invented in {case}\n" in done.out
    assert f"| **new** | arguments-invented | {case} |" in (folder / "c.md").read_text("utf-8")
    refused = call("app", "broken", case, "--compare-to", "c.md")
    assert (refused.code, refused.out) == (2, "")
    assert "c.md is not a JSON report" in refused.err


def test_the_nearest_file_is_found_from_a_folder_below(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `run` and the peers find theirs; the application runs in the folder of the file."""
    (folder / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "src" / "deep")
    done = call("app", "safe", "user-leaves/in-text")
    assert done.code == 0, done.out
    assert (folder / "effects.txt").exists()


def test_an_application_elsewhere_is_refused(call: Call) -> None:
    """Unless its host is named."""
    done = call("app", "https://chat.example.org/api/chat")
    assert done.code == 2
    assert "--i-own-this-host chat.example.org" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["safe", "no/such-case"], "no case is called no/such-case"),
        (["safe", "basic", "user-laeves/in-text", "uncut/*"], "no case is called user-laeves/in-text"),
        (["safe", "user-leaves/in-txt"], "did you mean user-leaves/in-text?"),
        (["safe", "bsic"], "did you mean basic?"),
        (["safe", "user-laeves"], "did you mean user-leaves?"),
        (["sate"], "did you mean safe"),
        (["safe", "--tool-args", "book_hotel"], "--tool-args takes NAME=JSON"),
        (["safe", "--tool-args", "book_hotel={"], "--tool-args takes NAME=JSON"),
        (["safe", "--tool-args", "book_hotel=3"], "--tool-args book_hotel is 3, expected an object, or a list of two"),
        (["safe", "--tool-args", "book_hotel=[{}, {}]"], "--tool-args book_hotel has the same arguments twice"),
        (["safe", "--tool-args", "book_flight={}"], "--allow-tool book_flight"),
        (["safe", "--tool-args", "book_flight={}"], "--tool-args names 'book_flight', which is not allowed"),
        (["given", "--allow-tool", "x"], "tpharness.toml [apps.given]: tools.args names 'book_hotel', which is not"),
        (["safe", "--history", "lst-message"], "did you mean last-message"),
        (["safe", "--on-disconnect", "run"], "stop or continue"),
        (["safe", "--provider-port", "65534"], "65534 is not in the range 0<=x<=65533"),
        (["safe", "--provider-port", "-5"], "-5 is not in the range 0<=x<=65533"),
        (["safe", "--baseline", "none.yaml"], "none.yaml"),
        (["init"], "init takes the address"),
        ([], "has 3 applications"),
    ],
)
def test_wrong_use_is_told_in_a_line(call: Call, folder: Path, arguments: list[str], message: str) -> None:
    """Exit code 2 and no traceback."""
    with (folder / "tpharness.toml").open("a", encoding="utf-8") as file:
        file.write(table("given").replace('allow = ["book_hotel"]', 'allow = ["book_hotel"], args = {book_hotel = {}}'))
    done = call("app", *arguments)
    assert done.code == 2
    assert message in done.err


def test_the_cases_can_be_named_without_playing(call: Call) -> None:
    """With a sentence each."""
    done = call("app", "--list")
    assert done.code == 0
    assert "user-leaves/while-tool-runs           The user closes the tab while a tool runs" in done.out


def test_clauses_and_findings_of_applications_are_explained(call: Call) -> None:
    """As those of threads are."""
    assert "The model is told to have said only what it said" in call("explain", "app.prefix").out
    assert "app.prefix: " in call("explain", "arguments-invented").out
    assert "chat-bricked" in call("list", "findings").out
