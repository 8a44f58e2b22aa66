"""The application's process: started with the provider's address, watched, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from tests.targets.running import is_running

from tpharness.apps.client import find_profile
from tpharness.apps.config import AppConfig
from tpharness.apps.engine import AppOptions, play_app
from tpharness.apps.play import Player
from tpharness.apps.process import AppProcess
from tpharness.apps.provider.server import Provider
from tpharness.errors import TargetError, UsageError
from tpharness.findings import parse_finding
from tpharness.targets.server_process import free_port
from tpharness.verdict import Result, ResultReady

CHILDREN = """
import http.server, os, subprocess, sys
own = subprocess.Popen(["sleep", "1000"])
apart = subprocess.Popen(["sleep", "1000"], start_new_session=True)
open("pids", "w").write(f"{os.getpid()} {own.pid} {apart.pid}")
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), http.server.BaseHTTPRequestHandler).serve_forever()
"""
HANGS = """
import http.server, os, subprocess, time
own = subprocess.Popen(["sleep", "1000"])
apart = subprocess.Popen(["sleep", "1000"], start_new_session=True)
class Chat(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open("posting", "w") as file:
            file.write(f"{os.getpid()} {own.pid} {apart.pid}")
        os.rename("posting", "posted")
        time.sleep(1000)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Chat).serve_forever()
"""
EXITS = "import sys; print('no model is configured'); sys.exit(3)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + CHILDREN
TOP = Path(__file__).parents[2]


def config(folder: Path, program: str, port: int, **more: object) -> AppConfig:
    """Return the configuration of a program that listens on PORT."""
    command = (sys.executable, "-c", program)
    return AppConfig(name="a", url=f"http://127.0.0.1:{port}/chat", command=command, folder=folder, ready=10.0, **more)  # type: ignore[arg-type]


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def pids_in(folder: Path) -> list[int]:
    """Return the processes that the program has written down."""
    return [int(word) for word in (folder / "pids").read_text("utf-8").split()]


def wait_until_gone(pids: list[int]) -> None:
    """Fail when one of the processes still runs after ten seconds."""
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.02)


@pytest.mark.parametrize("program", [CHILDREN, DEAF], ids=["ends-when-asked", "ignores-sigterm"])
def test_the_end_takes_all_children_along(tmp_path: Path, program: str) -> None:
    """Also a child that leads a session of its own, and a program that does not listen to SIGTERM."""

    async def main() -> list[int]:
        async with AppProcess(config(tmp_path, program, free_port()), {}):
            started = pids_in(tmp_path)
            assert all(map(is_running, started))
            return started

    started = asyncio.run(main())
    assert len(started) == 3
    wait_until_gone(started)


def test_a_harness_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """SIGKILL to the harness itself: the guard notices and kills everything."""
    port = free_port()
    (tmp_path / "program.py").write_text(CHILDREN, "utf-8")
    harness = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom tpharness.apps.config import AppConfig\n"
        "from tpharness.apps.process import AppProcess\n"
        f"known = AppConfig(name='a', url='http://127.0.0.1:{port}/chat', command=(sys.executable, 'program.py'))\n"
        "async def main():\n    async with AppProcess(known, {}):\n        print('ready', flush=True)\n"
        "        await asyncio.sleep(1000)\nasyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(TOP / "src")}
    process = subprocess.Popen([sys.executable, "-c", harness], cwd=tmp_path, stdout=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        started = pids_in(tmp_path)
        assert all(map(is_running, started))
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    wait_until_gone(started)


@pytest.mark.parametrize(
    ("number", "effects"),
    [(signal.SIGKILL, ""), (signal.SIGTERM, 'effects = "ledger"'), (signal.SIGINT, ""), (signal.SIGHUP, "")],
    ids=["SIGKILL", "SIGTERM, with the ledger", "SIGINT", "SIGHUP"],
)
def test_the_command_that_is_ended_in_a_case_leaves_nothing_but_its_report(
    tmp_path: Path, number: signal.Signals, effects: str
) -> None:
    """However it ends while an answer is awaited: with the application, and its children, the guard is gone, too."""
    (tmp_path / "program.py").write_text(HANGS, "utf-8")
    table = f'command = ["{sys.executable}", "program.py"]\nurl = "http://127.0.0.1:{{port}}/chat"\n{effects}\n'
    (tmp_path / "tpharness.toml").write_text(f"[apps.hangs]\n{table}", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TOP / "src")}
    command = [sys.executable, "-m", "tpharness", "app", "hangs", "--report", "json:run.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        started = posted_pids(tmp_path, process)
        started.append(parent_of(started[0]))
        assert len(started) == 4
        assert all(map(is_running, started))
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    wait_until_gone(started)
    if number is not signal.SIGKILL:
        assert process.returncode == 128 + number
        assert said.decode().splitlines()[-1] == f"tpharness: interrupted by {number.name}"
        report = json.loads((tmp_path / "run.json").read_text("utf-8"))
        assert report["passed"] is False
        assert report["incomplete"]["signal"] == number.name


def posted_pids(folder: Path, process: subprocess.Popen[bytes]) -> list[int]:
    """Return the processes that the program has written down, as soon as it was asked."""
    deadline = time.monotonic() + 60
    while not (folder / "posted").exists():
        assert process.poll() is None, "the command has ended"
        assert time.monotonic() < deadline, "the application was not asked"
        time.sleep(0.02)
    return [int(word) for word in (folder / "posted").read_text("utf-8").split()]


def test_the_application_finds_the_model_in_its_environment(tmp_path: Path) -> None:
    """Base URL, key and port; what tpharness.toml says for it stands above."""
    program = "import os; open('env', 'w').write(repr(dict(os.environ)))\n" + CHILDREN

    async def main() -> None:
        known = config(tmp_path, program, free_port(), env={"MODE": "test"})
        async with AppProcess(known, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}):
            pass

    asyncio.run(main())
    told = (tmp_path / "env").read_text("utf-8")
    assert "'OPENAI_BASE_URL': 'http://127.0.0.1:1/v1'" in told
    assert "'MODE': 'test'" in told


def test_an_application_that_exits_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    """The end of its output says why."""

    async def main() -> None:
        async with AppProcess(config(tmp_path, EXITS, free_port()), {}):
            pass

    with pytest.raises(TargetError, match=r"exited with status 3 before it listened.*no model is configured"):
        asyncio.run(main())


@pytest.mark.parametrize("error", ["AI_APICallError: terminated", "httpx.ReadError: peer closed connection"])
def test_the_error_that_ends_an_application_is_shown_however_much_follows_it(tmp_path: Path, error: str) -> None:
    """Node.js prints every field of an error behind it, which are more lines than are kept."""
    program = f"import sys; print({error!r}); [print(f'  field {{n}}: 1,') for n in range(40)]; sys.exit(1)"

    async def main() -> None:
        async with AppProcess(config(tmp_path, program, free_port()), {}):
            pass

    with pytest.raises(TargetError) as raised:
        asyncio.run(main())
    assert f"the end of its output: {error} | … | field 28: 1, | " in str(raised.value)


def test_what_an_application_prints_is_shown_without_its_secrets(tmp_path: Path) -> None:
    """Its last words stand in every report, and a report is handed on."""
    said = "Authorization: Bearer abc\\npassword=abc\\n{'api_key': 'abc'}\\nI use travellers"
    program = f"import sys; print({said!r}.replace(chr(92) + 'n', chr(10))); sys.exit(3)"

    async def main() -> None:
        async with AppProcess(config(tmp_path, program, free_port(), env={"MY_SECRET": "travellers"}), {}):
            pass

    with pytest.raises(TargetError) as raised:
        asyncio.run(main())
    shown = "Authorization: Bearer (left out) | password=(left out) | {'api_key': '(left out)'} | I use (left out)"
    assert str(raised.value).partition("output: ")[2].splitlines()[0] == shown


def test_an_application_that_never_listens_is_told_so(tmp_path: Path) -> None:
    """It is ended."""

    async def main() -> None:
        program = "import os, time; open('pids', 'w').write(str(os.getpid())); time.sleep(1000)"
        known = config(tmp_path, program, free_port())
        async with AppProcess(replace(known, ready=0.5), {}):
            pass

    with pytest.raises(TargetError, match="does not listen on") as raised:
        asyncio.run(main())
    assert "{port} in its command" in raised.value.hint
    wait_until_gone(pids_in(tmp_path))


def test_a_program_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    """The guard cannot start it."""

    async def main() -> None:
        known = AppConfig(name="a", url=f"http://127.0.0.1:{free_port()}/", command=("no-such-program",))
        async with AppProcess(replace(known, folder=tmp_path), {}):
            pass

    with pytest.raises(TargetError, match="no-such-program cannot be started"):
        asyncio.run(main())


def test_a_port_that_is_taken_is_told_before_anything_is_started(tmp_path: Path) -> None:
    """What listens there would be judged instead."""

    async def main() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with AppProcess(config(tmp_path, CHILDREN, port), {}):
                pass

    with pytest.raises(UsageError, match="something listens"):
        asyncio.run(main())
    assert not (tmp_path / "pids").exists()


def test_an_application_that_exits_in_a_case_fails_it_and_is_started_again(tmp_path: Path) -> None:
    """The next case is played on a new process, which may begin without the effects of the one before."""
    program = (
        "import os, asyncio, pathlib\nfrom tests.apps.chat_app import ChatApp, Defect, running\n"
        "class Falls(ChatApp):\n    def _interrupted(self, *args):\n        os._exit(7)\n"
        "effects = pathlib.Path('effects.txt')\neffects.unlink(missing_ok=True)\n"
        "async def main():\n    async with running(Falls(effects=effects), int(os.environ['PORT'])):\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )

    async def main() -> dict[str, Result]:
        known = config(
            tmp_path,
            program,
            0,
            history="last-message",
            answer=5.0,
            allow=("book_hotel",),
            effects="wc -l < effects.txt",
            env={"PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}"},
        )
        known = replace(known, url="http://127.0.0.1:{port}/api/chat")
        events = play_app(
            AppOptions(config=known, ids=("model-drops/in-text", "uncut/tool-call", "user-leaves/in-text"))
        )
        return {event.result.id: event.result async for event in events if isinstance(event, ResultReady)}

    results = asyncio.run(main())
    codes = {case: [finding.code for finding in result.findings] for case, result in results.items()}
    exited, bricked, *_ = results["model-drops/in-text"].findings
    assert "an exception that nobody catches" in exited.remedy
    assert "correct app-exited first" in bricked.remedy  # and not to complete or drop a call
    assert parse_finding(bricked.as_json()).remedy == bricked.remedy
    assert codes["uncut/tool-call"] == []
    assert codes["model-drops/in-text"][:2] == ["app-exited", "chat-bricked"]
    assert codes["user-leaves/in-text"][:2] == ["app-exited", "chat-bricked"]


def test_an_application_that_exits_at_the_first_message_is_told_so(tmp_path: Path) -> None:
    """Its connection breaks a moment before its end is known."""
    program = (
        "import http.server, os\nclass Chat(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n        print('no database', flush=True)\n        os._exit(4)\n"
        "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Chat).serve_forever()\n"
    )

    async def main() -> list[str]:
        known = config(tmp_path, program, free_port(), answer=5.0)
        events = [event async for event in play_app(AppOptions(config=known))]
        (finding, _) = next(event.result.findings for event in events if isinstance(event, ResultReady))
        return [finding.code, str(finding.got)]

    code, got = asyncio.run(main())
    assert code == "app-exited"
    assert got == "status 4; the end of its output: no database"


def test_an_application_that_fails_at_the_first_message_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    """It goes on running, and nobody else shows what it has printed."""
    program = (
        "import http.server, os\nclass Chat(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n        print('x' * 900, flush=True)\n        print('no such table', flush=True)\n"
        "        self.send_error(500)\n"
        "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Chat).serve_forever()\n"
    )

    async def main() -> list[str]:
        known = config(tmp_path, program, free_port(), answer=5.0)
        events = [event async for event in play_app(AppOptions(config=known))]
        (finding,) = next(event.result.findings for event in events if isinstance(event, ResultReady))
        return [finding.code, *str(finding.got).split("; the end of its output: ")]

    code, got, output = asyncio.run(main())
    assert code == "app-failed"
    assert got.startswith("status 500")
    assert "no such table" in output
    assert len(output) <= 200


def test_two_applications_of_one_file_do_not_share_their_folder(tmp_path: Path) -> None:
    """`cwd` is made where it does not exist; process and effects command run there."""

    async def main() -> int | None:
        port = free_port()
        known = config(tmp_path, CHILDREN, port, cwd="runs/one", effects="wc -w < pids")
        async with AppProcess(known, {}), aiohttp.ClientSession() as session, Provider() as provider:
            return await Player(known, provider, session, find_profile("client")).count_effects()

    assert asyncio.run(main()) == 3
    assert not (tmp_path / "pids").exists()
    wait_until_gone(pids_in(tmp_path / "runs" / "one"))
