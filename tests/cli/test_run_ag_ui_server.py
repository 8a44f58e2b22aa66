"""`tpharness run --server ag-ui+URL` by the real entry point: verdict, reports, traces, and errors that say why."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.apps.ag_ui.servers import serving
from tests.cli.conftest import Call, Called

from tpharness.targets.server_process import free_port

WARM = ("--prompt", "How warm is it in Paris?")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces go there, and no tpharness.toml is above it."""
    monkeypatch.chdir(tmp_path)


def output(done: Called) -> str:
    """Return everything that a command has printed."""
    return done.out + done.err


def test_a_right_server_passes_and_the_classes_are_counted(call: Call) -> None:
    """Each class of verdict has a line, also the one that is not judged."""
    with serving() as server:
        done = call("run", "--server", f"ag-ui+http://127.0.0.1:{server.server_port}/", *WARM)
    assert done.code == 0, output(done)
    assert "PASSED" in output(done)
    assert "by the wire alone: 36 of 36 rules kept" in output(done)
    assert "by the wire and the input: 6 of 6 rules kept" in output(done)
    assert "by what is posted and answered: 4 of 4 rules kept" in output(done)
    assert "by the wire and what the model was given: 11 rules, not judged here" in output(done)
    assert "next/call-ended: the call without a result get_weather" in output(done)


def test_a_failure_is_in_every_report_and_the_trace_has_no_secret(call: Call, tmp_path: Path) -> None:
    """Console, JSON, JUnit, HTML; headers and forwarded secrets are left out of what is handed on."""
    props = tmp_path / "props.json"
    props.write_text('{"apiKey": "very-secret-1"}', "utf-8")
    with serving("refuses-half-calls") as server:
        done = call(
            *("run", "cut/in-arguments", "--server", f"ag-ui+http://127.0.0.1:{server.server_port}/", *WARM),
            *("--header", "X-Api-Key: very-secret-2", "--trace", "failed", "--forwarded-props", str(props)),
            *("--report", "console", "--report", "json:r.json", "--report", "junit:r.xml", "--report", "html:r.html"),
            *("--report", "markdown:r.md"),
        )
    assert done.code == 1
    assert "endpoint-next-refused" in output(done)
    assert "very-secret" not in output(done)
    assert "next/in-arguments --server ag-ui+http://127.0.0.1:" in output(done)
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert {one["id"]: one["outcome"] for one in report["results"]} == {
        "whole/1": "passed",
        "cut/in-arguments": "passed",
        "next/in-arguments": "failed",
    }
    suite = ET.parse(tmp_path / "r.xml").getroot()  # noqa: S314  # our own file
    assert len(suite.findall(".//failure")) == 1
    assert "endpoint-next-refused" in (tmp_path / "r.html").read_text("utf-8")
    summary = (tmp_path / "r.md").read_text("utf-8")
    assert (summary.startswith("## AG-UI\n"), "versions" in summary) == (True, False), summary
    with zipfile.ZipFile(tmp_path / "tpharness-trace.zip") as trace:
        written = b"".join(trace.read(name) for name in trace.namelist())
    assert b"very-secret" not in written
    assert b'"threadId"' in written
    shown = call("show", "tpharness-trace.zip", "next/in-arguments")
    assert shown.code == 0
    assert "endpoint-next-refused" in output(shown)


def test_one_mistake_of_a_server_is_one_cause_and_shown_where_nothing_is_cut(call: Call) -> None:
    """A rule of streams is broken in answers and in the turns after cuts alike: the plain answer is shown for all."""
    with serving("declares-no-version") as server:
        done = call("run", "--server", f"ag-ui+http://127.0.0.1:{server.server_port}/", *WARM)
    assert done.code == 1
    headings = [line for line in output(done).splitlines() if line.startswith("FAILED ")]
    assert [heading.split()[1] for heading in headings[:-1]] == ["whole/1"]
    assert "the turn after event" not in output(done)


def test_the_badge_counts_the_rules(call: Call, tmp_path: Path) -> None:
    """Green for a server that keeps them, red where a MUST is broken; a badge of another kind is refused at once."""
    for defect, message, colour in (("", "46 of 46", "brightgreen"), ("declares-no-version", "45 of 46", "red")):
        with serving(defect) as server:
            target = ("--server", f"ag-ui+http://127.0.0.1:{server.server_port}/")
            call("run", "whole", *target, "--badge", "badge.json")
            call("run", "whole", *target, "--badge", "badge.svg")
            refused = call("run", "whole", *target, "--badge", "badge.png")
        badge = json.loads((tmp_path / "badge.json").read_text("utf-8"))
        words = f"{message} rules that are seen from outside are kept"
        assert (badge["label"], badge["message"], badge["color"]) == ("AG-UI 1.0 producer", words, colour)
        assert words in (tmp_path / "badge.svg").read_text("utf-8")
        assert (refused.code, "is not a badge" in output(refused)) == (2, True)


def test_known_failures_are_a_baseline(call: Call, tmp_path: Path) -> None:
    """Written once, expected then; what comes to pass is stale."""
    known = tmp_path / "known.yaml"
    with serving("declares-no-version") as server:
        target = ("--server", f"ag-ui+http://127.0.0.1:{server.server_port}/")
        assert call("run", "whole/1", *target, "--write-baseline", str(known)).code == 1
        known.write_text(known.read_text("utf-8").replace("reason: ", "reason: it is older; "), "utf-8")
        again = call("run", "whole/1", *target, "--baseline", str(known))
    assert (again.code, "1 known difference" in output(again)) == (0, True), output(again)
    with serving() as server:
        target = ("--server", f"ag-ui+http://127.0.0.1:{server.server_port}/")
        assert call("run", "whole/1", *target, "--baseline", str(known)).code == 1


@contextmanager
def answering(status: int, kind: str, body: bytes) -> Iterator[int]:
    """Yield the port of a server that answers every post with the same."""

    class Always(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Always)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


NOT_AG_UI = {
    "another path": (404, "text/html", b"<h1>Not Found</h1>", ("answers a RunAgentInput with 404", "/agent")),
    "a key": (401, "application/json", b'{"detail": "no token"}', ("no token", "--header 'Authorization")),
    "more input": (422, "application/json", b'{"detail": "tenant"}', ("tenant", "--forwarded-props FILE")),
    "a page": (200, "text/html", b"<html>", ("answers with text/html, not text/event-stream", "/agent")),
    "the AI SDK": (200, "text/event-stream", b'data: {"type":"start"}\n\n', ("not one of AG-UI", "tpharness app URL")),
    "nothing": (200, "text/event-stream", b"", ("not one of AG-UI", "begins with ''")),
    "an error": (500, "text/plain", b"Traceback", ("with 500: Traceback", "the server's own log")),
    "a redirect": (307, "text/plain", b"", ("with 307", "")),
}


@pytest.mark.parametrize("name", NOT_AG_UI)
def test_what_is_not_ag_ui_is_said_to_be_so(name: str, call: Call) -> None:
    """What came, and what to change; exit code 2, since nothing was judged."""
    status, kind, body, words = NOT_AG_UI[name]
    with answering(status, kind, body) as port:
        done = call("run", "--server", f"ag-ui+http://127.0.0.1:{port}/")
    assert done.code == 2, output(done)
    for word in words:
        assert word in output(done)


def test_nobody_there_and_nobody_answering(call: Call) -> None:
    """Both are errors within the patience."""
    port = free_port()
    done = call("run", "--server", f"ag-ui+http://127.0.0.1:{port}/")
    assert (done.code, "nothing listens there" in output(done)) == (2, True), output(done)
    with serving("stops-answering") as server:
        server.threads.append("one before")
        done = call("run", "--server", f"ag-ui+http://127.0.0.1:{server.server_port}/", "--patience", "0.2")
    assert (done.code, "no answer began" in output(done)) == (2, True), output(done)


WRONG = {
    "another machine": (("--server", "ag-ui+http://example.org/agent"), "--i-own-this-host example.org"),
    "no address": (("--server", "ag-ui+http://"), "write ag-ui+http://HOST:PORT/PATH"),
    "a scheme": (("--server", "ag-ui+ftp://127.0.0.1/"), "write ag-ui+http://HOST:PORT/PATH"),
    "a client": (("--server", "ag-ui+http://127.0.0.1:1/", "--client", "reference"), "--client does not go with"),
    "a fault": (("--server", "ag-ui+http://127.0.0.1:1/", "--fault", "reset"), "--fault does not go with"),
    "two servers": (("--server", "ag-ui+http://127.0.0.1:1/", "--server", "reference"), "played by itself"),
    "a prompt for nobody": (("--prompt", "Hi"), "name one: --server ag-ui+"),
    "a header without a name": (("--server", "ag-ui+http://127.0.0.1:1/", "--header", "x"), "is not a header"),
    "a client's side": (("--client", "ag-ui+http://127.0.0.1:1/"), "cannot play scenarios"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_refused_before_anything_is_posted(name: str, call: Call) -> None:
    """With what to type instead."""
    words, said = WRONG[name]
    done = call("run", *words)
    assert (done.code, said in output(done)) == (2, True), output(done)


def test_a_case_that_does_not_exist_is_named(call: Call) -> None:
    """With the one that was meant."""
    with serving() as server:
        done = call("run", "cut/in-argument", "--server", f"ag-ui+http://127.0.0.1:{server.server_port}/")
    assert (done.code, "cut/in-arguments" in output(done)) == (2, True), output(done)
