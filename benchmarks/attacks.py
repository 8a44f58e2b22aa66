"""The attacks of the second round, played again from outside on the commands of a checkout: what is seen, what fell.

Each of fifteen rows is a class of attack that once got through; the tests in the table of `tests/README.md` hold each
class with more inputs than the one or two here, which are those that it was found with. `--checkout FOLDER` plays them
on another checkout, such as one of before they were mended, in which nearly all of them fall. Exit code 1 if one falls.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.attacks_on_serve import (
    damaged_content,
    hosts_and_askers,
    memory_before_the_token,
    power,
    store_by_a_link,
    stores,
)
from benchmarks.attacks_parts import HERE, Place, Seen, cpu_of, statements_of, write_statement
from benchmarks.table import Row, report

CALLS = """
import json, os, sys
sys.path.insert(0, {examples!r})
import plain_python
inner = plain_python.serve_case
def serve(case):
    served = inner(case)
    at = served["streams"][0][0]["at"]
    call = {{"type": "tool-input-available", "toolName": "t", "input": {{}}}}
    chunks = [{{"type": "start"}}, {{"type": "start-step"}}]
    chunks += [{{**call, "toolCallId": "c%d" % n}} for n in range(int(os.environ["CALLS"]))]
    chunks += [{{"type": "finish-step"}}, {{"type": "finish"}}]
    data = "".join("data: " + json.dumps(chunk) + "\\n\\n" for chunk in chunks) + "data: [DONE]\\n\\n"
    served["streams"][0] = [{{"data": data[n : n + 4096], "at": at}} for n in range(0, len(data), 4096)]
    return served
plain_python.serve_case = serve
plain_python.stdio()
"""
"""A server on standard input whose first stream is calls that nothing answers."""

ODD_THREAD = """
import sys
sys.path.insert(0, {examples!r})
import plain_python
inner = plain_python.serve_case
def serve(case):
    served = inner(case)
    for thread in served["threads"].values():
        for message in thread["turns"][-1].get("messages", []):
            message["usage"] = {{"input_tokens": float("inf")}}
            message["finish_reason"] = float("inf")
    return served
import json
plain_python.serve_case = serve
plain_python.compact = lambda value: json.dumps(value).replace("Infinity", "1e999")
plain_python.stdio()
"""
"""A server on standard input whose threads have numbers that JSON does not have."""


def judging_without_end(place: Place) -> Iterator[Seen]:
    """Row 1: calls that are never answered, and Ctrl-C."""
    target = place.write("calls.py", CALLS.format(examples=str(place.checkout / "examples")))
    words = ("run", "tools/metadata", "--server", f"stdio:{sys.executable} {target}", "--trace", "none")
    took: list[float] = []
    for calls in (2_000, 10_000):
        before = os.times()
        done = place.tpharness(*words, seconds=100, env={"CALLS": str(calls)})
        after = os.times()
        took.append(after.children_user + after.children_system - before.children_user - before.children_system)
        if done.code is None:
            yield Seen(f"{calls:,} calls that are not answered: no end within 100 s", held=False)
            break
    else:
        grown = took[1] / took[0]
        seen = f"2,000 and 10,000 calls that are not answered: {took[0]:.1f} and {took[1]:.1f} s of processor time"
        # Beside other processes the larger one's seconds double. Of five times the calls a square is 25 times the work;
        # `benchmarks.growth` and tests/run/test_growth.py hold it to 1.2 × linear, in calls of functions.
        yield Seen(seen, held=grown <= 5 * 2)
    process = place.start(*words, "--report", "json:r.json", stderr=subprocess.PIPE, env={"CALLS": "20000"})
    while cpu_of(process.pid) < 3 and not place.has_ended(process):
        time.sleep(0.01)
    too_early = place.has_ended(process)  # of a machine so busy that its limits of time have ended it
    used = used_after = cpu_of(process.pid)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    while time.monotonic() < begun + 40 and not place.has_ended(process):
        used_after = cpu_of(process.pid)
        time.sleep(0.01)
    ended, clock = place.has_ended(process), time.monotonic() - begun
    process.kill()
    words_of_it = process.communicate()[1]
    reported = (place.folder / "r.json").exists()
    seen = f"one Ctrl-C: {'ended' if ended else 'still running'} after {used_after - used:.2f} s of processor time "
    seen += f"({clock:.1f} s by the clock), {'a' if reported else 'no'} report"
    seen = "20,000 calls: ended before a Ctrl-C" if too_early else seen
    held = ended and reported and not too_early and used_after - used <= 1 and "Traceback" not in words_of_it
    yield Seen(seen + (", a traceback" if "Traceback" in words_of_it else ""), held=held)


def numbers_that_json_does_not_have(place: Place) -> Iterator[Seen]:
    """Row 2: NaN and infinities in optional fields whose schema is a reference."""
    golden = (place.checkout / "conformance/golden/basics/tool-call-and-answer.json").read_text("utf-8")
    places = ('"finish_reason": "tool_call"', '"usage": {', '"content": {')
    files = []
    for number in ("NaN", "-Infinity", "1e999"):
        thread = golden.replace(places[0], f'"finish_reason": {number}')
        thread = thread.replace(places[1], f'"usage": {number}, "x": {{').replace(
            places[2], f'"content_ref": {number}, "content": {{'
        )
        one = thread.replace("{", f'{{"total_usage": {number},', 1)
        files += [place.write(f"thread-{number}.json", one).name]
    for words in (("check", *files), ("hash", files[0]), ("view", files[1]), ("convert", files[2], "--to", "0.0.3")):
        yield place.tpharness(*words).seen(f"{words[0]} of NaN, -Infinity, 1e999")
    target = place.write("odd.py", ODD_THREAD.format(examples=str(place.checkout / "examples")))
    yield place.tpharness("run", "basics/tool-call-and-answer", "--server", f"stdio:{sys.executable} {target}").seen(
        "a target's threads with them", 1
    )


def hostile_certificates(place: Place) -> Iterator[Seen]:
    """Row 3: odd subjects, an unknown profile."""
    statement = statements_of(place)
    digest = statement["subject"][0]["digest"]
    for subject in (None, [1], [{"name": "report-1.json"}], [{"name": 7, "digest": digest}],
                    [{"name": "report-1.json", "digest": {"sha512": "0"}}]):  # fmt: skip
        write_statement(place, {**statement, "subject": subject})
        yield place.tpharness("verify", "cert/certificate.json").seen(f"subject {json.dumps(subject)[:40]}", 2)
    write_statement(place, {key: value for key, value in statement.items() if key != "subject"})
    yield place.tpharness("verify", "cert/certificate.json").seen("no subject", 2)
    write_statement(place, {**statement, "predicate": {**statement["predicate"], "played": ["no-such"]}})
    yield place.tpharness("verify", "cert/certificate.json").seen("a profile that nobody knows", 1, 2)


class _Redirects(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with a location that is not an address."""
        self.send_response(302)
        self.send_header("Location", "http://[::1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET  # noqa: N815  # the name that http.server asks for

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve in a thread of this process; give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def malformed_location(place: Place) -> Iterator[Seen]:
    """Row 4: a redirect to what is not an address."""
    with listening(_Redirects) as address:
        yield place.tpharness("run", "basics/tool-call-and-answer", "--server", address).seen("run", 1, 2)
        yield place.tpharness("certify", "--server", address, "--profile", "carriers", "-o", "c").seen("certify", 1, 2)


def keys_without_a_name(place: Place) -> Iterator[Seen]:
    """Row 9: what cannot be the key of a table."""
    place.write("a.json", json.dumps({"version": "0.0.4", "updated_at": {"": None}, "turns": []}))
    yield place.tpharness("view", "a.json").seen('view of "updated_at": {"": null}', 0)


def relabelled_certificates(place: Place) -> Iterator[Seen]:
    """Row 10: keys that are there twice, two subjects of one name, another label on what nobody signed."""
    statement = statements_of(place)
    text = json.dumps(statement)
    write_statement(place, text.replace("{", '{"_type": "x", ', 1))
    yield place.tpharness("verify", "cert/certificate.json").seen("a key twice", 2)
    first = statement["subject"][0]
    write_statement(place, {**statement, "subject": [*statement["subject"], {**first, "digest": {"sha256": "0" * 64}}]})
    yield place.tpharness("verify", "cert/certificate.json").seen("two subjects of one name", 1, 2)
    edits: dict[str, Any] = {
        "address": lambda p: p["playings"][0]["server"].update(address="http://mine.example"),
        "contract": lambda p: p["playings"][0]["server"]["capabilities"].update(contract="9.9"),
        "revision": lambda p: p.update(revision="later"),
        "time": lambda p: p.update(time="2031-01-01T00:00:00+00:00"),
        "platform": lambda p: p["platform"].update(system="Another"),
    }
    for name, edit in edits.items():
        changed = json.loads(text)
        edit(changed["predicate"])
        write_statement(place, changed)
        yield place.tpharness("verify", "cert/certificate.json").seen(f"another {name}, not signed", 1)
    write_statement(place, statement)
    done = place.tpharness("verify", "cert/certificate.json")
    said = done.code == 0 and "nobody signed it" in done.text
    yield Seen(f"not changed, and not signed: {done.last()}", held=said)


def links_and_pipes(place: Place) -> Iterator[Seen]:
    """Row 13: a scenario that is a link to another file, a dangling one, a FIFO."""
    secret = place.write("outside.txt", "root:hunter2:0:0\n")
    folder = place.folder / "s" / "t"
    folder.mkdir(parents=True)
    (folder / "a.yaml").symlink_to(secret)
    done = place.tpharness("run", "--no-config", "--scenarios", "s")
    leaked = "hunter2" in done.text
    yield Seen(f"a link to a file outside: {'its lines are shown' if leaked else done.last()}", held=not leaked)
    (folder / "a.yaml").unlink()
    turns = "turns: [{user: Hi}, {steps: [{response: [{text: Hello}]}]}]\n"
    place.write("s/t/b.yaml", f"description: The agent answers.\nclauses: [turn.only-complete]\n{turns}")
    (folder / "c.yaml").symlink_to("nowhere")
    os.mkfifo(folder / "d.yaml")
    done = place.tpharness("run", "--no-config", "--scenarios", "s")
    said = done.code != 0 and "c.yaml" in done.text and "d.yaml" in done.text
    yield Seen(f"a dangling link and a FIFO: exit {done.code}, {'named' if said else 'not a word'}", held=said)


def printed_secrets(place: Place) -> Iterator[Seen]:
    """Row 14: what a program prints before it ends."""
    lines = 'import sys\nsys.stderr.write("Authorization: Bearer abc123\\npassword=hunter2\\n")\nsys.exit(3)\n'
    target = place.write("app.py", lines)
    server = f"stdio:{sys.executable} {target}"
    done = place.tpharness("run", "basics/tool-call-and-answer", "--server", server, "--report", "json:r.json")
    reported = place.folder / "r.json"
    text = done.text + (reported.read_text("utf-8") if reported.exists() else "")
    shown = [word for word in ("abc123", "hunter2") if word in text]
    yield Seen(f"a token and a password in all reports: {' and '.join(shown) or 'masked'}", held=not shown)


def configuration_of_somebody_else(place: Place) -> Iterator[Seen]:
    """Row 15: a file of another owner two folders up."""
    ran = place.folder / "ran"
    config = place.write("up/tpharness.toml", f'[run]\nserver = "stdio:touch {ran}"\n')
    (place.folder / "up/a/b").mkdir(parents=True)
    if os.geteuid() != 0:
        yield Seen("not played: only root can give a file away", held=True)
        return
    os.chown(config, 12_345, 12_345)
    done = place.tpharness("run", "basics/tool-call-and-answer", cwd=place.folder / "up/a/b")
    seen = "its command was run" if ran.exists() else done.lines()[0][-70:]
    yield Seen(f"a tpharness.toml of another user: {seen}", held=not ran.exists() and done.code == 2)


ROWS = {
    1: judging_without_end,
    2: numbers_that_json_does_not_have,
    3: hostile_certificates,
    4: malformed_location,
    5: power,
    6: memory_before_the_token,
    7: damaged_content,
    8: store_by_a_link,
    9: keys_without_a_name,
    10: relabelled_certificates,
    11: stores,
    12: hosts_and_askers,
    13: links_and_pipes,
    14: printed_secrets,
    15: configuration_of_somebody_else,
}
"""The rows by their numbers."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of the attacks of a row."""

    row: int
    seen: tuple[Seen, ...]


def play(rows: Iterable[int], checkout: Path) -> Iterator[Played]:
    """Play rows, each in a folder of its own."""
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            yield Played(row, tuple(ROWS[row](Place(Path(folder), checkout))))


def main() -> int:
    """Play, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--row", type=int, action="append", choices=ROWS, help="only this row; may be given again")
    options.add_argument("--checkout", type=Path, default=HERE, help="where the commands are (this checkout)")
    args = options.parse_args()
    # A job that a shell starts in the background ignores SIGINT, and so would the commands here, which have to heed it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fell = []
    for played in play(args.row or ROWS, args.checkout.resolve()):
        for one in played.seen:
            print(f"{played.row:2} {'held' if one.held else 'FELL'}  {one.text}", flush=True)
            fell += [] if one.held else [played.row]
    return report([Row(name="rows that fell", value=str(len(set(fell))), target="0", passed=not fell)])


if __name__ == "__main__":
    raise SystemExit(main())
