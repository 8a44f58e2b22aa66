"""What a command loads, and how often one idea has two homes, only gets less (`python scripts/house.py` prints it)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.modules import load_module

SCRIPT = Path(__file__).parent.parent / "scripts" / "house.py"

CEILINGS = {
    "list scenarios": 5_170,
    "check": 5_750,
    "app --list": 8_750,
    "run": 24_000,
    "explain": 2_400,
}
"""Lines of ours that a command may load. Whoever makes one load less lowers its ceiling."""

A_FOLD_LOADS = 7_100
"""Lines of ours that `import tpharness; fold(…)` of a stream may load."""

FOLD = """
import sys, tpharness
tpharness.fold('Hello', b'data: {"type":"start","messageId":"m"}\\n\\ndata: {"type":"finish"}\\n\\ndata: [DONE]\\n\\n')
files = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
print(*sorted(file for file in files if file.startswith(tpharness.__path__[0])), sep="\\n")
assert "yaml" not in sys.modules
"""

MAY_SAY_TOLD = 20
"""How often the word stands in `src`, where sent, reported or given often says more."""


house = load_module(SCRIPT)


def test_every_command_that_is_measured_has_a_ceiling() -> None:
    """A command whose number nobody holds is not measured."""
    assert set(CEILINGS) == set(house.COMMANDS)


@pytest.mark.parametrize("command", CEILINGS)
def test_a_command_loads_no_more_than_it_may(command: str) -> None:
    """Whoever needs one command does not wait for the code of another."""
    lines = house.loaded_lines(command)
    assert 0 < lines <= CEILINGS[command], f"tpharness {command} loads {lines} lines of ours"


def test_the_fold_of_a_stream_loads_no_more_than_it_may() -> None:
    """A test of an application folds what it received: neither the server's half nor the catalogue is loaded."""
    ended = subprocess.run([sys.executable, "-c", FOLD], capture_output=True, text=True, check=True, timeout=60)
    loaded = [Path(line) for line in ended.stdout.splitlines()]
    assert sum(len(file.read_text("utf-8").splitlines()) for file in loaded) <= A_FOLD_LOADS
    assert not [file for file in loaded if file.parent.name == "server_events"]


def test_public_class_names_mean_one_thing() -> None:
    """Somebody who searches for a class by its name finds one."""
    assert house.double_names() == {}


def test_the_word_told_is_where_it_is_right() -> None:
    """Sent, reported, signalled or given: the text says which."""
    assert sum(house.word_count("told").values()) <= MAY_SAY_TOLD


def test_a_small_file_has_one_public_name_or_a_reason() -> None:
    """And a reason has a file that it is about."""
    assert house.small_without_reason() == {}
    small = house.small_files()
    assert [place for place in house.SMALL if not any(f"{name}/".startswith(f"{place}/") for name in small)] == []


def test_one_engine_decides_whether_a_run_passes() -> None:
    """Whatever plays the cases: scenarios on targets, histories, an application, shards that are merged."""
    assert house.engines() == ["verdict/case_run.py"]


def test_what_is_measured_is_found() -> None:
    """The measures find what is there: they are not zero because the tree has moved."""
    assert house.engines()
    assert len(house.small_files()) > 20
    assert set(house.walks()) == {"text-start", "tool-input-delta"}
    assert house.word_count("tpharness")
