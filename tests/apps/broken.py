"""Applications that are broken in one way each, and what a run of all cases finds of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.apps.chat_app import Defect
from tests.apps.playing import STOP, THREAD

__all__ = ["OBSERVED", "ROWS", "Broken"]


@dataclass(frozen=True)
class Broken:
    """One way to break a check: the defect, the codes that tell it, how the application is configured."""

    check: str
    defect: Defect | None
    codes: frozenset[str]
    config: dict[str, Any] = field(default_factory=dict)
    besides: frozenset[str] = frozenset()
    """Codes that follow from the defect in some cases."""
    cases: tuple[str, ...] = ()
    """Cases without which the defect is not seen."""

    @property
    def name(self) -> str:
        """The defect in kebab-case; the safe application is wrong where it was declared to go on."""
        return self.defect.name.lower().replace("_", "-") if self.defect else "stops-and-was-to-go-on"

    @property
    def sentence(self) -> str:
        """What is wrong with the application."""
        said = self.defect.value if self.defect else "the application stops when its client leaves, and was to go on"
        return f"{said[0].upper()}{said[1:]}."


def broken(check: str, defect: Defect | None, *codes: str, **config: Any) -> Broken:
    """One row of the table."""
    return Broken(check, defect, frozenset(codes), config)


COUNTED = {"effects": "counted"}
BRANCHING = {"regenerate": True, "edit": True}
VIEWED = {"thread": THREAD}
LEDGER = {"effects": "ledger"}
ONE_ENDED = ("user-leaves/one-of-two-ended", "stop-button/one-of-two-ended")
RETURNS = ("tool-returns/empty-text", "tool-returns/very-much")
FAILS = ("tool-fails/with-an-error", "tool-fails/one-of-two")
RACES = ("stop-button/twice", "stop-button/after-the-end", "stop-button/and-a-message")
AFTERWARDS = ("user-leaves/then-a-tool", "stop-button/then-a-tool")
APPROVALS = ("approval/in-two-tabs", "approval/after-reload")
LONG = ("long-chat/many-turns", "long-chat/many-steps")
ROWS = [
    broken("alive", Defect.BRICKS, "chat-bricked"),
    broken("alive", Defect.FAILS_ONCE, "next-turn-failed"),
    broken("answered", Defect.MUTES_NEXT, "answer-unseen"),
    broken("answered", Defect.SHOWS_TWICE, "answer-shown-twice"),
    replace(
        broken("answered", Defect.STOPS_ALL, "other-chat-ended", stop=STOP, concurrency=1),
        cases=("two-chats/stop-the-first", "two-chats/leave-the-first"),
    ),
    replace(
        broken("answered", Defect.STOPS_BY_ONE_FLAG, "other-chat-ended", stop=STOP, concurrency=1),
        # The flag is looked at when the model says something, and one that no run has looked at ends the next.
        besides=frozenset({"stop-ignored", "answer-unseen"}),
        cases=("two-chats/stop-the-first",),
    ),
    replace(broken("answered", Defect.STAYS_STOPPED, "run-broken-off", stop=STOP), cases=AFTERWARDS),
    replace(broken("effects", Defect.STAYS_ABORTED, "tool-not-run", **COUNTED), cases=AFTERWARDS),
    replace(
        broken("stream-valid", Defect.FINISHES_STOP, "stop-as-finish", stop=STOP),
        besides=frozenset({"stream-irregular"}),  # the text is still open
    ),
    broken("same-view", Defect.REPEATS_ID, "message-id-reused"),
    broken("same-view", Defect.VIEWS_HALF_AS_DONE, "half-shown-as-done", **VIEWED),
    replace(broken("alive", Defect.KEEPS_STOP, "next-turn-failed", stop=STOP), cases=RACES),
    replace(broken("effects", Defect.KEEPS_STOP_FOR_TOOL, "tool-not-run", stop=STOP, **COUNTED), cases=RACES),
    replace(
        broken("user-turns", Defect.SAVES_STOP_LATE, "user-turn-lost", stop=STOP),
        besides=frozenset({"chat-same-role-twice"}),  # the answers around the lost message follow each other
        cases=RACES,
    ),
    replace(broken("user-turns", Defect.REPEATS_MESSAGE, "user-turn-doubled"), cases=("model-fails/rate-limited",)),
    broken("accepted", Defect.KEEPS_ORPHAN_RESULT, "chat-orphan-tool-message"),
    broken("accepted", Defect.ORPHANS_LATER, "chat-orphan-tool-message"),
    replace(broken("accepted", Defect.TRIMS_ANYWHERE, "chat-orphan-tool-message"), cases=LONG),
    broken("prefix", Defect.REPAIRS_ARGUMENTS, "arguments-invented"),
    broken("prefix", Defect.NOTES_IN_TEXT, "text-invented"),
    broken("prefix", Defect.DOUBLES_TEXT, "answer-doubled"),
    broken("prefix", Defect.DOUBLES_CALL, "call-doubled"),
    broken("prefix", Defect.INVENTS_CALL, "call-invented"),
    broken("prefix", Defect.RENAMES_CALL, "call-invented"),
    replace(
        broken("user-turns", Defect.STORES_TURN_LATE, "user-turn-lost"),
        besides=frozenset({"chat-same-role-twice"}),  # two half answers follow each other where two turns are cut
    ),
    broken("user-turns", Defect.DOUBLES_TURN, "user-turn-doubled"),
    broken("user-turns", Defect.SORTS_TURNS, "user-turn-misplaced"),
    replace(
        broken("user-turns", Defect.ANSWERS_LATE, "answer-misplaced"),
        besides=frozenset({"chat-same-role-twice"}),  # it stands in front of the answer to that message
    ),
    replace(broken("user-turns", Defect.TRIMS_QUESTION, "user-turn-lost"), cases=LONG),
    broken("branches", Defect.KEEPS_BRANCH, "replaced-told", **BRANCHING),
    replace(
        broken("branches", Defect.KEEPS_OLD_ANSWER, "replaced-told", **BRANCHING),
        besides=frozenset({"chat-same-role-twice"}),  # the two answers follow each other
    ),
    broken("cycles-kept", Defect.FORGETS_CYCLE, "cycle-lost"),
    replace(
        broken("cycles-kept", Defect.SWAPS_RESULTS, "result-misplaced"),
        besides=frozenset({"history-changed"}),  # in a long chat results change places anew in each turn
    ),
    replace(
        broken("cycles-kept", Defect.MIXES_RESULTS, "result-misplaced"),
        besides=frozenset({"history-changed"}),
    ),
    broken("cycles-kept", Defect.FORGETS_ANSWER, "answer-lost"),
    replace(
        broken("cycles-kept", Defect.MIXES_CHATS, "answer-lost", concurrency=1),
        besides=frozenset({"text-invented", "chat-same-role-twice"}),  # what the other chat is told
        cases=("two-chats/in-text",),
    ),
    broken("cycles-kept", Defect.FORGETS_WORDS, "answer-lost"),
    broken("effects", Defect.FORGETS_EFFECT, "effect-forgotten", **COUNTED),
    replace(
        broken("effects", Defect.RUNS_HALF_CALL, "half-call-ran", **LEDGER),
        cases=("model-stops/at-length-in-arguments",),
    ),
    broken("effects", Defect.DENIES_EFFECT, "effect-denied", **LEDGER),
    broken("effects", Defect.RUNS_TWICE, "tool-ran-twice", **COUNTED),
    broken("effects", Defect.RUNS_UNAPPROVED, "tool-ran-unapproved", **COUNTED),
    replace(
        broken("effects", Defect.RUNS_AGAIN, "tool-ran-twice", **COUNTED),
        besides=frozenset({"chat-same-role-twice"}),  # the second approval has an answer of its own
        cases=APPROVALS,
    ),
    replace(broken("effects", Defect.IGNORES_APPROVAL, "approved-not-run", **COUNTED, **VIEWED), cases=APPROVALS),
    replace(broken("same-view", Defect.FORGETS_REQUEST, "view-differs", **VIEWED), cases=APPROVALS),
    replace(
        broken("accepted", Defect.DROPS_EMPTY_RESULT, "chat-call-unanswered", **LEDGER),
        besides=frozenset({"effect-forgotten"}),  # the call has had its effect, and no result
        cases=RETURNS,
    ),
    replace(broken("effects", Defect.STORES_TOGETHER, "effect-forgotten", **LEDGER), cases=ONE_ENDED),
    replace(broken("effects", Defect.FAILS_TOGETHER, "effect-forgotten", **LEDGER), cases=FAILS),
    replace(broken("answered", Defect.BREAKS_AT_LENGTH, "run-broken-off", **LEDGER), cases=RETURNS),
    replace(broken("answered", Defect.BREAKS_AT_FAILURE, "run-broken-off", **LEDGER), cases=FAILS),
    broken("history-grows", Defect.DATES_PROMPT, "history-changed"),
    broken("history-grows", Defect.REWORDS_RESULT, "history-changed"),
    broken("history-grows", Defect.REORDERS, "history-reordered"),
    replace(
        broken("history-grows", Defect.JOINS_TEXTS, "history-reordered"),
        besides=frozenset(
            {"chat-orphan-tool-message", "cycle-lost"}
        ),  # of a run of many steps the last calls alone stay
    ),
    broken("stream-valid", Defect.HIDES_FAILURE, "failure-as-finish", "stream-irregular"),
    broken("stream-valid", Defect.FINISHES_FAILURE, "failure-as-finish", "stream-irregular"),
    broken("stream-valid", Defect.TEARS_STREAM, "failure-unsaid"),
    broken("stream-valid", Defect.SENDS_ODD_STREAM, "stream-refused"),
    broken("stops-or-goes-on", Defect.RUNS_ON, "runs-on", on_disconnect="stop"),
    broken("stops-or-goes-on", None, "gives-up", on_disconnect="continue"),
    broken("stops-or-goes-on", Defect.IGNORES_STOP, "stop-ignored", stop=STOP),
    broken("stops-or-goes-on", Defect.REFUSES_STOP, "stop-refused", stop=STOP),
    broken("same-view", Defect.HIDES_HALF_TEXT, "view-differs", **VIEWED),
    broken("same-view", Defect.VIEWS_TWICE, "view-differs", **VIEWED),
    broken("same-view", Defect.SHOWS_OLD_BRANCH, "view-differs", **VIEWED, **BRANCHING),
    broken("same-view", Defect.ANSWERS_NO_VIEW, "view-unreadable", **VIEWED),
    broken("asked-once", Defect.ASKS_TWICE, "model-asked-twice"),
]

OBSERVED = [broken("seen-and-told", Defect.RUNS_ON, "told-more-than-seen", on_disconnect="continue")]
"""What the basic cases of an application find at MAY: a policy, and no fault."""
