"""Who plays the scenarios of the plugin: targets that start once, and the application of `tpharness_app`."""

from __future__ import annotations

import threading

import pytest
from tests.in_process import QUICK

COUNTED = """
from pathlib import Path
from tpharness.targets.reference import Reference
class Server(Reference):
    def __init__(self):
        super().__init__()
        with Path("started.txt").open("a") as file:
            file.write("started ")
"""
CONTROL = """
from tpharness.reference_app.app import ReferenceApp
from tpharness.reference_app.settings import Settings
app = ReferenceApp(Settings())
"""
BAD = """\
description: The user asks and the agent answers.
clauses: [stream.text]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
expect: {outline: [user]}
"""
HELLO = """
from pathlib import Path
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

@asynccontextmanager
async def lifespan(app):
    with Path("life.txt").open("a") as life:
        life.write("started ")
        yield
        life.write("ended")

async def hello(request):
    return JSONResponse({"hello": request.query_params["name"]})

app = Starlette(routes=[Route("/hello", hello)], lifespan=lifespan)
"""


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> object:
    """Every thread that the plugin started has ended with the run."""
    before = set(threading.enumerate())
    yield
    assert not [one.name for one in threading.enumerate() if one.name.startswith("tpharness") and one not in before]


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run pytest with the plugin."""
    return project.runpytest_inprocess("-v", *QUICK, *args)


def test_a_target_starts_once_for_all_tests(pytester: pytest.Pytester) -> None:
    """For scenarios as tests and for what tests play themselves."""
    pytester.makepyfile(
        counted=COUNTED,
        test_mine="""
        def test_mine(tpharness_play):
            (result,) = tpharness_play("cycles/late-return")
            assert result.outcome.green
            assert len(tpharness_play("threads/usage-[st]*")) == 2
        """,
    )
    chosen = "tpharness_builtin = threads/usage-[st]* cycles/late-return"
    pytester.makeini(f"[pytest]\n{chosen}\ntpharness_server = python:counted:Server\n")
    run(pytester).assert_outcomes(passed=4)
    assert (pytester.path / "started.txt").read_text("utf-8") == "started "


def test_a_fixture_of_the_project_names_another_target(pytester: pytest.Pytester) -> None:
    """As any fixture is overridden: here for scenarios and tests alike."""
    pytester.makepyfile(counted=COUNTED)
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def tpharness_server():
            return "python:counted:Server"
        """
    )
    pytester.makeini("[pytest]\ntpharness_builtin = cycles/late-return\n")
    run(pytester).assert_outcomes(passed=1)
    assert (pytester.path / "started.txt").read_text("utf-8") == "started "


def test_a_target_that_cannot_start_is_tried_once(pytester: pytest.Pytester) -> None:
    """One test says why, the others were not judged, and none waits for it again."""
    pytester.makepyfile(counted=COUNTED + "        raise OSError('no room')\n")
    pytester.makeini("[pytest]\ntpharness_builtin = threads/usage-[st]*\ntpharness_server = python:counted:Server\n")
    result = run(pytester, "-v")
    assert result.parseoutcomes() == {"errors": 1, "unjudged": 1}
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of scenario threads/usage-sums*",
            "*calling Server() gave OSError: no room",
            "The tests that need this target are not judged; the last line counts them as unjudged.",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert (pytester.path / "started.txt").read_text("utf-8") == "started "


def test_a_server_that_was_not_started_is_named(pytester: pytest.Pytester) -> None:
    """The commonest mistake: a test says that nothing listens there, and not all of them."""
    pytester.makeini("[pytest]\ntpharness_builtin = threads/usage-[st]*\ntpharness_server = http://127.0.0.1:1\n")
    result = run(pytester, "--junitxml=junit.xml")
    assert result.parseoutcomes() == {"errors": 1, "unjudged": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing listens there*"])
    assert 'errors="1" failures="0" skipped="1" tests="2"' in (pytester.path / "junit.xml").read_text("utf-8")


def test_an_application_without_the_control_contract_is_one_error(pytester: pytest.Pytester) -> None:
    """Not one for each scenario: `/capabilities` is missing."""
    pytester.makepyfile(hello=HELLO)
    pytester.makeini(
        "[pytest]\ntpharness_builtin = threads/usage-* cycles/late-*\ntpharness_app = hello:app\n"
        "tpharness_server = app\npythonpath = .\n"
    )
    result = run(pytester)
    outcomes = result.parseoutcomes()
    outcomes.pop("warnings", None)  # pytest's own, of a plugin that this process has imported, in the first run alone
    assert (outcomes.pop("errors"), outcomes.pop("unjudged") > 1, outcomes) == (1, True, {})
    result.stdout.fnmatch_lines(["*/capabilities*"])


def test_each_worker_has_one_error(pytester: pytest.Pytester) -> None:
    """What is not judged is counted so by the run, which gets the reports of its workers."""
    pytester.makeini("[pytest]\ntpharness_builtin = threads/usage-*\ntpharness_server = http://127.0.0.1:1\n")
    outcomes = pytester.runpytest_subprocess("-n", "1", "-p", "xdist", "-p", "no:cacheprovider").parseoutcomes()
    assert (outcomes.pop("errors"), outcomes.pop("unjudged") > 1, outcomes) == (1, True, {})


def test_tests_of_other_targets_go_on(pytester: pytest.Pytester) -> None:
    """A folder may have a server of its own, and so may a test: only what needs the other one is not judged."""
    for name, server in (("a", "http://127.0.0.1:1"), ("b", "reference")):
        (folder := pytester.path / name).mkdir()
        (folder / "conftest.py").write_text(
            f"import pytest\n@pytest.fixture(scope='session')\ndef tpharness_server(): return {server!r}\n", "utf-8"
        )
        for number in range(2):
            (folder / f"{number}.yaml").write_text(BAD.replace("[user]", "[user, 'agent complete: response(text)']"))
    pytester.makepyfile(test_own="def test_own(): pass")
    pytester.makeini("[pytest]\ntpharness_scenarios = a b\n")
    assert run(pytester).parseoutcomes() == {"passed": 3, "errors": 1, "unjudged": 1}


def test_ctrl_c_ends_what_is_played_and_its_target(pytester: pytest.Pytester) -> None:
    """At once, although the target would never have answered, and nothing wakes the thread that waits for it."""
    pytester.makepyfile(
        stuck="""
        import asyncio, signal, threading
        from tpharness.targets.reference import Reference

        class Server(Reference):
            async def serve(self, script):
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                await asyncio.Event().wait()
        """
    )
    pytester.makeini("[pytest]\ntpharness_builtin = cycles/late-return\ntpharness_server = python:stuck:Server\n")
    with pytest.raises(KeyboardInterrupt):
        run(pytester)


def test_a_version_is_chosen_and_a_wrong_one_is_an_error(pytester: pytest.Pytester) -> None:
    """The error has the hint of the command line."""
    pytester.makeini("[pytest]\ntpharness_builtin = cycles/late-return\n")
    run(pytester, "--tpharness-dialect", "0.0.3").assert_outcomes(passed=1)
    result = run(pytester, "--tpharness-dialect", "0.0.33")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tpharness_dialect: unknown version '0.0.33'; known versions are *"])


def test_what_a_test_plays_fails_with_the_failure_block(pytester: pytest.Pytester) -> None:
    """In the words of the command line, under the line of the test."""
    (file := pytester.path / "mine/chat/bad.yaml").parent.mkdir(parents=True)
    file.write_text(BAD, "utf-8")
    pytester.makepyfile("def test_mine(tpharness_play):\n    tpharness_play(scenarios=['mine'])\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*tpharness_play(scenarios=[[]'mine'[]])", "*outline-differs*", "*tpharness replay chat/bad *"]
    )


@pytest.mark.parametrize("loop", ["", "import asyncio\n"])
def test_a_test_with_an_event_loop_can_play(pytester: pytest.Pytester, loop: str) -> None:
    """What plays has a loop of its own, in a thread of its own."""
    body = "    tpharness_play('cycles/late-return')\n"
    if loop:
        body = f"    async def inside():\n    {body}    asyncio.run(inside())\n"
    pytester.makepyfile(f"{loop}def test_mine(tpharness_play):\n{body}")
    run(pytester).assert_outcomes(passed=1)


def test_an_asgi_application_is_served_once_with_its_lifespan(pytester: pytest.Pytester) -> None:
    """The fixture hands out a client for it, and its address."""
    pytester.makepyfile(
        hello=HELLO,
        test_mine="""
        import urllib.request

        def test_client(tpharness_app):
            assert tpharness_app.client.get("/hello", params={"name": "Ada"}).json() == {"hello": "Ada"}

        def test_address(tpharness_app):
            with urllib.request.urlopen(tpharness_app.url + "/hello?name=Bob") as answer:
                assert answer.read() == b'{"hello":"Bob"}'
        """,
    )
    pytester.makeini("[pytest]\ntpharness_app = hello:app\n")
    run(pytester).assert_outcomes(passed=2)
    assert (pytester.path / "life.txt").read_text("utf-8") == "started ended"


def test_what_an_asgi_application_sends_is_sent_at_once(pytester: pytest.Pytester) -> None:
    """Without TCP_NODELAY a body waits until the other side acknowledges the head: 40 ms an answer."""
    pytester.makepyfile(
        eager="""
        import asyncio
        import socket

        from starlette.applications import Starlette
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route

        async def nodelay(request):
            transports = asyncio.get_running_loop()._transports.values()
            mine = [one for one in transports if one.get_extra_info("peername") == tuple(request.client)]
            sockets = [one.get_extra_info("socket") for one in mine]
            return PlainTextResponse(str([s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for s in sockets]))

        app = Starlette(routes=[Route("/", nodelay)])
        """,
        test_mine="""
        def test_mine(tpharness_app):
            assert tpharness_app.client.get("/").text == "[1]"
        """,
    )
    pytester.makeini("[pytest]\ntpharness_app = eager:app\n")
    run(pytester).assert_outcomes(passed=1)


def test_scenarios_are_played_on_the_application(pytester: pytest.Pytester) -> None:
    """`app` stands for its address; a failure says how pytest plays it alone, since the address ends with the run."""
    pytester.makepyfile(control=CONTROL)
    pytester.makeini(
        "[pytest]\ntpharness_app = control:app\ntpharness_server = app\ntpharness_builtin = cycles/late-return\n"
    )
    run(pytester).assert_outcomes(passed=1)
    (pytester.path / "known.yaml").write_text(
        "- {id: cycles/late-return, findings: [outline-differs], reason: x}\n", "utf-8"
    )
    result = run(pytester, "--tpharness-baseline", "known.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*alone: pytest --tpharness-builtin cycles/late-return"])


def test_faults_are_made_on_the_wire_of_the_application(pytester: pytest.Pytester) -> None:
    """Each is a case of the scenario's test."""
    pytester.makepyfile(control=CONTROL)
    pytester.makeini(
        "[pytest]\ntpharness_app = control:app\ntpharness_server = app\ntpharness_builtin = cycles/late-return\n"
        "tpharness_faults = fin-in-middle fin-after-head\n"
    )
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("", "*no application is named*"),
        ("nowhere:app", "*importing nowhere gave ModuleNotFoundError*"),
        ("nowhere:app", "*there is no nowhere in *: write MODULE:APP*sys.path*"),
        ("half:app", "*half was found, and imports no_such_package, which was not: install it for *"),
        ("half:app", "*importing half gave ModuleNotFoundError: *half.py:1)*"),
        ("hello:application", "*hello has no application*"),
        ("wrong:app", "*importing wrong gave AttributeError: module 'os' has no attribute 'nothing'*"),
        ("broken:app", "*the application did not start*"),
        ("python -m uvicorn nowhere:app --port {port}", "*cwd in tpharness.toml names another folder*"),
        ("python -c pass", "*exited with status 0 before it listened*"),
    ],
)
def test_an_application_that_does_not_start_is_said(pytester: pytest.Pytester, app: str, told: str) -> None:
    """With what to do, and nothing left running."""
    failing = HELLO.replace("        yield", "        raise OSError('no database')\n        yield")
    pytester.makepyfile(
        hello=HELLO, broken=failing, wrong="import os\n\nos.nothing()\n", half="import no_such_package\n"
    )
    pytester.makepyfile(test_mine="def test_mine(tpharness_app): tpharness_app.client\n")
    result = run(pytester, "--tpharness-app", app)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([told])


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ("0.2", "*does not listen on 127.0.0.1:* within 0.2 s*"),
        ("soon", "*tpharness_app_ready is 'soon', which is not a number of seconds above 0"),
    ],
)
def test_a_command_has_so_many_seconds_until_it_listens(pytester: pytest.Pytester, seconds: str, told: str) -> None:
    """Nobody has to wait a minute for one that never does."""
    pytester.makepyfile(
        deaf="import time; time.sleep(1000)", test_mine="def test_mine(tpharness_app):\n    tpharness_app.url\n"
    )
    pytester.makeini(f"[pytest]\ntpharness_app = python deaf.py\ntpharness_app_ready = {seconds}\n")
    run(pytester).stdout.fnmatch_lines([told])


def test_a_command_is_run_on_a_free_port(pytester: pytest.Pytester) -> None:
    """With `{port}` filled in, in the root folder."""
    pytester.makepyfile("def test_mine(tpharness_app):\n    assert 'tox.ini' in tpharness_app.client.get('/').text\n")
    pytester.makeini("[pytest]\ntpharness_app = python -m http.server {port} --bind 127.0.0.1\n")
    run(pytester).assert_outcomes(passed=1)


def test_an_application_that_runs_already_is_asked_where_it_is(pytester: pytest.Pytester) -> None:
    """Nothing is started for an address."""
    pytester.makepyfile(
        """
        def test_mine(tpharness_app):
            assert tpharness_app.url == "http://127.0.0.1:9"
            assert str(tpharness_app.client.base_url) == "http://127.0.0.1:9"
        """
    )
    run(pytester, "--tpharness-app", "http://127.0.0.1:9/").assert_outcomes(passed=1)


def test_findings_are_told_in_lines(pytester: pytest.Pytester) -> None:
    """`assert check(…) == []` shows what was found, and other lists are left to pytest."""
    pytester.makepyfile(
        """
        from tpharness import check

        def test_mine():
            assert check({"version": "0.0.4"}) == []

        def test_other():
            assert [1] == []
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *findings", "E *MUST thread-schema at *", "*assert [[]1] == [[][]]"])
