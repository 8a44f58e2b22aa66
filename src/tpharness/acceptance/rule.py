"""What a rule of a model API is, and how its hits become findings.

In: a payload opened into entries, and options. Out: hits, each a place and the ids it is about, and from them findings
in the API's own words. A rule is a pure function and facts about it: its sentence, its source and how certain it is.
The facts are here and not in `conformance/findings.yaml`, because each belongs to one function and only the tables of
`docs/ACCEPTANCE.md` show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tpharness.acceptance.provider import Provider
from tpharness.acceptance.shape import PayloadEntry
from tpharness.findings import Finding, Kind, Place, shorten

__all__ = ["MALFORMED", "Confidence", "Hit", "Options", "Rule", "malformed_finding"]

MALFORMED = Kind("payload-malformed")


class Confidence(Enum):
    """How a rule is known. No rule was tried against an API."""

    DOCUMENTED = "documented"  # the provider's documentation says it
    REPORTED = "reported"  # users report the API's error text
    SDK = "sdk"  # the official SDK's types or their docstrings say it
    CONFLICTING = "conflicting"  # sources or servers disagree


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What decides, apart from the messages of a request, whether they are accepted. The defaults fit new models.

    `prefill`: the model continues an assistant message at the end (Claude before 4.6). `thought_signatures`: calls need
    them (Gemini 3). `store`: the Responses API stores items, so that ids find them. `adjacent_outputs`: outputs
    come directly after their calls (DeepSeek). `reasoning`, `thinking`: the model reasons or thinks in this
    conversation; None derives it from the payload. `earlier`: the payload of an earlier call of the same conversation,
    if there is one. `observations`: also report what is accepted but worth knowing (level MAY).
    """

    prefill: bool = False
    thought_signatures: bool = True
    store: bool = True
    adjacent_outputs: bool = False
    reasoning: bool | None = None
    thinking: bool | None = None
    earlier: Any = None
    observations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A place that breaks a rule: its JSON pointer, the ids concerned, the index of the rule's error text for it."""

    pointer: str
    ids: tuple[str, ...] = ()
    error: int = 0
    got: Any = None
    expected: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: `id` as `C1`, the `kind` of its findings (whose meaning is the rule's sentence) and where it is from.

    `errors` are the API's own texts with `{ids}` for the ids, empty if none is known; `only` says for which requests
    the rule holds. `find` yields the places that break it.
    """

    id: str
    provider: Provider
    kind: Kind
    source: str
    confidence: Confidence
    find: Callable[[Sequence[PayloadEntry], Options], Iterator[Hit]]
    errors: tuple[str, ...] = ()
    only: str = ""

    def findings(self, entries: Sequence[PayloadEntry], options: Options) -> Iterator[Finding]:
        """Yield a finding for each hit; its message names the rule and quotes the API."""
        for hit in self.find(entries, options):
            ids = shorten(", ".join(hit.ids), 400)
            text = self.errors[hit.error].replace("{ids}", ids) if self.errors else self.kind.title
            got = list(hit.ids) if hit.got is None and hit.ids else hit.got
            yield self.kind.at(Place(pointer=hit.pointer), f"{self.id}: {text}", got=got, expected=hit.expected)


def malformed_finding(pointer: str, expected: str, got: Any) -> Finding:
    """Make the finding that the value at `pointer` is not of the API's types; `expected` names the type."""
    return MALFORMED.at(Place(pointer=pointer), f"{expected} expected", got="nothing" if got is None else got)
