"""A trace is written so that it can be read whatever happens, and read so that nobody has to trust who wrote it."""

from __future__ import annotations

import errno
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tpharness.errors import InputError, UsageError
from tpharness.trace.format import FORMAT, MEMBER, encode_line
from tpharness.trace.read import Trace
from tpharness.trace.secrets import Secrets
from tpharness.trace.write import CaseFiles, TraceWriter

ENTRY = {
    "case": "a/b",
    "server": "reference",
    "client": "reference",
    "outcome": "failed",
    "codes": ["identity-differs"],
}
PLAYER = {"name": "reference", "reference": True}
CASE = {"kind": "case", "id": "a/b", "outcome": "failed", "versions": ["0.0.4"], "server": PLAYER, "client": PLAYER}
HEADER = {
    "kind": "trace",
    "format": FORMAT,
    "tpharness": "1",
    "traced": "failed",
    "command": "tpharness run",
    "started_at": "2026-01-01T00:00:00Z",
}


def files(data: bytes = b"data: {}\n\n", *lines: dict[str, Any]) -> CaseFiles:
    """Return the files of a case with one stream."""
    wire = {"kind": "wire", "run": 0, "side": "client", "file": 0, "size": len(data), "kept": len(data)}
    return CaseFiles(body=b"".join(map(encode_line, (CASE, *lines))), wires=(wire,), streams=(data,))


def write(path: Path, *, count: int = 1, limit: int = 50_000_000, data: bytes = b"data: {}\n\n") -> TraceWriter:
    """Write a trace of so many cases that are alike."""
    writer = TraceWriter(path, traced="failed", limit=limit)
    for _ in range(count):
        writer.add(ENTRY, files(data))
    writer.close()
    return writer


def names_in(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(one.name for one in folder.iterdir())


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """Make a .zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["t.zip", "t"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    """A folder and an archive hold the same, and nothing but files of a trace."""
    writer = write(tmp_path / name, count=2)
    trace = Trace.open(tmp_path / name)
    assert (writer.cases, writer.left_out, writer.problem) == (2, 0, "")
    assert trace.end == {"cases": 2, "left_out": 0, "bytes": trace.end and trace.end["bytes"]}
    case = trace.case("a/b")
    assert case.wires["client", 0].data == b"data: {}\n\n"
    assert case.about["id"] == "a/b"
    assert names_in(tmp_path) == [name]


def test_nothing_is_written_when_nothing_failed(tmp_path: Path) -> None:
    """An empty trace would only be looked at in vain; the one of the run before is gone."""
    path = tmp_path / "t.zip"
    write(path)
    writer = TraceWriter(path, traced="failed")
    writer.remove_old()
    assert not writer.add(ENTRY, None)
    assert writer.close() is None
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["t.zip", "t"])
def test_a_trace_replaces_the_last_one_when_its_first_case_is_there(tmp_path: Path, name: str) -> None:
    """Until then the last one can be looked at; then nothing of it stays."""
    path = tmp_path / name
    write(path, count=3)
    writer = TraceWriter(path, traced="failed")
    writer.check_place()
    writer.add(ENTRY, None)
    assert len(Trace.open(path).entries) == 3
    writer.add(ENTRY, files())
    writer.remove_old()
    writer.close()
    assert len(Trace.open(path).entries) == 2  # the one without files, which waited, and the one with files
    assert names_in(tmp_path) == [name]


def test_a_run_that_is_broken_off_keeps_the_last_whole_trace(tmp_path: Path) -> None:
    """Beside its own, and through several of them, until a run comes to its end, with something to trace or not."""
    path, last = tmp_path / "t.zip", tmp_path / "t.last.zip"
    write(path, count=3).remove_old()
    for _ in range(2):
        broken_off = write(path)
        assert broken_off.kept == last
        assert (len(Trace.open(path).entries), len(Trace.open(last).entries)) == (1, 3)
    whole = TraceWriter(path, traced="failed")
    whole.add(ENTRY, files())
    whole.remove_old()
    whole.close()
    assert whole.kept is None
    assert names_in(tmp_path) == ["t.zip"]
    write(path)
    TraceWriter(path, traced="failed").remove_old()
    assert names_in(tmp_path) == []


def test_what_is_in_the_way_of_the_last_trace_stays(tmp_path: Path) -> None:
    """A file of that name that is not a trace is somebody's."""
    path, last = tmp_path / "t.zip", tmp_path / "t.last.zip"
    write(path)
    last.write_text("mine")
    assert write(path, count=2).kept is None
    TraceWriter(path, traced="failed").remove_old()
    assert last.read_text() == "mine"
    assert names_in(tmp_path) == ["t.last.zip"]


@pytest.mark.parametrize("name", ["notes.txt", "notes.zip"])
def test_what_is_not_a_trace_is_never_replaced(tmp_path: Path, name: str) -> None:
    """A slip in --trace-to deletes nothing."""
    path = tmp_path / name
    path.write_text("mine")
    with pytest.raises(UsageError, match="is not a trace, so it is not replaced"):
        TraceWriter(path, traced="failed").check_place()
    TraceWriter(path, traced="failed").remove_old()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="is not a trace"):
        TraceWriter(tmp_path / "folder", traced="failed").check_place()
    TraceWriter(tmp_path / "folder", traced="failed").remove_old()
    assert path.read_text() == (tmp_path / "folder" / "mine").read_text() == "mine"


def test_what_somebody_put_beside_a_trace_stays(tmp_path: Path) -> None:
    """Only files of a trace are removed from its folder."""
    path = tmp_path / "t"
    write(path)
    (path / "notes").write_text("mine")
    TraceWriter(path, traced="failed").remove_old()
    assert [one.name for one in path.iterdir()] == ["notes"]


def test_a_trace_is_never_larger_than_its_limit_and_says_so(tmp_path: Path) -> None:
    """What no longer fits is named in the index with the reason."""
    path = tmp_path / "t"
    writer = write(path, count=40, limit=1_000_000, data=b"x" * 50_000)
    assert sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) <= 1_000_000
    assert 10 <= writer.cases < 40
    assert writer.cases + writer.left_out == 40
    trace = Trace.open(path)
    assert trace.end is not None
    assert trace.end["note"] == "a trace holds at most 1 MB"
    assert trace.entries[-1].left_out == "a trace holds at most 1 MB"
    with pytest.raises(UsageError, match="was left out"):
        trace.case(trace.entries[-1])


def test_a_run_that_is_killed_leaves_what_it_had_written(tmp_path: Path) -> None:
    """The folder of an archive that was never packed is a trace, and the error about the archive names it."""
    path = tmp_path / "t.zip"
    writer = TraceWriter(path, traced="failed")
    writer.add(ENTRY, files())
    (draft,) = tmp_path.glob("t.zip.*.part")
    with (draft / "index.jsonl").open("ab") as index:
        index.write(b'{"kind":"entry","case":"half')
    trace = Trace.open(draft)
    assert trace.end is None
    assert [one.case for one in trace.entries] == ["a/b"]
    assert trace.case("a/b").about["id"] == "a/b"
    with pytest.raises(InputError) as caught:
        Trace.open(path)
    assert str(draft) in caught.value.hint


def test_a_full_disk_leaves_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full in the middle of the second case: the first one stays whole, and no error reaches the run."""
    path = tmp_path / "t"
    writer = TraceWriter(path, traced="failed")
    writer.add(ENTRY, files())
    real = Path.open

    def full(self: Path, mode: str = "r", **more: Any) -> Any:
        if self.name == "00002.jsonl":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, mode, **more)

    monkeypatch.setattr(Path, "open", full)
    assert not writer.add(ENTRY, files())
    monkeypatch.undo()
    assert not writer.add(ENTRY, files())  # nothing is written behind a gap
    writer.close()
    assert writer.problem == "it could not be written further: No space left on device"
    assert [one.case for one in Trace.open(path).entries] == ["a/b"]


def test_a_disk_that_is_full_at_once_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No draft without a case stays behind, one for each run."""
    writer = TraceWriter(tmp_path / "t.zip", traced="failed")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert not writer.add(ENTRY, files())
    monkeypatch.undo()
    assert writer.close() is None
    assert writer.problem == "it could not be written further: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """The run goes on; only the trace is missing."""
    writer = write(tmp_path / "missing" / "t.zip")
    assert writer.problem == "it could not be written further: No such file or directory"
    assert (writer.cases, writer.left_out) == (0, 1)


def test_tokens_are_in_no_file(tmp_path: Path) -> None:
    """Wherever a target repeats its token: in the index, in lines, in the bytes of a stream, where offsets stay."""
    path = tmp_path / "t"
    token = 'tok"en-123456'  # noqa: S105  # of nothing
    writer = TraceWriter(path, traced="failed", secrets=Secrets([token]))
    moment = {"kind": "asked", "t": 0.5, "what": "POST /runs", "body": {"deep": [f"Bearer {token}"]}}
    writer.add({**ENTRY, "server": f"http://{token}@host"}, files(f"data: {token}!\n\n".encode(), moment))
    writer.close()
    for file in path.rglob("*"):
        if file.is_file():
            assert b"en-123456" not in file.read_bytes(), file
    assert Trace.open(path).case("a/b").wires["client", 0].data == b"data: " + b"*" * len(token) + b"!\n\n"


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer abcdefghijkl",
        '{"authorization": "Basic abcdefghijkl"}',
        "cookie: session=abcdefghijkl; b=2",
        "using api_key=abcdefghijkl",
        "sk-abcdefghijklmnop",
        "http://abcdefghijkl@host/path",
    ],
)
def test_what_looks_like_a_secret_is_left_out_of_free_text(line: str) -> None:
    """A target may print its own keys to standard error."""
    assert "abcdefghijkl" not in Secrets().text(line)


def test_plain_text_stays() -> None:
    """Words that only resemble a secret are not touched."""
    line = "token 3 of 7: the secret of a good cookie; max_tokens=12, authorization was fine"
    assert Secrets().text(line) == line


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"../../evil.jsonl": b"x", "index.jsonl": b""}, "it has a member '../../evil.jsonl'"),
        ({"/etc/passwd": b"x"}, "it has a member '/etc/passwd'"),
        ({"trace.network": b"{}", "0-trace.trace": b"{}"}, "it has a member"),
        ({"cases/00001.jsonl": b"{}\n"}, "it has no index.jsonl"),
        ({"index.jsonl": b""}, "is not a trace of the format tpharness-trace/1"),
        ({"index.jsonl": b"nonsense\n"}, "index.jsonl:1 is not JSON"),
        ({"index.jsonl": b"[" * 100_000 + b"\n"}, "index.jsonl:1 is not JSON"),
        ({"index.jsonl": b"[1]\n"}, "index.jsonl:1 does not fit .*: it is not a JSON object"),
        ({"index.jsonl": b'{"kind":"other"}\n'}, "its kind is 'other'"),
        ({"index.jsonl": encode_line({**HEADER, "format": "tpharness-trace/9"})}, "does not fit"),
        ({"index.jsonl": encode_line({"kind": "entry", **ENTRY, "file": "../x"})}, "/file: "),
        ({"index.jsonl": b"\0" * 60_000_000}, "would be 60000000 bytes"),
        ({"index.jsonl": b"", **{f"wire/{n:05d}-0.bin": b"\0" * 10_000_000 for n in range(6)}}, "would be 60000000"),
    ],
)
def test_a_foreign_archive_is_refused_with_the_reason(tmp_path: Path, members: dict[str, bytes], said: str) -> None:
    """Another program's trace, paths that lead out of it, and bombs, which are refused before they are unpacked."""
    with pytest.raises(InputError, match=said):
        Trace.open(archive(tmp_path / "t.zip", members))
    assert names_in(tmp_path) == ["t.zip"]


def test_an_archive_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    """The central directory says ten bytes, the member expands to a million."""
    path = archive(tmp_path / "t.zip", {"index.jsonl": b"\0" * 1_000_000})
    data = path.read_bytes()
    at = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: at + 24] + (10).to_bytes(4, "little") + data[at + 28 :])
    with pytest.raises(InputError, match=r"index\.jsonl"):
        Trace.open(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_members_of_one_name_is_refused(tmp_path: Path) -> None:
    """Two readers would see two traces."""
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("index.jsonl", "")
        made.writestr("index.jsonl", "")
    with pytest.raises(InputError, match="twice"):
        Trace.open(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"<html>", b"\x89PNG" * 16])
def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    """So is an archive that was cut off."""
    (tmp_path / "t.zip").write_bytes(data)
    with pytest.raises(InputError, match=r"is not a \.zip, or a damaged one"):
        Trace.open(tmp_path / "t.zip")


def test_links_and_pipes_in_a_folder_are_refused(tmp_path: Path) -> None:
    """A trace that somebody handed on shows no other file of the reader's machine, and never blocks."""
    for make in (lambda path: path.symlink_to("/etc/hosts"), os.mkfifo):
        folder = tmp_path / make.__name__.strip("<>")
        folder.mkdir()
        (folder / "index.jsonl").write_bytes(b"")
        (folder / "wire").mkdir()
        make(folder / "wire" / "00001-0.bin")
        with pytest.raises(InputError, match="is not a regular file"):
            Trace.open(folder)
    with pytest.raises(InputError, match="neither a file nor a folder"):
        Trace.open(Path("/dev/null"))
    with pytest.raises(InputError, match="cannot read"):
        Trace.open(tmp_path / "missing.zip")


def test_a_case_that_refers_to_nothing_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """A step that names a thread which is not there, and a stream that is not there."""
    writer = TraceWriter(tmp_path / "t", traced="failed")
    step = {"kind": "step", "side": "client", "run": 0, "offset": 0, "event": 0, "held": 7, "right": None}
    writer.add(ENTRY, files(b"", step))
    writer.close()
    case = Trace.open(tmp_path / "t").case("a/b")
    with pytest.raises(InputError, match="has no thread 7"):
        case.thread(case.steps[0].held or 0)
    (tmp_path / "t" / "wire" / "00001-0.bin").unlink()
    with pytest.raises(InputError, match=r"has no wire/00001-0\.bin"):
        Trace.open(tmp_path / "t").case("a/b")


def test_a_name_that_is_not_there_has_a_suggestion(tmp_path: Path) -> None:
    """Ids are long, and typed by hand."""
    write(tmp_path / "t")
    with pytest.raises(UsageError, match="has no case a/bb") as caught:
        Trace.open(tmp_path / "t").find("a/bb")
    assert caught.value.hint == "did you mean a/b?"


def test_members_are_named_in_one_place() -> None:
    """The pattern of names is anchored: nothing precedes or follows a name."""
    assert MEMBER.fullmatch("wire/00001-0.bin")
    for name in ("wire/00001-0.bin\n", "../wire/00001-0.bin", "wire/../index.jsonl", "cases/1.jsonl"):
        assert MEMBER.fullmatch(name) is None
