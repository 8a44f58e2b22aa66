"""The fixture `tpharness_app`, through pytest itself."""

from __future__ import annotations

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
