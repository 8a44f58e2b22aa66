"""The line of `tpharness.toml` that describes an application."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpharness.apps.config import config_of_url, load_config
from tpharness.apps.table_place import table_place

URL = 'url = "http://127.0.0.1:3000/chat"\n'


@pytest.mark.parametrize(
    ("head", "name"),
    [("[apps.chat]", "chat"), ('  [ apps . "my chat" ]  # ours', "my chat"), ("[apps.'a.b']", "a.b")],
)
def test_it_is_the_line_of_the_table(tmp_path: Path, head: str, name: str) -> None:
    """However its head is written; a table of another application, or below it, is not it."""
    (file := tmp_path / "tpharness.toml").write_text(
        f'[apps.chat2]\n{URL}trims = [\n"tools",\n]\n[apps.chat2.env]\n{head}\n{URL}', "utf-8"
    )
    place = table_place(load_config(name, file))
    assert place is not None
    assert (place.file, place.line) == (str(file), 7)


def test_a_table_without_a_head_has_no_line_and_an_address_no_file(tmp_path: Path) -> None:
    """The file is named where nothing more can be said."""
    (file := tmp_path / "tpharness.toml").write_text(f"[apps]\nchat.{URL}", "utf-8")
    place = table_place(load_config("chat", file))
    assert place is not None
    assert (place.file, place.line) == (str(file), None)
    assert table_place(config_of_url("http://127.0.0.1:3000/chat")) is None
