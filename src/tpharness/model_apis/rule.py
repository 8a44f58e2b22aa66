"""What a rule of a model API is, and how its hits become findings.

In: a payload opened into entries, and options. Out: hits, each a place and the ids it is about, and from them findings
in the API's own words. A rule is a pure function and facts about it: its sentence, its source and how certain it is.
The facts are here and not in `conformance/findings.yaml`, because each belongs to one function and only the tables of
`docs/ACCEPTANCE.md` show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.model_apis.shape import PayloadEntry

__all__ = ["MALFORMED", "ApiRule", "Confidence", "Hit", "Options", "malformed_finding"]

MALFORMED = Kind("payload-malformed")

_REPORT = re.compile(r"([\w.-]+/[\w.-]+)?#(\d+)")
_GAP = re.compile(r"\{([a-z]+)\}")


class Confidence(Enum):
    """How a rule is known. No rule was tried against an API."""

    DOCUMENTED = "documented"
    REPORTED = "reported"
    SDK = "sdk"
    CONFLICTING = "conflicting"


_SURE = {
    Confidence.DOCUMENTED: "the API's documentation says it",
    Confidence.REPORTED: "people report this error",
    Confidence.SDK: "the official SDK says it",
    Confidence.CONFLICTING: "sources or servers disagree",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What decides, apart from the messages of a request, whether they are accepted. The defaults fit new models.

    `prefill`: the model continues an assistant message at the end (Claude before 4.6). `thought_signatures`: calls need
    them (Gemini 3). `store`: the Responses API stores items, so that ids find them. `adjacent_outputs`: outputs
    come directly after their calls (DeepSeek). `openai_ids`: ids of items are OpenAI's, which begin with their kind and
    are never there twice (R7, R9, R10). `continued`: the request goes on from a stored response, where
    calls may be (`previous_response_id`). `reasoning`, `thinking`: the model reasons or thinks in this
    conversation; None derives it from the payload. `earlier`: the payload of an earlier call of the same conversation,
    if there is one. `system_messages`: the model takes messages of the role system among the others (Claude from 4.8
    on). `server`: the server of the Chat Completions API that answers, by its name in `openai_chat/servers.py`; ""
    for OpenAI's. `observations`: also report what is accepted but worth knowing (level MAY).
    """

    prefill: bool = False
    thought_signatures: bool = True
    store: bool = True
    adjacent_outputs: bool = False
    openai_ids: bool = True
    continued: bool = False
    reasoning: bool | None = None
    thinking: bool | None = None
    earlier: Any = None
    system_messages: bool = True
    server: str = ""
    observations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A place that breaks a rule: its JSON pointer, the ids concerned, the index of the rule's error text for it.

    `error` is None if the API's words for this place are not known; `words` fill the other gaps of the text.
    """

    pointer: str
    ids: tuple[str, ...] = ()
    error: int | None = 0
    words: Mapping[str, str] = field(default_factory=dict)
    got: Any = None
    expected: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRule:
    """One rule: `id` as `C1`, the `kind` of its findings (whose meaning is the rule's sentence) and where it is from.

    `errors` are the API's own texts with `{ids}` for the ids and other gaps for words, empty if none is known; `only`
    says for which requests the rule holds. `find` yields the places that break it.
    """

    id: str
    provider: str
    kind: Kind
    source: str
    confidence: Confidence
    find: Callable[[Sequence[PayloadEntry], Options], Iterator[Hit]]
    errors: tuple[str, ...] = ()
    only: str = ""

    @property
    def name(self) -> str:
        """The id with its API, such as `responses/R6`: rulings of ThreadProtocol have ids such as R6, too."""
        return f"{self.provider.removeprefix('openai-')}/{self.id}"

    def findings(self, entries: Sequence[PayloadEntry], options: Options) -> Iterator[Finding]:
        """Yield a finding for each hit; its message names the rule and quotes the API."""
        for hit in self.find(entries, options):
            text = self.api_words(hit) or self.kind.title
            got = list(hit.ids) if hit.got is None and hit.ids else hit.got
            yield self.kind.at(Place(pointer=hit.pointer), f"{self.id}: {text}", got=got, expected=hit.expected)

    def api_words(self, hit: Hit) -> str:
        """Return what the API says to a hit, with the ids filled in, or "" if that is not known."""
        if hit.error is None or not self.errors:
            return ""
        filling = {**hit.words, "ids": shorten(", ".join(hit.ids), 400)}
        return _GAP.sub(lambda gap: filling.get(gap[1], gap[0]), self.errors[hit.error])

    def texts(self) -> tuple[str, ...]:
        """Return the API's texts as they are searched for, with an ellipsis for what differs between requests."""
        return tuple(_GAP.sub("…", error) for error in self.errors)

    def basis(self) -> tuple[str, ...]:
        """Return lines that say how sure the rule is, its source and its requests, and the addresses of the reports."""
        only = f" ({self.only})" if self.only else ""
        sure = f"how sure: {_SURE[self.confidence]}: {self.source}{only}"
        return (sure, *(f"  {address}" for address in self.links().values()))

    def links(self) -> dict[str, str]:
        """Return the address of each public report that the source names, by its name there (`owner/repo#1`, `#2`)."""
        found: dict[str, str] = {}
        repository = ""
        for named, number in _REPORT.findall(self.source):
            repository = named or repository
            found[f"{named}#{number}"] = f"https://github.com/{repository}/issues/{number}"
        return found


def malformed_finding(pointer: str, expected: str, got: Any) -> Finding:
    """Make the finding that the value at `pointer` is not of the API's types; `expected` names the type."""
    return MALFORMED.at(Place(pointer=pointer), f"{expected} expected", got="nothing" if got is None else got)
