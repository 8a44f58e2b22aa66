"""Requests that people reported are judged as the API judged them, and in its words."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.model_apis.cases import RULE

from tpharness.findings import Level
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES, ApiName
from tpharness.model_apis.rule import Options
from tpharness.model_apis.rules import RULES
from tpharness.suite_yaml import load_suite_yaml

HERE = Path(__file__).parent
READ = load_suite_yaml(HERE / "public_reports.yaml")
REPORTS: list[tuple[ApiName, dict[str, Any]]] = [(api, one) for api in API_NAMES for one in READ[api]]
GUIDE = (HERE.parent.parent / "docs" / "ACCEPTANCE.md").read_text("utf-8")


def name(value: Any) -> str:
    """Return a readable id: where the report is."""
    return value["report"].partition(",")[0] if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("api", "report"), REPORTS, ids=name)
def test_a_request_is_judged_as_its_report_says(api: ApiName, report: dict[str, Any]) -> None:
    """By the rule that is named, in the words of the report; what was measured to be accepted breaks no MUST."""
    assert re.match(r"[\w.-]+/[\w.-]+#\d+(,|$)", report["report"])
    found = check_payload(api, report["payload"], options=Options(**report.get("options", {})))
    if report.get("accepted"):
        assert [finding.line() for finding in found if finding.level is Level.MUST] == []
    elif "missed" in report:
        assert found == [], "what is found is not missed any more"
    else:
        of_rule = [one for one in found if report["rule"] in (one.code, one.message.partition(":")[0])]
        assert of_rule
        said = [one.message for one in of_rule if report.get("words", "") in one.message]
        assert said, [one.message for one in of_rule]


def test_each_report_has_one_verdict() -> None:
    """And no field that nothing reads."""
    for _, report in REPORTS:
        assert len({"rule", "accepted", "missed"} & report.keys()) == 1, report["report"]
        assert report.keys() <= {"report", "words", "rule", "accepted", "missed", "options", "payload"}


def test_every_rule_that_rests_on_reports_has_one() -> None:
    """A known error text that no report in the table has could be a text that nobody saw."""
    told = {report.get("rule") for _, report in REPORTS}
    assert [rule.id for rule in RULES if rule.errors and rule.id not in told] == []
    assert told - {None, "payload-malformed"} <= RULE.keys()


def reports_table() -> str:
    """Return the table of the guide: the rule, the report and what it says of the request, how it is judged."""
    lines = ["| rule | report | request | verdict |", "|---|---|---|---|"]
    for api, report in REPORTS:
        source, _, said = report["report"].partition(",")
        repository, number = source.split("#")
        link = f"[{source}](https://github.com/{repository}/issues/{number})"
        rule = "–" if report.get("rule") is None else report["rule"].removeprefix("payload-")
        verdict = "taken, as measured" if report.get("accepted") else "missed" if "missed" in report else "refused"
        lines.append(f"| {rule} | {link} | {api}{': ' + said.strip() if said else ''} | {verdict} |")
    return "\n".join(lines)


def test_the_guide_has_every_report() -> None:
    """The table between the two marks is what `print(reports_table())` prints, an error of a verdict fails above."""
    _, _, rest = GUIDE.partition("<!-- reports: generated -->\n")
    assert rest.partition("<!-- end -->")[0].strip() == reports_table()


def test_the_guide_counts_the_reports() -> None:
    """How many there are, how many are judged as the API did, and each that is missed."""
    counted = Counter(next(key for key in ("rule", "accepted", "missed") if key in report) for _, report in REPORTS)
    decided = counted["rule"] + counted["accepted"]
    assert f"{len(REPORTS)} public reports" in GUIDE
    assert f"{decided} are judged as the API judged them" in " ".join(GUIDE.split())
    for _, report in REPORTS:
        assert ("missed" not in report) or f"[{name(report)}]" in GUIDE
