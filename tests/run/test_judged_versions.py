"""Every check is judged in every version of the protocol, or says that it never can be there, and why."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.distribution import ChosenScenarios

from tpharness.checks import CHECKS, NotApplicable
from tpharness.protocol.versions import Version
from tpharness.report.not_judged import never_judged
from tpharness.run import RunOptions, run_suite
from tpharness.verdict import Outcome, Result, ResultReady

ROOT = Path(__file__).parents[2]
NAMES = [check.name for check in CHECKS]
FEW = (
    *("basics", "cycles/three-steps", "interruptions/client-*", "stream/id-of-the-message"),
    *("tools/content-ref", "documents/0-0-3-content-ref", "threads/everything-in-each-version"),
)
"""What each check has something to judge in, in each version where it ever has."""

AS_0_0_4 = """Features(
        interrupted_turns=True,
        client_metadata=True,
        content_refs=True,
        links=True,
        namespaces=True,
        event_tiers=True,
        normative_events=dict(zip(_TIERED, _TIERED, strict=True)),
    )"""
AS_0_0_3 = "Features(client_metadata=True, content_refs=True, links=True, namespaces=True)"
MIGRATE = """
import json, sys
from tpharness.protocol.migrate import convert
from tpharness.protocol.versions import Version
made = convert(json.load(open(sys.argv[1])), Version("0.0.5"), check=False)
back = convert(made.thread, Version("0.0.4"), check=False)
print(json.dumps([made.thread, [v.value for v in made.steps], [d.pointer for d in made.dropped], back.thread]))
"""


def unexcused(results: Iterable[Result]) -> list[str]:
    """Return what is judged nowhere for no reason that lies in the version."""
    return [one.line() for one in never_judged(results) if not one.why.by_version]


@pytest.fixture(scope="module")
def played() -> list[Result]:
    """Return the results of a few scenarios on the reference: a check that judges one of them judges."""
    return [event.result for event in run_suite(RunOptions(ids=FEW)) if isinstance(event, ResultReady)]


def test_every_check_is_judged_in_every_version_or_says_why_it_never_is(played: list[Result]) -> None:
    """A check that is silent about a version would pass whatever is written in it."""
    assert {version for result in played for version in result.not_judged} == set(Version)
    assert unexcused(played) == [], "add a scenario to FEW in which the check has something to judge"
    assert [(one.check, [v.value for v in one.versions]) for one in never_judged(played)] == [
        ("monotonicity", ["2.0.0", "0.0.3"]),  # R18
        ("integrity", ["2.0.0"]),  # R6: no references
    ]


@pytest.mark.parametrize("check", NAMES)
def test_a_check_that_is_silent_about_a_version_is_found(check: str, played: list[Result]) -> None:
    """The test above can fail: for each check, when every case of one version gives it nothing to judge."""
    silent = NotApplicable(reason="it happens to be so in this case")
    oldest = next(iter(Version))

    def silenced(result: Result) -> Result:
        reasons = {**result.not_judged.get(oldest, {}), check: silent}
        return replace(result, not_judged={**result.not_judged, oldest: reasons} if result.not_judged else {})

    (line,) = [line for line in unexcused(map(silenced, played)) if line.startswith(f"{check} ")]
    assert line.startswith(f"{check} checked nothing in 2.0.0 (")
    assert line.endswith(" cases): it happens to be so in this case")


def test_reasons_come_in_the_order_of_the_versions() -> None:
    """Reasons that are equally frequent have the same order in every process: two reports of one run are the same."""
    reasons = {v: {name: NotApplicable(reason=f"{name} in {v.value}") for name in NAMES} for v in Version}
    result = Result(id="a/case", outcome=Outcome.PASSED, not_judged=reasons)
    assert [(one.check, one.versions) for one in never_judged([result])] == [
        (name, (version,)) for name in NAMES for version in Version
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("features", "schema", "excused"),
    [
        pytest.param(AS_0_0_4, "0.0.4", {}, id="that says what 0.0.4 says"),
        pytest.param(
            AS_0_0_3, "0.0.3", {"monotonicity": "the version shows complete turns only (R18)"}, id="of complete turns"
        ),
    ],
)
def test_a_new_version_is_one_record_and_one_schema(
    features: str, schema: str, excused: dict[str, str], tmp_path: Path, chosen_scenarios: ChosenScenarios
) -> None:
    """With these two in a copy of the tree, the suite plays the version, and every check judges it or says why not."""
    tree = _tree_with_version("0.0.5", features, schema, tmp_path)
    chosen = chosen_scenarios(len(excused))
    ids = (*FEW, *chosen) if chosen else ()
    report, shown = _run(tree, "0.0.5", ids, tmp_path / "report.json")
    # What only an interrupted turn shows of a known departure is stale in a version without them, in 0.0.3 as well.
    assert set(report["counts"]) <= {"passed", "not-applicable", "expected", *(["stale"] if excused else [])}
    assert report["versions"] == ["0.0.5"]
    results = [result for result in report["results"] if result["checks"]]
    assert sum(result["cases"] for result in results) > (100 if ids else 2000)
    for check in NAMES:
        silent = [one for result in results for one in result["not_judged"] if one["check"] == check]
        if check in excused:
            assert len(silent) == len(results)
            assert {(one["reason"], one["because_of"]) for one in silent} == {(excused[check], "version")}
            assert f"{check} checked nothing in 0.0.5 (" in shown
        elif check == "integrity":  # the scenario with a reference is one of 0.0.3 and 0.0.4
            assert {(one["reason"], one["because_of"]) for one in silent} <= {
                ("no thread of the client refers to a content", "case"),
                ("contents are asked for once in a scenario, without a cut and without a fault", "case"),
                ("the version has no references to contents", "version"),
            }
        else:
            assert len(silent) < len(results), f"{check} is never judged in the new version"
            assert f"{check} checked nothing" not in shown


def test_a_new_version_is_migrated_to_along_the_lineage(tmp_path: Path) -> None:
    """What a step changes follows from the records: here interrupted turns go, and old names of events come back."""
    tree = _tree_with_version("0.0.5", AS_0_0_3, "0.0.3", tmp_path)
    agent = {"turn_type": "agent", "agent_id": "a", "started_at": "2025-01-20T10:00:00Z", "messages": []}
    event = {"message_type": "system", "event_type": "data-tp-error", "event_data": {}}
    cut = {"reason": "timeout", "interrupted_at": "2025-01-20T10:00:01Z"}
    turns = [
        {**agent, "completion_status": "complete", "messages": [event]},
        {**agent, "completion_status": "interrupted", "interruption": cut},
    ]
    old = {"version": "0.0.3", "turns": [{**agent, "messages": [{**event, "event_type": "error"}]}]}
    given = tmp_path / "thread.json"
    given.write_text(json.dumps({"version": "0.0.4", "turns": turns}))
    said = subprocess.run(
        [sys.executable, "-c", MIGRATE, str(given)], env=_env(tree), check=True, capture_output=True
    ).stdout
    made, steps, dropped, back = json.loads(said)
    assert made == {**old, "version": "0.0.5"}
    assert (steps, dropped) == (["0.0.4", "0.0.5"], ["/turns/1"])
    assert back == {"version": "0.0.4", "turns": turns[:1]}


def _tree_with_version(name: str, features: str, schema: str, tmp_path: Path) -> Path:
    """Copy what runs, with one more version at the end of the lineage: a member with its record, and a schema."""
    tree = tmp_path / "tree"
    for folder in ("src", "conformance", "scenarios"):
        unread = shutil.ignore_patterns("golden", "*.egg-info", "*-pytest-*.pyc")  # what is compiled stays so
        shutil.copytree(ROOT / folder, tree / folder, ignore=unread)
    record = tree / "src" / "tpharness" / "protocol" / "versions.py"
    text = record.read_text()
    for before, after in (
        ('    V0_0_4 = "0.0.4"\n', f'    V0_0_4 = "0.0.4"\n    MADE_UP = "{name}"\n'),
        (
            "_FEATURES: Mapping[str, Features] = {\n",
            f'_FEATURES: Mapping[str, Features] = {{\n    "{name}": {features},\n',
        ),
    ):
        assert text.count(before) == 1
        text = text.replace(before, after)
    record.write_text(text)
    schemas = tree / "conformance" / "schemas"
    written = (schemas / f"thread-{schema}.schema.json").read_text()
    (schemas / f"thread-{name}.schema.json").write_text(written.replace(f'"{schema}"', f'"{name}"'))
    return tree


def _run(tree: Path, version: str, ids: Sequence[str], path: Path) -> tuple[dict[str, Any], str]:
    """Play scenarios in one version, in a process of its own; return the JSON report and what the console showed."""
    command = [sys.executable, "-m", "tpharness", "run", "-v", *ids, "--dialect", version]
    command += ["--report", f"json:{path}", "--report", "console"]
    done = subprocess.run(command, env=_env(tree), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(path.read_text())
    return report, done.stdout


def _env(tree: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
