"""A certificate says over which wires the suite was played, and is refused where its reports are of another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.cli.conftest import Call
from tests.cli.test_certify import forge, forge_report, read, statement_of

from tpharness.certificate.counts import Extent, merge_extents
from tpharness.cli.certify import certify
from tpharness.cli.options import Exit
from tpharness.resources import schema_path


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of the reference over both wires, for the quickest profile that has streams of one wire."""
    folder = tmp_path_factory.mktemp("wires") / "cert"
    with pytest.raises(Exit) as ended:
        certify(folder, profile=["carriers"], wire="all")
    assert ended.value.exit_code == 0
    return folder


@pytest.fixture
def copy(both: Path, tmp_path: Path) -> Path:
    """Return a copy that may be forged."""
    (tmp_path / "copy").mkdir()
    for file in both.iterdir():
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    return tmp_path / "copy"


def test_a_certificate_says_its_wires(call: Call, both: Path) -> None:
    """In its statement, its verdict, its page and its badge; each wire has its three orders."""
    predicate = statement_of(both)["predicate"]
    jsonschema_rs.Draft202012Validator(read(schema_path("certificate")), validate_formats=True).validate(predicate)
    assert [playing.get("wire") for playing in predicate["playings"]] == [None, "ag-ui"]
    for playing in predicate["playings"]:
        assert len(playing["reports"]) == 3
        assert {read(both / name).get("wire") for name in playing["reports"]} == {playing.get("wire")}
    assert "sync.any-wire" not in predicate["playings"][0]["clauses"]
    assert predicate["playings"][1]["clauses"]["sync.any-wire"]["passed"] > 0
    page = (both / "certificate.md").read_text("utf-8")
    assert "| wires | vsp, ag-ui |" in page
    assert "| carriers over ag-ui |" in page
    assert read(both / "badge.json")["message"].endswith(", over vsp and ag-ui")
    done = call("verify", str(both / "certificate.json"))
    assert (done.code, "clauses, over vsp and ag-ui; " in done.out) == (0, True), done.out
    again = call("verify", str(both / "certificate.json"), "--replay")
    assert (again.code, "playing report-4.json again" in again.err) == (0, True), again.out


def test_a_clause_counts_that_was_judged_over_one_of_the_wires(both: Path) -> None:
    """Scenarios that give a stream of the AI SDK are not played over AG-UI, and cost no claim."""
    over_ag_ui = statement_of(both)["predicate"]["playings"][1]
    assert over_ag_ui["counts"]["not-applicable"] > 0
    (claim,) = statement_of(both)["predicate"]["claims"]
    assert claim["status"] == "conforms"
    assert claim["clauses"]["judged"] == claim["clauses"]["of"] > 0
    one = Extent(judged_cases=1, cases=2, judged={"a"}, owed={"a", "b"})
    other = Extent(judged_cases=3, cases=3, judged={"b"}, owed={"b", "c"}, unasked={"d"})
    merged = merge_extents([{"carriers": one}, {"carriers": other}])["carriers"]
    assert merged == Extent(judged_cases=4, cases=5, judged={"a", "b"}, owed={"a", "b", "c"}, unasked={"d"})
    assert (one.judged, other.judged) == ({"a"}, {"b"})


def test_a_wire_that_was_not_played_is_refused(call: Call, copy: Path, both: Path) -> None:
    """Neither the statement nor a report can be given another one, nor is a wire left away."""

    def rename(statement: dict[str, Any]) -> None:
        statement["predicate"]["playings"][0]["wire"] = "ag-ui"

    forge(copy, rename)
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "not all reports are of a run over ag-ui" in done.out) == (1, True), done.out
    for file in both.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    forge_report(copy, "report-5.json", lambda report: report.pop("wire"), count=False)
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "not all reports are of a run over ag-ui" in done.out) == (1, True), done.out


def test_wires_that_cannot_be_certified_are_refused_before_anything_is_played(call: Call, tmp_path: Path) -> None:
    """A name, and a framework that speaks another wire than the one asked for."""
    folder = str(tmp_path / "cert")
    misspelt = call("certify", "--wire", "agui", "-o", folder)
    assert (misspelt.code, "did you mean ag-ui" in misspelt.err) == (2, True)
    other = call("certify", "--client", "peer:ag-ui-client", "-o", folder)
    assert (other.code, "add --wire ag-ui" in other.err) == (2, True), other.err
    third = call("certify", "--server", "peer:pydantic-ai", "--wire", "all", "-o", folder)
    assert third.code == 2
    assert not Path(folder).exists()
