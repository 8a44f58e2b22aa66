"""Reports are written whole, and nothing but a regular file is ever replaced."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tpharness.errors import InputError
from tpharness.output import json_bytes, json_text, write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    """No temporary file stays."""
    file = tmp_path / "report.json"
    write_atomically(str(file), "one")
    write_atomically(str(file), "two")
    assert file.read_text("utf-8") == "two"
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A slip in a path is an error that names it, not a new folder somewhere."""
    with pytest.raises(InputError, match="nowhere"):
        write_atomically(str(tmp_path / "nowhere" / "report.json"), "text")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_of_the_old_file_keeps_all_of_it(tmp_path: Path) -> None:
    """Whoever has the file open while it is replaced reads the old one to its end."""
    file = tmp_path / "report.json"
    write_atomically(str(file), "old and whole")
    with file.open(encoding="utf-8") as reader:
        write_atomically(str(file), "new")
        assert reader.read() == "old and whole"


def test_the_old_file_stays_when_the_new_one_cannot_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last step: the old report is still there, and no half of the new one."""
    file = tmp_path / "report.json"
    file.write_text("old", encoding="utf-8")

    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_atomically(str(file), "new")
    assert file.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points to is replaced."""
    file, link = tmp_path / "real.xml", tmp_path / "latest.xml"
    link.symlink_to(file)
    write_atomically(str(link), "report")
    assert link.is_symlink()
    assert file.read_text("utf-8") == "report"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """As with `--report json:/dev/stdout` or a process substitution: replacing it would break what it is for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(str(pipe), "report")
        assert os.read(reader, 100) == b"report"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_never_replaced() -> None:
    """Not even by the superuser, who could."""
    write_atomically(os.devnull, "report")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    """A report that a CI server's other user may read stays readable for it."""
    kept, new, usual = tmp_path / "kept", tmp_path / "new", tmp_path / "usual"
    kept.write_text("old", encoding="utf-8")
    kept.chmod(0o664)
    usual.write_text("", encoding="utf-8")
    write_atomically(str(kept), "new")
    write_atomically(str(new), "new")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o664
    assert new.stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("name", ["folder", "file/below"])
def test_a_path_that_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    """A folder, and a path below a file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write"):
        write_atomically(str(tmp_path / name), "report")


@pytest.mark.parametrize("value", [{"a": "é"}, {"a": "\ud83d"}, [2**64], {"deep": [[{"b": None}]]}])
def test_json_for_programs_is_one_line_of_any_value(value: object) -> None:
    """Half a character (R43) and an integer of more than 64 bits among them, which orjson refuses."""
    written = json_bytes(value)
    assert json.loads(written) == value
    assert b" " not in written
    assert b"\n" not in written


def test_json_text_is_utf_8_whenever_it_can_be() -> None:
    """Readable for people; in escapes only where a lone surrogate leaves no other way (R38)."""
    assert json.loads(json_text({"a": "é\ud83d"})) == {"a": "é\ud83d"}
    assert json_text("é") == '"é"'
    json_text("é\ud83d").encode()
