"""Documents that were rejected are corrected by hand: each is in the output once in the end, and no edit is lost."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_batch_killed import conversation, killed, store

from tpharness.cli.repair import RepairIn

__all__ = ["store"]  # a fixture

_NUMBER, _BROKEN = 70, range(0, 70, 7)


def correct(path: Path) -> bytes:
    """Keep one of the two answers, as somebody does who has looked it up, and return the bytes."""
    messages = json.loads(path.read_bytes())
    messages[2]["parts"].pop()
    path.write_text(json.dumps(messages, indent=2), "utf-8")
    return path.read_bytes()


def numbers(output: Path) -> list[int]:
    """Return which conversations are in the output, by what the user says in them."""
    files = [output] if output.is_file() else sorted(output.rglob("[0-9]*.json"))
    found = re.findall(r"Is it warm\? (\d+)", "".join(path.read_text("utf-8") for path in files))
    return sorted(map(int, found))


def files(folder: Path) -> set[str]:
    """Return the names of the files, without those that begin with a dot."""
    return {path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
@pytest.mark.parametrize("command", [["repair"], ["import", "--from", "pydantic-ai", "--strict"]], ids=lambda c: c[0])
def test_corrected_by_hand_and_run_again(
    command: list[str], output: str, jobs: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """With --resume what somebody has corrected is read in place of its document; it stays where it is."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = [*command, str(store), "-o", str(target), "--rejected", str(by_hand), "--jobs", jobs]
    assert call(*args).code == 1
    assert numbers(target) == [n for n in range(_NUMBER) if n not in _BROKEN]

    copies = [by_hand / "store" / f"{n + 1}.json" for n in _BROKEN]
    edited = {path: correct(path) for path in copies[:4]}
    some = call(*args, "--resume")
    assert some.code == 1
    assert f"corrected by hand: {store}:8, read from {copies[1]}" in some.out + some.err
    assert "66 of them as before" in some.out + some.err
    assert numbers(target) == [n for n in range(_NUMBER) if n not in _BROKEN[4:]]
    left = {f"{n + 1}.json" for n in _BROKEN[4:]}
    assert files(by_hand) - left == {
        *(f"{name}.why.txt" for name in left),
        *(name for path in edited for name in (path.name, f"{path.name}.taken.txt")),
    }
    edited |= {path: correct(path) for path in copies[4:]}
    assert call(*args, "--resume").code == 0
    assert numbers(target) == list(range(_NUMBER))
    assert call(*args, "--resume").code == 0
    assert call(*args, "--force").code == 0
    assert numbers(target) == list(range(_NUMBER))
    assert {path: path.read_bytes() for path in edited} == edited
    assert not [name for name in files(by_hand) if name.endswith(".why.txt")]


def test_the_thread_of_a_corrected_document_has_its_id(store: Path, tmp_path: Path, call: Any) -> None:
    """Not one of the path at which it was corrected."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["import", str(store), "--from", "pydantic-ai", "--strict", "-o", str(target), "--rejected", str(by_hand)]
    assert call(*args).code == 1
    correct(by_hand / "store" / "8.json")
    assert call(*args, "--resume").code == 1
    thread = json.loads(target.read_bytes().splitlines()[-1])
    assert "Is it warm? 7" in json.dumps(thread)
    assert "import:store/8" in thread["thread_id"]


def test_a_correction_that_is_not_enough_is_named(store: Path, tmp_path: Path, call: Any) -> None:
    """By the path at which it has to be corrected further, with what is wrong now."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    assert call(*args).code == 1
    copy = by_hand / "store" / "8.json"
    half = json.loads(copy.read_bytes())
    half[1]["parts"][0]["args"] = '{"town'
    copy.write_text(json.dumps(half), "utf-8")
    again = call(*args, "--resume")
    assert f"{copy}: not repaired: MUST stored-arguments-half at /1/parts/0" in again.out
    assert (
        f"corrected by hand, and still not right (not repaired): {store}:8, read from {copy}" in again.out + again.err
    )
    assert "corrected by hand: " not in again.out + again.err
    assert json.loads(copy.read_bytes()) == half
    assert "stored-arguments-half" in copy.with_name("8.json.why.txt").read_text("utf-8")
    copy.write_text("[{", "utf-8")
    unreadable = call(*args, "--resume")
    assert unreadable.code == 2
    assert str(copy) in unreadable.err
    assert copy.read_text("utf-8") == "[{"


def test_a_copy_that_cannot_be_read_is_named_and_stays(store: Path, tmp_path: Path, call: Any) -> None:
    """The others go on; it is not replaced by the document."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    assert call(*args).code == 1
    copy = by_hand / "store" / "8.json"
    copy.unlink()
    copy.mkdir()
    (copy / "mine.txt").write_text("mine", "utf-8")
    correct(by_hand / "store" / "15.json")
    again = call(*args, "--resume")
    assert again.code == 2
    assert f"{store}:8: {copy} is a folder" in again.err
    assert (copy / "mine.txt").read_text("utf-8") == "mine"
    assert 14 in numbers(target)


def test_what_has_changed_on_both_sides_is_left_to_a_person(store: Path, tmp_path: Path, call: Any) -> None:
    """Neither the document nor the copy is taken or touched; without the copy the document is."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    assert call(*args).code == 1
    copy = by_hand / "store" / "8.json"
    edited = correct(copy)
    lines = store.read_bytes().splitlines()
    lines[7] = json.dumps(conversation(1)).encode()  # sound, and another conversation
    store.write_bytes(b"\n".join(lines))
    for option in ("--resume", "--force"):
        both = call(*args, option)
        assert both.code == 2
        assert f"{store}:8 has changed since {copy} was made of it, and that was edited" in both.err
        assert copy.read_bytes() == edited
        assert numbers(target) == [n for n in range(_NUMBER) if n not in _BROKEN]
    copy.unlink()
    assert call(*args, "--resume").code == 1
    assert files(by_hand / "store") == {f"{n + 1}.json{end}" for n in _BROKEN if n != 7 for end in ("", ".why.txt")}
    assert numbers(target).count(1) == 2


@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
def test_a_correction_is_not_left_out_by_a_forgotten_option(
    output: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """Without --rejected the document would be read again, and its result would go."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target)]
    assert call(*args).code == 1
    assert call(*args, "--rejected", str(by_hand), "--resume").code == 1
    correct(by_hand / "store" / "8.json")
    assert call(*args, "--rejected", str(by_hand), "--resume").code == 1
    before = numbers(target)
    assert 7 in before
    forgotten = call(*args, "--resume")
    assert forgotten.code == 2
    assert f"an earlier run had --rejected {by_hand}" in forgotten.err
    assert numbers(target) == before


@pytest.mark.parametrize("option", ["--resume", "--force"])
@pytest.mark.parametrize("what", ["by-hand", "by-hand/store/8.json"])
def test_what_was_rejected_for_an_output_is_not_read_into_it(
    what: str, option: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """A conversation would be there twice, or alone; into another output it is read as any other."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    assert call("repair", str(store), "-o", str(target), "--rejected", str(by_hand)).code == 1
    correct(by_hand / "store" / "8.json")
    before = target.read_bytes()
    refused = call("repair", str(tmp_path / what), "-o", str(target), option)
    assert refused.code == 2
    assert "could be in there twice" in refused.err
    assert "--resume: it reads what you have corrected there" in refused.err
    assert target.read_bytes() == before
    assert call("repair", str(by_hand / "store" / "8.json"), "-o", str(tmp_path / "other.jsonl")).code == 0


def test_a_folder_of_rejected_documents_belongs_to_one_output(store: Path, tmp_path: Path, call: Any) -> None:
    """Copies of another command or somebody's own files would be taken for corrections."""
    target, by_hand, own = tmp_path / "out.jsonl", tmp_path / "by-hand", tmp_path / "own"
    assert call("repair", str(store), "-o", str(target), "--rejected", str(by_hand)).code == 1
    own.mkdir()
    (own / "8.json").write_text("mine", "utf-8")
    for folder in (by_hand, own):
        args = ["-o", str(tmp_path / "threads.jsonl"), "--rejected", str(folder), "--force"]
        refused = call("import", str(target), "--from", "pydantic-ai", *args)
        assert refused.code == 2
        assert f"what is in {folder} was not rejected for -o" in refused.err
    assert (own / "8.json").read_text("utf-8") == "mine"


def test_a_file_that_stands_for_no_document_is_named(store: Path, tmp_path: Path, call: Any) -> None:
    """Somebody thinks that it is read."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    assert call(*args).code == 1
    other = by_hand / "store" / "8 corrected.json"
    other.write_bytes((by_hand / "store" / "8.json").read_bytes())
    correct(other)
    assert f"not read: {other}, which does not have the name" in call(*args, "--resume").err


def test_an_edit_of_a_killed_run_is_kept(store: Path, tmp_path: Path, call: Any) -> None:
    """Also of a document that the run has rejected and not noted yet."""
    target, by_hand = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand)]
    assert killed("repair", "RepairIn", *args) == -signal.SIGKILL
    copies = [by_hand / "store" / f"{n}.json" for n in (8, 36)]  # before and in the batch in which it was killed
    edited = {path: correct(path) for path in copies}
    assert call(*args, "--resume").code == 1
    assert numbers(target) == [n for n in range(_NUMBER) if n not in _BROKEN or n in (7, 35)]
    assert {path: path.read_bytes() for path in edited} == edited


@pytest.mark.parametrize(
    "command",
    [["check"], ["repair"], ["import", "--from", "pydantic-ai", "--strict"]],
    ids=lambda c: c[0],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["words", "json"])
def test_a_resumed_run_names_what_is_still_wrong(
    command: list[str], form: list[str], store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same lines as a run that begins; they are not written a second time."""
    target = tmp_path / "out.jsonl"
    args = [*command, str(store), "-o", str(target), *form]
    first = call(*args)
    record = tmp_path / ".out.jsonl.done"
    before, noted = target.read_bytes(), record.read_bytes()
    seen: list[str] = []
    real: Callable[..., Any] = RepairIn.__call__

    def counted(self: RepairIn, document: Any) -> Any:
        seen.append(document.name)
        return real(self, document)

    monkeypatch.setattr(RepairIn, "__call__", counted)
    again = call(*args, "--resume")
    assert (first.code, again.code) == (1, 1)
    assert "70 of them as before" in again.out + again.err
    assert (target.read_bytes(), record.read_bytes()) == (before, noted)

    def wrong(text: str) -> list[str]:
        return [line for line in text.splitlines() if re.search(r"store\.jsonl:\d+", line) and "answer-doubled" in line]

    assert wrong(again.out) == wrong(first.out)
    assert wrong(again.err) == wrong(first.err)
    named = {"check": (0, 10), "repair": (10, 10), "import": (1, 11)}[command[0]]  # a kind of note has one line
    assert len(wrong(again.out + again.err)) == named[bool(form)]
    if command == ["repair"]:
        assert seen == [f"{store}:{n + 1}" for n in _BROKEN]


def test_a_forgotten_resume_says_what_is_there(store: Path, tmp_path: Path, call: Any) -> None:
    """The first file, how many more, and both options."""
    folder, lines, by_hand = tmp_path / "out", tmp_path / "out.jsonl", tmp_path / "by-hand"
    for target in (folder, lines):
        assert call("repair", str(store), "-o", str(target)).code == 1
        refused = call("repair", str(store), "-o", str(target))
        assert refused.code == 2
        there = (
            f"{folder / 'store' / '10.json'} and 59 more files" if target == folder else f"{lines} exists, with 60 l"
        )
        assert there in refused.err
        assert "--resume goes on with what is not done yet, --force replaces what is there" in refused.err
    other = str(tmp_path / "other")
    assert call("repair", str(store), "-o", other, "--rejected", str(by_hand)).code == 1
    refused = call("repair", str(store), "-o", other, "--rejected", str(by_hand))
    assert f"{by_hand / 'store' / '1.json'} and 19 more files" in refused.err


def test_one_id_is_not_given_to_several_threads(store: Path, tmp_path: Path, call: Any) -> None:
    """They would be one thread to whatever stores them."""
    refused = call("import", str(store), "--from", "pydantic-ai", "--thread-id", "t1", "-o", str(tmp_path / "out"))
    assert (refused.code, refused.out) == (2, "")
    assert "--thread-id t1 would be the id of several threads" in refused.err
    assert "--thread-id 't1-{name}'" in refused.err
    assert not (tmp_path / "out").exists()
    (one := tmp_path / "one").mkdir()
    (one / "a.json").write_text(json.dumps(conversation(1)), "utf-8")
    for document in (one, one / "a.json"):
        called = call("import", str(document), "--from", "pydantic-ai", "--thread-id", "t1")
        assert (called.code, json.loads(called.out)["thread_id"]) == (0, "t1")


def test_what_is_not_converted_is_kept(store: Path, tmp_path: Path, call: Any) -> None:
    """As by repair and import."""
    threads, by_hand = tmp_path / "threads.jsonl", tmp_path / "by-hand"
    assert call("import", str(store), "--from", "pydantic-ai", "-o", str(threads)).code == 0
    lines = threads.read_bytes().splitlines()
    lines[2] = b'{"version":"0.9","turns":[]}'
    threads.write_bytes(b"\n".join(lines))
    args = ["--to", "2.0.0", "-o", str(tmp_path / "old.jsonl"), "--rejected", str(by_hand)]
    assert call("convert", str(threads), *args).code == 2
    assert (by_hand / "threads" / "3.json").read_bytes() == lines[2]
    (by_hand / "threads" / "3.json").write_bytes(lines[3])
    assert call("convert", str(threads), *args, "--resume").code == 0
