"""Every case that there is: the basic ones, those that only an application has, sweeps, and cases from scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name

from tpharness.apps.cases.basic import basic_cases, with_turn_after_next
from tpharness.apps.cases.case import AppCase, CaseTool, Turn
from tpharness.apps.cases.ledger import ledger_cases
from tpharness.apps.cases.own import own_cases, two_user_cases
from tpharness.apps.cases.sweep import sweep_cases
from tpharness.model_apis.plan import Call, Plan

__all__ = ["BASIC", "CaseSource", "all_cases"]


BASIC = "basic"
"""The name of the group of the nine basic cases."""

_WORD = "call_0"
"""Stands for the word with which ids of calls begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSource:
    """A case that is not made yet: its ids of calls have to be new each time that it is played.

    `is_about_others` is whether it judges what two chats do to each other, so that no third one may run.
    """

    id: str
    title: str
    make: Callable[[str], AppCase]
    group: str = ""
    is_about_others: bool = False


def all_cases(
    tool: CaseTool | None,
    *,
    ledger: bool = False,
    other_user: bool = False,
    sweep: bool = False,
    scenarios: Sequence[Path] = (),
) -> list[CaseSource]:
    """Return the cases for a tool that may be called, in the order in which they are played; the uncut run is first.

    `ledger` adds those that only a tool of the ledger can play, `other_user` those that need a second user.
    """
    found = [*_sources(basic_cases(tool, _WORD), BASIC), *_sources(own_cases(tool, _WORD))]
    if ledger:
        found += _sources(ledger_cases(tool, _WORD))
    if other_user:
        found += _sources(two_user_cases(tool, _WORD))
    if sweep:
        found += _sources(sweep_cases(tool, _WORD))
    if scenarios:  # few runs read any
        for name, title, make in resolve_name("tpharness.apps.cases.from_scenarios:read_cases")(scenarios, tool):
            found.append(CaseSource(id=name, title=title, make=make))
    return found


def _sources(cases: Iterable[AppCase], group: str = "") -> Iterator[CaseSource]:
    for case in map(with_turn_after_next, cases):
        make = partial(_with_calls, case)
        yield CaseSource(id=case.id, title=case.title, group=group, make=make, is_about_others=bool(case.beside))


def _with_calls(case: AppCase, word: str) -> AppCase:
    """Return a case whose calls have ids that begin with this word."""
    return replace(case, turns=_named(case.turns, word), beside=_named(case.beside, word))


def _named(turns: Iterable[Turn], word: str) -> tuple[Turn, ...]:
    return tuple(replace(turn, plans=tuple(_named_plan(plan, word) for plan in turn.plans)) for turn in turns)


def _named_plan(plan: Plan, word: str) -> Plan:
    if not plan.calls:
        return plan
    items = (replace(i, call_id=i.call_id.replace(_WORD, word, 1)) if isinstance(i, Call) else i for i in plan.items)
    return replace(plan, items=tuple(items))
