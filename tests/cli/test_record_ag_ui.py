"""`tpharness record` of a server of AG-UI: what is posted, what is written, and which commands read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call
from tests.targets.servers import Connection, RawServer, Request, in_thread
from tests.wires.ag_ui.streams import FINISHED, STARTED, framed

from tpharness.scenario import load_scenario

TOKEN = "tok-0123456789abcdef"  # noqa: S105  # nobody's
KEY = "key-9876543210"
EVENTS: list[dict[str, Any]] = [
    STARTED,
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Eighteen "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "degrees"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    FINISHED,
]
WHOLE = framed(EVENTS)


class Server:
    """A server of AG-UI that answers every post with the same bytes, and keeps what it was sent."""

    def __init__(self, body: bytes = WHOLE) -> None:
        self.body = body
        self.posted: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        self.posted.append(json.loads(request.body))
        self.headers.append(dict(request.headers))
        await connection.answer("200 OK", self.body, "text/event-stream")


def test_a_stream_becomes_a_scenario_that_every_command_reads(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt is posted as a page does; the scenario knows by its stream over which wire it is played."""
    monkeypatch.chdir(tmp_path)
    server = Server()
    with in_thread(RawServer(server)) as raw:
        done = call("record", f"ag-ui+{raw.url}/agent", "--prompt", "How warm is it?", "-o", "live/one.yaml")
    assert (done.code, done.err) == (0, "")
    assert f"recorded {len(WHOLE)} bytes in 1 stream to" in done.out
    assert "replayed  passed over ag-ui" in done.out
    (posted,) = server.posted
    assert [(one["role"], one["content"]) for one in posted["messages"]] == [("user", "How warm is it?")]
    assert (posted["protocolVersion"], posted["tools"], posted["context"]) == ("1.0", [], [])
    (_, run), *_ = load_scenario(Path("live/one.yaml")).runs
    assert run.wire is not None
    assert run.wire.data == WHOLE
    again = next(line for line in done.out.splitlines() if line.startswith("play it again: tpharness "))
    played = call(*again.partition("tpharness ")[2].split())
    assert (played.code, "PASSED 1 scenario over ag-ui" in played.out) == (0, True), played.out
    elsewhere = call("run", "--scenarios", "live/one.yaml")
    assert elsewhere.code == 1
    assert "it gives a stream of ag-ui itself, which cannot be sent over vsp; add --wire ag-ui" in elsewhere.out
    replayed = call("replay", "live/one", "--scenarios", ".")
    assert (replayed.code, "=> agent complete: response(text)" in replayed.out) == (0, True), replayed.out
    assert call("check", "live/one.yaml").code == 0
    assert call("view", "live/one.yaml", "-o", "one.html").code == 0
    page = Path("one.html").read_text("utf-8")
    assert "Eighteen " in page
    assert "RUN_FINISHED" in page
    assert "cannot be shown over vsp" in call("view", "live/one.yaml", "--wire", "all").err


def test_the_stream_alone_has_the_input_beside_it(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` judges the two together, `fold` and `view` read the stream."""
    monkeypatch.chdir(tmp_path)
    server = Server()
    with in_thread(RawServer(server)) as raw:
        done = call("record", f"ag-ui+{raw.url}/", "-o", "run.sse")
    assert done.code == 0
    assert Path("run.sse").read_bytes() == server.body
    assert json.loads(Path("run.input.json").read_bytes()) == server.posted[0]
    assert server.posted[0]["messages"][0]["content"] == "Hello"
    assert "checked   2 MUST" in done.out  # it answers another thread, and another run
    checked = call("check", "run.sse")
    assert (checked.code, checked.out.count("MUST ag-ui-run-ids")) == (1, 2), checked.out
    folded = call("fold", "run.sse")
    assert json.loads(folded.out)["turns"][-1]["completion_status"] == "complete"
    assert call("view", "run.sse").code == 0
    Path("run.sse").unlink()
    again = call("record", f"ag-ui+{raw.url}/", "-o", "run.sse")
    assert (again.code, "run.input.json exists" in again.err) == (2, True)


def test_an_input_of_ones_own_is_posted_as_it_is(call: Call, tmp_path: Path) -> None:
    """To a plain address too: the stream itself says of which wire it is."""
    body = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {"n": 1}}
    (tmp_path / "ask.json").write_text(json.dumps(body), "utf-8")
    server = Server()
    with in_thread(RawServer(server)) as raw:
        for source in (f"{raw.url}/", f"ag-ui+{raw.url}/"):
            asked = ("--body", str(tmp_path / "ask.json"), "-o", str(tmp_path / "own.sse"), "--force")
            done = call("record", source, *asked)
            assert (done.code, "checked   nothing is wrong" in done.out) == (0, True), done.out
    assert server.posted == [body, body]
    assert json.loads((tmp_path / "own.input.json").read_bytes()) == body


@pytest.mark.parametrize("name", ["live/secret.yaml", "secret.sse"])
def test_no_file_has_what_the_headers_say(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where a server repeats a token in its stream as many characters take its place, so that offsets stay true."""
    monkeypatch.chdir(tmp_path)
    said = f"got {TOKEN} {KEY}"
    repeated = framed([{**event, "delta": said} if "delta" in event else event for event in EVENTS])
    props = {"apiKey": KEY, "plain": "a word that stays"}
    asked = {"threadId": "t", "runId": "r", "messages": [], "forwardedProps": props}
    Path("ask.json").write_text(json.dumps(asked), "utf-8")
    server = Server(repeated)
    with in_thread(RawServer(server)) as raw:
        source = f"ag-ui+{raw.url.replace('http://', f'http://{TOKEN}@')}/"
        done = call("record", source, "--body", "ask.json", "-o", name)
    assert done.code == 0, done.err
    assert server.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert server.posted == [asked]
    assert "left out: what the headers say, which stood in the stream" in done.out
    Path("ask.json").unlink()
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert [secret for secret in (TOKEN, KEY) if secret.encode() in written or secret in done.out] == []
    masked = repeated.replace(TOKEN.encode(), b"*" * len(TOKEN)).replace(KEY.encode(), b"*" * len(KEY))
    if name.endswith(".sse"):
        assert Path(name).read_bytes() == masked
        assert json.loads(Path("secret.input.json").read_bytes())["forwardedProps"]["plain"] == props["plain"]
    else:
        (_, run), *_ = load_scenario(Path(name)).runs
        assert run.wire is not None
        assert run.wire.data == masked


def test_a_stream_that_ends_before_its_run_does_says_so(call: Call, tmp_path: Path) -> None:
    """In the words of AG-UI; a cut that was asked for is not the server's doing."""
    with in_thread(RawServer(Server(framed(EVENTS[:-1])))) as raw:
        torn = call("record", f"ag-ui+{raw.url}/", "-o", str(tmp_path / "live" / "torn.yaml"))
        cut = call("record", f"ag-ui+{raw.url}/", "--cut-at", "Eigh", "-o", str(tmp_path / "live" / "cut.yaml"))
    assert "the stream broke off by itself: the response ends without RUN_FINISHED or RUN_ERROR" in torn.out
    assert (torn.code, cut.code, "broke off" in cut.out) == (0, 0, False)
    (_, run), *_ = load_scenario(tmp_path / "live" / "cut.yaml").runs
    assert run.interrupt is not None
    assert run.interrupt.reason == "network_failure"


def test_a_case_is_recorded_over_a_wire(call: Call, tmp_path: Path) -> None:
    """What a server under test sends, and the thread that it holds."""
    file = tmp_path / "live" / "played.yaml"
    done = call("record", "reference", "--play", "interruptions/mid-tool-args", "--wire", "ag-ui", "-o", str(file))
    assert (done.code, done.err) == (0, "")
    assert "live      passed" in done.out
    assert "replayed  passed over ag-ui" in done.out
    (_, run), *_ = load_scenario(file).runs
    assert run.wire is not None
    assert b'"outcome":{"type":"cancelled"}' in (run.wire.data or b"")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ag-ui+127.0.0.1:9", "-o", "x.sse"), "write ag-ui+http://HOST:PORT/PATH"),
        (("http://127.0.0.1:9/", "--thread", "http://127.0.0.1:9/", "-o", "x.sse"), "a .sse file has a stream alone"),
        (("http://127.0.0.1:9/", "--wire", "ag-ui", "-o", "x.sse"), "--wire goes with --play"),
        (("reference", "--play", "basics/tool-call-and-answer", "-o", "x.sse"), "a case is recorded as a scenario"),
        (
            ("reference", "--play", "basics/tool-call-and-answer", "--wire", "agui", "-o", "x.yaml"),
            "did you mean ag-ui",
        ),
        (("ag-ui+http://127.0.0.1:9/", "-o", "x.txt"), "or NAME.sse for the stream alone"),
    ],
)
def test_what_cannot_be_recorded_says_what_can(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """Before anything is asked of anybody, and no file is left."""
    monkeypatch.chdir(tmp_path)
    done = call("record", *arguments)
    assert (done.code, said in done.err) == (2, True), done.err
    assert list(tmp_path.rglob("*")) == []
