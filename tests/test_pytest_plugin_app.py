"""The fixture `tpharness_app`, through pytest itself."""

from __future__ import annotations

import json
import re
import sys

import pytest
from tests.cli.test_application import table
from tests.in_process import QUICK, quick_with

TEST = """
def test_the_chat_survives(tpharness_app):
    results = tpharness_app({name!r}, "*/in-arguments")
    assert len(results) == 4
"""


@pytest.mark.parametrize(("name", "defects", "passed"), [("safe", [], 1), ("my chat", ["REPAIRS_ARGUMENTS"], 0)])
def test_a_test_fails_for_what_the_command_would_fail(
    pytester: pytest.Pytester, name: str, defects: list[str], passed: int
) -> None:
    """The failure reads as on the command line, with the command that plays the case alone."""
    pytester.makefile(".toml", tpharness=table(f'"{name}"', *defects))
    pytester.makepyfile(TEST.format(name=name))
    result = pytester.runpytest_inprocess(*QUICK)
    result.assert_outcomes(passed=passed, failed=1 - passed)
    if not passed:
        result.stdout.fnmatch_lines(["*FAILED user-leaves/in-arguments*", "*arguments-invented: *"])
        result.stdout.fnmatch_lines(["*alone: tpharness app 'my chat' user-leaves/in-arguments"])


def test_what_fails_nothing_is_shown_at_the_end(pytester: pytest.Pytester) -> None:
    """A SHOULD that is broken, with its cases and what to do; the test passes. One cause has one block."""
    pytester.makefile(".toml", tpharness=table("chat", "RUNS_ON"))
    pytester.makepyfile(TEST.format(name="chat").replace("*/in-arguments", "user-leaves/in-[at]*"))
    result = pytester.runpytest_inprocess(*QUICK)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*tpharness: found in an application, and no failure*",
            "chat: SHOULD in user-leaves/in-answer, user-leaves/in-arguments, user-leaves/in-text",
            "  runs-on: the application is declared to stop when its client leaves, and goes on*",
            "*to do *abort signal*",
            "chat: policy in *",
        ]
    )


def test_cases_that_fail_for_one_cause_are_one_block(pytester: pytest.Pytester) -> None:
    """The smallest is shown whole, and names the others."""
    pytester.makefile(".toml", tpharness=table("chat", "REPAIRS_ARGUMENTS"))
    pytester.makepyfile(TEST.format(name="chat"))
    result = pytester.runpytest_inprocess(*QUICK)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert text.count("AssertionError: FAILED ") == 1
    assert text.count("arguments-invented: ") == 1
    result.stdout.fnmatch_lines(
        ["*FAILED user-leaves/in-arguments and 1 more*", "*the same in model-drops/in-arguments"]
    )


ASYNC_TEST = """
import pytest

@pytest.mark.asyncio
async def test_the_chat_survives(tpharness_app):
    assert len(tpharness_app("safe", "*/in-arguments")) == 4

@pytest.mark.asyncio
async def test_the_application_answers(tpharness_app):
    async with tpharness_app.async_client() as client:
        assert (await client.get("/hello")).text == "hello"
    assert tpharness_app.client.get("/hello").text == "hello"
"""


def test_the_fixture_works_in_async_tests(pytester: pytest.Pytester) -> None:
    """An event loop runs in such a test, while judging and serving have loops of their own."""
    pytester.makefile(".toml", tpharness=table("safe"))
    pytester.makepyfile(
        hello="""
        from starlette.applications import Starlette
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route

        app = Starlette(routes=[Route("/hello", lambda request: PlainTextResponse("hello"))])
        """,
        test_mine=ASYNC_TEST,
    )
    pytester.makeini(
        "[pytest]\ntpharness_app = hello:app\npythonpath = .\nasyncio_mode = strict\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.runpytest_inprocess(*quick_with("asyncio")).assert_outcomes(passed=2)


WORKERS = ("-n", "2", "-p", "xdist", "-p", "tpharness.pytest_plugin")
CASES = "uncut/tool-call or /in-arguments"


@pytest.fixture
def judged(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project that has the cases of a broken application as tests."""
    pytester.makefile(".toml", tpharness=table("chat", "REPAIRS_ARGUMENTS"))
    pytester.makeini("[pytest]\ntpharness_apps = chat\n")
    return pytester


def test_each_case_of_an_application_is_a_test(judged: pytest.Pytester) -> None:
    """With an id and for -k; one that fails reads as on the command line, and one that does not apply is skipped."""
    listed = judged.runpytest_inprocess("--collect-only", "-q", *QUICK).outlines
    ids = [line for line in listed if line.startswith("tpharness-app::chat::")]
    assert len(ids) > 50
    assert "tpharness-app::chat::user-leaves/in-arguments" in ids
    result = judged.runpytest_inprocess("-v", "-k", f"{CASES} or stop-button/in-text", *QUICK)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["skipped"] > 0, outcomes["passed"] > 0) == (2, True, True), outcomes
    result.stdout.fnmatch_lines(["tpharness-app::chat::user-leaves/in-arguments*FAILED*"])
    result.stdout.fnmatch_lines(["*alone: tpharness app chat user-leaves/in-arguments"])
    result.stdout.fnmatch_lines(
        ["arguments-invented: the same as in user-leaves/in-arguments, which is shown whole; *"]
    )


def test_cases_show_what_fails_nothing_too(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case is a test, and the end of the run has all of them together, from workers, too."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # three processes start: with what they need
    counted = table("chat", "RUNS_ON")
    pytester.makefile(".toml", tpharness=re.sub("effects = .*", "", counted))
    pytester.makeini("[pytest]\ntpharness_apps = chat\n")
    chosen = (*WORKERS, "-k", "user-leaves/in-text or user-leaves/in-answer")
    result = pytester.runpytest_subprocess(*chosen)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["chat: SHOULD in user-leaves/in-*, user-leaves/in-*", "  runs-on: *"])
    (pytester.path / "tpharness.toml").write_text(counted, "utf-8")
    shared = pytester.runpytest_subprocess(*chosen)  # each would count the effects of the other
    assert (shared.parseoutcomes().get("passed"), shared.ret) == (None, 1)
    shared.stdout.fnmatch_lines(["the effects of chat are counted by a command, and each worker *"])


def test_a_known_failure_of_a_case_is_expected(judged: pytest.Pytester) -> None:
    """An entry that cannot be read fails one test, and one that explains nothing the test of the baseline."""
    (file := judged.path / "tpharness.toml").write_text(
        f'{file.read_text("utf-8")}\nbaseline = "known.yaml"\n', "utf-8"
    )
    known = "- {{id: '{}', findings: [{}], reason: until 12}}\n"
    good = known.format("*/in-arguments", "arguments-invented")
    (judged.path / "known.yaml").write_text(good + known.format("x/y", "no-such-code"), "utf-8")
    result = judged.runpytest_inprocess("-rx", "-k", f"{CASES} or baseline", *QUICK)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["xfailed"]) == (1, 2), outcomes
    result.stdout.fnmatch_lines(["*known.yaml:2: entry 2 (x/y): no-such-code*", "*until 12*"])


BROKEN = """
[apps.chat]
command = [{python}, "-c", "raise SystemExit('no database')"]
url = "http://127.0.0.1:{{port}}/api/chat"
"""


@pytest.mark.parametrize(
    "text", [BROKEN, BROKEN.replace("raise SystemExit('no database')", "import time, no_database")]
)
def test_an_application_that_does_not_start_is_one_failure(judged: pytest.Pytester, text: str) -> None:
    """The others were not judged, which is not a pass."""
    (judged.path / "tpharness.toml").write_text(text.format(python=json.dumps(sys.executable)), "utf-8")
    result = judged.runpytest_inprocess("-k", "in-text", *QUICK)
    outcomes = result.parseoutcomes()
    assert (outcomes.pop("failed"), outcomes.pop("unjudged") > 3, outcomes.get("skipped")) == (1, True, None)
    result.stdout.fnmatch_lines(["*exited with status 1 before it listened*database*"])


def test_an_application_without_a_table_is_one_error(judged: pytest.Pytester) -> None:
    """Of the collection."""
    result = judged.runpytest_inprocess("--tpharness-apps", "chta", *QUICK)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*tpharness_apps: *has no application 'chta'; did you mean chat?*"])
