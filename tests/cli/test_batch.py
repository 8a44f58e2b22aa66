"""Commands on documents take files, folders and JSON Lines, go on after what they cannot read, and resume."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tpharness.cli.batch.command import describe_difference, record_command
from tpharness.cli.check import CheckAs
from tpharness.cli.convert import ConvertTo
from tpharness.cli.repair import RepairBy, RepairIn
from tpharness.findings import Level
from tpharness.protocol.canonical import thread_hash

AT = "2025-01-20T10:00:{:02d}Z"


def thread(number: int) -> dict[str, Any]:
    """Return a valid thread; its text has the number."""
    asked = {"part_kind": "user-prompt", "content": f"This is {number}."}
    return {
        "version": "0.0.4",
        "thread_id": f"t-{number}",
        "created_at": AT.format(0),
        "updated_at": AT.format(1),
        "agents": {},
        "turns": [{"turn_type": "user", "submitted_at": AT.format(1), "parts": [asked]}],
    }


def ui_messages(number: int) -> list[dict[str, Any]]:
    """Return UI messages with metadata, which a thread does not have."""
    said = {"type": "text", "text": f"This is {number}."}
    return [{"id": "u", "role": "user", "metadata": {"n": number}, "parts": [said]}]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a folder with 70 threads, more than one worker is given at once, in folders of ten."""
    folder = tmp_path / "store"
    for number in range(70):
        path = folder / f"{number // 10}" / f"{number:02}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(thread(number)), "utf-8")
    return folder


def lines(text: str) -> list[Any]:
    """Return the values of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_folder_is_converted_into_a_folder(jobs: str, store: Path, tmp_path: Path, call: Any) -> None:
    """Each file has its name there; the total is said, and nothing else."""
    target = tmp_path / "out"
    called = call("convert", str(store), "--to", "2.0.0", "-o", str(target), "--jobs", jobs)
    assert (called.code, called.out) == (0, "")
    assert called.err.startswith("70 documents: 70 converted; ")
    made = sorted(path.relative_to(target) for path in target.rglob("[0-9]*.json"))
    assert made == sorted(path.relative_to(store) for path in store.rglob("*.json"))
    assert json.loads((target / "4" / "42.json").read_bytes())["turns"][0]["parts"][0]["content"] == "This is 42."


def test_json_lines_of_threads_are_recognised_by_their_content(tmp_path: Path, call: Any) -> None:
    """Each line is a document, which errors call by its number; so it is on standard input."""
    text = "\n".join(json.dumps(thread(number)) for number in range(3)) + '\n\n{"turns": 1}\n'
    (tmp_path / "all.jsonl").write_text(text, "utf-8")
    expected = [thread_hash(thread(number)) for number in range(3)]
    by_file = call("hash", str(tmp_path / "all.jsonl"))
    by_pipe = call("hash", "-", stdin=text.encode())
    for called, name in ((by_file, str(tmp_path / "all.jsonl")), (by_pipe, "-")):
        assert called.code == 2
        assert [line.split("  ") for line in called.out.splitlines()] == [
            [digest, f"{name}:{number}"] for number, digest in enumerate(expected, start=1)
        ]
        assert called.err.splitlines()[0].startswith(f"{name}:5 is not a thread")
        assert called.err.splitlines()[-1].startswith("4 documents: 3 hashed, 1 unreadable; ")


def test_lines_may_be_the_messages_of_one_conversation(tmp_path: Path, call: Any) -> None:
    """Then the file is one document."""
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(json.dumps(message) for n in range(3) for message in ui_messages(n)), "utf-8")
    called = call("import", str(path), "--from", "ai-sdk")
    assert called.code == 0
    assert [turn["parts"][0]["content"] for turn in json.loads(called.out)["turns"]] == [
        f"This is {number}." for number in range(3)
    ]
    assert call("import", "-", "--from", "ai-sdk", stdin=path.read_bytes()).code == 0


def test_lines_of_server_events_are_events_still(tmp_path: Path, call: Any) -> None:
    """Also where the name says only that they are lines."""
    path = tmp_path / "run.jsonl"
    path.write_text('{"event_kind":"nothing-known"}\n{"event_kind":"agent_run_end"}\n', "utf-8")
    assert "event" in call("check", str(path)).out


def test_one_that_cannot_be_read_does_not_end_the_others(store: Path, tmp_path: Path, call: Any) -> None:
    """It is named, the exit code is 2, and the total counts it; with --json it has its line."""
    (store / "0" / "03.json").write_text('{"version": "0.0.4"', "utf-8")
    missing = str(tmp_path / "missing.json")
    called = call("hash", str(store), missing)
    assert called.code == 2
    assert len(called.out.splitlines()) == 69
    assert "03.json" in called.err.splitlines()[0]
    assert called.err.splitlines()[1].startswith(f"{missing}: No such file or directory")
    assert called.err.splitlines()[-1].startswith("71 documents: 69 hashed, 2 unreadable; ")
    reported = lines(call("hash", str(store), missing, "--json").out)
    assert [one["outcome"] for one in reported].count("unreadable") == 2
    assert len(reported) == 71


def test_check_prints_what_breaks_a_rule_and_counts_the_rest(store: Path, call: Any) -> None:
    """Of many documents an observation is printed once, with its number; --level leaves out what is weaker."""
    for path in store.rglob("*.json"):
        value = json.loads(path.read_bytes())
        agent = {"agent_id": "a", "agent_name": "A", "created_at": AT.format(0)}
        path.write_text(json.dumps({**value, "agents": {"a": agent}}), "utf-8")
    (store / "0" / "00.json").write_text(json.dumps({**thread(0), "updated_at": AT.format(0)}), "utf-8")
    (store / "0" / "01.json").write_text(json.dumps({**thread(1), "version": "9"}), "utf-8")
    called = call("check", str(store))
    assert called.code == 1
    assert called.out.splitlines()[0].startswith("MUST thread-version-unknown at ")
    assert "wrong" in called.out.splitlines()[-1]
    (observed,) = [line for line in called.err.splitlines() if "agent-id-not-uuid" in line]
    assert observed.endswith("(and 67 more like it)")
    quiet = call("check", str(store), "--level", "must")
    assert "MAY agent-id-not-uuid is not printed (--level) (and 67 more like it)" in quiet.err
    alone = call("check", str(store / "1" / "11.json"), "--level", "should")
    assert alone.out == "1 file checked, nothing wrong\n"
    assert alone.err == "MAY agent-id-not-uuid is not printed (--level)\n"


def test_which_rules_are_broken_most_is_said_of_many(store: Path, call: Any) -> None:
    """In how many documents each is broken, however often it is in one; of a few documents everybody sees it."""
    for number in range(6):
        value = {**thread(number), "version": "9"} if number < 4 else {**thread(number), "thread_id": "", "agents": 3}
        (store / "0" / f"0{number}.json").write_text(json.dumps(value), "utf-8")
    *_, most, total = call("check", str(store)).out.splitlines()
    assert most == "broken most: thread-version-unknown in 4, thread-schema in 2"
    assert total.startswith("70 documents: 64 valid, 6 wrong; ")
    refused = call("convert", str(store), "--to", "2.0.0", "--json")
    assert "broken most" not in refused.out + refused.err
    few = call("check", *(str(store / "0" / f"0{number}.json") for number in range(5)))
    assert "broken most" not in few.out + few.err


def test_what_is_left_out_is_said_once_a_kind(tmp_path: Path, call: Any) -> None:
    """Not once a message of each of many files."""
    text = "\n".join(json.dumps(ui_messages(number)) for number in range(50))
    called = call("import", "-", "--from", "ai-sdk", "-o", str(tmp_path / "out.jsonl"), stdin=text.encode())
    assert called.code == 0
    assert len(called.err.splitlines()) == 2
    first = "-:1: left out /0/metadata: metadata; it is the application's (and 49 more like it)"
    assert called.err.splitlines()[0] == first


@pytest.mark.parametrize("command", ["import", "repair"])
def test_what_may_be_wrong_is_printed_as_far_as_the_level_says(command: str, tmp_path: Path, call: Any) -> None:
    """Once a kind, with its number; what is not printed is counted, as by `check`, and the results are the same."""
    said = [{"id": "a", "role": "assistant", "parts": [{"type": "data-weather", "data": 7}, {"type": "of-later"}]}]
    text = "\n".join(json.dumps([*ui_messages(number), *said]) for number in range(3)).encode()
    results = []
    for level in ("must", "should"):
        target = tmp_path / f"{level}.jsonl"
        called = call(command, "-", "--from", "ai-sdk", "--level", level, "-o", str(target), stdin=text)
        assert called.code == 0
        results.append(target.read_bytes())
        (line,) = [line for line in called.err.splitlines() if "stored-part-unknown" in line]
        assert line.endswith("(and 2 more like it)")
        hidden = "SHOULD stored-part-unknown is not printed (--level) (and 2 more like it)"
        assert (line == f"-:1: {hidden}") is (level == "must")
    assert results[0] == results[1]
    assert results[0].count(b"\n") == 3
    again = call(command, "-", "--from", "ai-sdk", "-o", str(target), "--resume", stdin=text)
    assert "3 of them as before" in again.out + again.err  # the level decides no result


def test_strict_imports_only_what_is_whole(tmp_path: Path, call: Any) -> None:
    """What would lose something is not written, and the exit code is 1."""
    whole = [{key: value for key, value in message.items() if key != "metadata"} for message in ui_messages(1)]
    text = json.dumps(whole) + "\n" + json.dumps(ui_messages(2))
    target = tmp_path / "out"
    called = call("import", "-", "--from", "ai-sdk", "--strict", "-o", str(target), stdin=text.encode())
    assert called.code == 1
    assert [path.name for path in target.rglob("[0-9]*.json")] == ["1.json"]
    assert "1 imported, 1 incomplete" in called.err
    printed = call("import", "-", "--from", "ai-sdk", "--strict", "--json", stdin=text.encode())
    assert [(line["outcome"], "result" in line) for line in lines(printed.out)] == [
        ("imported", True),
        ("incomplete", False),  # a document of which nothing is made has its line, too
    ]
    alone = call("import", "-", "--from", "ai-sdk", "--strict", stdin=json.dumps(ui_messages(2)).encode())
    assert (alone.code, alone.out) == (1, "")
    assert "not imported, since --strict allows nothing to be left out" in alone.err


@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
@pytest.mark.parametrize("command", [("convert", "--to", "2.0.0"), ("check",)], ids=["makes", "judges"])
def test_what_was_interrupted_is_resumed(
    command: tuple[str, ...], output: str, store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done and unchanged is skipped; in the end the results are those of a run that was not interrupted."""
    target, other = tmp_path / output, tmp_path / f"whole-{output}"
    work = ConvertTo if command[0] == "convert" else CheckAs
    real = work.__call__
    done: list[str] = []

    def interrupted(self: Any, document: Any) -> Any:
        if len(done) == 40:
            raise KeyboardInterrupt
        done.append(document.name)
        return real(self, document)

    with monkeypatch.context() as patch:
        patch.setattr(work, "__call__", interrupted)
        assert call(*command, str(store), "-o", str(target)).code == 130
    refused = call(*command, str(store), "-o", str(target))
    assert refused.code == 2
    assert "--resume goes on" in refused.err

    (store / "0" / "07.json").write_text(json.dumps(thread(1007)), "utf-8")
    done.clear()

    def counted(self: Any, document: Any) -> Any:
        done.append(Path(document.name).name)
        return real(self, document)

    with monkeypatch.context() as patch:
        patch.setattr(work, "__call__", counted)
        resumed = call(*command, str(store), "-o", str(target), "--resume")
    assert resumed.code == 0
    assert sorted(done) == ["07.json", *(f"{number:02}.json" for number in range(32, 70))]  # whole batches of 32 count
    assert "31 of them as before" in resumed.out + resumed.err
    assert call(*command, str(store), "-o", str(other)).code == 0
    if target.is_dir():
        made = {p.relative_to(target): p.read_bytes() for p in target.rglob("[0-9]*.json")}
        assert made == {p.relative_to(other): p.read_bytes() for p in other.rglob("[0-9]*.json")}
        assert len(made) == 70
    else:
        assert sorted(target.read_bytes().splitlines()) == sorted(other.read_bytes().splitlines())
        assert sorted(p.name for p in tmp_path.glob(".out*")) == [".out.jsonl.done"]


def test_what_a_killed_process_has_half_written_is_done_again(store: Path, tmp_path: Path, call: Any) -> None:
    """A result without its line in the record, half a result, and half a line of the record."""
    target = tmp_path / "out.jsonl"
    assert call("hash", str(store), "-o", str(target)).code == 0
    whole = target.read_bytes()
    record = tmp_path / ".out.jsonl.done"
    kept = record.read_bytes().splitlines(keepends=True)[:51]
    record.write_bytes(b"".join(kept)[:-20])
    position = json.loads(kept[-2])["end"]
    target.write_bytes(whole[: position + 30])
    assert call("hash", str(store), "-o", str(target), "--resume").code == 0
    assert target.read_bytes() == whole


def test_only_the_same_command_goes_on(store: Path, tmp_path: Path, call: Any) -> None:
    """Other options make other results; a folder with other files is not ours."""
    target = str(tmp_path / "out")
    assert call("convert", str(store), "--to", "2.0.0", "-o", target, "--resume").code == 0
    other = call("convert", str(store), "--to", "0.0.3", "-o", target, "--resume")
    assert other.code == 2
    assert "is of another command or other options: --to was '2.0.0', and is '0.0.3'" in other.err
    another = call("repair", str(store), "-o", target, "--resume")
    assert (another.code, "other options: it was another command" in another.err) == (2, True)
    assert call("convert", str(store), "--to", "0.0.3", "-o", target, "--force").code == 0
    foreign = call("convert", str(store), "--to", "0.0.3", "-o", str(tmp_path), "--resume")
    assert foreign.code == 2
    assert "inside of" not in foreign.err
    assert "does not say what is done" in foreign.err


def test_what_differs_from_the_first_run_is_said_in_words(store: Path, tmp_path: Path, call: Any) -> None:
    """As somebody has typed it, and not as Python writes it."""
    target = str(tmp_path / "out")
    assert call("repair", str(store), "-o", target).code == 0
    other = call("repair", str(store), "-o", target, "--drop-results", "--from", "thread", "--resume")
    assert other.code == 2
    said = "--from was not given, and is 'thread'; --drop-results was not given, and is given"
    assert f"other options: {said}" in other.err
    assert "give the same options, name another -o, or start with --force" in other.err
    assert "RepairBy" not in other.err


def by(version: str = "1.0.0", work: str = "W", **options: Any) -> dict[str, Any]:
    """Return the record of a command."""
    named = {f"--{name}": value for name, value in options.items()}
    return {"work": work, "options": named, "version": version}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (by(), by("1.0.1"), "it was made by tpharness 1.0.0, and this is tpharness 1.0.1"),
        (by(a="it's, (b=1)", c=2), by(a="no by", c=2), "--a was \"it's, (b=1)\", and is 'no by'"),
        (by(level="may"), by(level="must"), "--level was 'may', and is 'must'"),
        (by(b=False, c=""), by(b=True, c="x"), "--b was not given, and is given; --c was not given, and is 'x'"),
        (by(a=7), by("1.0.1", a=8, b=1), "--a was 7, and is 8; --b was not given, and is 1; it was made by tpharness"),
        (by(), by(work="V"), "it was another command"),
        ({}, by(), "it was another command"),
        ({"work": "W", "options": []}, by(), "it was another command"),
        (by(a=1), by(a=1), ""),
    ],
)
def test_what_differs_of_two_commands_is_said_in_words(before: Any, now: Any, said: str) -> None:
    """Also of a first line that something else has written."""
    difference = describe_difference(before, now)
    assert difference.startswith(said)
    assert bool(difference) is bool(said)


def test_a_command_is_recorded_by_the_options_that_decide_its_results() -> None:
    """As JSON, with the names that somebody types; what is read from an input by its digest."""
    checks = record_command(CheckAs(source="thread", major=5, level=Level.MUST, posted=b"{}"))
    assert json.loads(json.dumps(checks)) == checks
    digest = hashlib.blake2b(b"{}", digest_size=16).hexdigest()
    assert checks["options"] == {"--from": "thread", "--major": 5, "--level": "must", "--input": digest}
    repairs = record_command(RepairIn(by=RepairBy(source="thread", drop_results=True), writes=True, prints=False))
    assert repairs["options"] == {
        "--from": "thread",
        "--model": None,
        "--server": None,
        "--drop-results": True,
        "accept --repair": False,
        "--writes": True,
        "--prints": False,
    }


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["-o", "store/out"], "is inside of store, which is read"),
        (["-o", "taken.json"], "taken.json is a file"),
        (["-o", "taken.jsonl"], "taken.jsonl exists"),
        (["-o", "nowhere/out"], "cannot make the folder nowhere/out"),
        (["-o", "new.jsonl", "--resume", "--force"], "--resume goes on, --force starts anew"),
        (["--resume"], "--resume needs a folder or a file of results"),
        (["empty"], "empty has no file that ends with .json, .jsonl, .ndjson"),
    ],
)
def test_nothing_is_overwritten_by_accident(
    args: list[str], part: str, store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, what is in the way, and what to do; nothing is changed."""
    monkeypatch.chdir(store.parent)
    for name in ("taken.json", "taken.jsonl"):
        (tmp_path / name).write_text("mine", "utf-8")
    (tmp_path / "empty").mkdir()
    called = call("convert", "store", "--to", "2.0.0", *args)
    assert called.code == 2
    assert part in called.err
    assert {(tmp_path / name).read_text("utf-8") for name in ("taken.json", "taken.jsonl")} == {"mine"}


def test_the_file_of_one_document_is_replaced_with_force_only(store: Path, tmp_path: Path, call: Any) -> None:
    """It may be the only copy of something."""
    target = tmp_path / "out.json"
    target.write_text("mine", "utf-8")
    command = ["convert", str(store / "0" / "00.json"), "--to", "2.0.0", "-o", str(target)]
    called = call(*command)
    assert (called.code, target.read_text("utf-8")) == (2, "mine")
    assert "--force replaces it" in called.err
    assert call(*command, "--force").code == 0
    assert json.loads(target.read_bytes())["version"] == "2.0.0"


def test_results_stay_in_their_folder(store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where names lead up and a link leads out."""
    (store / "inside").mkdir()
    monkeypatch.chdir(store / "inside")
    (store / "inside" / "linked.json").symlink_to(store / "0" / "00.json")
    target = tmp_path / "out"
    assert call("convert", "../1/10.json", "linked.json", "--to", "2.0.0", "-o", str(target)).code == 0
    made = sorted(str(path.relative_to(target)) for path in target.rglob("[a-z0-9]*.json"))
    assert made == ["1/10.json", "inside/linked.json"]


def test_folders_are_compared_by_name(store: Path, tmp_path: Path, call: Any) -> None:
    """What is missing in one of them is said, and what differs is shown."""
    other = tmp_path / "other"
    shutil.copytree(store, other)
    (other / "0" / "00.json").unlink()
    (other / "0" / "01.json").write_text(json.dumps(thread(999)), "utf-8")
    called = call("diff", str(store), str(other))
    assert called.code == 2
    assert called.out.splitlines()[0] == "0/01.json"
    assert called.out.splitlines()[-1] == "70 names: 1 different, 68 equal, 1 unreadable"
    assert "0/00.json" in called.err
    assert call("diff", str(store), str(store)).code == 0
    assert call("diff", str(store), str(store / "0" / "00.json")).code == 2
    outcomes = [one["outcome"] for one in lines(call("diff", str(store), str(other), "--json").out)]
    assert [outcomes.count(word) for word in ("different", "equal", "unreadable")] == [1, 68, 1]


def test_a_history_goes_on_with_what_the_user_says_next(store: Path, call: Any) -> None:
    """So that a thread that ends with an answer is one that `accept` takes."""
    made = call("history", str(store / "0" / "00.json"), "--for", "anthropic", "--next-user", "And now?")
    assert json.loads(made.out)["messages"][-1]["content"][-1]["text"] == "And now?"
    ui = call("history", str(store / "0" / "00.json"), "--for", "ai-sdk", "--next-user", "And now?")
    assert json.loads(ui.out)[-1]["parts"][-1]["text"] == "And now?"


MEMORY = """
import re, sys
from pathlib import Path
from tpharness.cli import main
sys.argv = ["tpharness", "hash", "-", "-o", sys.argv[1]]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in /proc there")
def test_memory_does_not_grow_with_the_documents(tmp_path: Path) -> None:
    """A store that is ten times as large takes about as much."""

    def used(write: Callable[[int], bytes], number: int) -> int:
        lines = b"".join(write(n) for n in range(number))
        target = tmp_path / f"{number}.jsonl"
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(target)],
            input=lines,
            capture_output=True,
            check=True,
            env=os.environ,
            timeout=300,
        )
        return int(done.stdout.split()[-1])

    def long(number: int) -> bytes:
        value = thread(number)
        value["turns"][0]["parts"][0]["content"] = "x" * 20_000
        return json.dumps(value).encode() + b"\n"

    small, large = used(long, 200), used(long, 2000)  # 4 MB, 40 MB
    assert large < small + 8_000


def test_a_folder_is_walked_to_its_end(store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be listed, a link to a folder above, a pipe: each is named, and all others are read."""
    locked = store / "3"
    (store / "2" / "loop").symlink_to(store)
    os.mkfifo(store / "1" / "pipe.json")
    (store / "1" / "gone.json").symlink_to(tmp_path / "nowhere.json")
    scan = os.scandir

    def scandir(path: str) -> Any:
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    target = tmp_path / "out"
    called = call("convert", str(store), "--to", "2.0.0", "-o", str(target))
    assert called.code == 2
    assert f"{locked}: Permission denied" in called.err
    assert f"{store / '2' / 'loop'}: a link to a folder above it" in called.err
    assert f"{store / '1' / 'pipe.json'}: not a file, but a pipe or a device" in called.err
    assert f"{store / '1' / 'gone.json'}: No such file or directory" in called.err
    assert called.err.splitlines()[-1].startswith("64 documents: 60 converted, 4 unreadable; ")
    made = {str(path.relative_to(target)) for path in target.rglob("[0-9]*.json")}
    assert made == {f"{n // 10}/{n:02}.json" for n in range(70) if n // 10 != 3}


def test_documents_have_the_order_of_their_names(store: Path, tmp_path: Path, call: Any) -> None:
    """That of code points, a folder at the place of its name, whatever the file system says first."""
    names = ["10.json", "9.json", "B.json", "a.json", "b/1.json", "b.jsonl", "c.json"]
    (tmp_path / "named" / "b").mkdir(parents=True)
    for name in reversed(names):
        (tmp_path / "named" / name).write_text(json.dumps(thread(len(name))), "utf-8")
    target = tmp_path / "hashes.jsonl"
    for jobs in ("1", "2"):
        one = str(store / "0" / "00.json")
        assert call("hash", str(tmp_path / "named"), one, "-o", str(target), "--jobs", jobs, "--force").code == 0
        found = [line["document"] for line in lines(target.read_text("utf-8"))]
        shown = [name if name != "b.jsonl" else "b.jsonl:1" for name in names]
        assert found == [*(str(tmp_path / "named" / name) for name in shown), one]


def test_an_empty_folder_among_others_does_not_end_them(store: Path, tmp_path: Path, call: Any) -> None:
    """It is named like a file that cannot be read."""
    (tmp_path / "empty").mkdir()
    called = call("hash", str(tmp_path / "empty"), str(store))
    assert called.code == 2
    assert "empty has no file that ends with" in called.err
    assert called.err.splitlines()[-1].startswith("71 documents: 70 hashed, 1 unreadable; ")


def test_an_import_says_what_is_wrong_and_invents_nothing(tmp_path: Path, call: Any) -> None:
    """A call without its output stays one without, and half arguments stay the text; --strict takes neither."""
    asked = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    part = {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {}}
    ui, library = tmp_path / "ui.json", tmp_path / "pydantic.json"
    ui.write_text(json.dumps([asked, {"id": "a", "role": "assistant", "parts": [part]}]), "utf-8")
    named = {"tool_name": "look", "tool_call_id": "c1"}
    messages = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", **named, "args": '{"town'}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", **named, "content": 18}]},
    ]
    library.write_text(json.dumps(messages), "utf-8")
    for path, source, code in ((ui, "ai-sdk", "stored-malformed"), (library, "pydantic-ai", "stored-arguments-half")):
        called = call("import", str(path), "--from", source)
        assert called.code == 0
        assert f"MUST {code} at " in called.err
        made = [one for message in json.loads(called.out)["turns"][1]["messages"] for one in message["parts"]]
        assert [one["part_kind"] for one in made if one.get("content", "") is None] == []
        assert made[0]["args"] == ({} if path == ui else '{"town')
        strict = call("import", str(path), "--from", source, "--strict")
        assert (strict.code, strict.out) == (1, "")
        assert "--strict takes no messages that break rules" in strict.err
        both = call("import", str(path), str(path), "--from", source)
        assert f"broken most: {code}" not in both.err
        assert "2 documents: 2 imported though wrong; " in both.err


def test_a_thread_has_the_id_of_its_row(tmp_path: Path, call: Any) -> None:
    """Else one of the document's name, which --thread-id puts where it says {name}."""
    rows = tmp_path / "rows.jsonl"
    text = json.dumps({"id": "chat-7", "messages": ui_messages(1)}) + "\n" + json.dumps({"messages": ui_messages(2)})
    rows.write_text(text, "utf-8")
    called = call("import", str(rows), "--from", "ai-sdk")
    row, made = (one["thread_id"] for one in lines(called.out))
    assert row == "chat-7"
    assert re.fullmatch("import:rows/2-[0-9a-f]{8}", made)
    called = call("import", str(rows), "--from", "ai-sdk", "--thread-id", "shop/{name}")
    assert [one["thread_id"] for one in lines(called.out)] == ["shop/rows/1", "shop/rows/2"]


def test_an_output_is_instead_of_printing(store: Path, tmp_path: Path, call: Any) -> None:
    """The lines are in the file; the total is printed."""
    (store / "0" / "00.json").write_text(json.dumps({**thread(0), "version": "0.9"}), "utf-8")
    called = call("check", str(store), "-o", str(tmp_path / "found.jsonl"))
    assert called.code == 1
    assert called.out.startswith("70 documents: 69 valid, 1 wrong; ")
    written = lines((tmp_path / "found.jsonl").read_text("utf-8"))
    assert [line["outcome"] for line in written] == ["wrong"] + ["valid"] * 69
    called = call("hash", str(store / "1"), "-o", str(tmp_path / "hashes.jsonl"))
    assert (called.code, called.out) == (0, "")
