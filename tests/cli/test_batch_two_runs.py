"""Two runs that write one output at once, and an output that something else has written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_batch_by_hand import numbers
from tests.cli.test_batch_killed import store

__all__ = ["store"]  # a fixture

_HELD_AT = 40
"""The document, one of the second batch, at which a run waits."""
_HOLD = """
import sys
from tpharness.cli import main, repair
work, done = repair.RepairIn, []
real = work.__call__
def held(self, document):
    done.append(document)
    if len(done) == {at}:
        print("at the document", flush=True)
        sys.stdin.readline()
    return real(self, document)
work.__call__ = held
main()
"""


@contextmanager
def held_run(*args: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run, which waits in the middle for a line on its standard input; it is there when it waits."""
    script = [sys.executable, "-c", _HOLD.format(at=_HELD_AT), *args]
    with subprocess.Popen(
        script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            assert run.stdout is not None
            assert "at the document\n" in iter(run.stdout.readline, "")
            yield run
        finally:
            run.kill()


def files_below(folder: Path) -> dict[str, bytes]:
    """Return all files, those that begin with a dot too, but what says who writes."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".lock" not in path.name)
    return {str(path): path.read_bytes() for path in found}


@pytest.mark.parametrize("option", ["--resume", "--force"])
@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
def test_a_second_run_does_not_write_what_another_writes(
    output: str, option: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """It ends at once, names the output and the process, and touches nothing; the first one's result is whole."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    with held_run(*args) as first:
        before = files_below(tmp_path)
        second = call(*args, option)
        assert (second.code, second.out) == (2, "")
        assert f"another run (process {first.pid}) writes {target}" in second.err
        assert "wait for its end, and then go on with --resume; or name another -o" in second.err
        assert files_below(tmp_path) == before
        _, said = first.communicate("\n")
        assert first.returncode == 1, said
    assert numbers(target) == [n for n in range(70) if n % 7]
    after = call(*args, "--resume")
    assert (after.code, "70 of them as before" in after.out + after.err) == (1, True)
    assert numbers(target) == [n for n in range(70) if n % 7]


@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
def test_a_killed_run_does_not_keep_its_output(output: str, store: Path, tmp_path: Path, call: Any) -> None:
    """The lock ends with its process, and the next run goes on."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    with held_run(*args) as first:
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        resumed = call(*args, "--resume")
    assert "32 of them as before" in resumed.out + resumed.err
    assert resumed.code == 1
    assert numbers(target) == [n for n in range(70) if n % 7]
    assert not [path for path in tmp_path.rglob(".*") if "lock" in path.name or "process" in path.name]


def test_a_run_of_another_output_does_not_write_the_same_rejected_documents(
    store: Path, tmp_path: Path, call: Any
) -> None:
    """The folder of them is kept from others as the output is."""
    by_hand = tmp_path / "by-hand"
    with held_run("repair", str(store), "-o", str(tmp_path / "a.jsonl"), "--rejected", str(by_hand)) as first:
        other = ["-o", str(tmp_path / "b.jsonl"), "--rejected", str(by_hand), "--force"]
        (by_hand / ".tpharness-rejected").write_text("../b.jsonl\n", "utf-8")
        second = call("repair", str(store), *other)
        assert second.code == 2
        assert f"another run (process {first.pid}) writes {by_hand}" in second.err
        assert "or name another --rejected" in second.err
        assert not (tmp_path / "b.jsonl").exists()


def test_a_link_to_an_output_is_the_same_output(store: Path, tmp_path: Path, call: Any) -> None:
    """Whatever name a run gives to it."""
    target, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    with held_run("repair", str(store), "-o", str(target)):
        assert "another run" in call("repair", str(store), "-o", str(link), "--force").err


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "change",
    [
        lambda lines, record: ([*lines[:3], lines[3][:-9] + b"\n", lines[4][:8] + lines[4], *lines[5:]], record),
        lambda lines, record: (lines, [*record[:20], *record[5:20], *record[20:]]),
        lambda lines, record: (lines, [*record[:20], *record[22:]]),
    ],
    ids=["broken lines", "doubled in the record", "lost in the record"],
)
def test_an_output_that_does_not_fit_its_record_is_named(
    change: Any, jobs: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """As two older runs at once have left it: nothing is well then, each time, and --force makes it anew."""
    lines = [line for n, line in enumerate(store.read_bytes().splitlines(keepends=True)) if n % 7]
    store.write_bytes(b"".join(lines))
    target, record = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.done"
    args = ["repair", str(store), "-o", str(target), "--jobs", jobs]
    assert call(*args).code == 0
    whole = target.read_bytes()
    changed = change(whole.splitlines(keepends=True), record.read_bytes().splitlines(keepends=True))
    for path, parts in zip((target, record), changed, strict=True):
        path.write_bytes(b"".join(parts))
    for _ in range(2):
        resumed = call(*args, "--resume")
        assert resumed.code == 2
        assert f"by its record {record}" in resumed.err
        assert "run again with --force in place of --resume" in resumed.err
    assert call(*args, "--force").code == 0
    assert target.read_bytes() == whole
    assert call(*args, "--resume").code == 0


def test_an_output_that_is_replaced_meanwhile_is_named(store: Path, tmp_path: Path) -> None:
    """What the run has written is not under this name any more."""
    target = tmp_path / "out.jsonl"
    with held_run("repair", str(store), "-o", str(target)) as run:
        target.unlink()
        _, said = run.communicate("\n")
    assert run.returncode == 2
    assert f"{target} has 0 bytes, and" in said


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("command", ["repair", "check"])
def test_a_result_that_something_else_has_changed_is_named(
    command: str, jobs: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """It is not called done and not replaced, each time, until somebody removes it."""
    target = tmp_path / "out"
    args = [command, str(store), "-o", str(target), "--jobs", jobs]
    assert call(*args).code == 1
    result = target / "store" / "2.json"
    made = result.read_bytes()
    result.write_text("[]\n", "utf-8")
    for _ in range(2):
        resumed = call(*args, "--resume")
        assert resumed.code == 2
        assert f"{result} has 3 bytes, and {len(made):,} when it was written" in resumed.err
        assert "70 documents: 1 changed result, " in resumed.out + resumed.err
        assert "69 of them as before" in resumed.out + resumed.err
        assert result.read_text("utf-8") == "[]\n"
    result.unlink()
    assert call(*args, "--resume").code == 1
    assert result.read_bytes() == made


@pytest.mark.parametrize("command", ["repair", "check"])
def test_a_result_that_was_changed_to_one_of_the_same_size_is_named(
    command: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """Whatever its times say; a copy of the whole folder, whose files are new, has the results still."""
    target = tmp_path / "out"
    args = [command, str(store), "-o", str(target)]
    assert call(*args).code == 1
    result = target / "store" / "2.json"
    made, times = result.read_bytes(), result.stat()
    result.write_bytes(made.replace(b"1", b"2", 1))
    os.utime(result, ns=(times.st_atime_ns, times.st_mtime_ns))
    resumed = call(*args, "--resume")
    assert resumed.code == 2
    words = f"{result} has as many bytes as when it was written ({len(made):,}), and not the same: something else"
    assert words in resumed.err
    assert "70 documents: 1 changed result, " in resumed.out + resumed.err
    assert result.read_bytes() != made
    result.write_bytes(made)
    copy = tmp_path / "copy"
    shutil.copytree(target, copy)
    assert call(*args[:-1], str(copy), "--resume").code == 1


def test_a_result_that_cannot_be_read_is_named_and_stays(store: Path, tmp_path: Path, call: Any) -> None:
    """A folder in its place, say."""
    target = tmp_path / "out"
    args = ["check", str(store), "-o", str(target)]
    assert call(*args).code == 1
    result = target / "store" / "2.json"
    result.unlink()
    result.mkdir()
    resumed = call(*args, "--resume")
    assert resumed.code == 2
    assert f"{result} cannot be read (Is a directory), so nobody knows whether something else" in resumed.err
    assert result.is_dir()


def test_an_output_that_cannot_be_locked_is_named(store: Path, tmp_path: Path, call: Any) -> None:
    """With the option that names another, and nothing is written."""
    (folder := tmp_path / "out").mkdir()
    (folder / ".tpharness-done.lock").mkdir()  # as a folder that may not be written, for an administrator too
    called = call("repair", str(store), "-o", str(folder))
    assert called.code == 2
    assert f"cannot write {folder}: Is a directory" in called.err
    assert "name another -o, where you may write" in called.err
    assert [path.name for path in folder.iterdir()] == [".tpharness-done.lock"]
