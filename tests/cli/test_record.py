"""`tpharness record`: what a live stream becomes, and every way in which there is nothing to record."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import threading
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call
from tests.targets.servers import Connection, RawServer, Request, in_thread

from tpharness.scenario import load_scenario
from tpharness.targets.capture import MAX_STREAM, CapturedStream, capture

TEXT = (
    b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\ndata: {"type":"text-start","id":"1"}\n\n'
    b'data: {"type":"text-delta","id":"1","delta":"Hello"}\n\ndata: {"type":"text-end","id":"1"}\n\n'
    b'data: {"type":"finish-step"}\n\ndata: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n'
)
WITHOUT_EVENT = {"/rubbish": bytes(range(256)), "/empty": b"", "/comment": b": hello\n\n", "/half": TEXT[:20]}
THREAD = {
    "version": "0.0.4",
    "thread_id": "t-1",
    "created_at": "2025-01-20T10:00:00Z",
    "updated_at": "2025-01-20T10:00:02Z",
    "agents": {
        "bot": {
            "agent_id": "bot",
            "agent_name": "Bot",
            "provider_name": "test",
            "created_at": "2025-01-20T10:00:00Z",
        }
    },
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": "2025-01-20T10:00:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "Hi"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "bot",
            "started_at": "2025-01-20T10:00:00Z",
            "completed_at": "2025-01-20T10:00:02Z",
            "completion_status": "complete",
            "messages": [
                {
                    "message_type": "response",
                    "timestamp": "2025-01-20T10:00:01Z",
                    "agent_id": "bot",
                    "parts": [{"part_kind": "text", "content": "Hello"}],
                }
            ],
        },
    ],
}


def _bomb(mebibytes: int) -> bytes:
    """Return a compressed body that expands to so many MiB of zeros: one piece of it, again and again."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + piece * mebibytes


BOMB = _bomb(1024)


class Application:
    """An application with one chat: a stream for a post, a thread to fetch."""

    def __init__(self) -> None:
        self.posted: list[object] = []
        self.authorized: list[str] = []
        self.other = ""
        self.thread: object = THREAD

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        self.authorized.append(request.headers.get("authorization", ""))
        match request.method, request.path:
            case "POST", "/chat":
                self.posted.append(request.value)
                await connection.stream()
                for piece in (TEXT[:50], TEXT[50:]):
                    await connection.chunk(piece)
                await connection.send(b"0\r\n\r\n")
            case "POST", "/broken":
                await connection.stream()
                await connection.chunk(TEXT[:150])
                connection.writer.transport.abort()
            case "POST", "/short":
                await connection.answer("200 OK", TEXT[:150], "text/event-stream")
            case "GET", "/endless":
                await connection.stream()
                await connection.chunk(TEXT[:150])
                await asyncio.Event().wait()
            case "GET", "/heartbeats":
                await connection.stream()
                await connection.chunk(TEXT[:150])
                while not connection.writer.transport.is_closing():
                    await connection.chunk(b": still there\n\n")
                    await asyncio.sleep(0.005)  # as often as it likes: it says nothing new
            case "GET", "/moved":
                await connection.answer("302 Found", more="Location: /text\r\n")
            case "GET", path if path == "/text" or path in WITHOUT_EVENT:
                await connection.answer("200 OK", WITHOUT_EVENT.get(path, TEXT), "text/event-stream")
            case _, "/elsewhere":
                await connection.answer("307 Temporary Redirect", more=f"Location: {self.other}/chat\r\n")
            case "GET", "/bomb" | "/bomb-page" | "/bomb-thread":
                kinds = {"/bomb": "text/event-stream", "/bomb-page": "text/html"}
                kind = kinds.get(request.path, "application/json")
                await connection.answer("200 OK", BOMB, kind, "Content-Encoding: deflate\r\n")
            case "GET", "/thread":
                await connection.json(self.thread)
            case "GET", "/versions":
                await connection.answer("200 OK", b'{"version": ["0.0.4"]}', "application/json")
            case "GET", "/page":
                await connection.answer("200 OK", b"<html>", "text/html")
            case _:
                await connection.json({"error": {"message": "no"}}, "404 Not Found")


@pytest.fixture
def app() -> Application:
    """Return an application, not served yet."""
    return Application()


def test_a_stream_and_its_thread_become_a_scenario_that_passes(call: Call, app: Application, tmp_path: Path) -> None:
    """The text of the stream is the text of the thread: both sides agree, live and replayed."""
    file = tmp_path / "live" / "one.yaml"  # its folder is made
    with in_thread(RawServer(app)) as server:
        url = server.url
        done = call("record", f"{url}/chat", "--prompt", "Hi", "--thread", f"{url}/thread", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert load_scenario(file).thread_id == THREAD["thread_id"]
    assert f"recorded {len(TEXT)} bytes in 1 stream to" in done.out
    assert "replayed  passed" in done.out
    assert "broke off" not in done.out
    (posted,) = app.posted
    assert posted["messages"][0]["parts"] == [{"type": "text", "text": "Hi"}]  # type: ignore[index]  # as useChat has it
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT
    assert call("run", "--scenarios", str(tmp_path)).code == 0


def test_a_thread_that_says_something_else_fails_when_it_is_replayed(
    call: Call, app: Application, tmp_path: Path
) -> None:
    """The recording keeps the departure: its server has another text than its client."""
    other = json.loads(json.dumps(THREAD))
    other["turns"][1]["messages"][0]["parts"][0]["content"] = "Hullo"
    app.thread = other
    file = tmp_path / "live" / "other.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        url = server.url
        done = call("record", f"{url}/chat", "--prompt", "Hi", "--thread", f"{url}/thread", "-o", str(file))
    assert "replayed  failed: identity-differs" in done.out
    assert call("run", "--scenarios", str(tmp_path)).code == 1


@pytest.mark.parametrize(("option", "size"), [(("--cut-after", "120"), 120), (("--cut-at", '"Hel'), None)])
def test_a_stream_is_broken_off_where_it_is_said(
    call: Call, app: Application, tmp_path: Path, option: tuple[str, ...], size: int | None
) -> None:
    """The client that breaks off sees a network failure, and of the text nothing stays (R20, R27)."""
    file = tmp_path / "live" / "cut.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/chat", "--prompt", "Hi", *option, "-o", str(file))
    assert (done.code, "broke off" in done.out) == (0, False)
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT[: size or TEXT.index(b'"Hel') + 4]
    assert run.interrupt is not None
    assert run.interrupt.reason == "network_failure"


@pytest.mark.parametrize(
    ("option", "place"),
    [
        (("--cut-after", "9999"), "--cut-after 9999"),
        (("--cut-at", "nobody says this"), "--cut-at nobody says this"),
        (("--cut-after", "9999", "--cut-at", "none"), "--cut-after 9999 or --cut-at none"),
    ],
)
def test_a_cut_that_is_never_reached_is_told(
    call: Call, app: Application, tmp_path: Path, option: tuple[str, ...], place: str
) -> None:
    """The stream cannot come again, so it is kept; the recording is not the one that was asked for."""
    file = tmp_path / "live" / "whole.yaml"
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/text", *option, "-o", str(file))
    assert done.code == 1
    assert f"NOT CUT the stream ended at byte {len(TEXT)}, before {place} was reached" in done.out
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert (run.wire.data, run.interrupt) == (TEXT, None)


@pytest.mark.parametrize("path", WITHOUT_EVENT)
def test_an_answer_without_an_event_is_not_recorded(call: Call, app: Application, tmp_path: Path, path: str) -> None:
    """Nothing in it could fail, and it would be replayed as passed; `check` refuses the same bytes."""
    file = tmp_path / "live" / "none.yaml"
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}{path}", "-o", str(file))
    assert (done.code, done.out, file.exists()) == (2, "", False)
    assert "without an event of a stream" in done.err


def test_a_stream_that_breaks_off_before_its_first_event_is_not_recorded(call: Call, tmp_path: Path) -> None:
    """The error says both: that nothing came, and why."""

    async def gone(_: Request, connection: Connection) -> None:
        await connection.stream()
        await connection.chunk(WITHOUT_EVENT["/comment"])
        connection.writer.close()  # and no last chunk

    with in_thread(RawServer(gone)) as server:
        done = call("record", f"{server.url}/x", "-o", str(tmp_path / "live" / "none.yaml"))
    assert done.code == 2
    assert "answers with 9 bytes without an event of a stream; the connection was lost: " in done.err


def test_a_stream_that_is_cut_before_its_first_event_is_recorded(call: Call, app: Application, tmp_path: Path) -> None:
    """Whoever says where to cut gets what came until there."""
    file = tmp_path / "live" / "none.yaml"
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/text", "--cut-after", "10", "-o", str(file))
    assert done.code == 0
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT[:10]


def test_a_stream_that_breaks_off_by_itself_is_recorded_as_far_as_it_came(
    call: Call, app: Application, tmp_path: Path
) -> None:
    """What is live is not always whole, and that is what one wants to keep."""
    file = tmp_path / "live" / "broken.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/broken", "--prompt", "Hi", "-o", str(file))
    assert done.code == 0
    assert "the stream broke off by itself: the connection was lost: " in done.out
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert TEXT.startswith(run.wire.data or b"?")
    assert run.interrupt is not None


def test_a_response_that_ends_before_its_stream_does_is_told(call: Call, app: Application, tmp_path: Path) -> None:
    """The connection is in order, and the turn is interrupted all the same (R27)."""
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/short", "--prompt", "Hi", "-o", str(tmp_path / "live" / "short.yaml"))
    assert done.code == 0
    assert "the stream broke off by itself: the response ends without finish or abort" in done.out


def test_what_the_server_did_not_mean_is_said(call: Call, tmp_path: Path) -> None:
    """A text in Latin-1 is recorded with U+FFFD in it, and breaks no rule."""

    async def latin(_: Request, connection: Connection) -> None:
        await connection.answer("200 OK", TEXT.replace(b"Hello", b"H\xe9llo"), "text/event-stream")

    with in_thread(RawServer(latin)) as server:
        done = call("record", f"{server.url}/x", "-o", str(tmp_path / "live" / "latin.yaml"))
    assert done.code == 0
    assert "on the wire: SHOULD sse-invalid-utf8 at client byte " in done.out


def test_a_server_under_test_is_recorded_with_its_verdict(call: Call, tmp_path: Path) -> None:
    """The reference as a server of its own kind: a run that is cut in the middle of a call's arguments."""
    file = tmp_path / "live" / "cut.yaml"
    file.parent.mkdir()
    done = call("record", "reference", "--play", "interruptions/mid-tool-args", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert "live      passed" in done.out
    assert "replayed  passed" in done.out
    recorded = load_scenario(file).recorded
    assert recorded is not None
    assert {str(version.value) for version in recorded.threads} == {"2.0.0", "0.0.3", "0.0.4"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("URL/page",), "answers 200 with text/html"),
        (("URL/none", "--prompt", "Hi"), "answers 404"),
        (("http://127.0.0.1:9/x",), "http://127.0.0.1:9/x: nothing listens there: Connection refused"),
        (("URL/chat", "--prompt", "Hi", "--thread", "threads/1"), "threads/1 is not a URL"),
        (("URL/chat", "--prompt", "Hi", "--header", "no-colon"), "write 'Name: value'"),
        (("URL/chat", "--body", "missing.json"), "missing.json"),
        (("peer:serve",), "with --play ID"),
        (("peer:no-such", "--play", "basics/tool-call-and-answer"), "there is no peer"),
        (("reference", "--play", "basics"), "names 4 scenarios"),
        (("reference", "--play", "basics/tool-call-and-answer", "--cut-at", "x"), "--cut-at does not go with --play"),
        (("reference", "--play", "recorded/ai-sdk/merge-two"), "gives the stream itself"),
    ],
)
def test_what_cannot_be_recorded_is_told_and_leaves_no_file(
    call: Call, app: Application, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, one line that says what to do, and nothing half written."""
    file = tmp_path / "live" / "none.yaml"
    with in_thread(RawServer(app)) as server:
        given = [argument.replace("URL", server.url) for argument in arguments]
        done = call("record", *given, "-o", str(file))
    assert done.code == 2
    assert said in done.err
    assert not file.parent.exists()


@pytest.mark.parametrize(
    ("thread", "said"),
    [
        ("URL/none", "answers 404"),
        ("URL/page", "--thread takes the URL of the thread"),
        ("URL/versions", """is not a thread: its version is ["0.0.4"]"""),
        ("http://127.0.0.1:9/t", "nothing listens there"),
    ],
)
def test_a_thread_that_cannot_be_had_costs_nothing_of_the_stream(
    call: Call, app: Application, tmp_path: Path, thread: str, said: str
) -> None:
    """The stream cannot come again: it is kept without the thread, and the exit code says that something failed."""
    file = tmp_path / "live" / "kept.yaml"
    with in_thread(RawServer(app)) as server:
        asked = ("--prompt", "Hi", "--thread", thread.replace("URL", server.url))
        done = call("record", f"{server.url}/chat", *asked, "-o", str(file))
    assert done.code == 2
    assert said in done.err
    assert done.out.splitlines()[-1] == "NO THREAD the stream is recorded without the server's thread"
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT


@pytest.mark.parametrize(
    "change",
    [
        {"turns": [1]},
        {"turns": 5},
        {"turns": [{"turn_type": "agent"}]},
        {"turns": [{"turn_type": "agent", "agent_id": "nobody"}]},
        {"agents": [1]},
        {"agents": {"bot": 5}},
        {"agents": {"bot": {"agent_id": "bot", "agent_name": 5}}},
        {"agents": {"bot": {"agent_id": "other"}}},
    ],
    ids=str,
)
def test_a_thread_that_is_malformed_is_recorded_as_it_is(
    call: Call, app: Application, tmp_path: Path, change: dict[str, object]
) -> None:
    """What is wrong with it is for the replay to say, not for the recorder to stumble over."""
    app.thread = {**THREAD, **change}
    file = tmp_path / "live" / "odd.yaml"
    with in_thread(RawServer(app)) as server:
        url = server.url
        done = call("record", f"{url}/chat", "--prompt", "Hi", "--thread", f"{url}/thread", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert "replayed  failed" in done.out
    recorded = load_scenario(file).recorded
    assert recorded is not None
    assert list(recorded.threads.values()) == [app.thread]


def _nest(levels: int) -> object:
    return {"below": _nest(levels - 1)} if levels else {}


@pytest.mark.parametrize("value", ["\ud800", _nest(197), _nest(450)], ids=["lone surrogate", "deep", "deeper"])
def test_a_thread_that_no_scenario_can_hold_costs_nothing_of_the_stream(
    call: Call, app: Application, tmp_path: Path, value: object
) -> None:
    """It is JSON, and no YAML: the file has the stream, and can be loaded."""
    app.thread = {**THREAD, "metadata": value}
    file = tmp_path / "live" / "kept.yaml"
    with in_thread(RawServer(app)) as server:
        url = server.url
        done = call("record", f"{url}/chat", "--prompt", "Hi", "--thread", f"{url}/thread", "-o", str(file))
    assert done.code == 2
    assert "holds values that a scenario file cannot represent" in done.err
    assert load_scenario(file).thread_id == "live/kept"


def test_the_output_is_a_scenario_file(call: Call, tmp_path: Path) -> None:
    """A recording that the suite would not find is of no use."""
    done = call("record", "http://127.0.0.1:9/x", "-o", str(tmp_path / "x.json"))
    assert (done.code, "THEME/NAME.yaml" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("target", "verdict"), [("Mute", "failed: identity-differs"), ("Changed", "failed: identity-differs")]
)
def test_what_was_recorded_replays_as_it_was(call: Call, tmp_path: Path, target: str, verdict: str) -> None:
    """Live, in a run and replayed: one verdict, and one id whether the file or its folder is named."""
    file = tmp_path / "live" / "played.yaml"
    file.parent.mkdir()
    name = "threads/right-and-not-only-the-same"
    done = call("record", f"python:tests.run.test_truth:{target}", "--play", name, "-o", str(file))
    assert f"live      {verdict}\nreplayed  {verdict}\n" in done.out
    for named in (file, tmp_path):
        played = call("run", "live/played", "--scenarios", str(named))
        assert (played.code, "FAILED live/played" in played.out) == (1, True)
        replayed = call("replay", "live/played", "--scenarios", str(named))
        assert replayed.code == 1
        assert replayed.out.endswith(f"verdict: {verdict}\n")
    assert "(the thread that alike unknown had when this was recorded)" in replayed.out


def test_a_file_that_exists_is_not_replaced_unless_it_is_said(call: Call, app: Application, tmp_path: Path) -> None:
    """A recording cannot be made again: the stream of yesterday is gone."""
    file = tmp_path / "live" / "kept.yaml"
    file.parent.mkdir()
    file.write_text("mine")
    with in_thread(RawServer(app)) as server:
        refused = call("record", f"{server.url}/chat", "--prompt", "Hi", "-o", str(file))
        assert (refused.code, app.posted, file.read_text()) == (2, [], "mine")  # nobody was asked
        assert "exists" in refused.err
        assert "--force" in refused.err
        assert call("record", f"{server.url}/chat", "--prompt", "Hi", "-o", str(file), "--force").code == 0
    assert load_scenario(file).id == "live/kept"


def test_a_folder_that_does_not_exist_is_told_before_anybody_is_asked(
    call: Call, app: Application, tmp_path: Path
) -> None:
    """Otherwise the stream would be read, and lost."""
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/chat", "--prompt", "Hi", "-o", str(tmp_path / "none" / "chat" / "x.yaml"))
    assert (done.code, app.posted, "does not exist" in done.err) == (2, [], True)


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_keeps_what_came_of_a_stream_that_does_not_end(
    call: Call, app: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """It is the way to end such a stream, also without the thread, which an endless stream never gets to."""
    file = tmp_path / "live" / "endless.yaml"
    file.parent.mkdir()

    async def press_when_it_came(*args: Any, into: bytearray, **options: Any) -> CapturedStream:
        async def press() -> None:
            while not into:  # noqa: ASYNC110  # the bytes themselves are what it waits for
                await asyncio.sleep(0)
            signal.raise_signal(number)

        pressing = asyncio.ensure_future(press())
        try:
            return await capture(*args, into=into, **options)
        finally:
            pressing.cancel()

    monkeypatch.setattr("tpharness.cli.record_live.capture", press_when_it_came)
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/endless", "--thread", f"{server.url}/no-thread", "-o", str(file))
    assert done.code == 128 + number
    assert done.out.splitlines()[-1] == "INCOMPLETE what came until the interruption is recorded"
    assert "recorded without the thread" in done.err
    assert done.err.splitlines()[-1] == f"tpharness: interrupted by {number.name}"
    scenario = load_scenario(file)
    assert scenario.thread_id == "live/endless"  # no thread says another
    (_, run), *_ = scenario.runs
    assert run.wire is not None
    assert run.wire.data == TEXT[:150]
    assert run.interrupt is not None
    assert run.interrupt.reason == "network_failure"


def test_a_signal_while_the_thread_is_fetched_keeps_the_stream(
    call: Call, app: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream has come whole and cannot come again."""
    file = tmp_path / "live" / "whole.yaml"
    file.parent.mkdir()

    async def press(*_: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr("tpharness.cli.record_live.fetch_json", press)
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/text", "--thread", f"{server.url}/thread", "-o", str(file))
    assert done.code == 128 + signal.SIGTERM
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT
    assert run.interrupt is None


def test_ctrl_c_before_anything_came_leaves_no_file(call: Call, tmp_path: Path) -> None:
    """There is nothing to keep."""
    file = tmp_path / "live" / "none.yaml"
    file.parent.mkdir()
    asked = threading.Event()

    async def mute(_: Request, connection: Connection) -> None:
        await connection.stream()
        asked.set()
        await asyncio.Event().wait()

    def interrupt() -> None:
        asked.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=interrupt)
    with in_thread(RawServer(mute)) as server:
        pressing.start()
        done = call("record", f"{server.url}/x", "-o", str(file))
        pressing.join()
    assert (done.code, file.exists()) == (130, False)


@pytest.mark.parametrize(
    ("arguments", "said", "kept"),
    [
        (("URL/bomb-page",), "answers 200 with text/html", False),
        (("URL/text", "--thread", "URL/bomb-thread"), "more than 4 MiB", True),
    ],
)
def test_what_a_small_answer_expands_to_is_bounded(
    call: Call, app: Application, tmp_path: Path, arguments: tuple[str, ...], said: str, kept: bool
) -> None:
    """1 MB that expands to 1 GB: an error in a few MB, whether it should be a stream or a thread."""
    file = tmp_path / "live" / "bomb.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        given = [argument.replace("URL", server.url) for argument in arguments]
        tracemalloc.start()
        try:
            done = call("record", *given, "-o", str(file))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (done.code, said in done.err, file.exists()) == (2, True, kept)
    assert peak < 100 << 20


def test_a_stream_is_cut_where_a_scenario_could_not_hold_more(app: Application) -> None:
    """Also one that is compressed, and one that would never end."""
    with in_thread(RawServer(app)) as server:
        captured = asyncio.run(capture(f"{server.url}/bomb", None, headers={}))
    assert (len(captured.data), captured.end, captured.fault) == (MAX_STREAM, "network_failure", "")


def test_a_stream_that_only_heartbeats_keep_open_is_given_up_as_a_silent_one(app: Application) -> None:
    """It would be recorded for ever: heartbeats say nothing new."""
    with in_thread(RawServer(app)) as server:
        captured = asyncio.run(capture(f"{server.url}/heartbeats", None, headers={}, silence=0.1))
    assert (captured.end, captured.fault) == ("timeout", "nothing new came for 0.1 s")
    assert captured.data.startswith(TEXT[:150])


def test_a_redirect_to_another_origin_is_an_error_that_says_so(call: Call, app: Application, tmp_path: Path) -> None:
    """Its server would be sent the user's headers and prompt; the same origin is the one that was named."""
    file = tmp_path / "live" / "moved.yaml"
    file.parent.mkdir()
    stranger = Application()
    with in_thread(RawServer(stranger)) as other, in_thread(RawServer(app)) as server:
        app.other = other.url
        done = call("record", f"{server.url}/elsewhere", "--prompt", "Hi", "--header", "X-Key: k", "-o", str(file))
        assert (done.code, file.exists(), stranger.authorized) == (2, False, [])
        assert f"redirects to another origin, {other.url}, which is not followed" in done.err
        assert call("record", f"{server.url}/moved", "-o", str(file)).code == 0


@pytest.mark.parametrize("to", ["http://[::1", "http://a:b", "mailto:a", "http://h:99999/"])
def test_a_redirect_to_what_is_not_an_address_is_the_server_s_mistake(to: str, call: Call, tmp_path: Path) -> None:
    """R38: whatever stands in the header Location, it is quoted, and nothing is requested of it."""

    async def redirect(_: Request, connection: Connection) -> None:
        await connection.answer("302 Found", more=f"Location: {to}\r\n")

    with in_thread(RawServer(redirect)) as server:
        done = call("record", f"{server.url}/chat", "-o", str(tmp_path / "a.yaml"))
    assert done.code == 2
    assert f"redirects to {to}, which is not a URL" in done.err
    assert "correct the header Location of the server" in done.err


def test_a_password_in_a_url_is_sent_and_not_written(call: Call, app: Application, tmp_path: Path) -> None:
    """A scenario is committed, an error is pasted into an issue."""
    file = tmp_path / "live" / "secret.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        url = server.url.replace("//", "//mallory:hunter2@")
        done = call("record", f"{url}/moved", "--thread", f"{url}/thread", "-o", str(file))
        assert done.code == 0
        said = base64.b64encode(b"mallory:hunter2").decode()
        assert app.authorized == [f"Basic {said}"] * 3
        failed = [call("record", f"{url}/{path}", "--force", "-o", str(file)) for path in ("page", "none", "elsewhere")]
        failed.append(call("record", f"{url}/text", "--thread", f"{url}/page", "--force", "-o", str(file)))
        app.thread = []
        failed.append(call("record", f"{url}/text", "--thread", f"{url}/thread", "--force", "-o", str(file)))
    assert [one.code for one in failed] == [2] * len(failed)
    failed.append(call("record", f"{url}/page", "--force", "-o", str(file)))  # nobody is there any more
    for text in (file.read_text(), done.out, *(one.out + one.err for one in failed)):
        assert "hunter2" not in text
        assert "mallory" not in text
