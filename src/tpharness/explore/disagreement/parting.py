"""What targets make of one scenario → where they part: which of them hold with each other, and who departs. Pure.

The majority is the largest group that holds the same thread. Where two groups are as large, the one with the reference
is taken for it, and the disagreement says that there is no majority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tpharness.explore.disagreement.panel import View
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.diff import diff
from tpharness.protocol.versions import Version
from tpharness.scenario import Compare

__all__ = ["Disagreement", "find_disagreements"]

_MAJORITY, _DEPARTING = "majority", "departing"
_REFERENCE = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One way in which targets part: in what, in which versions, who departs from whom, and the first difference.

    `decided` are the rulings that decide there; `unseen` those who hold something else than the reference, or depart
    where it does not play, and are found by no check of a run.
    """

    about: str
    versions: tuple[Version, ...]
    departing: tuple[str, ...]
    majority: tuple[str, ...]
    tied: bool
    symptom: str
    message: str
    pointer: str = ""
    decided: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A text that is equal for disagreements of one cause."""
        return f"{self.about}: {', '.join(sorted(self.departing))}: {self.symptom}"


def find_disagreements(views: Iterable[View]) -> Iterator[Disagreement]:
    """Yield where the views part, each group that departs by itself."""
    by_subject: dict[str, list[View]] = {}
    for view in views:
        by_subject.setdefault(view.about, []).append(view)
    for about, held in by_subject.items():
        yield from _failing(about, held)
        yield from _parting(about, [view for view in held if not view.failed])


def _failing(about: str, held: Sequence[View]) -> Iterator[Disagreement]:
    """A target that fails where another one answers."""
    answered = tuple(view.target for view in held if not view.failed)
    for view in held if answered else ():
        if view.failed:
            yield Disagreement(
                about=about,
                versions=(),
                departing=(view.target,),
                majority=answered,
                tied=False,
                symptom=view.failed,
                message=f"{view.target} does not answer: {view.failed}",
            )


def _parting(about: str, held: Sequence[View]) -> Iterator[Disagreement]:
    mode = Compare.EXACT if all(view.mode is Compare.EXACT for view in held) else Compare.CONTENT
    found: dict[str, Disagreement] = {}
    versions = {version for view in held for version in view.threads}
    for version in sorted(versions, key=lambda one: one.order, reverse=True):
        for one in _parting_in(about, version, [view for view in held if version in view.threads], mode):
            known = found.get(one.key)
            found[one.key] = one if known is None else _also_in(known, version)
    yield from found.values()


def _also_in(known: Disagreement, version: Version) -> Disagreement:
    return replace(known, versions=(*known.versions, version))


def _parting_in(about: str, version: Version, held: Sequence[View], mode: Compare) -> Iterator[Disagreement]:
    groups: list[list[View]] = []
    for view in held:
        alike = next((g for g in groups if _same(g[0].threads[version], view.threads[version], mode)), None)
        if alike is None:
            groups.append([view])
        else:
            alike.append(view)
    groups.sort(key=lambda group: (-len(group), not _has_reference(group)))
    tied = len(groups) > 1 and len(groups[0]) == len(groups[1])
    for group in groups[1:]:
        right, other = groups[0][0].threads[version], group[0].threads[version]
        differences = diff(right, other, names=(_MAJORITY, _DEPARTING), mode=mode.value)
        first = differences[0] if differences else None
        yield Disagreement(
            about=about,
            versions=(version,),
            departing=tuple(view.target for view in group),
            majority=tuple(view.target for view in groups[0]),
            tied=tied,
            symptom=first.symptom if first is not None else "a place that the diff does not name",
            message=first.text if first is not None else "the threads differ in a place that the diff does not name",
            pointer=first.pointer if first is not None else "",
            decided=first.rulings if first is not None else (),
            unseen=tuple(view.target for view in (groups[0] if _has_reference(group) else group) if not view.found),
        )


def _has_reference(group: Sequence[View]) -> bool:
    return any(view.target.startswith(_REFERENCE) for view in group)


def _same(one: object, other: object, mode: Compare) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    return same_exact(one, other) if mode is Compare.EXACT else same_content(one, other)
