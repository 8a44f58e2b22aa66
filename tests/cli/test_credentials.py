"""A token in `--server http://TOKEN@HOST` is sent, and stands in nothing that is printed or written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.targets.servers import ContractServer, RawServer, in_thread

from tpharness.explore.campaigns.state import load_state
from tpharness.printable import without_credentials

TOKEN = "s3cr3t-t0ken"  # noqa: S105  # of nobody
CASE = "interruptions/mid-tool-args"


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a server that wants the token, and loses its carriers: what plays on it fails."""
    contract = ContractServer(breaks=frozenset({"carriers"}), token=TOKEN)
    with in_thread(RawServer(contract)) as server:
        yield server.url.replace("//", f"//{TOKEN}@")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder of the commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live").mkdir()
    return tmp_path


COMMANDS = {
    "console": ("run", CASE, "--server", "URL"),
    "json": ("run", CASE, "--server", "URL", "--report", "json:run.json"),
    "junit": ("run", CASE, "--server", "URL", "--report", "junit:run.xml"),
    "standard output": ("run", CASE, "--server", "URL", "--report", "json:-"),
    "pairs": ("run", CASE, "--server", "URL", "--server", "GONE", "--report", "console", "--report", "json:run.json"),
    "pairs in junit": (
        "run",
        CASE,
        "--server",
        "URL",
        "--client",
        "GONE",
        "--client",
        "reference",
        "--report",
        "junit:x",
    ),
    "shard": ("run", CASE, "--server", "URL", "--shard", "1/1", "--report", "json:one.json"),
    "fault": ("run", CASE, "--server", "URL", "--fault", "close-clean"),
    "replay": ("replay", CASE, "--server", "URL"),
    "sweep": ("sweep", CASE, "--server", "URL", "--budget", "3", "--save", "saved"),
    "sweep in json": ("sweep", CASE, "--server", "URL", "--budget", "3", "--json", "--shard", "1/1"),
    "sweep of orders": ("sweep", CASE, "--server", "URL", "--orders", "--bound", "2", "--save", "saved"),
    "fuzz": ("fuzz", "--server", "URL", "--kind", "programs", "--cases", "2", "--shrink", "0"),
    "fuzz in json": ("fuzz", "--server", "URL", "--kind", "programs", "--cases", "2", "--shrink", "0", "--json"),
    "record": ("record", "URL", "--play", CASE, "-o", "live/one.yaml"),
    "refused": ("run", CASE, "--server", "WRONG"),
    "nobody there": ("run", CASE, "--server", "GONE"),
    "another scheme": ("run", CASE, "--server", f"htp://{TOKEN}@127.0.0.1:1"),
    "one slash": ("run", CASE, "--server", f"http:/{TOKEN}@127.0.0.1:1"),
    "no port": ("run", CASE, "--server", f"http://{TOKEN}@host:port"),
    "a password": ("run", CASE, "--server", f"http://name:{TOKEN}@127.0.0.1:1"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_no_writer_writes_a_token(call: Call, url: str, folder: Path, arguments: tuple[str, ...]) -> None:
    """Reports are uploaded, failures committed, commands pasted into issues."""
    gone = f"http://{TOKEN}@127.0.0.1:9"
    words = {"URL": url, "GONE": gone, "WRONG": url.replace(TOKEN, f"{TOKEN}-not")}
    done = call(*(words.get(argument, argument) for argument in arguments))
    files = [path for path in folder.rglob("*") if path.is_file()]
    written = {str(path): path.read_text() for path in files}
    assert done.out + done.err or written
    assert {name for name, text in {**written, "out": done.out, "err": done.err}.items() if TOKEN in text} == set()


def test_what_is_tried_fails_and_is_saved(call: Call, url: str, folder: Path) -> None:
    """The test above sees the commands that play a failure again, and files of each kind."""
    server = without_credentials(url)
    assert f"--server {server}" in call("run", CASE, "--server", url).out
    fuzz = call("fuzz", "--server", url, "--kind", "programs", "--cases", "2", "--shrink", "0")
    assert f"--server {server}" in fuzz.out
    assert {path.name for path in folder.glob("tpharness-fuzz/*")} >= {"campaign.json", "failures"}
    saved = folder / "saved"
    call("sweep", CASE, "--server", url, "--orders", "--bound", "2", "--save", "saved")
    assert any(f"--server {server}" in path.read_text() for path in saved.iterdir())


def test_the_command_that_is_printed_finds_the_token_in_the_environment(
    call: Call, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same run: without it the server answers 401."""
    assert folder.is_dir()
    server = without_credentials(url)
    assert "401" in call("replay", CASE, "--server", server).err
    monkeypatch.setenv("TPHARNESS_TOKEN", TOKEN)
    assert call("replay", CASE, "--server", server).out == call("replay", CASE, "--server", url).out


def test_a_campaign_saved_with_its_token_goes_on_without_it(call: Call, url: str, folder: Path) -> None:
    """It was written by an older tpharness."""
    fuzz = ("fuzz", "--kind", "programs", "--cases", "1", "--shrink", "0", "--server", url)
    call(*fuzz)
    file = folder / "tpharness-fuzz" / "campaign.json"
    held = json.loads(file.read_text())
    held["sides"] = ["--server", url]
    file.write_text(json.dumps(held))
    assert "another" not in call(*fuzz).err
    state = load_state(file.parent)
    assert state is not None
    assert state.sides == ("--server", without_credentials(url))
    assert TOKEN not in file.read_text()


def test_pairs_that_differ_in_their_token_have_a_report_each(call: Call, url: str, folder: Path) -> None:
    """Two users of one server: neither report replaces the other."""
    other = url.replace(TOKEN, "x")
    call("run", CASE, "--server", url, "--server", other, "--report", "junit:pairs.xml")
    assert (folder / "pairs.xml").read_text().count("<testsuite ") == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://t@h:1/p", "http://h:1/p"),
        ("HTTPS://u:p@h", "HTTPS://h"),
        ("GET http://a@b@h:1/x: gone", "GET http://h:1/x: gone"),
        ("http://h:1/path?mail=a@b", "http://h:1/path?mail=a@b"),
        ("http://h/@me", "http://h/@me"),
        ("stdio:node x.mjs --url http://t@h", "stdio:node x.mjs --url http://h"),
        ("peer:a@b", "peer:a@b"),
        ("'http://h' and 'http://t@h'", "'http://h' and 'http://h'"),
    ],
)
def test_what_stands_before_the_at_of_a_url_goes(text: str, shown: str) -> None:
    """And nothing else."""
    assert without_credentials(text) == shown
