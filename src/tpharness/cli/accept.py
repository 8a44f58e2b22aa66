"""`tpharness accept`: would a model's API take this request? The command to type when it answered 400."""

from __future__ import annotations

from typing import Annotated, Any

from tpharness.cli.files import print_json, read_json
from tpharness.cli.options import Argument, Exit, Option
from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Level, shorten
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES, find_api
from tpharness.model_apis.request import ModelRequest, read_request
from tpharness.model_apis.rule import Rule
from tpharness.model_apis.rules import RULES
from tpharness.model_apis.sdk_types import check_sdk_types
from tpharness.printable import counted, say

__all__ = ["FORMAT", "accept"]

FORMAT = "tpharness-accept/1"

_RULE = {rule.kind.code: rule for rule in RULES}


def accept(
    file: Annotated[str, Argument(help="The body of a request, or its messages, as JSON; - is standard input.")],
    api: Annotated[
        str | None, Option(help=f"{', '.join(API_NAMES[:-1])} or {API_NAMES[-1]}; else it is guessed.")
    ] = None,
    model: Annotated[str | None, Option(help="The model, where the request does not name it.")] = None,
    types: Annotated[
        bool, Option("--types", help="Also check against the official SDK's types (extra: providers).")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge a request to a model's API: what would be refused, why, and what to do.

    Nothing is sent anywhere. The rules come from documentation, SDKs and errors that people reported.
    """
    request = read_request(read_json(file), provider=api, model=model)
    found = check_payload(request.provider, request.payload, options=request.options)
    if types:
        found += check_sdk_types(request.provider, request.payload)
    found = keep_first(sorted(found, key=lambda finding: finding.level.rank))
    refused = any(finding.level is Level.MUST for finding in found)
    if as_json:
        print_json(_report(request, found, refused=refused))
    else:
        _print(file, request, found, refused=refused)
    raise Exit(1 if refused else 0)


def _print(file: str, request: ModelRequest, found: list[Finding], *, refused: bool) -> None:
    entries = counted(request.entries, find_api(request.provider).entry)
    say(f"{file}: {request.provider}, {entries}" + (f", {request.model}" if request.model else ""))
    for words in request.decided:
        say(f"  {words}")
    for finding in found:
        _print_finding(finding)
    rules = sum(rule.provider == request.provider for rule in RULES)
    say("")
    if refused:
        say("REFUSED: the API answers such a request with an error, in general 400.")
    elif found:
        say("NOT CERTAIN: some servers, models or accounts refuse this.")
    else:
        say(f"ACCEPTED: none of the {rules} rules for {request.provider} is broken.")
        say("  Not judged: fields and limits of a model, files, and what only the API knows, such as signatures.")
        if request.model == "":
            say("  What depends on the model was judged for the newest ones: --model NAME says which it was.")


def _print_finding(finding: Finding) -> None:
    rule = _RULE.get(finding.code)
    name = f"{rule.id} {finding.code}" if rule else finding.code
    say("", f"{name} at {finding.place.pointer or 'the whole request'} ({finding.level.name})")
    says = _api_words(finding, rule)
    say(f"  {finding.message if rule is None else finding.kind.title}")
    shown = finding.shown()
    if "got" in shown:
        expected = f", expected {shown['expected']}" if "expected" in shown else ""
        say(f"  got {shown['got']}{expected}")
    if says:
        say(f"  the API says: {shorten(says, 600)}")
    say(f"  to do: {finding.kind.remedy}")
    if rule:
        say(*(f"  {line}" for line in rule.basis()))


def _api_words(finding: Finding, rule: Rule | None) -> str:
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
        "remedy": finding.kind.remedy,
        **finding.shown(),
    }
    if rule is None:
        return facts
    known = {"confidence": rule.confidence.value, "source": rule.source, "links": list(rule.links().values())}
    return {"rule": rule.id, **facts, **known, "only": rule.only}
