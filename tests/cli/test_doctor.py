"""`tpharness doctor` finds what is there, and says of what is not what needs it and what to type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call

from tpharness.cli.app import COMMANDS
from tpharness.errors import TargetError
from tpharness.extras import EXTRAS, Extra


def test_an_environment_that_has_everything(call: Call) -> None:
    """Every line says what was found, and the last one that the core works."""
    done = call("doctor")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith("tpharness ")
    assert "  ok       core" in lines[1]
    assert [line.split()[1] for line in lines if "[" in line] == [f"[{name}]" for name in EXTRAS]
    assert lines[-1].startswith("the core works")


def test_a_missing_extra_has_its_command(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named with what needs it; the core works all the same."""
    monkeypatch.setitem(EXTRAS, "cluster", Extra(("no-such-package",), "--cluster"))
    done = call("doctor")
    lines = done.out.splitlines()
    at = next(number for number, line in enumerate(lines) if "[cluster]" in line)
    assert lines[at].split() == ["missing", "[cluster]", "for", "--cluster:", "no", "no-such-package"]
    assert lines[at + 1].strip() == "type: pip install 'tpharness[cluster]'"
    assert (done.code, lines[-1]) == (0, "the core works; 1 optional part is missing")


def test_missing_programs_are_said_with_what_brings_them(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node.js is brought by an extra; a browser by a command, or by what the variable should name."""

    def no_node() -> None:
        raise TargetError("Node.js is not installed", hint="")

    monkeypatch.setattr("tpharness.cli.doctor.find_node", no_node)
    monkeypatch.setattr("tpharness.cli.doctor.installed_browser", lambda: (None, False))
    done = call("doctor")
    assert done.code == 0
    assert "missing  Node.js" in done.out
    assert "type: pip install 'tpharness[ai-sdk]'" in done.out
    assert "type: npx playwright-core install chromium" in done.out
    monkeypatch.undo()
    monkeypatch.setenv("TPHARNESS_CHROMIUM", "/no/such/browser")
    assert "TPHARNESS_CHROMIUM: /no/such/browser is not a program" in call("doctor").out


def test_a_browser_that_is_fetched_later_is_not_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network the peer would not start."""
    monkeypatch.setattr("tpharness.cli.doctor.installed_browser", lambda: (None, True))
    (line,) = [line for line in call("doctor").out.splitlines() if " browser " in line]
    assert line.split()[0] == "later"
    assert "not there yet" in line


def test_a_core_that_does_not_work_fails(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Here the scenarios of the package are missing, so that nothing can be played."""
    monkeypatch.setattr("tpharness.cli.doctor.scenarios_dir", lambda: tmp_path)
    done = call("doctor")
    assert done.code == 1
    assert "missing  core" in done.out
    assert done.out.splitlines()[-1].startswith("the core does not work")


def test_it_can_be_read_by_programs(call: Call) -> None:
    """The same facts as JSON."""
    done = call("doctor", "--json")
    document = json.loads(done.out)
    assert (done.code, document["works"]) == (0, True)
    assert {f"[{name}]" for name in EXTRAS} < {line["name"] for line in document["found"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_short_option_asks_for_help(name: str, call: Call) -> None:
    """-h is what many type first."""
    done = call(name, "-h")
    assert (done.code, done.out) == (0, call(name, "--help").out)
