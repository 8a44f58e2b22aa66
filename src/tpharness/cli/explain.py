"""`tpharness explain`: what the words mean that a run prints: clauses, rulings, rules of APIs, findings and so on.

It is asked while somebody reads a failure, so it reads and imports what this one explanation needs, and no more: a test
holds the list.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from tpharness.clauses import (
    clause_texts,
    load_app_clauses,
    load_clauses,
    load_rulings,
    load_violations,
    load_wire_rules,
)
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.findings import load_kinds
from tpharness.printable import say
from tpharness.profiles import load_profiles
from tpharness.resources import scenarios_dir
from tpharness.scenario_files import FoundScenario, find_files, read_clauses

__all__ = ["explain", "explained_names"]

_GUARANTEES = {
    "identity": "nothing is lost, so both threads are as they would have been without the fault",
    "prefix": "the client holds a prefix of the server's thread, and the same thread after a fetch",
    "content": "nothing is lost, so both threads are as they would have been, but for times",
    "agreement": "whichever came first, both sides hold the same thread",
}


def explain(
    name: Annotated[
        str, Argument(help="A clause, ruling, rule, scenario, finding, fix, profile, fault, check or outcome.")
    ],
    scenarios: Annotated[list[Path] | None, Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """Explain a clause, ruling, rule, scenario, finding, fix, profile, fault, check or outcome."""
    roots = tuple(scenarios or (scenarios_dir(),))
    of_api = _API_RULE.match(name)
    if of_api and _explained_rule(f"{of_api[1].lower()}/{of_api[2].upper()}", roots):
        return
    scenario, numbered = "/" in name, _NUMBERED_ID.match(name.upper())  # nothing else has such names
    if not (scenario or numbered) and any(explained(name, roots) for explained in _TEXTS):
        return
    kinds = (_explained_scenario,) if scenario else _NUMBERED if numbered else _OTHERS
    asked = name.upper() if numbered else name
    found = any(explained(asked, roots) for explained in kinds) if numbered else _explain_all(kinds, asked, roots)
    if not found:
        raise _unknown(name, roots)


def _explained_ruling(name: str, _: tuple[Path, ...]) -> bool:
    ruling = load_rulings().get(name)
    if ruling is None:
        return False
    say(f"{name}: {ruling.title}", "", *ruling.text.splitlines())
    from tpharness.model_apis.rules import RULES  # noqa: PLC0415

    for rule in RULES:
        if rule.id == name:
            say("", f"A rule of the API {rule.provider} is called so too: tpharness explain {rule.name}")
    return True


def _explained_rule(name: str, _: tuple[Path, ...]) -> bool:
    from tpharness.model_apis.rules import RULES  # noqa: PLC0415

    found = [rule for rule in RULES if name in (rule.id, rule.name, f"{rule.provider}/{rule.id}")]
    for rule in found:
        kind = rule.kind.entry
        say(f"{rule.name} (rule of the API {rule.provider}, {kind.level.name})", f"  {kind.meaning}")
        say(*(f"  the API says: {text}" for text in rule.texts()), f"  to do: {kind.remedy}")
        say(*(f"  {line}" for line in rule.basis()), f"  a request that breaks it has the finding {kind.code}")
    return bool(found)


def _explained_clause(name: str, roots: tuple[Path, ...]) -> bool:
    clause = load_clauses().get(name)
    if clause is None:
        return False
    say(f"{clause.id} ({clause.level}, {', '.join(clause.versions)})", f"  {clause.text}")
    say(
        f"  from {clause.document}, {clause.section}"
        + (f"; decided by {', '.join(clause.rulings)}" if clause.rulings else "")
    )
    if clause.exercised_by:
        say(f"  exercised by {clause.exercised_by}: {clause.why}")
    users = [id_ for id_, one in sorted(find_files(roots).items()) if name in _cited(one)]
    say(f"  scenarios:{'' if users else ' none'}", *(f"    {user}" for user in users))
    if users:
        own = [word for root in roots if root != scenarios_dir() for word in ("--scenarios", str(root))]
        say(f"  play them: {shlex.join(['tpharness', 'run', '--clause', name, *own])}")
    _print_violations(name)
    return True


def _explained_app_clause(name: str, _: tuple[Path, ...]) -> bool:
    about = load_app_clauses().get(name)
    if about is None:
        return False
    say(f"{about.id} ({about.level}, applications)", f"  {about.text}", f"  why: {about.reason}")
    say(f"  to do: {about.remedy}", f"  judged by the check {about.check} of tpharness app")
    _print_violations(name)
    return True


_VERDICTS = {
    "wire": "the wire alone",
    "input": "the wire and the input",
    "model": "the wire and what the model was given",
}
"""What somebody has to see for a verdict on a rule of AG-UI; other rules bind the client, or need more than these."""


def _explained_wire_rule(name: str, _: tuple[Path, ...]) -> bool:
    rule = load_wire_rules().get(name)
    if rule is None:
        return False
    bound = "" if rule.binds == "none" else f", binds {'both sides' if rule.binds == 'both' else f'the {rule.binds}'}"
    say(f"{rule.id} (rule of AG-UI 1.0, {rule.level}{bound})", f"  {rule.text}")
    say(f"  from docs.ag-ui.com/spec/1.0/{', /'.join(rule.pages)}")
    if rule.verdict in _VERDICTS:
        say(f"  class of verdict: by {_VERDICTS[rule.verdict]}")
    if rule.judged == "nowhere":
        say(f"  not judged: {rule.why}")
    else:
        seen_in = {"wire": "the stream alone", "input": "the stream and the input that it answers"}
        by = seen_in.get(rule.judged, "what tpharness run --server ag-ui+URL posts and is answered")
        say(f"  judged by {by}; found as {', '.join(rule.findings)}")
    return True


def _explained_finding(name: str, _: tuple[Path, ...]) -> bool:
    kind = load_kinds().get(name)
    if kind is None:
        return False
    say(f"{kind.code} ({kind.level.name})", f"  {kind.title}")
    if kind.meaning:
        say(f"  {kind.meaning}")
    if kind.for_user:
        say(f"  for the user: {kind.for_user}")
    say(f"  to do: {kind.remedy}")
    texts = clause_texts() if kind.clauses else {}
    for clause_id in kind.clauses:
        say(f"  {clause_id}: {texts.get(clause_id, '')}")
    _print_rulings(kind.rulings)
    return True


def _explained_fix(name: str, _: tuple[Path, ...]) -> bool:
    from tpharness.apps.fixes import load_fixes  # noqa: PLC0415

    fix = next((one for one in load_fixes() if one.id == name), None)
    if fix is None:
        return False
    say(f"{fix.id} (fix of an application, for tpharness app)", f"  {fix.title}", f"  {fix.advice}")
    say(f"  for {', '.join(fix.codes)}; tried on the application {fix.application}, whose cases then pass:")
    say(*(f"    {case}" for case in fix.passes))
    return True


def _explained_fault(name: str, _: tuple[Path, ...]) -> bool:
    from tpharness.faults import FAULTS  # noqa: PLC0415

    fault = FAULTS.get(name)
    if fault is None:
        return False
    say(f"{fault.name} (fault)", f"  {fault.title}", f"  guarantee: {_GUARANTEES[fault.guarantee.value]}")
    _print_rulings(fault.rulings)
    say(f"  play it: tpharness run --server http://HOST:PORT --fault {fault.name}")
    return True


def _explained_profile(name: str, _: tuple[Path, ...]) -> bool:
    profile = load_profiles().get(name)
    if profile is None:
        return False
    say(f"{name} (profile)", f"  {profile.title}. {profile.reader}")
    say(f"  clauses: {', '.join(profile.clauses)}")
    if profile.faults:
        say(f"  faults: {', '.join(profile.faults)}")
    say(f"  play it: tpharness run --profile {name}")
    return True


def _explained_check(name: str, _: tuple[Path, ...]) -> bool:
    from tpharness.checks import CHECKS  # noqa: PLC0415

    titles = [check.title for check in CHECKS if check.name == name]
    judged = [about for about in load_app_clauses().values() if about.check == name]
    for title in titles:
        say(f"{name} (check of every case)", f"  {title}")
    if judged:
        say(f"{name} (check of tpharness app)", *(f"  {about.id}: {about.text}" for about in judged))
    return bool(titles or judged)


def _explained_outcome(name: str, _: tuple[Path, ...]) -> bool:
    from tpharness.verdict import Outcome  # noqa: PLC0415

    meanings = [one.meaning for one in Outcome if one.value == name]
    for meaning in meanings:
        say(f"{name} (outcome of a case)", f"  {meaning}")
    return bool(meanings)


def _explained_scenario(name: str, roots: tuple[Path, ...]) -> bool:
    found = find_files(roots).get(name.partition("@")[0])
    if found is None:
        return False
    from tpharness.scenario import load_scenario  # noqa: PLC0415

    scenario = load_scenario(found.path, root=found.root)
    clauses = load_clauses()
    say(f"{scenario.id} ({', '.join(str(v.value) for v in scenario.versions)})", f"  {scenario.description}")
    say(f"  file: {scenario.path}")
    for clause in scenario.clauses:
        say(f"  {clause}: {clauses[clause].text}" if clause in clauses else f"  {clause}")
    if scenario.rulings:
        say(f"  decided by {', '.join(scenario.rulings)}")
    return True


_Explained = Callable[[str, tuple[Path, ...]], bool]
"""Explains a name if it is of its kind, and returns whether it is; the folders are those of the scenarios."""

_NUMBERED_ID = re.compile(r"[A-Z]\d+\Z")
_API_RULE = re.compile(r"([A-Za-z-]+)/([A-Za-z]\d+)\Z")
"""A rule with its API, such as `responses/R6`."""

_NUMBERED: tuple[_Explained, ...] = (_explained_ruling, _explained_rule)
"""Kinds whose ids are a letter and a number: of a ruling and a rule that share one the ruling, which names the rule."""

_TEXTS: tuple[_Explained, ...] = (_explained_clause, _explained_app_clause, _explained_wire_rule, _explained_finding)
"""Kinds that are read from data files, the cheapest first. Their names do not belong to any other kind."""

_OTHERS: tuple[_Explained, ...] = (
    _explained_profile,
    _explained_fault,
    _explained_check,
    _explained_outcome,
    _explained_scenario,
    _explained_fix,
)
"""Kinds that may share a name, such as the profile and the fault `resume`: each of them is explained."""


def _explain_all(kinds: tuple[_Explained, ...], name: str, roots: tuple[Path, ...]) -> bool:
    """Explain everything that has a name, and return whether anything has."""
    found = [explained(name, roots) for explained in kinds]
    return any(found)


def _cited(one: FoundScenario) -> tuple[str, ...]:
    """Return the clauses that a scenario cites. It is loaded if they do not stand plainly at its beginning."""
    found = read_clauses(one.path)
    if found is None:
        from tpharness.scenario import load_scenario  # noqa: PLC0415

        found = load_scenario(one.path, root=one.root).clauses
    return found


def _print_rulings(ids: tuple[str, ...]) -> None:
    for ruling in ids:
        say(f"  {ruling}: {load_rulings()[ruling].title} (tpharness explain {ruling})")


def _print_violations(clause: str) -> None:
    found = load_violations().get(clause, ())
    say(f"  violated and found:{'' if found else ' nothing'}")
    for one in found:
        say(f"    {one.kind} {one.name}: {one.sentence} Found by {', '.join(one.found_by)}.")


def explained_names() -> list[str]:
    """Return every name that is explained, but for the ids of scenarios."""
    from tpharness.apps.fixes import load_fixes  # noqa: PLC0415
    from tpharness.checks import CHECKS  # noqa: PLC0415
    from tpharness.faults import FAULTS  # noqa: PLC0415
    from tpharness.model_apis.rules import RULES  # noqa: PLC0415
    from tpharness.verdict import Outcome  # noqa: PLC0415

    clauses = [*load_clauses(), *load_app_clauses(), *load_wire_rules()]
    texts = [*clauses, *load_rulings(), *load_kinds(), *(rule.name for rule in RULES)]
    checks = [one.name for one in CHECKS] + [one.check for one in load_app_clauses().values()]
    fixes = [one.id for one in load_fixes()]
    return list(dict.fromkeys([*texts, *load_profiles(), *FAULTS, *checks, *(one.value for one in Outcome), *fixes]))


def _unknown(name: str, roots: tuple[Path, ...]) -> UsageError:
    if "/" in name:
        near = difflib.get_close_matches(name, find_files(roots), n=3)
        hint = "--scenarios FOLDER finds your own; `tpharness app --list` has the cases of applications"
    else:
        near = difflib.get_close_matches(name, [*explained_names(), *find_files(roots)], n=3)
        hint = "" if near else "see tpharness list clauses, rulings, findings, profiles, faults or scenarios"
    if near:
        hint = f"did you mean {', '.join(near)}?\n{hint}".rstrip()
    return UsageError(f"nothing is called {name!r}", hint=hint)
