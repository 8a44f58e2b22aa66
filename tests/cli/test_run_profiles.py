"""`run --profile` plays what belongs to a profile, and `list profiles` says what that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Call

from tpharness.resources import scenarios_dir


def played(path: Path) -> list[dict[str, Any]]:
    """Return the results of a report."""
    results: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["results"]
    return results


def test_only_scenarios_of_the_profiles_are_played(call: Call, tmp_path: Path) -> None:
    """Two profiles are the scenarios of either; ids beside them restrict what is played."""
    report = tmp_path / "report.json"
    assert call("run", "--profile", "multi-agent", "--profile", "carriers", "--report", f"json:{report}").code == 0
    ids = {result["id"].partition("@")[0] for result in played(report)}
    assert {"threads/handoff-in-one-stream", "carriers/scope", "events/agents-of-one-event-alone"} <= ids
    assert "cycles/three-steps" not in ids
    call("run", "threads", "--profile", "multi-agent", "--report", f"json:{report}")
    assert {result["id"].partition("/")[0] for result in played(report)} == {"threads"}


def test_a_profile_with_faults_plays_them(call: Call, tmp_path: Path) -> None:
    """Its own scenarios come without a fault, others only with the faults of the profile."""
    report = tmp_path / "report.json"
    assert call("run", "--profile", "resume", "--report", f"json:{report}").code == 0
    results = played(report)
    faults = {result["id"].partition("@fault-")[2] for result in results if "@fault-" in result["id"]}
    assert faults == {"resume", "resume-twice-told", "resume-from-start", "kill"}
    plain = {result["id"].partition("@")[0] for result in results if "@fault-" not in result["id"]}
    assert "basics/client-loses-the-end" in plain
    assert "basics/tool-call-and-answer" not in plain
    assert "basics/tool-call-and-answer@fault-resume" in {result["id"] for result in results}


def test_faults_that_are_named_are_played_instead(call: Call, tmp_path: Path) -> None:
    """`--fault` says which, as without a profile."""
    report = tmp_path / "report.json"
    call("run", "basics", "--profile", "resume", "--fault", "drip", "--report", f"json:{report}")
    assert {result["id"].partition("@")[2] for result in played(report)} == {"fault-drip"}


def test_what_plays_nothing_or_does_not_exist_is_refused(call: Call) -> None:
    """Exit code 2, and what to write instead."""
    nothing = call("run", "sse", "--profile", "carriers")
    assert nothing.code == 2
    assert "no scenario that was named belongs to carriers" in nothing.err
    own = call("run", "--scenarios", str(scenarios_dir() / "sse"), "--profile", "carriers")
    assert "leave the ids away: tpharness run --scenarios built-in --profile carriers" in own.err
    unknown = call("run", "--profile", "tool")
    assert unknown.code == 2
    assert "did you mean tools?" in unknown.err


def test_a_scenario_that_does_not_load_is_not_hidden(call: Call, tmp_path: Path) -> None:
    """It may belong to the profile: the run says that it does not load, and fails."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "broken.yaml").write_text("description: 7\nturns: {", encoding="utf-8")
    called = call("run", "--profile", "tools", "--scenarios", str(tmp_path))
    assert called.code == 1
    assert "ERRORED mine/broken" in called.out


def test_profiles_are_listed(call: Call) -> None:
    """For people with counts, for machines with the ids of what belongs."""
    text = call("list", "profiles").out
    assert text.splitlines()[0].startswith("documents ")
    assert "Whoever lets users stop an answer" in text
    listed = {one["name"]: one for one in json.loads(call("list", "profiles", "--json").out)}
    assert "interruptions/mid-text" in listed["interruptions"]["scenarios"]
    assert "cycle.kept" in listed["cycles"]["clauses"]
    assert listed["resume"]["faults"][0] == "resume"
