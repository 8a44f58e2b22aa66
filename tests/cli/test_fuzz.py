"""`tpharness fuzz`: what it prints, that it continues, what it refuses."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.scenarios import load_builtin

from tpharness.explore.campaigns.replaying import play_saved
from tpharness.run.session import Session
from tpharness.scenario import dump
from tpharness.trace.format import Traced

TARGET = "python:tests.explore.defects:line_splitting"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_campaign_prints_its_seed_and_goes_on(call: Call) -> None:
    """The second sitting begins where the first one ended."""
    first = call("fuzz", "--cases", "40", "--seed", "3", "--kind", "programs")
    assert first.code == 0
    assert "seed 3" in first.out
    assert "PASSED" in first.out
    again = call("fuzz", "--cases", "40", "--kind", "programs")
    assert again.code == 0
    assert "seed 3" in again.out
    assert ", case " in again.out.splitlines()[0]


def test_a_campaign_goes_on_with_what_it_plays(call: Call) -> None:
    """The line that says how to go on is enough, whatever the campaign was begun with; others are another campaign."""
    begun = call("fuzz", "--cases", "60", "--kind", "programs", "--client", TARGET, "--shrink", "0", "--db", "a c")
    line = begun.out.splitlines()[-1]
    assert line.startswith("continue with: tpharness fuzz --db 'a c'; ")
    again = call(*shlex.split(line.partition("continue with: tpharness ")[2].partition(";")[0]), "--cases", "5")
    assert again.code == begun.code == 1
    assert again.out.startswith("seed 0, programs, kept in a c, case ")
    assert "plays --client" in call("fuzz", "--client", "reference", "--db", "a c").err
    assert "is one of programs" in call("fuzz", "--kind", "bytes", "--db", "a c").err


def test_a_lock_that_is_something_else_is_named(call: Call, folder: Path) -> None:
    """Neither rubbish nor a folder in the place of the lock is taken for another process that runs."""
    (folder / "rubbish").mkdir()
    (folder / "rubbish" / "campaign.lock").write_bytes(bytes(range(100)))
    (folder / "folder" / "campaign.lock").mkdir(parents=True)
    for name in ("rubbish", "folder"):
        ended = call("fuzz", "--cases", "1", "--db", name)
        assert ended.code == 2
        assert f"cannot lock {Path(name, 'campaign.lock')}: " in ended.err
        assert "remove it" in ended.err


def test_no_other_command_waits_for_hypothesis() -> None:
    """Loading it takes longer than most commands do."""
    code = "import sys, tpharness.cli; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_killed_campaign_goes_on(call: Call, folder: Path) -> None:
    """What was done up to the last second is kept when nobody could say good-bye."""
    command = [sys.executable, "-m", "tpharness", "fuzz", "--kind", "threads", "--seconds", "50"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        state = folder / "tpharness-fuzz" / "campaign.json"
        until = time.monotonic() + 20
        while not state.exists() and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        running.kill()
        running.communicate()
    done = json.loads(state.read_text("utf-8"))["next"]
    assert done > 0
    again = call("fuzz", "--kind", "threads", "--cases", "3")
    assert again.code == 0
    assert again.out.splitlines()[0].endswith(f", case {done} on")


def test_json_has_the_campaign(call: Call) -> None:
    """Seed, kinds, how many cases, and every cause."""
    told = json.loads(call("fuzz", "--cases", "12", "--json").out)
    assert told["passed"] is True
    assert told["seed"] == 0
    assert told["kinds"] == ["programs", "streams", "bytes", "scenarios", "threads", "documents"]
    assert told["cases"] == told["cases_now"] >= 12
    assert told["failures"] == {}


def test_a_failure_is_replayed_by_its_command(call: Call) -> None:
    """The command fails on the target, and passes once the target is right."""
    found = call("fuzz", "--cases", "60", "--kind", "programs", "--client", TARGET, "--shrink", "1")
    assert found.code == 1
    assert "identity-differs" in found.out
    lines = [line.split("play it", 1)[1] for line in found.out.splitlines() if "play it" in line]
    command = shlex.split(lines[0])
    assert command[:2] == ["tpharness", "fuzz"]
    assert call(*command[1:]).code == 1
    right = call("fuzz", "--replay", command[command.index("--replay") + 1])
    assert right.code == 0
    assert "nothing is wrong with it any more" in right.out


def test_what_is_found_leaves_a_trace(call: Call, folder: Path) -> None:
    """Of each new cause the shrunk case; with `all` also of what was found before, and none if none is wanted."""
    options = ("fuzz", "--cases", "60", "--kind", "programs", "--client", TARGET, "--shrink", "0", "--trace")
    found = call(*options, "failed")
    *_, where, look = found.out.rstrip().splitlines()
    causes = found.out.count("play it")
    assert causes
    assert where.startswith(f"trace: tpharness-trace.zip ({causes} case")
    shown = call(*shlex.split(look.partition("look at it: tpharness ")[2]))
    assert "thread-departs" in shown.out or "identity-differs" in shown.out
    assert "the client holds" in shown.out
    assert "\\u2028" in shown.out
    assert call("fuzz", "--cases", "1", "--db", "tpharness-fuzz", "--trace", "failed").code == 1
    assert not (folder / "tpharness-trace.zip").exists()  # nothing new was found
    again = call("fuzz", "--cases", "1", "--db", "tpharness-fuzz", "--trace", "all")
    assert f"({causes} case" in again.out
    call("fuzz", "--cases", "1", "--db", "tpharness-fuzz", "--trace", "none")
    assert (folder / "tpharness-trace.zip").exists()  # the last one stays where it is


def test_a_failure_that_is_not_played_has_no_trace_and_says_why(tmp_path: Path) -> None:
    """A document has no wire; a case that does not fail by itself, and a crash, are told."""
    document = tmp_path / "one.json"
    document.write_text("{}")
    passing = tmp_path / "two.yaml"
    passing.write_text(dump(load_builtin("basics/tool-call-and-answer")))
    with Session(trace=Traced.FAILED) as session:
        unplayed, passed = (play_saved(path, session) for path in (document, passing))
    assert (unplayed.record, unplayed.reason) == (None, "a document is read and written, and not played")
    assert passed.record is None
    assert "it does not fail" in passed.reason
    crash = tmp_path / "three.yaml"
    crash.write_text(passing.read_text())
    with Session(client="python:tests.explore.defects:line_splitting", trace=Traced.FAILED) as session:
        session.players.client.client_session = None  # type: ignore[attr-defined]
        assert play_saved(crash, session).reason.startswith("it ends with TypeError")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kind", "bits"), "--kind takes programs, streams"),
        (("--db", "not/there"), "cannot make the folder"),
        (("--replay", "nothing.yaml"), "cannot read nothing.yaml"),
        (("--server", "nobody"), "there is no target"),
    ],
)
def test_wrong_usage_is_told(call: Call, options: tuple[str, ...], said: str) -> None:
    """Exit code 2, and a line that says what is taken."""
    told = call("fuzz", "--cases", "5", *options)
    assert told.code == 2
    assert said in told.err


def test_another_seed_is_another_campaign(call: Call) -> None:
    """One folder holds one."""
    call("fuzz", "--cases", "5", "--kind", "threads")
    told = call("fuzz", "--cases", "5", "--kind", "threads", "--seed", "9")
    assert told.code == 2
    assert "has the seed 0, not 9" in told.err


@pytest.mark.parametrize("text", ["turns: []\n", "# Kind: bits\n"])
def test_a_file_of_nobody_is_not_replayed(call: Call, text: str) -> None:
    """It has to say what kind of case it is."""
    Path("some.yaml").write_text(text)
    told = call("fuzz", "--replay", "some.yaml")
    assert told.code == 2
    assert "does not say what kind of case it is" in told.err
