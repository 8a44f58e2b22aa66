"""`tpharness accept`: would a model's API take this request? The command to type when it answered 400."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.not_judged import not_judged
from tpharness.cli.batch.work import BatchDocument, DocumentDone, document_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Level, shorten
from tpharness.model_apis.check import check_payload, is_refused
from tpharness.model_apis.registry import API_NAMES, APIS, find_api
from tpharness.model_apis.request import ModelRequest, read_request
from tpharness.model_apis.rule import ApiRule
from tpharness.model_apis.rules import RULES
from tpharness.model_apis.sdk_types import check_sdk_types
from tpharness.printable import counted

__all__ = ["FORMAT", "accept"]

FORMAT = "tpharness-accept/1"

_SERVERS = tuple(server for api in APIS.values() for server in api.servers)
_RULE = {rule.kind.code: rule for rule in RULES}


@dataclass(frozen=True, slots=True)
class AcceptBy:
    """Judges a document."""

    api: str | None
    model: str | None
    types: bool
    level: Level
    server: str | None = None
    fail_on: Literal["must", "should"] = "must"

    def __call__(self, document: BatchDocument) -> DocumentDone:
        value, notes = document_json(document)
        try:
            request = read_request(value, provider=self.api, model=self.model, server=self.server)
        except UsageError as error:
            if document.alone:
                raise
            return not_judged(error)
        found = check_payload(request.provider, request.payload, options=request.options)
        if self.types:
            found += check_sdk_types(request.provider, request.payload)
        found = keep_first(sorted(found, key=lambda finding: finding.level.rank))
        refusing = [one for one in found if is_refused(one, request.provider, self.server)]
        report = _report(request, found, refused=bool(refusing))
        verdict = report["verdict"]
        shown = [finding for finding in found if finding.level.rank <= self.level.rank or finding in refusing]
        if document.alone:
            by = self.server if refusing and refusing[0].level is not Level.MUST else None
            lines = tuple(_lines(document.name, request, shown, verdict, by))
        else:
            lines = tuple(
                f"{document.name}: {verdict}: {_name(finding)} at {_where(finding)}: {finding.message}"
                for finding in shown
            )
        fails = ("refused", "uncertain") if self.fail_on == "should" else ("refused",)
        return DocumentDone(
            outcome=verdict, code=int(verdict in fails), lines=lines, notes=tuple(notes), facts=report, report=report
        )


def accept(
    files: Annotated[
        list[str], Argument(help="Bodies of requests, or their messages, as JSON: files, folders, JSON Lines, or -.")
    ],
    api: Annotated[
        str | None, Option(help=f"{', '.join(API_NAMES[:-1])} or {API_NAMES[-1]}; else it is guessed.")
    ] = None,
    model: Annotated[str | None, Option(help="The model, where the request does not name it.")] = None,
    server: Annotated[
        str | None,
        Option(help=f"A server that takes less: {', '.join(_SERVERS)}; it says the API, too. Else the model says it."),
    ] = None,
    types: Annotated[
        bool, Option("--types", help="Also check against the official SDK's types (extra: providers).")
    ] = False,
    repair: Annotated[
        bool, Option("--repair", help="Print the least change with which it is taken; with -o, write it.")
    ] = False,
    drop_results: Annotated[
        bool, Option("--drop-results", help="With --repair: leave out results that have no place, by name.")
    ] = False,
    level: Annotated[Level, Option(help="The weakest findings that are printed.")] = Level.MAY,
    fail_on: Annotated[
        Literal["must", "should"],
        Option(help="Which findings end with 1: what is refused, or what some servers refuse as well."),
    ] = "must",
    output: Annotated[str, Option("-o", "--output", help="FILE.jsonl or a folder, instead of printing.")] = "",
    json: Annotated[bool, Option("--json", help="Print JSON, of several documents a line each.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Judge a request to a model's API: what would be refused, why, and what to do.

    Nothing is sent anywhere. The rules come from documentation, SDKs and errors that people reported.
    """
    options = BatchOptions(output=output or "-", as_json=json, jobs=jobs, resume=resume, force=force, verdict=_verdict)
    if drop_results and not repair:
        raise UsageError("--drop-results is an option of --repair", hint="give both")
    if repair:
        if find_spec("tpharness.histories") is None:
            raise UsageError("--repair needs the package tpharness.histories", hint="install tpharness whole")
        from tpharness.cli.repair import RepairBy, repair_each  # noqa: PLC0415  # of a room

        by = RepairBy(source=api, model=model, server=server, drop_results=drop_results, of_request=True)
        repair_each(files, by, options, writes=bool(output), level=level)
    each_document(files, AcceptBy(api, model, types, level, server, fail_on), options)


def _verdict(outcomes: Collection[str]) -> str:
    return "not certain" if "uncertain" in outcomes else "none is refused"


def _lines(
    file: str, request: ModelRequest, found: list[Finding], verdict: str, refused_by: str | None
) -> Iterator[str]:
    entries = counted(request.entries, find_api(request.provider).entry)
    yield f"{file}: {request.provider}, {entries}" + (f", {request.model}" if request.model else "")
    yield from (f"  {words}" for words in request.decided)
    for finding in found:
        yield from _finding_lines(finding)
    left_out = find_api(request.provider).servers.get(request.options.server, ())
    rules = sum(rule.provider == request.provider and rule.id not in left_out for rule in RULES)
    yield ""
    if refused_by is not None:
        yield f"REFUSED by {refused_by}: by all reports it answers such a request with an error."
    elif verdict == "refused":
        yield "REFUSED: the API answers such a request with an error, in general 400."
    elif verdict == "uncertain":
        yield "NOT CERTAIN: some servers, models or accounts refuse this; --fail-on should ends with 1."
    else:
        yield f"ACCEPTED: none of the {rules} rules for {request.provider} is broken."
        yield "  Only the messages are judged. Not judged: other fields, such as max_tokens, which Anthropic requires;"
        yield "  limits of a model, files, and what only the API knows, such as signatures."
        if request.model == "":
            yield "  What depends on the model was judged for the newest ones: --model NAME says which it was."


def _name(finding: Finding) -> str:
    rule = _RULE.get(finding.code)
    return f"{rule.name} {finding.code}" if rule else finding.code


def _where(finding: Finding) -> str:
    return finding.place.pointer or "the whole request"


def _finding_lines(finding: Finding) -> Iterator[str]:
    rule = _RULE.get(finding.code)
    yield ""
    yield f"{_name(finding)} at {_where(finding)} ({finding.level.name})"
    yield f"  {finding.message if rule is None else finding.kind.title}"
    shown = finding.shown()
    if "got" in shown:
        expected = f", expected {shown['expected']}" if "expected" in shown else ""
        yield f"  got {shown['got']}{expected}"
    if says := _api_words(finding, rule):
        yield f"  the API says: {shorten(says, 600)}"
    yield f"  to do: {finding.remedy}"
    if rule:
        yield from (f"  {line}" for line in rule.basis())


def _api_words(finding: Finding, rule: ApiRule | None) -> str:
    """Return what the API says to a finding, "" if that is not known."""
    if rule is None or not rule.errors:
        return ""
    said = finding.message.removeprefix(f"{rule.id}: ")
    return "" if said == finding.kind.title else said


def _report(request: ModelRequest, found: list[Finding], *, refused: bool) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "api": request.provider,
        "model": request.model,
        "entries": request.entries,
        "decided": list(request.decided),
        "verdict": "refused" if refused else "uncertain" if found else "accepted",
        "findings": [_as_json(finding) for finding in found],
    }


def _as_json(finding: Finding) -> dict[str, Any]:
    rule = _RULE.get(finding.code)
    facts = {
        "code": finding.code,
        "level": finding.level.name,
        "pointer": finding.place.pointer or "",
        "title": finding.kind.title,
        "message": finding.message,
        "api_words": _api_words(finding, rule),
        "remedy": finding.remedy,
        **finding.shown(),
    }
    if rule is None:
        return facts
    known = {"confidence": rule.confidence.value, "source": rule.source, "links": list(rule.links().values())}
    return {"rule": rule.id, **facts, **known, "only": rule.only}
