"""Every case that there is: the basic ones, those that only an application has, sweeps, and cases from scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name

from tpharness.apps.cases.basic import basic_cases, with_turn_after_next
from tpharness.apps.cases.case import AppCase, CaseTool
from tpharness.apps.cases.ledger import ledger_cases
from tpharness.apps.cases.own import own_cases, two_user_cases
from tpharness.apps.cases.sweep import sweep_cases

__all__ = ["BASIC", "CaseSource", "all_cases"]


BASIC = "basic"
"""The name of the group of the nine basic cases."""


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
    basic = _sources(lambda call_id: basic_cases(tool, call_id), BASIC)
    found = [*basic, *_sources(lambda call_id: own_cases(tool, call_id))]
    if ledger:
        found += _sources(lambda call_id: ledger_cases(tool, call_id))
    if other_user:
        found += _sources(lambda call_id: two_user_cases(tool, call_id))
    if sweep:
        found += _sources(lambda call_id: sweep_cases(tool, call_id))
    if scenarios:  # few runs read any
        for name, title, make in resolve_name("tpharness.apps.cases.from_scenarios:read_cases")(scenarios, tool):
            found.append(CaseSource(id=name, title=title, make=make))
    return found


def _sources(family: Callable[[str], Sequence[AppCase]], group: str = "") -> Iterator[CaseSource]:
    for index, case in enumerate(family("call_0")):
        make = partial(_one, family, index)
        yield CaseSource(id=case.id, title=case.title, group=group, make=make, is_about_others=bool(case.beside))


def _one(family: Callable[[str], Sequence[AppCase]], index: int, call_id: str) -> AppCase:
    return with_turn_after_next(family(call_id)[index])
