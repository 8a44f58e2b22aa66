"""Why a certificate is refused: what in it is not what its reports, or this suite, say.

In: the statement of a certificate, and a function that reads the files beside it. Out: refusals in words, each with its
reason; none for a certificate that holds. Whether somebody made all of it up, reports included, only a signature or
playing it again can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tpharness.certificate.claims import as_before, claim_extent
from tpharness.certificate.counts import verdicts
from tpharness.certificate.plan import ORDERS, find_left_out
from tpharness.certificate.requirements import find_set
from tpharness.certificate.statement import PREDICATE_TYPE, STATEMENT_TYPE, digest_about, read_report, summarise
from tpharness.certificate.suite import describe_suite, find_earlier_suite, find_suite_differences, sha256
from tpharness.certificate.traces import find_trace_refusals
from tpharness.errors import InputError
from tpharness.findings import quote, shorten
from tpharness.printable import counted
from tpharness.profiles import load_profiles
from tpharness.protocol.parse import parse_json
from tpharness.schema_misfits import first_misfit
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["claims_by_reports", "compare_replay", "find_refusals", "read_statement"]

_MOST = 5
_WORDS = {
    "counts": "forged count",
    "profiles": "forged count",
    "clauses": "forged count",
    "departures": "changed departures",
    "unstable": "changed verdicts",
    "problems": "changed problems",
    "versions": "changed versions",
}


def read_statement(payload: bytes) -> dict[str, Any]:
    """Return the statement in an envelope. InputError for what is not the statement of a certificate."""
    hint = "name the certificate.json that `tpharness certify` has written"
    parsed = parse_json(payload)
    if parsed.findings:  # of two keys of one name two readers take different ones
        raise InputError(f"the payload is not JSON that all read alike: {parsed.findings[0].line()}", hint=hint)
    statement = parsed.value
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise InputError(f"the payload is not an in-toto statement ({STATEMENT_TYPE})", hint=hint)
    if statement.get("predicateType") != PREDICATE_TYPE:
        raise InputError(
            f"the statement is {quote(statement.get('predicateType'))}, and not {PREDICATE_TYPE}", hint=hint
        )
    for schema, part, value in (
        ("certificate-statement", "statement", statement),
        ("certificate", "predicate", statement.get("predicate")),
    ):
        problem = first_misfit(schema, value)
        if problem:
            raise InputError(f"the {part} does not fit {schema}.schema.json: {problem}", hint=hint)
    return statement


def find_refusals(statement: Mapping[str, Any], read: Callable[[str], bytes | None]) -> Iterator[str]:
    """Yield why the certificate does not hold. `read` returns the bytes of a file beside it, None if there is none.

    One of an earlier suite that is known is held to its reports and to the set that it names; what only that suite
    can say, such as that no case was left out, is not judged (`find_earlier_suite`).
    """
    predicate = statement["predicate"]
    other_suite = list(find_suite_differences(predicate["suite"], describe_suite()))
    earlier = bool(other_suite) and bool(find_earlier_suite(predicate["suite"]))
    foreign = list(_judge_suite(predicate, other_suite, earlier=earlier))
    yield from (f"another suite: {why}" for why in foreign)
    if predicate.get("about") not in (None, digest_about(predicate)):
        yield "changed subject: address, revision, time, platform or another fact of it is not what was certified"
    if len(foreign) > len(other_suite) or (earlier and foreign):  # a set or a profile that this one does not have
        return
    twice = [name for name, count in Counter(one["name"] for one in statement["subject"]).items() if count > 1]
    if twice:
        yield f"changed report: the certificate has two digests of {twice[0]}"
        return
    digests = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    wanted = [name for playing in predicate["playings"] for name in (*playing["reports"], *playing["traces"])]
    if sorted(digests) != sorted(set(wanted)) or len(wanted) != len(set(wanted)):
        yield f"missing report: the certificate is about {', '.join(sorted(digests))}, and counts {', '.join(wanted)}"
        return
    reports: dict[str, dict[str, Any]] = {}
    traces: dict[str, bytes] = {}
    for name, digest in digests.items():
        data = read(name)
        what = "trace" if name.startswith("trace-") else "report"
        if data is None:
            yield f"missing {what}: {name} is not beside the certificate"
            continue
        if sha256(data) != digest:
            yield f"changed {what}: {name} is not the file that was certified: its SHA-256 is {sha256(data)}"
        if what == "trace":
            traces[name] = data
            continue
        try:
            report = read_report(data, name)
        except InputError as error:
            yield f"changed report: {error}"
            continue
        problem = first_misfit("report", report)
        if problem:
            yield f"changed report: {name} does not fit report.schema.json: {problem}"
            continue
        reports[name] = report
        yield from _judge_report(name, report, () if other_suite else predicate["played"])
    for playing in predicate["playings"]:
        yield from _judge_playing(playing, [reports[name] for name in playing["reports"] if name in reports])
        yield from find_trace_refusals(playing, reports, traces)
    if all(name in reports for playing in predicate["playings"] for name in playing["reports"]):
        by_set = find_set(predicate["requirements"]) if earlier else None
        again = summarise(predicate["playings"], reports, [] if earlier else predicate["played"], by_set)
        yield from _compare_counts(predicate["playings"], again["playings"], same_suite=not other_suite)
        if not other_suite:
            yield from _compare_claims(predicate, again)
        elif earlier:
            yield from _compare_requirements(*({**one["requirements"], "new": []} for one in (predicate, again)))


def _judge_suite(predicate: Mapping[str, Any], differences: Sequence[str], *, earlier: bool) -> Iterator[str]:
    """Yield why the suite of a certificate is none that it can be judged by, then what of it nobody has here."""
    if earlier:
        named = predicate["requirements"]
        if find_set(named) is None:
            yield f"the set {named['set']} of {named['version']} is not known to this installation"
        return
    yield from differences
    unknown = [name for name in predicate["played"] if name not in load_profiles()]
    if unknown:
        yield f"it was played for the profile {shorten(unknown[0])}, which this one does not have"


def claims_by_reports(statement: Mapping[str, Any], read: Callable[[str], bytes | None]) -> list[dict[str, Any]]:
    """Return the claims that the reports of a certificate without refusals come to.

    One that an earlier version has made does not say of how much its claims are; these do.
    """
    predicate = statement["predicate"]
    names = [name for playing in predicate["playings"] for name in playing["reports"]]
    reports = {name: read_report(read(name) or b"", name) for name in names}
    claims: list[dict[str, Any]] = summarise(predicate["playings"], reports, predicate["played"])["claims"]
    return claims


def compare_replay(name: str, certified: Mapping[str, Any], replayed: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a replay has another verdict than the certified report of this name."""
    for side in ("server", "client"):
        if certified[side] != replayed[side]:
            yield f"replay: the {side} is {shorten(replayed[side])}, and {shorten(certified[side])} in {name}"
    before, after = verdicts(certified), verdicts(replayed)
    differing = sorted(case for case in before.keys() | after.keys() if before.get(case) != after.get(case))
    for case in differing[:_MOST]:
        yield f"replay: {case} is {_verdict(after.get(case))}, and {_verdict(before.get(case))} in {name}"
    if len(differing) > _MOST:
        yield f"replay: another verdict than in {name} for {counted(len(differing) - _MOST, 'more case')}"


def _judge_report(name: str, report: Mapping[str, Any], profiles: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with one report by itself; the suite is asked for its cases if `profiles` are named."""
    if "incomplete" in report:
        yield f"incomplete report: {name} is of a run that did not come to its end: {report.get('error', '')}"
    if "shard" in report:
        yield f"incomplete report: {name} is shard {report['shard']['index']} of {report['shard']['of']}"
    counts: Counter[str] = Counter()
    for one in report["results"]:
        counts[one["outcome"]] += one["cases"]
    if dict(counts) != {outcome: count for outcome, count in report["counts"].items() if count}:
        yield f"left out: the results of {name} come to {_tally(counts)}, and it counts {_tally(report['counts'])}"
    twice = [case for case, count in Counter(one["id"] for one in report["results"]).items() if count > 1]
    if twice:
        yield f"changed report: {name} has {twice[0]} more than once"
    missing = list(find_left_out(report, profiles)) if profiles else []
    if missing:
        more = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
        yield f"left out: {name} has no result of {', '.join(missing[:_MOST])}{more}"


def _judge_playing(playing: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    orders = {report.get("order") for report in reports}
    if len(reports) == len(playing["reports"]) and len(orders) < ORDERS:
        yield f"missing report: {counted(len(orders), 'order')} played, and a certificate takes {ORDERS}"
    if any(report.get("wire") != playing.get("wire") for report in reports):
        yield f"changed report: not all reports are of a run over {playing.get('wire', DEFAULT_WIRE)}"
    for side in ("server", "client"):
        named, declared = playing[side]["reported_as"], playing[side]["capabilities"]
        if any(report[side] != named for report in reports):
            yield f"changed target: the reports are not of the {side} {shorten(named)}"
        if (playing[side]["name"], playing[side]["version"]) != (declared["name"], declared["version"]):
            yield f"changed target: the {side} declares another name or version than {shorten(named)}"


def _compare_counts(
    certified: Sequence[Mapping[str, Any]], counted: Sequence[Mapping[str, Any]], *, same_suite: bool
) -> Iterator[str]:
    """Yield where playings differ from the counts of their reports; profiles only if both have the same suite."""
    for one, other in zip(certified, counted, strict=True):
        for key, word in _WORDS.items():
            if one[key] != other[key] and (same_suite or key not in ("profiles", "unstable")):
                yield f"{word}: {_first_difference(key, one[key], other[key])}"


def _compare_claims(predicate: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[str]:
    """Yield where claims and requirements do not follow from the reports."""
    for certified, now in zip(predicate["claims"], again["claims"], strict=False):
        made = now if "cases" in certified or "clauses" in certified else as_before(now)
        if certified != made:
            yield f"forged claim: the certificate says {_claim_words(certified)}, the reports {_claim_words(made)}"
    if len(predicate["claims"]) != len(again["claims"]):
        claims = counted(len(predicate["claims"]), "claim")
        yield f"forged claim: it has {claims}, and {len(again['claims'])} by the reports"
    yield from _compare_requirements(predicate["requirements"], again["requirements"])


def _compare_requirements(said: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if said != now:
        yield f"changed requirements: {_first_difference('requirements', said, now)}"


def _claim_words(claim: Mapping[str, Any]) -> str:
    said = "; ".join(filter(None, (claim["why"], claim_extent(claim))))
    return shorten(f"{claim['profile']} {claim['status']}{f' ({said})' if said else ''}", 300)


def _first_difference(key: str, certified: Any, counted: Any) -> str:
    if isinstance(certified, dict) and isinstance(counted, dict):
        for name in [*counted, *certified]:
            if certified.get(name) != counted.get(name):
                return _first_difference(f"{key} of {name}", certified.get(name), counted.get(name))
    if isinstance(certified, list) and isinstance(counted, list):
        for index in range(max(len(certified), len(counted))):
            one, other = certified[index : index + 1], counted[index : index + 1]
            if one != other:
                return _differ_words(f"{key} ({index + 1})", one[0] if one else None, other[0] if other else None)
    return _differ_words(key, certified, counted)


def _differ_words(key: str, certified: Any, counted: Any) -> str:
    words = ["nothing" if one is None else shorten(one) for one in (certified, counted)]
    return f"{key}: the certificate says {words[0]}, the reports {words[1]}"


def _verdict(verdict: tuple[Any, ...] | None) -> str:
    if verdict is None:
        return "not there"
    outcome, _, codes = verdict
    return f"{outcome} ({', '.join(codes)})" if codes else str(outcome)


def _tally(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()) if count) or "nothing"
