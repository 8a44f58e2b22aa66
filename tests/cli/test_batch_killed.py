"""A process that is killed in the middle of many documents, and the same command with `--resume`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_NUMBER = 70
_KILLED_AT = 40
_KILL = """
import os, signal, sys
from tpharness.cli import {module} as module
from tpharness.cli import main
work, done = module.{work}, []
real = work.__call__
def killed(self, document):
    done.append(document)
    if len(done) == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, document)
work.__call__ = killed
main()
"""
_BROKEN = 7
"""Every so many a conversation has a call that has two different answers, which nothing mends."""


def conversation(number: int) -> list[dict[str, Any]]:
    """Return messages of Pydantic AI: right, with an empty text message, or with two different answers."""
    named = {"tool_name": "look", "tool_call_id": "c1"}
    returned = {"part_kind": "tool-return", **named, "content": 18}
    answers = [returned, {**returned, "content": 55}] if number % _BROKEN == 0 else [returned]
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"Is it warm? {number}"}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", **named, "args": {}}]},
        {"kind": "request", "parts": answers},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Yes."}]},
    ]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return JSON Lines of conversations."""
    path = tmp_path / "store.jsonl"
    path.write_text("".join(json.dumps(conversation(n)) + "\n" for n in range(_NUMBER)), "utf-8")
    return path


def killed(module: str, work: str, *args: str) -> int:
    """Return how a process ended that is killed at a document in the second batch."""
    script = _KILL.format(module=module, work=work, at=_KILLED_AT)
    return subprocess.run([sys.executable, "-c", script, *args], check=False, capture_output=True).returncode


@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
@pytest.mark.parametrize(
    ("module", "work", "args"),
    [
        ("check", "CheckAs", ["check"]),
        ("import_", "ImportFrom", ["import", "--from", "pydantic-ai", "--strict"]),
        ("repair", "RepairIn", ["repair"]),
        ("convert", "ConvertTo", ["convert", "--to", "2.0.0"]),
        ("hash", "HashOf", ["hash"]),
    ],
    ids=["check", "import", "repair", "convert", "hash"],
)
def test_a_killed_command_goes_on(
    module: str, work: str, args: list[str], output: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """What it has written in the end is what a run that was not killed writes."""
    named = str(store)
    if args[0] in ("convert", "hash"):
        named = str(tmp_path / "threads.jsonl")
        assert call("import", str(store), "--from", "pydantic-ai", "-o", named).code == 0
    target, whole = tmp_path / output, tmp_path / f"whole-{output}"
    assert killed(module, work, *args, named, "-o", str(target)) == -signal.SIGKILL
    resumed = call(*args, named, "-o", str(target), "--resume")
    assert "32 of them as before" in resumed.out + resumed.err  # the batch in which it was killed is done again
    assert call(*args, named, "-o", str(whole)).code == resumed.code
    if target.is_dir():
        assert _files(target) == _files(whole)
    else:
        assert target.read_bytes() == whole.read_bytes()
        assert target.read_bytes().count(b"\n") in (60, 70)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("command", [["repair"], ["import", "--from", "pydantic-ai", "--strict"]], ids=lambda c: c[0])
def test_what_is_rejected_is_kept_untouched(
    command: list[str], jobs: str, store: Path, tmp_path: Path, call: Any
) -> None:
    """Each line of the input is a line of the output or a file there, and the record says which."""
    target, rejected = tmp_path / "out.jsonl", tmp_path / "by-hand"
    args = [*command, str(store), "-o", str(target), "--rejected", str(rejected), "--jobs", jobs]
    assert call(*args).code == 1
    lines = store.read_bytes().splitlines()
    kept = {f"store/{n + 1}.json": lines[n] for n in range(0, _NUMBER, _BROKEN)}
    assert {name: data for name, data in _files(rejected).items() if name.endswith(".json")} == kept
    why = (rejected / "store" / "8.json.why.txt").read_text("utf-8")
    assert why.startswith(f"{store}:8: ")
    assert "MUST stored-answer-doubled" in why
    written = target.read_bytes()
    record = [json.loads(line) for line in (tmp_path / ".out.jsonl.done").read_bytes().splitlines()[1:]]
    assert [one["document"] for one in record] == [f"{store}:{n + 1}" for n in range(_NUMBER)]
    for number, one in enumerate(record):
        made = written[one["start"] : one["end"]]
        assert (f"Is it warm? {number}".encode() in made) == (number % _BROKEN != 0)

    again = call(*args)
    assert (again.code, target.read_bytes()) == (2, written)
    assert "is not empty" in again.err
    (rejected / "store" / "8.json.why.txt").unlink()
    lines[0] = json.dumps(conversation(1)).encode()
    store.write_bytes(b"\n".join(lines))
    resumed = call(*args, "--resume")
    assert "68 of them as before" in resumed.out + resumed.err
    assert (rejected / "store" / "8.json.why.txt").read_text("utf-8") == why
    assert not (rejected / "store" / "1.json").exists()
    mended = call(*command, str(rejected), "-o", str(tmp_path / "mended.jsonl"))
    assert "9 documents: " in mended.out + mended.err


def test_a_killed_run_has_every_document_somewhere(store: Path, tmp_path: Path, call: Any) -> None:
    """Also what was rejected before and after."""
    target, rejected = tmp_path / "out", tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(rejected)]
    assert killed("repair", "RepairIn", *args) == -signal.SIGKILL
    assert call(*args, "--resume").code == 1
    assert len(list(target.rglob("[0-9]*.json"))) == 60
    assert len(list(rejected.rglob("[0-9]*.json"))) == 10


def test_a_folder_for_what_is_rejected_is_beside_the_others(store: Path, tmp_path: Path, call: Any) -> None:
    """Not among the documents or the results, and repair writes nothing without -o."""
    folder = tmp_path / "chats"
    folder.mkdir()
    (folder / "1.json").write_text("[]", "utf-8")
    for args, said in (
        (["-o", str(tmp_path / "out"), "--rejected", str(folder / "bad")], "is inside of"),
        (["-o", str(tmp_path / "out"), "--rejected", str(tmp_path / "out" / "bad")], "is inside of the results"),
        (["-o", str(tmp_path / "out"), "--rejected", str(store)], "is a file"),
        (["-o", str(tmp_path / "out"), "--rejected", str(tmp_path / "bad.jsonl")], "--rejected takes a folder"),
        (["--rejected", str(tmp_path / "bad")], "without -o nothing is"),
    ):
        called = call("repair", str(folder), *args)
        assert (called.code, said in called.err) == (2, True), called.err
    assert not (tmp_path / "out").exists()


def test_folders_that_are_imported_apart_have_different_ids(tmp_path: Path, call: Any) -> None:
    """The id has the name of the folder, which is the same whether it is imported alone or with others."""
    ids = []
    for name in ("ai", "library"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00.json").write_text(json.dumps(conversation(1)), "utf-8")
        (tmp_path / name / "01.json").write_text(json.dumps(conversation(1)), "utf-8")
        called = call("import", str(tmp_path / name), "--from", "pydantic-ai")
        ids += [json.loads(line)["thread_id"] for line in called.out.splitlines()]
    of_names = [re.sub("-[0-9a-f]{8}$", "-*", one) for one in ids]
    assert of_names == ["import:ai/00-*", "import:ai/01-*", "import:library/00-*", "import:library/01-*"]
    both = call("import", str(tmp_path / "ai"), str(tmp_path / "library"), "--from", "pydantic-ai", "--json")
    reports = [json.loads(line) for line in both.out.splitlines()]
    assert [one["thread_id"] for one in reports] == [one["result"]["thread_id"] for one in reports] == ids


def test_files_of_one_name_that_are_imported_apart_have_different_ids(
    tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation has the same id each time, wherever it is, also when it has gone on, and another has another."""

    def id_of(number: int, *more: Any, where: str = "x", key: str = "kind") -> str:
        (folder := tmp_path / where / "chats").mkdir(parents=True, exist_ok=True)
        messages = [*conversation(number), *more]
        messages[0] = {key: messages[0][key], **messages[0]}  # the order of keys says nothing
        (folder / "00.json").write_text(json.dumps(messages), "utf-8")
        monkeypatch.chdir(folder.parent)
        made = [call("import", name, "--from", "pydantic-ai").out for name in ("chats", str(folder), "chats/00.json")]
        folders, absolute, alone = (json.loads(text)["thread_id"] for text in made)
        assert folders == absolute == alone.replace("import:", "import:chats/")
        return str(folders)

    ids = {number: id_of(number) for number in range(1, 20)}
    assert len(set(ids.values())) == 19
    goes_on = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And now?"}]}
    assert id_of(3, goes_on, where="y", key="parts") == ids[3]


def test_messages_before_the_first_of_the_user_are_not_what_an_id_is_made_of_alone(tmp_path: Path, call: Any) -> None:
    """Many conversations begin with the same instructions."""
    system = {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]}
    ids = set()
    for name in ("x", "y"):
        user = {"id": "u", "role": "user", "parts": [{"type": "text", "text": name}]}
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.json").write_text(json.dumps([system, user]), "utf-8")
        ids.add(json.loads(call("import", str(tmp_path / name / "1.json"), "--from", "ai-sdk").out)["thread_id"])
    assert len(ids) == 2


def _files(folder: Path) -> dict[str, bytes]:
    found = (p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}
