"""An app case: what the user says, what the model answers, and where something is cut. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tpharness.apps.effects import ToolAnswer
from tpharness.model_apis.plan import Plan

__all__ = ["FIRST_STOPS", "TOGETHER", "AppCase", "Approves", "CaseTool", "Cut", "CutBy", "Need", "Turn"]


class CutBy(StrEnum):
    """What happens at the place of a cut."""

    LEAVE = "the user closes the tab"
    STOP = "the user presses the stop button"
    STOP_AND_WRITE = "the user presses the stop button and writes a message at once"
    RELOAD = "the user reloads the page"
    SECOND_MESSAGE = "the user writes a second message"
    SECOND_TAB = "the user writes in a second tab"
    OTHER_CHAT = "the user writes in another chat"
    STOP_FIRST = "the user presses the stop button of the chat that was opened first"
    LEAVE_FIRST = "the user closes the tab of the chat that was opened first"
    MODEL = "the connection to the model fails"
    WAIT = "the model is slow"


TOGETHER = (CutBy.SECOND_MESSAGE, CutBy.SECOND_TAB, CutBy.STOP_AND_WRITE)
"""Cuts at which the next turn begins while this one goes on."""

FIRST_STOPS = (CutBy.STOP_FIRST, CutBy.LEAVE_FIRST)
"""Cuts in a chat that has to go on: what ends is the run of another one."""


class Approves(StrEnum):
    """Where the user answers requests for approval."""

    ONCE = "on the page that asks"
    RELOADED = "on the page that was loaded anew"
    TWICE = "on the page that asks, and then in a second tab that still asks"


class Need(StrEnum):
    """What a case needs of an application; a case without it is not applicable, with this reason."""

    TOOL = "no tool may be called: name one that is harmless with --allow-tool NAME, or tools.allow in tpharness.toml"
    SLOW_TOOL = "the tool ended before anybody could leave; allow one that takes 0.2 s or longer"
    HELD_TOOL = "the answer to the client ended while the tool of the ledger was held: nobody could leave it"
    STOP = "the application has no address for its stop button (stop in tpharness.toml)"
    THREAD = "the application has no address for its view after a reload (thread in tpharness.toml)"
    RESUME = "the application has no address to resume a stream (resume in tpharness.toml)"
    SERVER_HISTORY = "the client keeps the history, so that a second tab has a history of its own"
    REGENERATE = "its page has no button for another answer (regenerate = true in tpharness.toml)"
    EDIT = "its page cannot edit a message (edit = true in tpharness.toml)"
    THOUGHTS = "the application does not ask its model to think, or its API shows no thoughts"
    APPROVAL = "the application asks for no approval of the tools that may be called"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTool:
    """A tool of the application that may be called: arguments for it, and others for a second call if there are."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    other_args: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A cut in the answer to request number `request` of its turn, from 0.

    It is made when the model holds after the pieces of the plan's `hold_at`; with `in_tool`, after the whole answer,
    while the tools that it calls run. The ledger holds them then, after their effect or `before_effect`, and with
    `one_ends` lets one of them go on to its end first. `presses` is how often the stop button is pressed.
    """

    by: CutBy
    request: int = 0
    in_tool: bool = False
    before_effect: bool = False
    one_ends: bool = False
    presses: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of the user, the answers of the model to the requests that it leads to, and a cut or none.

    `approve` are the answers to requests for approval in order, the last one for all further; None leaves them open.
    `last_first` lets the tools of the ledger end in the opposite order of their starts, and `tools` is what the first
    of them answer in place of what they return. With `again` the user writes
    nothing, and asks for another answer to the message of the turn before, whose `says` this one has, too. With `edits`
    the user writes in place of the message of that turn, counted from 1, and what came after it is gone. `stops_late`
    presses the stop button when the answer has ended. `approves` is where requests for approval are answered. Before a
    turn that `reloads` the page is opened anew, where the application has an address for it.
    """

    says: str
    plans: tuple[Plan, ...]
    cut: Cut | None = None
    approve: tuple[bool, ...] | None = (True,)
    last_first: bool = False
    tools: tuple[ToolAnswer, ...] = ()
    again: bool = False
    edits: int | None = None
    stops_late: bool = False
    approves: Approves = Approves.ONCE
    reloads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCase:
    """A case: `id` as `theme/kebab-name`, a sentence for people, the turns, and what it needs.

    In a `long` one an application may tell its model only the end of the chat. `beside` are turns of another chat of
    the same user, or with `other_user` of another one, which is opened at a cut by `OTHER_CHAT`: the first is played
    there, the others at the end.
    """

    id: str
    title: str
    turns: tuple[Turn, ...]
    needs: frozenset[Need] = frozenset()
    not_applicable: str = ""
    long: bool = False
    beside: tuple[Turn, ...] = ()
    other_user: bool = False

    def words(self, index: int) -> str:
        """Return what the user has written in a turn: numbered, so that no message reads as another."""
        while self.turns[index].again:
            index -= 1
        return f"({index + 1}) {self.turns[index].says}"
