"""The table [run] of tpharness.toml: what it says is played, what is given on the command line wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpharness.errors import InputError, UsageError
from tpharness.run.configured import Configured, read_configured

WHOLE = """
[run]
server = "peer:mine"
client = ["reference", "peer:mine"]
scenarios = ["scenarios", "more/one.yaml"]
baseline = "known.yaml"
profile = ["stream"]
dialect = "0.0.4"
"""


def test_each_key_is_read(tmp_path: Path) -> None:
    """A word alone is a list of one; paths begin in the folder of the file, wherever the command is run."""
    (tmp_path / "tpharness.toml").write_text(WHOLE, "utf-8")
    below = tmp_path / "deep" / "er"
    below.mkdir(parents=True)
    assert read_configured(below) == Configured(
        server=("peer:mine",),
        client=("reference", "peer:mine"),
        scenarios=(Path("../../scenarios"), Path("../../more/one.yaml")),
        baseline=Path("../../known.yaml"),
        profile=("stream",),
        dialect=("0.0.4",),
        said=(
            "../../tpharness.toml says server, client, scenarios, baseline, profile, dialect"
            " (--no-config leaves it alone)"
        ),
    )


@pytest.mark.parametrize("text", ["[apps.chat]\nurl = 'http://127.0.0.1:1/'\n", "[run]\n"])
def test_a_file_that_says_nothing_changes_nothing(text: str, tmp_path: Path) -> None:
    """Applications and peers are other tables."""
    (tmp_path / "tpharness.toml").write_text(text, "utf-8")
    assert read_configured(tmp_path) == Configured()


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("[rum]\nserver = 'x'", "unknown key 'rum'", "did you mean run?"),
        ("[run]\nprofiles = ['stream']", "[run] has an unknown key 'profiles'", "did you mean profile?"),
        ("[run]\nzzz = 1", "unknown key 'zzz'", "server, client, scenarios, baseline, profile, dialect"),
        ("[run]\nsaid = 'x'", "unknown key 'said'", ""),
        ("[run]\nserver = 8765", "server is 8765, expected a name or a list of names", 'server = "…"'),
        ("[run]\nserver = ['']", 'server is [""], expected a name', ""),
        ("[run]\nserver = true", "server is true, expected a name", ""),
        ("[run]\nbaseline = ['a', 'b']", "baseline names 2 files", ""),
        ("run = 1", "run is not a table", "[run] on a line of its own"),
    ],
)
def test_what_is_wrong_is_told(text: str, says: str, hint: str, tmp_path: Path) -> None:
    """With the file, the table and the key."""
    (tmp_path / "tpharness.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError) as raised:
        read_configured(tmp_path)
    assert says in str(raised.value)
    assert str(tmp_path / "tpharness.toml") in str(raised.value)
    assert hint in raised.value.hint


def test_a_file_that_is_not_toml_is_told(tmp_path: Path) -> None:
    """With its line."""
    (tmp_path / "tpharness.toml").write_text("[run\n", "utf-8")
    with pytest.raises(InputError, match="line 1"):
        read_configured(tmp_path)
