"""Scenarios are found by their paths alone, however many there are."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from tpharness.cli import listing
from tpharness.errors import InputError, UsageError
from tpharness.resources import scenarios_dir
from tpharness.run.select import select_scenarios
from tpharness.scenario import find_scenarios, load_scenario, scenario_id
from tpharness.scenario_files import find_files, read_description

PLAIN = "description: Nothing but a text.\nclauses: [stream.text]\n"


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("a file was read or resolved")


def test_selecting_reads_and_resolves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50,000 scenarios one is played, and one is read."""
    for name in ("b/two.yaml", "a/One two.yml", "a.b/three.x.yaml", ".git/no.yaml", "a/no.txt", "a/deep/er.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PLAIN)
    (tmp_path / "a" / "folder.yaml").mkdir()
    (tmp_path / "b" / "link.yaml").symlink_to(tmp_path / "b" / "two.yaml")
    (tmp_path / "c").symlink_to(tmp_path / "a")
    scenarios_dir()  # which is looked for once
    for name in ("open", "read_text", "read_bytes", "resolve"):
        monkeypatch.setattr(Path, name, _never)
    found = select_scenarios((), (tmp_path,))
    monkeypatch.undo()
    assert [one.id for one in found] == ["a.b/three.x", "a/deep/er", "a/one-two", "b/link", "b/two"]
    assert [scenario_id(one.path, tmp_path) for one in found] == [one.id for one in found]
    assert sorted(find_scenarios([tmp_path])) == sorted(one.path for one in found)


def linked(folder: Path) -> Path:
    """Make a folder of scenarios in which all is linked, or not a file, that can be; return it."""
    inside, elsewhere = folder / "suite", folder / "elsewhere"
    for theme in (inside / "a", elsewhere / "more"):
        theme.mkdir(parents=True)
        (theme / "one.yaml").write_text(PLAIN)
    (inside / "a" / "same.yaml").symlink_to("one.yaml")
    (inside / "b").symlink_to("a")
    (inside / "a" / "loop").symlink_to("..")
    (inside / "a" / "secret.yaml").symlink_to(elsewhere / "more" / "one.yaml")
    (inside / "a" / "lost.yaml").symlink_to("nowhere.yaml")
    (inside / "a" / "round.yaml").symlink_to("round.yaml")
    (inside / "more").symlink_to(elsewhere / "more")
    (elsewhere / "more" / "back").symlink_to(elsewhere / "more")
    os.mkfifo(inside / "a" / "pipe.yaml")
    (inside / "a" / "notes").symlink_to(elsewhere / "notes.txt")
    return inside


def test_nothing_outside_of_a_folder_is_read_unless_links_are_followed(tmp_path: Path) -> None:
    """A repository of somebody else may link to any file of this machine, whose lines an error would show."""
    root = linked(tmp_path)
    found = find_files([root])
    assert sorted(found) == ["a/one", "a/same"]
    followed = find_files([root], follow_links=True)
    assert sorted(followed) == ["a/one", "a/same", "a/secret", "more/one"]


def test_who_asks_for_all_is_refused_if_something_is_left_out(tmp_path: Path) -> None:
    """It was skipped without a word, and the run passed; who names ids gets those."""
    root = linked(tmp_path)
    with pytest.raises(UsageError) as refused:
        select_scenarios((), (root,))
    left_out = {
        "a/lost.yaml": "it is a link to nothing",
        "a/pipe.yaml": "it is a pipe, a socket or a device",
        "a/round.yaml": "it is a link to nothing",
        "a/secret.yaml": "it is a link to a file elsewhere",
        "more": "it is a link to a folder elsewhere",
    }
    listed = "; ".join(f"{root / name}: {why}" for name, why in left_out.items())
    assert str(refused.value) == f"5 files that look like a scenario would not be played: {listed}"
    assert refused.value.hint == "name the ids that are to be played; `run --follow-links` reads what links lead to"
    with pytest.raises(UsageError, match="3 files that look like"):
        select_scenarios((), (root,), follow_links=True)
    assert [one.id for one in select_scenarios(("a/one",), (root,))] == ["a/one"]
    with pytest.raises(UsageError, match="a/secret"):
        select_scenarios(("a/secret",), (root,))


def test_a_link_that_is_named_itself_is_read(tmp_path: Path) -> None:
    """Who runs the command has named it, and not who wrote the folder."""
    root = linked(tmp_path)
    assert list(find_files([root / "a" / "secret.yaml", root / "more"])) == ["more/one", "one"]
    (tmp_path / "way").symlink_to(root)
    assert sorted(find_files([tmp_path / "way"])) == ["a/one", "a/same"]


def test_an_id_begins_below_the_folder_that_is_named(tmp_path: Path) -> None:
    """A file that is named itself is called as below the folder of its theme's folder."""
    file = tmp_path / "chat" / "cancelled.yaml"
    file.parent.mkdir()
    file.write_text(PLAIN)
    ids = [[one.id for one in select_scenarios((), (root,))] for root in (tmp_path, file.parent, file)]
    assert ids == [["chat/cancelled"], ["cancelled"], ["chat/cancelled"]]


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("chat/mail@home", "chat/mail-home"),
        ("@team/x@event-3", "team/x-event-3"),
        ("chat/Über_Öl", "chat/über-öl"),
        ("chat/u\u0308ber", "chat/über"),
        ("会话/取消 2", "会话/取消-2"),
        ("chat/हिन्दी", "chat/हिन्दी"),
        ("chat x/ünï \N{ROCKET}\N{VARIATION SELECTOR-16}", "chat-x/ünï"),
        ("chat/\N{ROCKET}", "chat/scenario"),
    ],
)
def test_an_id_has_the_letters_of_all_scripts_and_no_sign_of_a_place(tmp_path: Path, file: str, named: str) -> None:
    """`@` begins a place of a sweep; a name is found as it is written, with combined letters or without."""
    path = tmp_path / f"{file}.yaml"
    path.parent.mkdir()
    path.write_text(PLAIN)
    (one,) = select_scenarios((), (tmp_path,))
    assert one.id == named
    assert scenario_id(path, tmp_path) == named
    for wanted in (named, unicodedata.normalize("NFD", named), f"{named[:-1]}*"):
        assert [found.id for found in select_scenarios((wanted,), (tmp_path,))] == [named]


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scenarios would be missing from the run, which would pass without them."""
    closed = tmp_path / "b"
    for theme in ("a", "b"):
        (tmp_path / theme).mkdir()
        (tmp_path / theme / "one.yaml").write_text(PLAIN)
    scandir = os.scandir

    def without_rights(folder: str) -> Any:
        if folder == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", without_rights)
    with pytest.raises(InputError, match=f"{re.escape(str(closed))}: Permission denied"):
        select_scenarios((), (tmp_path,))


def test_a_list_loads_no_scenario_that_says_plainly_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line is enough."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.yaml").write_text(PLAIN)
    monkeypatch.setattr("tpharness.scenario.load.load_scenario", _never)
    listing.list_("scenarios", scenarios=[tmp_path])
    assert capsys.readouterr().out == "a/one  Nothing but a text.\n"


@pytest.mark.parametrize(
    "first",
    [
        "description: 'It is \\'quoted\\''\n",
        "description: Two\n  lines of text\n",
        "description: a text # and a comment\n",
        "description: >\n  folded text\n   that is indented more\n",
        "description: >\n  folded text\n\n  of two paragraphs\n",
        "description: >\n   folded text\n",
        "description: |\n  lines as they stand\n",
        'description: "an escape of YAML: \\x41"\n',
        'description: "over\n  two lines"\n',
        "description: true\n",
        "clauses: []\ndescription: not at the beginning\n",
        "description: an &anchor is: text\n",
        "",
    ],
)
def test_what_is_not_plain_is_left_to_the_loader(tmp_path: Path, first: str) -> None:
    """Two readers of one language must not disagree."""
    (tmp_path / "x.yaml").write_text(f"{first}turns: []\n")
    assert read_description(tmp_path / "x.yaml") is None


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ("description: >\n  folded text\n  of two lines: all of it # even this\n", None),
        ('description: "It is \\"quoted\\": \\u00e9 # and this"\n', 'It is "quoted": é # and this'),
        ("# a comment\ndescription: >\n  A sentence. Two lines,\n  folded.\n", "A sentence. Two lines, folded."),
    ],
)
def test_folded_and_quoted_text_is_what_the_loader_reads(tmp_path: Path, first: str, text: str | None) -> None:
    """By hand, and as PyYAML reads it."""
    file = tmp_path / "x.yaml"
    file.write_text(f"{first}turns: []\n")
    read = read_description(file)
    assert read == yaml.safe_load(file.read_text())["description"].strip()
    assert text is None or read == text


def test_a_description_is_the_one_that_the_loader_reads() -> None:
    """Of every built-in scenario; most are read without it."""
    read = {path: read_description(path) for path in find_scenarios([scenarios_dir()])}
    plain = {path: said for path, said in read.items() if said is not None}
    assert len(plain) > len(read) / 2
    unusual = [item for item in plain.items() if not item[0].read_text("utf-8").startswith(f"description: {item[1]}")]
    assert unusual
    for path, said in [*list(plain.items())[::7], *unusual]:
        assert said == load_scenario(path).description


def test_a_folder_of_which_everything_is_left_out_is_not_called_empty(tmp_path: Path) -> None:
    """Whoever runs it would look for files that are there."""
    (tmp_path / "only.yaml").symlink_to(tmp_path.parent / "nowhere.yaml")
    with pytest.raises(UsageError, match=r"1 file that looks like a scenario .*only\.yaml: it is a link to nothing"):
        select_scenarios((), (tmp_path,))
