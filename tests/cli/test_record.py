"""`tpharness record`: what a live stream becomes, and every way in which there is nothing to record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.targets.servers import Connection, RawServer, Request, in_thread

from tpharness.scenario import load_scenario

TEXT = (
    b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\ndata: {"type":"text-start","id":"1"}\n\n'
    b'data: {"type":"text-delta","id":"1","delta":"Hello"}\n\ndata: {"type":"text-end","id":"1"}\n\n'
    b'data: {"type":"finish-step"}\n\ndata: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n'
)
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


class Application:
    """An application with one chat: a stream for a post, a thread to fetch."""

    def __init__(self) -> None:
        self.posted: list[object] = []
        self.thread: object = THREAD

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
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
            case "GET", "/thread":
                await connection.json(self.thread)
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
    file = tmp_path / "live" / "one.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        url = server.url
        done = call("record", f"{url}/chat", "--prompt", "Hi", "--thread", f"{url}/thread", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert f"recorded {len(TEXT)} bytes in 1 streams" in done.out
    assert "replayed  passed" in done.out
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
        assert call("record", f"{server.url}/chat", "--prompt", "Hi", *option, "-o", str(file)).code == 0
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert run.wire.data == TEXT[: size or TEXT.index(b'"Hel') + 4]
    assert run.interrupt is not None
    assert run.interrupt.reason == "network_failure"


def test_a_stream_that_breaks_off_by_itself_is_recorded_as_far_as_it_came(
    call: Call, app: Application, tmp_path: Path
) -> None:
    """What is live is not always whole, and that is what one wants to keep."""
    file = tmp_path / "live" / "broken.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        done = call("record", f"{server.url}/broken", "--prompt", "Hi", "-o", str(file))
    assert done.code == 0
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert TEXT.startswith(run.wire.data or b"?")
    assert run.interrupt is not None


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
        (("http://127.0.0.1:9/x",), "is the server there?"),
        (("URL/chat", "--prompt", "Hi", "--thread", "URL/none"), "--thread takes the URL of the thread"),
        (("URL/chat", "--prompt", "Hi", "--thread", "URL/page"), "--thread takes the URL of the thread"),
        (("URL/chat", "--prompt", "Hi", "--header", "no-colon"), "write 'Name: value'"),
        (("URL/chat", "--body", "missing.json"), "missing.json"),
        (("peer:serve",), "with --play ID"),
        (("peer:no-such", "--play", "basics/tool-call-and-answer"), "there is no peer"),
        (("reference", "--play", "basics"), "names 4 scenarios"),
        (("reference", "--play", "recorded/ai-sdk/merge-two"), "gives the stream itself"),
    ],
)
def test_what_cannot_be_recorded_is_told_and_leaves_no_file(
    call: Call, app: Application, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, one line that says what to do, and nothing half written."""
    file = tmp_path / "live" / "none.yaml"
    file.parent.mkdir()
    with in_thread(RawServer(app)) as server:
        given = [argument.replace("URL", server.url) for argument in arguments]
        done = call("record", *given, "-o", str(file))
    assert done.code == 2
    assert said in done.err
    assert not file.exists()


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
