"""`tpharness run --baseline`: an entry is judged, and removed by `--write-baseline`, where its case was played."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Call

from tpharness.resources import scenarios_dir

CHANGED = "python:tests.run.test_truth:Changed"
"""A server that forgets what was thought."""
PLAIN = (
    'description: One answer.\nclauses: [stream.text]\nturns: [{user: "Hi"}, {steps: [{response: [{text: "Ho"}]}]}]\n'
)
KNOWN = """\
- {id: a/thought, findings: [identity-differs, outline-differs], clauses: [sync.identity], reason: not stored}
- {id: a/plain, findings: [identity-differs], reason: it passes now}
- {id: a/plain@fault-rechunk, findings: [identity-differs], reason: so it does with a fault}
- {id: a/latest, findings: [identity-differs], reason: only in 0.0.4}
- departure: places
  reason: one passes now, and one is not there
  cases: {identity-differs: [a/swept@event-3], outline-differs: [a/swept@event-99]}
- {id: a/gone, findings: [identity-differs], reason: no scenario}
- {id: a/gone@fault-rechunk, findings: [identity-differs], reason: no scenario either}
- {id: "a/p*", findings: [identity-differs], reason: a pattern}
- {cause: identity-differs at nothing, reason: a cause}
"""
ONE, OLD, SWEPT = {"a/plain"}, {"a/latest"}, {"a/swept@event-3", "a/swept@event-99"}
WHOLE = {"a/gone", "a/gone@fault-rechunk", "a/p*", "identity-differs at nothing"}
"""What only a run of all scenarios without faults can judge."""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of four scenarios; what failed last is kept beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "scenarios" / "a"
    folder.mkdir(parents=True)
    (folder / "plain.yaml").write_text(PLAIN, encoding="utf-8")
    (folder / "latest.yaml").write_text(PLAIN + "versions: [0.0.4]\n", encoding="utf-8")
    for name, source in (("swept", "cycles/three-steps"), ("thought", "stream/thinking-alias")):
        shutil.copy(scenarios_dir() / f"{source}.yaml", folder / f"{name}.yaml")
    return folder.parent


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """Return the file of the baseline."""
    file = tmp_path / "known.yaml"
    file.write_text(KNOWN, encoding="utf-8")
    return file


def names(text: str) -> set[str]:
    """Return what the entries of a baseline are called."""
    found: set[str] = set()
    for item in yaml.safe_load(text):
        found |= {case for ids in item["cases"].values() for case in ids} if "cases" in item else set()
        found |= {item.get("id") or item.get("cause")} - {None}
    return found


def outdated(report: Path) -> set[str]:
    """Return the entries that a run has reported as stale or unmatched."""
    document = json.loads(report.read_text("utf-8"))
    stale = {result["id"] for result in document["results"] if result["outcome"] == "stale"}
    return stale | {one["place"]["case"] for one in document["problems"] if one["code"].startswith("baseline-")}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ONE | OLD | SWEPT | WHOLE),
        (("--jobs", "2"), ONE | OLD | SWEPT | WHOLE),
        (("--dialect", "0.0.3"), ONE | SWEPT | WHOLE),
        (("a/plain",), ONE),
        (("a/swept@event-3",), {"a/swept@event-3"}),
        (("-k", "plain or latest"), ONE | OLD),
        (("--clause", "stream.text"), ONE | OLD),
        (("--profile", "tools"), SWEPT),
        (("--fault", "rechunk"), set()),
        (("--fault", "rechunk", "--server", "peer:serve"), {"a/plain@fault-rechunk"}),
        (("--fault", "reset", "--server", "peer:serve"), set()),
    ],
)
def test_what_is_judged_is_removed_and_all_else_is_kept(
    call: Call, tmp_path: Path, suite: Path, known: Path, words: tuple[str, ...], expected: set[str]
) -> None:
    """Faults that cannot be played on a target judge nothing; neither does a version that a scenario does not have."""
    report = tmp_path / "report.json"
    server = () if "--server" in words else ("--server", CHANGED)
    files = ("--scenarios", str(suite), "--baseline", str(known), "--write-baseline", str(known))
    call("run", *words, *server, *files, "--trace", "none", "--report", f"json:{report}")
    assert outdated(report) == expected
    assert names(known.read_text("utf-8")) == names(KNOWN) - expected


def test_only_what_failed_last_is_judged(call: Call, tmp_path: Path, suite: Path, known: Path) -> None:
    """`--lf` plays one scenario of four, whose entry explains its failure."""
    words = ("run", "--server", CHANGED, "--scenarios", str(suite), "--trace", "none")
    assert call(*words).code == 1
    report = tmp_path / "report.json"
    assert call(*words, "--lf", "--baseline", str(known), "--report", f"json:{report}").code == 0
    assert outdated(report) == set()


def test_an_entry_that_stays_is_not_changed(call: Call, suite: Path, known: Path) -> None:
    """It has what somebody has written into it; what is new has an empty reason."""
    before = yaml.safe_load(KNOWN)
    known.write_text(yaml.safe_dump(before[1:]), encoding="utf-8")
    files = ("--scenarios", str(suite), "--baseline", str(known), "--write-baseline", str(known))
    call("run", "a/thought", "--server", CHANGED, *files, "--trace", "none")
    new, *others = yaml.safe_load(known.read_text("utf-8"))
    assert others == before[1:]
    assert (new["reason"], new["cases"]) == ("", {"identity-differs outline-differs": ["a/thought"]})


def test_a_baseline_for_runs_with_and_without_faults_passes_both(call: Call, suite: Path, known: Path) -> None:
    """Each of them judges its own entries."""
    thought, _, struck, *_ = yaml.safe_load(KNOWN)
    known.write_text(yaml.safe_dump([thought, struck]), encoding="utf-8")
    words = ("run", "--scenarios", str(suite), "--baseline", str(known), "--trace", "none")
    assert call(*words, "--server", CHANGED).code == 0
    assert call(*words, "--server", "peer:serve", "--fault", "reset").code == 0
