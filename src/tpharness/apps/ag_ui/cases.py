"""The cases of a server of AG-UI, and the inputs that are not ordinary. Pure.

In: what the answers to the prompts have passed. Out: sources of cases by their ids, in the order in which they are
played: a cut and the turn after it are two cases, played together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tpharness.apps.ag_ui.places import EVENT, PLACES
from tpharness.errors import UsageError, did_you_mean

__all__ = ["INPUTS", "NEWER", "RESOLVED", "CaseOf", "OddInput", "case_sources", "tools_returned", "whole_id"]

Json = dict[str, Any]

RESOLVED = "interrupt/resolved"
"""The case in which the user answers what a run asks."""

NEWER = "1.9"
"""A minor version that no server knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OddInput:
    """An input that a page does not post every day; `make` changes one that it does. `rejected`: it is malformed."""

    about: str
    make: Callable[[Json], Json | bytes]
    rejected: bool = False


def _without(*names: str) -> Callable[[Json], Json]:
    return lambda posted: {name: value for name, value in posted.items() if name not in names}


def _with(**more: Any) -> Callable[[Json], Json]:
    return lambda posted: {**posted, **more}


INPUTS = {
    "input/no-lists": OddInput(
        about="tools, context and state are left out, which means the same as empty ones",
        make=_without("tools", "context", "state"),
    ),
    "input/unknown-member": OddInput(
        about="a member that AG-UI does not describe, as a newer client may send one",
        make=_with(tpharnessUnknownMember={"of": "a later version"}),
    ),
    "input/newer-minor": OddInput(
        about=f"the client speaks {NEWER}, a newer minor version of the same line", make=_with(protocolVersion=NEWER)
    ),
    "input/unknown-interrupt": OddInput(
        about="resume answers an interrupt that the server has never asked",
        make=_with(resume=[{"interruptId": "tpharness-unknown", "status": "cancelled"}]),
    ),
    "input/not-json": OddInput(
        about="a body that is not JSON", make=lambda posted: json.dumps(posted).encode()[:-1], rejected=True
    ),
    "input/no-messages": OddInput(about="messages are left out", make=_without("messages"), rejected=True),
    "input/messages-of-another-type": OddInput(about="messages is a text", make=_with(messages="Hello"), rejected=True),
    "input/thread-id-of-another-type": OddInput(about="threadId is a number", make=_with(threadId=1), rejected=True),
}
"""Every odd input by the id of its case (rules 82, 86, 91, 104)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOf:
    """A source of cases: the ids of its results. `prompt` is the number of the prompt, -1 where none leads there."""

    ids: tuple[str, ...]
    place: str = ""
    prompt: int = 0

    @property
    def id(self) -> str:
        """The id of the first result."""
        return self.ids[0]


def whole_id(number: int) -> str:
    """Return the id of the case of a prompt, by its number from 0."""
    return f"whole/{number + 1}"


def case_sources(passed: Sequence[Sequence[str]], asks: Sequence[bool], ids: Sequence[str]) -> list[CaseOf]:
    """Return what is played after the prompts; `passed` are the places of the answer to each. UsageError for odd ids.

    `asks` says of each answer whether its run has ended with an interrupt.

    The place behind each event is played where an id or pattern names it.
    """
    known = [CaseOf(ids=("next/whole",))]
    known.append(CaseOf(ids=(RESOLVED,), prompt=next((n for n, asked in enumerate(asks) if asked), -1)))
    known += [_cut(place, passed) for place in PLACES]
    known += [CaseOf(ids=(name,)) for name in INPUTS]
    wholes = [whole_id(number) for number in range(len(passed))]
    events = [one for places in passed for one in places if one.startswith(EVENT)]
    numbered = [_cut(place, passed) for place in dict.fromkeys(events)]
    _require_known(ids, [*wholes, *(name for one in [*known, *numbered] for name in one.ids)])
    if not ids:
        return known
    return [one for one in [*known, *numbered] if any(_is_wanted(name, ids) for name in one.ids)]


def _cut(place: str, passed: Sequence[Sequence[str]]) -> CaseOf:
    prompt = next((number for number, places in enumerate(passed) if place in places), -1)
    return CaseOf(ids=(f"cut/{place}", f"next/{place}"), place=place, prompt=prompt)


def _is_wanted(name: str, ids: Iterable[str]) -> bool:
    """Whether a case is asked for; the places behind each event only by a name that says event."""
    return any(
        fnmatchcase(name, pattern) or name.partition("/")[0] == pattern
        for pattern in ids
        if f"/{EVENT}" not in name or EVENT in pattern
    )


def _require_known(ids: Sequence[str], names: Sequence[str]) -> None:
    for one in ids:
        if not any(fnmatchcase(name, one) or name.partition("/")[0] == one for name in names):
            themes = list(dict.fromkeys(name.partition("/")[0] for name in names))
            plain = [*themes, *(name for name in names if f"/{EVENT}" not in name)]
            hint = did_you_mean(one, plain, f"there are {', '.join(themes)}, and single cases such as cut/in-text")
            raise UsageError(f"no case is called {one!r}", hint=hint)


def tools_returned(answers: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, list[Any]]:
    """Return what each tool was seen to return in the events of answers, by its name."""
    found: dict[str, list[Any]] = {}
    for events in answers:
        names = {
            event["toolCallId"]: event["toolCallName"]
            for event in events
            if isinstance(event.get("toolCallId"), str) and isinstance(event.get("toolCallName"), str)
        }
        for event in events:
            if event.get("type") == "TOOL_CALL_RESULT" and event.get("toolCallId") in names:
                found.setdefault(names[event["toolCallId"]], []).append(event.get("content"))
    return found
