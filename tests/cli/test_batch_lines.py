"""The lines of a report say on which line of the output each line of the input is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpharness.cli.repair import RepairIn

_NUMBER = 70
"""More documents than a worker is given at once."""
_CHANGED = frozenset({2, 5, 11, 14, 33})


def line(number: int, *, sound: bool) -> bytes:
    """Return a conversation; one that is not sound cannot be repaired, or is not JSON."""
    asked = {"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": f"Number {number}."}]}
    if sound:
        return json.dumps([asked]).encode()
    if number % 2:
        return b'[{"role" : "user", "number": %d' % number
    part = {"type": "tool-look", "toolCallId": "c", "state": "output-available", "input": {}}
    return json.dumps([asked, {"id": "a", "role": "assistant", "parts": [part]}]).encode()


def write(path: Path, changed: frozenset[int] = frozenset()) -> dict[str, bytes]:
    """Write lines of which every fifth and seventh is not sound, and return them by the names of a report.

    Of those that are `changed` the others are not.
    """
    numbers = range(1, _NUMBER + 1)
    made = [line(number, sound=bool(number % 5 and number % 7) != (number in changed)) for number in numbers]
    path.write_bytes(b"\n".join(made) + b"\n")
    return {f"{path}:{number}": data for number, data in zip(numbers, made, strict=True)}


def assert_at_its_place(reports: str, documents: dict[str, bytes], output: Path) -> None:
    """Check each document where the last line about it says that it is; no line of the output is left over."""
    lines = output.read_bytes().splitlines()
    where = {one["document"]: one for one in map(json.loads, reports.splitlines())}
    taken = []
    for name, data in documents.items():
        if "rejected" in where[name]:
            assert Path(where[name]["rejected"]).read_bytes() == data
        else:
            assert where[name]["written"] == str(output)
            taken.append(where[name]["written_line"])
            assert json.loads(lines[taken[-1] - 1]) == json.loads(data)
    assert sorted(taken) == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_line_is_found_again(jobs: str, tmp_path: Path, call: Any) -> None:
    """In the output, or among what was rejected."""
    documents = write(tmp_path / "store.jsonl")
    out = tmp_path / "out.jsonl"
    args = ["-o", str(out), "--rejected", str(tmp_path / "by-hand"), "--json", "--jobs", jobs]
    called = call("repair", str(tmp_path / "store.jsonl"), *args)
    assert called.code == 2
    assert_at_its_place(called.out, documents, out)


def test_lines_that_move_are_reported(tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run was interrupted, and documents have changed sides before it goes on."""
    source, out = tmp_path / "store.jsonl", tmp_path / "out.jsonl"
    write(source)
    command = ["repair", str(source), "-o", str(out), "--rejected", str(tmp_path / "by-hand"), "--json"]
    real = RepairIn.__call__
    done: list[str] = []

    def interrupted(self: RepairIn, document: Any) -> Any:
        if len(done) == 50:
            raise KeyboardInterrupt
        done.append(document.name)
        return real(self, document)

    with monkeypatch.context() as patch:
        patch.setattr(RepairIn, "__call__", interrupted)
        first = call(*command)
    assert first.code == 130
    documents = write(source, _CHANGED)
    second = call(*command, "--resume")
    assert second.code == 2
    assert_at_its_place(first.out + second.out, documents, out)
    lines = out.read_bytes().splitlines()
    numbered = [one for one in map(json.loads, second.out.splitlines()) if "written_line" in one]
    assert len(numbered) > len(_CHANGED)
    for one in numbered:  # not only in the last line about a document
        assert json.loads(lines[one["written_line"] - 1]) == json.loads(documents[one["document"]])


def test_lines_that_a_run_adds_are_numbered_behind_the_others(tmp_path: Path, call: Any) -> None:
    """Also where none of the earlier ones has moved."""
    source, out = tmp_path / "store.jsonl", tmp_path / "out.jsonl"
    command = ["repair", str(source), "-o", str(out), "--json"]
    documents = write(source)
    first = call(*command)
    with source.open("ab") as file:
        file.write(line(_NUMBER + 1, sound=True) + b"\n")
    second = call(*command, "--resume")
    assert (first.code, second.code) == (2, 2)
    added = [one for one in map(json.loads, second.out.splitlines()) if "written_line" in one]
    assert [(one["document"], one["written_line"]) for one in added] == [
        (f"{source}:{_NUMBER + 1}", len(out.read_bytes().splitlines()))
    ]
    assert len(documents) == _NUMBER


@pytest.mark.parametrize("option", ["-o", "--rejected"])
def test_what_is_read_is_not_emptied(option: str, tmp_path: Path, call: Any) -> None:
    """Not with --force either: it would be gone before it is read."""
    source = tmp_path / "store.jsonl"
    write(source)
    before = source.read_bytes()
    others = [] if option == "-o" else ["-o", str(tmp_path / "out.jsonl")]
    called = call("repair", str(source), *others, option, str(source), "--force")
    assert called.code == 2
    assert f"{option} {source} is the file that is read" in called.err
    assert source.read_bytes() == before


def test_a_folder_has_no_result_of_what_a_document_was_before(tmp_path: Path, call: Any) -> None:
    """A document that was repaired, and that nothing can be made of now, is only among what was rejected."""
    (folder := tmp_path / "store").mkdir()
    document, out, rejected = folder / "chat.json", tmp_path / "out", tmp_path / "by-hand"
    args = ["repair", str(folder), "--from", "ai-sdk", "-o", str(out), "--rejected", str(rejected)]
    document.write_bytes(line(1, sound=True))
    assert call(*args).code == 0
    assert (out / "chat.json").exists()
    document.write_bytes(line(2, sound=False))
    assert call(*args, "--resume").code == 1
    assert (out / "chat.json").exists() is False
    assert (rejected / "chat.json").read_bytes() == line(2, sound=False)
    document.write_bytes(line(1, sound=True))
    assert call(*args, "--resume").code == 0
    assert (out / "chat.json").exists()
    assert list(rejected.iterdir()) == []
