"""`tpharness trend`: what came and went between releases of a peer, and what it says of one that does not start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from tests.cli.conftest import Call

from tpharness.resources import conformance_dir

PROGRAM = """
import sys
sys.path.insert(0, {examples!r})
import plain_python as server
release = sys.argv[1]
if release == "3":
    sys.exit("thing 3 lacks what this peer needs")
if release == "2":
    whole = server.Thread.document
    server.Thread.document = lambda self, version: {{**whole(self, version), "turns": []}}
server.CAPABILITIES["version"] = release
server.serve_http("127.0.0.1", int(sys.argv[2]))
"""
MID_TEXT = "interruptions/mid-text"


@pytest.fixture
def thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `peer:thing`: its release 2 forgets all turns, its release 3 does not start."""
    examples = str(Path(__file__).parents[2] / "examples")
    (tmp_path / "thing.py").write_text(PROGRAM.format(examples=examples), "utf-8")
    (tmp_path / "tpharness.toml").write_text(
        f"[peers.thing]\ncommand = [{sys.executable!r}, 'thing.py', '{{release}}', '{{port}}']", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_departure_comes_and_goes(thing: Path, call: Call) -> None:
    """With its case and cause, in the document as in what is printed; a release that does not start is named."""
    done = call(
        "trend", "peer:thing", MID_TEXT, "basics/cancelled-in-arguments", "--releases", "1,2,3,4", "-o", "trend.json"
    )
    trend = json.loads((thing / "trend.json").read_text("utf-8"))
    schema = json.loads((conformance_dir() / "schemas" / "trend.schema.json").read_text("utf-8"))
    jsonschema_rs.validator_for(schema).validate(trend)
    assert [one["release"] for one in trend["releases"]] == ["1", "2", "3", "4"]
    assert "thing 3 lacks what this peer needs" in trend["releases"][2]["error"]
    first, second = trend["changes"]
    assert [(one["from"], one["to"]) for one in trend["changes"]] == [("1", "2"), ("2", "4")]
    assert MID_TEXT in first["came"][0]["cases"]
    assert first["went"] == []
    assert second["came"] == []
    assert sorted(case for group in first["came"] for case in group["cases"]) == sorted(
        case for group in second["went"] for case in group["cases"]
    )
    assert trend["releases"][0]["departing"] == trend["releases"][3]["departing"] == 0
    assert "1 → 2: 0 cases went, " in done.out
    assert " 0 differ at both" in done.out
    assert "depart" not in done.out
    assert "3 could not be played: " in done.out
    assert done.code == 0, "nothing came with the last release"


@pytest.mark.usefixtures("thing")
def test_a_departure_that_came_with_the_last_release_is_an_exit_code(call: Call) -> None:
    """So that a job can wait for it."""
    assert call("trend", "peer:thing", MID_TEXT, "--releases", "1,2").code == 1


@pytest.mark.usefixtures("thing")
def test_a_last_release_that_cannot_be_played_is_an_error(call: Call) -> None:
    """A job that plays the newest release would be green for one that does not start."""
    done = call("trend", "peer:thing", MID_TEXT, "--releases", "1,3")
    assert done.code == 2
    assert "3 could not be played: " in done.out
    assert "peer:thing@3 could not be played, so nothing is known of it" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["peer:thing@1", "--releases", "1,2"], "'peer:thing@1' names a release\n  name the peer alone, peer:thing, "),
        (["peer:@1", "--releases", "1,2"], "'peer:@1' is not a peer\n  name a peer, such as peer:ai-sdk-client"),
        (["http://me@127.0.0.1:1", "--releases", "1,2"], "'http://127.0.0.1:1' is not a peer\n"),
        (["peer:ai-sdk-client", "--releases", "5.0.0"], "a trend has two releases at least"),
        (["peer:foo"], "the releases of peer:foo are not known"),
        (["peer:serve", "--releases", "1,2"], "peer:serve cannot be played at another release"),
        (["peer:ai-sdk-client", "--releases", "5.0.0,8"], "'8' is not a release of ai"),
        (["peer:ai-sdk-client", "--releases", "5,6", "--role", "both"], "there is no role 'both'"),
    ],
)
def test_what_cannot_be_played_is_said_before_anything_is(arguments: list[str], says: str, call: Call) -> None:
    """Wrong usage, with what to write."""
    done = call("trend", *arguments)
    assert done.code == 2
    assert says in done.err
    assert "release 1 of 2" not in done.err
