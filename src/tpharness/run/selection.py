"""Which scenarios a run plays: those that the ids name, that other options leave of them, in the order asked for.

In: the options of a run. Out: the selected scenarios. UsageError where nothing is left: a run that plays nothing is
never green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tpharness import faults as wire_faults
from tpharness.errors import UsageError
from tpharness.profiles import find_profiles, load_profiles
from tpharness.run.citing import choose_citing, cites
from tpharness.run.last_failed import played_part
from tpharness.run.options import RunOptions
from tpharness.run.select import SelectedScenario, built_in_roots, select_scenarios
from tpharness.verdict.baseline import fault_name

__all__ = ["choose_scenarios", "strike"]


def _select_named(options: RunOptions) -> list[SelectedScenario]:
    """Return the scenarios that the ids name. A command without quotes leaves its words among the ids."""
    try:
        return select_scenarios(
            options.ids, options.roots or built_in_roots(options.wire), follow_links=options.follow_links
        )
    except UsageError as error:
        for name, target in (("server", options.server), ("client", options.client)):
            if target.startswith("stdio:") and " " not in target and any("." in word for word in options.ids):
                hint = f'{error.hint}; a command with blanks is quoted: --{name} "{target} …"'
                raise UsageError(str(error), hint=hint) from None
        raise


def choose_scenarios(options: RunOptions) -> list[SelectedScenario]:
    """Return the scenarios that the options select, each once, in the order of the options."""
    selected = _select_named(options)
    if options.profiles:
        named = options.profiles
        selected = [one for one in selected if _find_faults(one, named) or _belongs(one, named)]
        if not selected:
            built_in = "" if not options.roots else " --scenarios built-in"
            raise UsageError(
                f"no scenario that was named belongs to {' or '.join(options.profiles)}",
                hint=f"leave the ids away: tpharness run{built_in} --profile {options.profiles[0]}",
            )
    selected = choose_citing(selected, options.clauses)
    if options.only:
        selected = [one for one in selected if one.id in options.only]
    if options.keyword is not None:
        selected = [one for one in selected if options.keyword.fits(str(one))]
        if not selected:
            raise UsageError(
                f"-k {options.keyword.text!r} fits no scenario that was named",
                hint="it is compared with the ids of `tpharness list scenarios`",
            )
    if options.last_failed:
        again = {played_part(case).partition("@")[0] for case in options.last_failed}
        selected = [one for one in selected if one.id in again]
        if not selected:
            raise UsageError(
                "nothing that was named failed last on these targets",
                hint=f"without ids --lf plays {', '.join(sorted(again)[:5])}",
            )
    return selected if options.order is None else options.order.arrange(selected)


def strike(selected: Sequence[SelectedScenario], options: RunOptions) -> Iterator[SelectedScenario]:
    """Yield the scenarios, and those that a profile plays with faults, or that failed with faults, with these faults.

    Where the options name faults themselves, every scenario is played with those, and nothing is added.
    """
    if options.faults or not (options.profiles or options.last_failed):
        yield from selected
        return
    again = {played_part(case) for case in options.last_failed}
    for one in selected:
        if (not options.profiles or _belongs(one, options.profiles)) and (not again or one.id in again):
            yield one
        faults = _find_faults(one, options.profiles)
        if again:
            faults = tuple(name for name in wire_faults.FAULTS if fault_name(one.id, name) in again)
        if faults:
            yield replace(one, faults=faults)


def _find_faults(one: SelectedScenario, profiles: Sequence[str]) -> tuple[str, ...]:
    """Return the faults with which the profiles play a scenario."""
    wanted = [load_profiles()[name] for name in profiles] if one.place is None else []
    wanted = [profile for profile in wanted if profile.strikes(one.id)]  # none, for most scenarios
    return tuple(name for name in wire_faults.FAULTS if any(profile.has_fault(name) for profile in wanted))


def _belongs(one: SelectedScenario, profiles: Sequence[str]) -> bool:
    """Whether a scenario belongs to one of the profiles."""
    return cites(one, lambda cited: any(profile.name in profiles for profile in find_profiles(str(one), cited)))
