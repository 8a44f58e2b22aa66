"""What violates clauses and is found, of all kinds of evidence: the content of `conformance/violations.json`.

Documents, streams and wrong readers of documents are played here. Defects of the reference, targets and applications
take minutes: this says what their own tests hold. `seeded_defects/test_seeded_defects.py` plays each row of
`killers.json`, `targets/test_bad_targets.py` each bad target, `apps/test_diagonal.py` each broken application.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from conformance.bad_documents import judge, load_bad_documents, make_document
from conformance.vectors import load_vectors, run_vector
from tests.apps.broken import OBSERVED, ROWS
from tests.run.test_plain_streams import SILENT
from tests.run.test_stream_change import play as play_spoilt
from tests.scenarios import load_all, load_builtin
from tests.seeded_defects import DEFECTS, DOCUMENT_DEFECTS
from tests.targets.bad_clients import BAD_CLIENTS
from tests.targets.bad_targets import BAD
from tests.wires.ag_ui.lossy import FOUND_IN, IN_NO_THREAD, LOSSY

from tpharness.apps.checks import APP_CHECKS
from tpharness.clauses import Violation
from tpharness.findings import load_kinds
from tpharness.resources import conformance_dir
from tpharness.run import RunOptions, play_one
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.targets import Reference

__all__ = ["PATH", "collect", "text"]

PATH = conformance_dir() / "violations.json"
_KILLERS: dict[str, list[str]] = json.loads((Path(__file__).parent / "seeded_defects" / "killers.json").read_text())


@cache
def collect() -> tuple[Violation, ...]:
    """Return every violation, with what finds it and the clauses that are cited then."""
    return (
        *_defects(),
        *_wires(),
        *_readers(),
        *_documents(),
        *_streams(),
        *_targets(),
        *_wrong_alike(),
        *_silent(),
        *_applications(),
    )


def text(violations: Iterable[Violation]) -> str:
    """Write violations as the file has them, one on each line."""
    lines = ",\n".join(" " + json.dumps(asdict(one), ensure_ascii=False) for one in violations)
    return f"[\n{lines}\n]\n"


def _defects() -> Iterator[Violation]:
    for defect in DEFECTS:
        yield _violation("defect", defect.name, defect.sentence, defect.clauses, _KILLERS[defect.name])


def _wires() -> Iterator[Violation]:
    """Sides of AG-UI that keep something over one wire and lose it over the other, or say it in no thread."""
    for lossy in LOSSY:
        clauses = load_kinds()[IN_NO_THREAD.get(lossy.name, "wire-matters")].clauses
        yield _violation("defect", f"ag-ui-{lossy.name}", lossy.sentence, clauses, [FOUND_IN[lossy.name]])


def _readers() -> Iterator[Violation]:
    for defect in DOCUMENT_DEFECTS:
        with defect.seed():
            failed = {name: vector["clauses"] for name, vector in load_vectors().items() if run_vector(name)}
        found_by = [name for name, clauses in failed.items() if {*clauses} & {*defect.clauses}]
        clauses = [clause for clause in defect.clauses if any(clause in failed[name] for name in found_by)]
        yield _violation("defect", defect.name, defect.sentence, clauses, found_by)


def _documents() -> Iterator[Violation]:
    for entry in load_bad_documents():
        if not entry["clauses"]:
            continue  # no document at all: readers refuse it before a clause could speak of it
        told = [one for one in judge(make_document(entry)) if one.code == entry["finding"]]
        cited = {clause for finding in told for clause in finding.as_json()["clauses"]}
        clauses = [clause for clause in entry["clauses"] if clause in cited]
        yield _violation("document", entry["name"], entry["says"], clauses, [entry["finding"]])


def _streams() -> Iterator[Violation]:
    """Scenarios whose stream is wrong: the clauses of the scenario that a finding about the stream cites."""
    players = Players(server=Reference(), client=Reference())
    for scenario in load_all().values():
        if not scenario.expect.findings:
            continue
        played = asyncio.run(play(base_case(scenario), players, thorough=False))
        sides = [side for one in played for side in (one.server, one.client) if side]
        codes = {finding.code for side in sides for finding in side.findings} & set(scenario.expect.findings)
        cited = {clause for code in codes for clause in load_kinds()[code].clauses}
        clauses = [clause for clause in scenario.clauses if clause in cited]
        if not clauses:
            continue  # its findings come with something else that it shows
        by = [code for code in sorted(codes) if {*load_kinds()[code].clauses} & {*clauses}]
        yield _violation("stream", scenario.id, scenario.description, clauses, by)


def _targets() -> Iterator[Violation]:
    """Bad servers and clients that are found by a finding of one clause."""
    for bad in (*BAD, *BAD_CLIENTS):
        code = bad.words.removeprefix("^").partition(":")[0]
        clauses = load_kinds()[code].clauses if code in load_kinds() else ()
        if len(clauses) == 1:
            name = "-".join(re.findall(r"\w+", bad.name))
            yield _violation("target", name, f"The {bad.role} {bad.name}.", clauses, [code])


def _wrong_alike() -> Iterator[Violation]:
    """A server and a client that agree and are both wrong, which no change of the reference can be (R51)."""
    scenario, target = "threads/right-and-not-only-the-same", "python:tests.run.test_truth:Changed"
    (result, *_) = play_one(load_builtin(scenario), RunOptions(server=target, client=target))
    codes = sorted(result.failing_codes)
    clauses = [clause for code in codes for clause in load_kinds()[code].clauses]
    sentence = "A server and a client of one author leave out what the model thinks, both alike."
    yield _violation("target", "wrong-alike", sentence, clauses, codes)


def _silent() -> Iterator[Violation]:
    """Servers with carriers whose plain chunks lack something, which no change of the reference can be (R39)."""
    for name, row in SILENT.items():
        codes = sorted({f.code for f in play_spoilt(row.scenario, row.spoil).findings} & {row.code})
        clauses = [clause for code in codes for clause in load_kinds()[code].clauses]
        yield _violation("target", name, row.sentence, clauses, codes)


def _applications() -> Iterator[Violation]:
    clause_of = {check.name: check.clause for check in APP_CHECKS}
    for row in (*ROWS, *OBSERVED):
        yield _violation("application", row.name, row.sentence, [clause_of[row.check]], sorted(row.codes))


def _violation(kind: str, name: str, sentence: str, clauses: Sequence[str], found_by: Sequence[str]) -> Violation:
    return Violation(kind=kind, name=name, sentence=sentence, clauses=tuple(clauses), found_by=tuple(found_by))
