"""A certificate says what was found, holds when it is verified, and is refused, with the reason, when it is forged."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import shutil
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from hashlib import sha256
from operator import methodcaller
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from tests.certificate.test_trusted_time import Authority
from tests.cli.conftest import Call
from tests.mutants import mutate_value

from tpharness.certificate import claim_lines, suite
from tpharness.certificate.statement import digest_about
from tpharness.cli.certify import certify
from tpharness.cli.options import Exit
from tpharness.profiles import find_profiles
from tpharness.protocol.jcs import jcs
from tpharness.resources import conformance_dir, schema_path
from tpharness.site.documents import read_documents
from tpharness.site.pages import site_pages
from tpharness.suite_yaml import load_suite_yaml
from tpharness.targets import Capabilities, Reference, Script, TargetOutput
from tpharness.trace.read import Trace

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PROFILES = ["history", "carriers"]  # the quickest ones; both have sweeps


class LosesTheFirst(Reference):
    """A server that loses all turns of the first script that it plays, whichever that is."""

    capabilities = Capabilities(name="warms-up")

    def __init__(self) -> None:
        self._warm = False

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        served = await super().serve(script)
        if not self._warm:
            for thread in served.threads.values():
                thread["turns"] = []
        self._warm = True
        return served


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a signed certificate of the reference for two profiles."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "key.pem").write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(Exit) as ended:
        certify(folder / "cert", profile=PROFILES, key=str(folder / "key.pem"), revision="4f2a|<b>")
    assert ended.value.exit_code == 0
    (folder / "cert" / "public.pem").write_bytes(public)
    return folder / "cert"


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the certificate that may be forged."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def read(path: Path) -> Any:
    """Return the JSON value in a file."""
    return json.loads(path.read_text("utf-8"))


def statement_of(folder: Path) -> dict[str, Any]:
    """Return the statement of the certificate in a folder."""
    found: dict[str, Any] = json.loads(base64.b64decode(read(folder / "certificate.json")["payload"]))
    return found


def forge(folder: Path, change: Callable[[dict[str, Any]], object], *, sign: bool = False) -> None:
    """Change the statement; its signature is left away, or made by somebody who has the key."""
    statement = statement_of(folder)
    change(statement)
    data = json.dumps(statement).encode()
    kind = "application/vnd.in-toto+json"
    signed = f"DSSEv1 {len(kind)} {kind} {len(data)} ".encode() + data
    signatures = [{"keyid": "", "sig": base64.b64encode(KEY.sign(signed)).decode()}] if sign else []
    envelope = {"payloadType": kind, "payload": base64.b64encode(data).decode(), "signatures": signatures}
    (folder / "certificate.json").write_text(json.dumps(envelope), "utf-8")


def forge_report(folder: Path, name: str, change: Callable[[dict[str, Any]], object], *, count: bool = True) -> None:
    """Change a report, and give the statement its new digest."""
    report = read(folder / name)
    change(report)
    if count:
        counts: dict[str, int] = {}
        for one in report["results"]:
            counts[one["outcome"]] = counts.get(one["outcome"], 0) + one["cases"]
        report["counts"] = counts
    data = json.dumps(report).encode()
    (folder / name).write_bytes(data)

    def digest(statement: dict[str, Any]) -> None:
        for one in statement["subject"]:
            if one["name"] == name:
                one["digest"]["sha256"] = sha256(data).hexdigest()

    forge(folder, digest, sign=True)


def test_a_certificate_holds(call: Call, made: Path) -> None:
    """Everything fits together, and the signature is that of the key."""
    done = call("verify", str(made / "certificate.json"), "--key", str(made / "public.pem"))
    _, _, *new, verified = done.out.splitlines()  # a clause that came after the set is named, and not asked for
    wanted = statement_of(made)["predicate"]["requirements"]
    clauses = (
        f"{len(wanted['passed'])} of {sum(len(wanted[key]) for key in ('passed', 'failed', 'not_judged'))} clauses"
    )
    signed = f"signed by the key in {made / 'public.pem'}"
    assert (done.code, verified) == (
        0,
        f"VERIFIED profiles carriers, history of 0.0.4 (set 2026-11), {clauses}; {signed}",
    )
    assert all(line.startswith("new since 0.0.4 (set 2026-11), and not part of it: ") for line in new)
    assert call("verify", str(made / "certificate.json")).out.startswith("signed, and not checked: --key")


def test_it_is_an_in_toto_statement_over_the_reports(made: Path) -> None:
    """By its schema, with the digest of each report, which is another order each time."""
    statement = statement_of(made)
    assert (statement["_type"], statement["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "urn:tpharness:certificate:1",
    )
    validator = jsonschema_rs.Draft202012Validator(read(schema_path("certificate")), validate_formats=True)
    validator.validate(statement["predicate"])
    for one in statement["subject"]:
        assert one["digest"] == {"sha256": sha256((made / one["name"]).read_bytes()).hexdigest()}
    orders = [[result["id"] for result in read(made / one["name"])["results"]] for one in statement["subject"]]
    assert len(orders) == 3
    assert orders[0] != orders[1] != orders[2]
    assert statement["predicate"]["revision"] == "4f2a|<b>"
    assert statement["predicate"]["playings"][0]["server"]["address"] == "reference"


def test_counts_are_those_of_the_reports(made: Path) -> None:
    """Added up here in another way: cases that passed, by clause."""
    predicate = statement_of(made)["predicate"]
    results = read(made / "report-1.json")["results"]
    clause = next(name for name in predicate["playings"][0]["clauses"] if name.startswith("carrier."))
    wanted = sum(r["cases"] for r in results if clause in r["clauses"] and r["outcome"] == "passed")
    assert predicate["playings"][0]["clauses"][clause]["passed"] == wanted > 0
    assert predicate["playings"][0]["counts"] == {"passed": sum(r["cases"] for r in results)}
    for claim, name in zip(predicate["claims"], ("carriers", "history"), strict=True):
        cases = sum(r["cases"] for r in results if name in {one.name for one in find_profiles(r["id"], r["clauses"])})
        assert (claim["profile"], claim["status"], claim["why"]) == (name, "conforms", "")
        assert claim["cases"] == {"judged": cases, "of": cases}
        assert claim["clauses"]["judged"] == claim["clauses"]["of"] > 0


def test_a_claim_is_told_with_its_extent(made: Path) -> None:
    """Who reads that a target conforms sees how much of the profile could be judged at all."""
    predicate = statement_of(made)["predicate"]
    predicate["claims"][1] |= {"cases": {"judged": 1, "of": 123}, "clauses": {"judged": 2, "of": 5}}
    assert claim_lines(predicate)[1] == "  history        conforms: judged 1 of 123 cases, 2 of 5 clauses"
    predicate["claims"][1] |= {"status": "fails", "why": "1 of 1 cases failed"}
    assert (
        claim_lines(predicate)[1]
        == "  history        fails: 1 of 1 cases failed; judged 1 of 123 cases, 2 of 5 clauses"
    )


def test_one_of_an_earlier_version_is_read_and_told_with_its_extent(call: Call, copy: Path) -> None:
    """Its claims do not say of how much they are; its reports do."""

    def age(statement: dict[str, Any]) -> None:
        for claim in statement["predicate"]["claims"]:
            del claim["cases"], claim["clauses"]

    forge(copy, age, sign=True)
    done = call("verify", str(copy / "certificate.json"), "--key", str(copy / "public.pem"))
    assert done.code == 0
    assert all(
        re.search(rf"^  {name} +conforms: judged \d+ of \d+ cases, \d+ of \d+ clauses$", done.out, re.MULTILINE)
        for name in PROFILES
    )
    assert claim_lines(statement_of(copy)["predicate"])[1] == "  history        conforms"


def test_what_stands_beside_it_is_for_people(made: Path) -> None:
    """A summary in which hostile text is text, a badge that asks nobody, and what shields.io reads."""
    text = (made / "certificate.md").read_text("utf-8")
    assert text.startswith("# profiles carriers, history of 0.0.4 (set 2026-11), ")
    assert r"4f2a\|\<b\>" in text
    assert read(made / "badge.json") == {
        "schemaVersion": 1,
        "label": "ThreadProtocol 0.0.4",
        "message": "profiles carriers, history",
        "color": "brightgreen",
    }
    badge = (made / "badge.svg").read_text("utf-8")
    root = ET.fromstring(badge)  # noqa: S314  # our own
    shown = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert shown == ["ThreadProtocol 0.0.4", "profiles carriers, history"]
    assert len(badge) < 1500
    assert "href" not in badge


def drop_failure(report: dict[str, Any]) -> None:
    """Leave out a result."""
    report["results"] = [one for one in report["results"] if one["id"] != report["results"][0]["id"]]


def drop_place(report: dict[str, Any]) -> None:
    """Leave out a place of a sweep."""
    one = next(one for one in report["results"] if one["id"].endswith("@event-*"))
    one["cases"] -= 1


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a count by profile": (
        lambda s: s["predicate"]["playings"][0]["profiles"]["carriers"].update(passed=999),
        "forged count: profiles of carriers of passed: the certificate says 999, the reports",
    ),
    "a count by outcome": (
        lambda s: s["predicate"]["playings"][0]["counts"].update(passed=999),
        "forged count: counts of passed: the certificate says 999, the reports",
    ),
    "a clause": (
        lambda s: s["predicate"]["playings"][0]["clauses"].update(
            {"cycle.kept": {"passed": 7, "departing": 0, "failed": 0, "not_judged": 0}}
        ),
        "forged count: clauses of cycle.kept",
    ),
    "a claim": (
        lambda s: s["predicate"]["claims"].append({"profile": "tools", "status": "conforms", "why": ""}),
        "forged claim: it has 3 claims, and 2 by the reports",
    ),
    "the extent of a claim": (
        lambda s: s["predicate"]["claims"][0]["cases"].update(of=1000),
        "forged claim: the certificate says carriers conforms (",
    ),
    "a requirement": (
        lambda s: s["predicate"]["requirements"]["passed"].append("cycle.kept"),
        "changed requirements: requirements of passed",
    ),
    "a profile that was not played": (
        lambda s: (
            s["predicate"]["played"].append("versions"),
            s["predicate"]["claims"].append({"profile": "versions", "status": "conforms", "why": ""}),
        ),
        "left out: report-1.json has no result of ",
    ),
    "departures": (
        lambda s: s["predicate"]["playings"][0]["departures"].append(
            {"id": "carriers/scope", "findings": ["x"], "reason": "y"}
        ),
        "changed departures: departures (1): the certificate says",
    ),
    "another suite": (
        lambda s: s["predicate"]["suite"]["parts"]["scenarios"].update({"carriers/scope": "0" * 64}),
        "another suite: 1 scenario changed: carriers/scope",
    ),
    "a changed check": (
        lambda s: s["predicate"]["suite"]["parts"]["modules"].update({"checks/identity": "0" * 64}),
        "another suite: 1 module changed: checks/identity",
    ),
    "a changed recording": (
        lambda s: s["predicate"]["suite"]["parts"]["files"].update({"scenarios/recorded/ai-sdk/length.sse": "0" * 64}),
        "another suite: 1 file changed: scenarios/recorded/ai-sdk/length.sse",
    ),
    "a schema that is left out": (
        lambda s: s["predicate"]["suite"]["parts"]["files"].pop("conformance/schemas/report.schema.json"),
        "another suite: 1 file not in the certificate: conformance/schemas/report.schema.json",
    ),
    "no modules": (
        lambda s: s["predicate"]["suite"]["parts"].pop("modules"),
        "another suite: ",
    ),
    "another address": (
        lambda s: s["predicate"]["playings"][0]["server"].update(address="http://mine.example"),
        "changed subject: address, revision, time, platform",
    ),
    "another revision": (lambda s: s["predicate"].update(revision="later"), "changed subject: "),
    "another time": (lambda s: s["predicate"].update(time="2031-01-01T00:00:00+00:00"), "changed subject: "),
    "another platform": (lambda s: s["predicate"]["platform"].update(system="Another"), "changed subject: "),
    "a later suite": (
        lambda s: s["predicate"]["suite"].update(version="99"),
        "another suite: it is tpharness 99, and",
    ),
    "another target": (
        lambda s: s["predicate"]["playings"][0]["server"].update(reported_as="mine 1"),
        "changed target: the reports are not of the server mine 1",
    ),
    "two orders": (
        lambda s: (s["predicate"]["playings"][0]["reports"].pop(), s["subject"].pop()),
        "missing report: 2 orders played, and a certificate takes 3",
    ),
    "two digests of one report": (
        lambda s: s["subject"].append({**s["subject"][0], "digest": {"sha256": "0" * 64}}),
        "changed report: the certificate has two digests of report-1.json",
    ),
    "a profile that nobody knows": (
        lambda s: s["predicate"]["played"].append("no-such"),
        "another suite: it was played for the profile no-such, which this one does not have",
    ),
    "a report that is not counted": (
        lambda s: s["predicate"]["playings"][0]["reports"].pop(),
        "missing report: the certificate is about",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_statement_is_refused_even_if_it_is_signed(call: Call, copy: Path, name: str) -> None:
    """Whoever has the key still cannot say what the reports do not."""
    change, why = FORGERIES[name]
    forge(copy, change, sign=True)
    done = call("verify", str(copy / "certificate.json"), "--key", str(copy / "public.pem"))
    assert done.code == 1
    assert f"refused: {why}" in done.out
    assert "bad signature" not in done.out


REPORT_FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], bool, str]] = {
    "a result is left out": (drop_failure, True, "left out: report-2.json has no result of"),
    "a place of a sweep is left out": (drop_place, True, "left out: report-2.json has no result of"),
    "a result is left out and still counted": (drop_failure, False, "left out: the results of report-2.json come to"),
    "a run that ended early": (
        lambda r: r.update(incomplete={"played": 3, "scenarios": 9}, error="interrupted by SIGTERM"),
        True,
        "incomplete report: report-2.json is of a run that did not come to its end: interrupted by SIGTERM",
    ),
    "a shard": (
        lambda r: r.update(
            shard={"index": 1, "of": 3, "selection": "x", "scenarios": 9, "whole_suite": False, "spec": ["a", "b"]}
        ),
        True,
        "incomplete report: report-2.json is shard 1 of 3",
    ),
    "a verdict of one order": (
        lambda r: r["results"][0].update(outcome="failed"),
        True,
        "changed verdicts: unstable of",
    ),
}


@pytest.mark.parametrize("name", REPORT_FORGERIES)
def test_a_forged_report_is_refused_even_if_its_digest_is_right(call: Call, copy: Path, name: str) -> None:
    """The suite knows which cases there are, and all orders must tell the same."""
    change, count, why = REPORT_FORGERIES[name]
    forge_report(copy, "report-2.json", change, count=count)
    done = call("verify", str(copy / "certificate.json"))
    assert done.code == 1
    assert f"refused: {why}" in done.out


def test_reports_that_are_changed_missing_or_unreadable_are_refused(call: Call, copy: Path) -> None:
    """Each is named, with what is wrong with it."""
    (copy / "report-1.json").write_text((copy / "report-1.json").read_text("utf-8") + " ", "utf-8")
    (copy / "report-2.json").unlink()
    (copy / "report-3.json").write_text("[", "utf-8")
    done = call("verify", str(copy / "certificate.json"))
    assert done.code == 1
    assert "refused: changed report: report-1.json is not the file that was certified" in done.out
    assert "refused: missing report: report-2.json is not beside the certificate" in done.out
    assert "refused: changed report: report-3.json is not JSON" in done.out


def relabel(predicate: dict[str, Any], **facts: str) -> None:
    """Change what a certificate is about, and make its digest anew, as anybody can."""
    predicate.update(facts)
    predicate["about"] = digest_about(predicate)


def test_a_bad_or_missing_signature_is_refused(call: Call, copy: Path) -> None:
    """Where a key is given it has to have signed; without one it is said that nobody did."""
    signed = read(copy / "certificate.json")
    forge(copy, lambda s: relabel(s["predicate"], time="2026-01-01T00:00:00+00:00"))
    done = call("verify", str(copy / "certificate.json"), "--key", str(copy / "public.pem"))
    assert (done.code, done.out.splitlines()[0]) == (1, "refused: bad signature: it is not signed")
    first, *_, last = call("verify", str(copy / "certificate.json")).out.splitlines()
    assert (first, last[:8]) == ("not signed", "VERIFIED")
    assert last.endswith("; nobody signed it: address, revision, time and platform are whatever its writer says")
    changed = read(copy / "certificate.json") | {"signatures": signed["signatures"]}
    (copy / "certificate.json").write_text(json.dumps(changed), "utf-8")
    done = call("verify", str(copy / "certificate.json"), "--key", str(copy / "public.pem"))
    assert done.code == 1
    assert "refused: bad signature: it is not signed by the key in" in done.out


def test_what_is_not_a_certificate_is_wrong_input(call: Call, copy: Path) -> None:
    """A report, a folder, another statement, a name that is a path: exit code 2, and what to name."""
    done = call("verify", str(copy))
    assert (done.code, f"tpharness verify {copy / 'certificate.json'}" in done.err) == (2, True)
    done = call("verify", str(copy / "report-1.json"))
    assert (done.code, "not a DSSE envelope" in done.err) == (2, True)
    for kind, shown in ((True, "true"), ("https://slsa.dev/provenance/v1", "'https://slsa.dev/provenance/v1'")):
        forge(copy, methodcaller("update", predicateType=kind))
        done = call("verify", str(copy / "certificate.json"))
        assert (done.code, f"the statement is {shown}, and not urn:tpharness" in done.err) == (2, True)
    forge(copy, lambda s: s.update(predicateType="urn:tpharness:certificate:1"))
    forge(copy, lambda s: s["predicate"]["playings"][0]["reports"].append("../../etc/passwd"))
    done = call("verify", str(copy / "certificate.json"))
    assert done.code == 2
    assert "does not fit certificate.schema.json" in done.err
    forge(copy, lambda s: s.pop("subject"))
    assert call("verify", str(copy / "certificate.json")).code == 2


ODD_SUBJECTS: list[Any] = [None, 7, "x", {}, [], [1], [None], [[]], [{}], [{"name": "a"}], [{"digest": {}}]]
ODD_NAMES: list[Any] = [None, 7, "", "../x", "a/b", [], {}]
ODD_DIGESTS: list[Any] = [None, [], {}, "x", {"sha512": "0"}, {"sha256": None}, {"sha256": "x"}]
ODD_FIELDS: list[dict[str, Any]] = [
    *({"name": name} for name in ODD_NAMES),
    *({"digest": digest} for digest in ODD_DIGESTS),
    {"more": 1},
]


@pytest.mark.parametrize(
    ("subject", "fields"),
    [*((odd, None) for odd in ODD_SUBJECTS), *((None, odd) for odd in ODD_FIELDS)],
    ids=json.dumps,
)
def test_a_statement_with_odd_subjects_is_wrong_input(
    call: Call, copy: Path, subject: Any, fields: dict[str, Any] | None
) -> None:
    """Exit code 2 and the place, whether it is signed or not; never a traceback."""
    if fields is None:
        forge(copy, lambda s: s.update(subject=subject), sign=True)
    else:
        forge(copy, lambda s: s["subject"][0].update(fields), sign=True)
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "the statement does not fit certificate-statement.schema.json" in done.err) == (2, True)


def test_a_statement_with_too_many_levels_is_wrong_input(call: Call, copy: Path) -> None:
    """The schema gives up at as many: exit code 2, and never a traceback."""
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    forge(copy, lambda s: s["predicate"].update(counts=deep))
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "the predicate does not fit certificate.schema.json" in done.err) == (2, True)


def test_no_mutant_of_a_certificate_gives_a_traceback_or_holds_if_it_is_signed(call: Call, copy: Path) -> None:
    """Of the envelope and of the statement in it, from fixed seeds; what still holds is the same statement."""
    envelope, statement, codes = read(copy / "certificate.json"), statement_of(copy), Counter[object]()
    for number in range(120):
        chance = random.Random(number)  # noqa: S311  # made again from its number
        if number % 2:
            payload = base64.b64encode(mutate_value(statement, chance)).decode()
            data = json.dumps(envelope | {"payload": payload}).encode()
        else:
            data = mutate_value(envelope, chance)
        (copy / "certificate.json").write_bytes(data)
        done = call("verify", str(copy / "certificate.json"), "--key", str(copy / "public.pem"))
        assert done.code in (0, 1, 2), (number, done.err)
        assert "Traceback" not in done.err, number
        if done.code == 0:
            assert json.loads(data)["payload"] == envelope["payload"], number
        codes[done.code] += 1
    assert codes[1] > 5, "no mutant was refused"
    assert codes[2] > 5, "no mutant was wrong input"


def test_what_two_readers_could_read_in_two_ways_is_refused(call: Call, copy: Path) -> None:
    """A key that is there twice, in the statement, in the envelope and in a report."""
    envelope = read(copy / "certificate.json")
    payload = base64.b64decode(envelope["payload"])
    twice = envelope | {"payload": base64.b64encode(payload.replace(b"{", b'{"_type":"x",', 1)).decode()}
    (copy / "certificate.json").write_text(json.dumps(twice), "utf-8")
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "not JSON that all read alike" in done.err) == (2, True)
    (copy / "certificate.json").write_text('{"payload":"",' + json.dumps(envelope)[1:], "utf-8")
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "has the key 'payload' twice" in done.err) == (2, True)
    (copy / "certificate.json").write_text(json.dumps(envelope), "utf-8")
    (copy / "report-1.json").write_bytes(b'{"format":"x",' + (copy / "report-1.json").read_bytes().lstrip(b"{ \n"))
    done = call("verify", str(copy / "certificate.json"))
    assert (done.code, "changed report: report-1.json is not JSON: an object has the key" in done.out) == (1, True)


def test_playing_again_shows_another_target(call: Call, made: Path) -> None:
    """The certified one has the same verdicts; a server that changes threads does not."""
    again = call("verify", str(made / "certificate.json"), "--replay")
    assert again.code == 0, again.out
    other = "python:tests.run.test_truth:Changed"
    done = call("verify", str(made / "certificate.json"), "--replay", "--server", other)
    assert done.code == 1
    assert "refused: replay: the server is" in done.out
    assert "is failed (" in done.out
    assert call("verify", str(made / "certificate.json"), "--server", other).code == 2
    two = call("verify", str(made / "certificate.json"), "--replay", "--client", "reference", "--client", other)
    assert (two.code, "certified with 1 client," in two.err) == (2, True)


def test_a_failing_target_gets_no_claim(call: Call, tmp_path: Path) -> None:
    """The certificate says that nothing conforms, and so does its badge; it still holds as a document."""
    output = tmp_path / "cert"
    server = "python:tests.run.test_truth:Changed"
    done = call("certify", "-o", str(output), "--server", server, "--profile", "carriers")
    assert done.code == 1
    assert "carriers       fails: " in done.out
    assert read(output / "badge.json")["message"] == "none of 1 profile"
    assert read(output / "badge.json")["color"] == "red"
    causes = read(output / "report-1.json")["causes"]
    text = (output / "certificate.md").read_text("utf-8").replace("\\", "")
    section = text.partition("## What failed")[2].partition("\n## ")[0]
    results = {result["id"]: result for result in read(output / "report-1.json")["results"]}
    cited = set()
    for cause in causes:
        found = [one for one in results[cause["smallest"]]["findings"] if one["code"] in cause["codes"]]
        row = next(line for line in section.splitlines() if cause["smallest"] in line)
        decides = row.split(" | ")[3].split(", ")
        assert set(decides) == {name for one in found for name in (*one.get("clauses", ()), *one["rulings"])}
        assert row.endswith(f" {found[0]['remedy']} |")
        cited |= set(decides)
    assert "| what to change |" in section
    listed = text.partition("## Requirements")[2].partition(" belong to cases that failed")[0]
    assert set(re.findall("`([^`]+)`", listed)) <= cited
    assert call("verify", str(output / "certificate.json")).code == 0


def test_known_departures_are_said_with_their_reasons(call: Call, tmp_path: Path) -> None:
    """Those of the baseline that is given; a profile with one departs, and does not conform."""
    server, known = "python:tests.run.test_truth:Changed", tmp_path / "known.yaml"
    call("run", "--server", server, "--profile", "carriers", "--write-baseline", str(known), "--trace", "none")
    known.write_text(known.read_text("utf-8").replace("reason: ''", "reason: corrected in May"), "utf-8")
    output = tmp_path / "cert"
    options = ("--server", server, "--profile", "carriers", "--baseline", str(known))
    done = call("certify", "-o", str(output), *options)
    assert done.code == 1
    assert "carriers       departs: " in done.out
    statement = statement_of(output)
    assert {one["reason"] for one in statement["predicate"]["playings"][0]["departures"]} == {"corrected in May"}
    assert statement["predicate"]["baseline"]["sha256"] == sha256(known.read_bytes()).hexdigest()
    assert "corrected in May" in (output / "certificate.md").read_text("utf-8")
    forge(output, lambda s: s["predicate"]["playings"][0]["departures"].clear())
    assert "refused: changed departures" in call("verify", str(output / "certificate.json")).out


def test_wrong_use_is_refused_before_anything_is_played(call: Call, made: Path, tmp_path: Path) -> None:
    """A folder with a certificate, a key that is none, a profile that does not exist."""
    assert call("certify", "-o", str(made)).code == 2
    key = call("certify", "-o", str(tmp_path / "cert"), "--key", str(made / "public.pem"))
    assert (key.code, "is not a private key in PEM" in key.err) == (2, True)
    assert call("certify", "-o", str(tmp_path / "cert"), "--profile", "historie").code == 2
    below = call("certify", "-o", str(tmp_path / "cert" / "below"))
    assert (below.code, f"the folder {tmp_path / 'cert' / 'below'} cannot be made" in below.err) == (2, True)
    file = call("certify", "-o", str(made / "badge.svg"))
    assert (file.code, "badge.svg cannot be made" in file.err) == (2, True)
    assert not (tmp_path / "cert").exists()


@pytest.mark.parametrize("below", ["", "cert"])
def test_a_folder_that_may_not_be_written_is_refused_before_anything_is_played(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    """It is there, or it would have to be made; whoever runs the tests may be root, who may write everything."""
    monkeypatch.setattr("tpharness.output.os.access", lambda path, _: path != tmp_path)
    done = call("certify", "-o", str(tmp_path / below))
    assert (done.code, "order 1" in done.err) == (2, False), done.err
    assert f"the folder {tmp_path} may not be written" in done.err


def test_without_a_certificate_there_is_no_folder(call: Call, tmp_path: Path) -> None:
    """Nothing listens on port 1, so nothing was certified."""
    done = call("certify", "--server", "http://127.0.0.1:1", "-o", str(tmp_path / "cert"))
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_it_is_said_what_to_type(
    call: Call, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only signatures need it."""
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    key = str(made.parent / "key.pem")
    done = call("certify", "-o", str(tmp_path / "cert"), "--key", key)
    assert done.code == 2
    assert "cryptography is not installed: signing a certificate needs it" in done.err
    assert "pip install 'tpharness[certify]'" in done.err
    assert call("verify", str(made / "certificate.json")).code == 0


# ------------------------------------------------------------------------------------------------ traces


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of a server whose first case fails, in each order another one; what was told is beside."""
    folder = tmp_path_factory.mktemp("failing") / "cert"
    chosen = mock.patch("tpharness.run.order.secrets.randbelow", side_effect=(1, 2))  # they begin with different cases
    with chosen, pytest.raises(Exit) as ended, redirect_stdout(io.StringIO()) as told:
        certify(folder, server=["python:tests.cli.test_certify:LosesTheFirst"], profile=["carriers"])
    assert ended.value.exit_code == 1
    (folder.parent / "told.txt").write_text(told.getvalue(), "utf-8")
    return folder


def test_a_verdict_that_depends_on_the_order_refuses_the_claim(failing: Path) -> None:
    """The case is named by its id."""
    told = (failing.parent / "told.txt").read_text("utf-8")
    assert "carriers       unstable: not the same verdict in every order: carriers/" in told


def test_what_failed_is_in_a_trace_whose_digest_is_certified(call: Call, failing: Path) -> None:
    """One for each order; `show` looks at it, and the certificate holds."""
    statement = statement_of(failing)
    digests = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    for name in statement["predicate"]["playings"][0]["traces"]:
        assert digests[name] == sha256((failing / name).read_bytes()).hexdigest()
        assert [one.outcome for one in Trace.open(failing / name).entries] == ["failed"]
    assert sorted(name for name in digests if name.startswith("trace")) == [f"trace-{n}.zip" for n in (1, 2, 3)]
    done = call("verify", str(failing / "certificate.json"))
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("VERIFIED none of 1 profile of 0.0.4 (set 2026-11), ")
    assert "FAILED " in call("show", str(failing / "trace-1.zip")).out


def rewrite_trace(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the index of the first trace, line by line, or leave lines out; the statement gets its new digest."""
    path = folder / "trace-1.zip"
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    lines = [change(json.loads(line)) for line in members["index.jsonl"].splitlines()]
    members["index.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines if line is not None)
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)

    def digest(statement: dict[str, Any]) -> None:
        for one in statement["subject"]:
            if one["name"] == path.name:
                one["digest"]["sha256"] = sha256(path.read_bytes()).hexdigest()

    forge(folder, digest)


def test_a_forged_trace_is_refused(call: Call, failing: Path, tmp_path: Path) -> None:
    """Other codes, a case that is left out, other bytes, no file, no name: each with its reason."""

    def refused(forgery: Callable[[Path], object]) -> str:
        folder = Path(shutil.copytree(failing, tmp_path / "copy"))
        forgery(folder)
        done = call("verify", str(folder / "certificate.json"))
        shutil.rmtree(folder)
        assert done.code == 1
        return done.out

    def drop(statement: dict[str, Any]) -> None:
        statement["predicate"]["playings"][0]["traces"].pop(0)
        statement["subject"] = [one for one in statement["subject"] if one["name"] != "trace-1.zip"]

    other = refused(lambda at: rewrite_trace(at, lambda one: {**one, "codes": ["x"]} if "codes" in one else one))
    assert "refused: forged trace: " in other
    assert "is failed (x) in trace-1.zip, and another verdict in report-1.json" in other
    left_out = refused(lambda at: rewrite_trace(at, lambda one: None if "codes" in one else one))
    assert "refused: left out: trace-1.zip does not have " in left_out
    changed = refused(lambda at: (at / "trace-1.zip").write_bytes((at / "trace-2.zip").read_bytes()))
    assert "refused: changed trace: trace-1.zip is not the file that was certified" in changed
    assert "refused: forged trace: trace-1.zip has " in changed
    assert "missing trace: trace-1.zip is not beside" in refused(lambda at: (at / "trace-1.zip").unlink())
    assert "1 case of report-1.json failed, and the certificate has no trace-1.zip" in refused(
        lambda at: forge(at, drop)
    )
    assert "changed trace: trace-1.zip is not a .zip" in refused(lambda at: (at / "trace-1.zip").write_bytes(b"no"))


def test_a_certificate_is_about_one_server(call: Call, tmp_path: Path) -> None:
    """The last of several was certified, and the others were not mentioned."""
    told = call("certify", "--server", "reference", "--server", "peer:serve", "-o", str(tmp_path / "cert"))
    assert told.code == 2
    assert "a certificate is about one server, and 2 are named" in told.err
    assert not (tmp_path / "cert").exists()


def test_a_site_shows_what_is_claimed(made: Path) -> None:
    """Server and client, the verdict and each profile; it does not judge them, and says who does."""
    interop = json.loads((conformance_dir() / "interop.json").read_text("utf-8"))
    pages, _ = site_pages(read_documents([made / "certificate.json"]), [], interop, {}, {})
    page = pages["certificates.md"]
    assert "`tpharness verify` says whether one holds" in page
    row = page[page.index("<tbody>") :]
    assert "profiles carriers, history" in row
    assert all(f"{profile}: " in row for profile in PROFILES)


@pytest.mark.openssl
def test_a_time_authority_dates_a_certificate(call: Call, copy: Path, tmp_path: Path) -> None:
    """Its answer lies beside the certificate, and is verified with what the reader trusts."""
    file, authority = copy / "certificate.json", Authority(tmp_path / "authority")
    words = ("verify", str(file), "--time-authority", str(authority.folder / "root.pem"))
    assert "refused: bad time: there is no certificate.tsr beside it" in call(*words).out
    (copy / "certificate.tsr").write_bytes(authority.stamp(file.read_bytes()))
    done = call(*words)
    assert (done.code, done.out.splitlines()[0][:16]) == (0, "it was there at ")
    assert "time-stamped, and not checked: --time-authority" in call("verify", str(file)).out
    forge(copy, lambda s: s["predicate"].update(time="2031-01-01T00:00:00+00:00"), sign=True)
    assert "refused: bad time: openssl ts -verify: message imprint mismatch" in call(*words).out
    (copy / "certificate.tsr").write_bytes(authority.stamp(file.read_bytes()))
    assert "refused: bad time: it says that it was made at 2031-01-01" in call(*words).out


def test_an_expired_and_a_revoked_certificate_are_refused(call: Call, copy: Path, tmp_path: Path) -> None:
    """Both are data: who reads them decides."""
    file, revoked = copy / "certificate.json", tmp_path / "revoked.json"
    digest = call("verify", str(file)).err.splitlines()[-1].rpartition(" ")[2]
    entry = {"certificate": digest, "why": "the target was another one"}
    revoked.write_text(json.dumps({"format": "tpharness-revocations/1", "revoked": [entry]}))
    done = call("verify", str(file), "--revoked", str(revoked))
    assert (done.code, done.out.splitlines()[0]) == (1, "refused: revoked: the target was another one")
    forge(copy, lambda s: s["predicate"].update(expires="2020-01-01T00:00:00+00:00"), sign=True)
    assert "refused: expired: it was for the time until 2020-01-01" in call("verify", str(file)).out


@pytest.mark.parametrize("text", ["soon", "2020-01-01", ""])
def test_a_certificate_is_not_made_for_a_time_that_is_over(call: Call, tmp_path: Path, text: str) -> None:
    """Nothing is played."""
    done = call("certify", "-o", str(tmp_path / "cert"), "--expires", text)
    assert (done.code, done.err.splitlines()[0].split()[1]) == (2, "--expires")


def of_another_suite(statement: dict[str, Any]) -> None:
    """Give the certificate a suite of another day, whose parts make its digest."""
    other = statement["predicate"]["suite"]
    other["parts"]["scenarios"]["carriers/scope"] = "0" * 64
    other["digest"] = sha256(jcs(other["parts"])).hexdigest()
    statement["predicate"]["about"] = digest_about(statement["predicate"])


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, copy: Path) -> Path:
    """Return a certificate of an earlier suite that this installation knows."""
    forge(copy, of_another_suite, sign=True)
    entry = {"digest": statement_of(copy)["predicate"]["suite"]["digest"], "tpharness": "0.1.0", "date": "2026-11-01"}
    monkeypatch.setattr(
        suite, "load_suite_yaml", lambda file: [entry] if file.name == "suites.yaml" else load_suite_yaml(file)
    )
    return copy


def test_a_certificate_of_an_earlier_suite_is_read_by_the_set_that_it_names(call: Call, known: Path) -> None:
    """Held to its reports; what has been relaxed since is said, and what only that suite could judge."""
    done = call("verify", str(known / "certificate.json"), "--key", str(known / "public.pem"))
    assert done.code == 0, done.out
    assert (
        "it was made by the suite of 2026-11-01, and is held to its reports and to the set that it names;" in done.out
    )
    assert "relaxed since 0.0.4 (set 2026-11): thread.timestamps-iso by R47" in done.out
    assert "VERIFIED profiles carriers, history of 0.0.4 (set 2026-11)" in done.out.splitlines()[-1]


def test_an_earlier_suite_that_nobody_knows_is_another_suite(call: Call, copy: Path) -> None:
    """Whoever changes a scenario makes a suite of his own, whose digest is right as well."""
    forge(copy, of_another_suite, sign=True)
    done = call("verify", str(copy / "certificate.json"))
    assert done.code == 1
    assert "refused: another suite: 1 scenario changed: carriers/scope" in done.out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda s: s["predicate"]["requirements"]["passed"].append("cycle.kept"), "changed requirements: requirements"),
        (
            lambda s: s["predicate"]["requirements"].update(set="1999-01"),
            "another suite: the set 1999-01 of 0.0.4",
        ),
        (lambda s: s["predicate"]["playings"][0]["counts"].update(passed=999), "forged count: counts of passed"),
        (lambda s: s["predicate"]["suite"]["parts"]["clauses"].pop("cycle.kept"), "another suite: "),
    ],
)
def test_a_certificate_of_an_earlier_suite_is_forged_in_vain(
    change: Callable[[dict[str, Any]], object], why: str, call: Call, known: Path
) -> None:
    """Counts and requirements are those of its reports, by its set; a part of the suite is that of its digest."""
    forge(known, change, sign=True)
    done = call("verify", str(known / "certificate.json"))
    assert done.code == 1
    assert f"refused: {why}" in done.out
