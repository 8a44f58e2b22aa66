"""What the LangChain CLI design leaves open, one named choice for each gap.

The design's prose and its code disagree in places, and its code does not cover all that a stream can do. `DOCUMENTED`
is the design as its code examples read, `REPAIRED` the least change that makes each interrupted history one that model
APIs take. `GAPS` says for each gap what is open, which field settles it, and why the default is what it is.

The repair is of interruptions alone: calls that a complete run leaves open (R30, R46), results that come after the
model has gone on, and two agents that follow each other are in the history as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "DOCUMENTED",
    "GAPS",
    "REPAIRED",
    "ArgumentBuffers",
    "BlankRule",
    "BufferOrder",
    "CallRule",
    "Choices",
    "Gap",
    "HalfCallRule",
    "LateTextRule",
    "OpenCallRule",
    "ToolEventRule",
]


class ToolEventRule(Enum):
    """GAP-1: a ToolEvent comes, and the text before the call is still in its buffer."""

    FLUSH_TEXT = "flush-text"
    """The buffered text becomes the AIMessage that the call is merged into."""
    OWN_MESSAGE = "own-message"
    """The call gets an AIMessage without text ("or create a separate message"); the text follows at MessageEvent."""


class CallRule(Enum):
    """GAP-2: the interruption reads `tool_calls`, which nothing in the design sets."""

    TEXT_AND_CALLS = "text-and-calls"
    """A ToolEvent merges the text and sets the structured call."""
    TEXT_ONLY = "text-only"
    """It merges the text alone, as the example does: tools then answer calls that no message makes."""


class BufferOrder(Enum):
    """GAP-3: both buffers hold something at the interruption."""

    TEXT_FIRST = "text-first"
    CALL_FIRST = "call-first"
    """The order of the design's scenarios, which turns round what the model said."""


class OpenCallRule(Enum):
    """GAP-4: which AIMessage loses its calls when tools were running."""

    LAST_ELEMENT = "last-element"
    """The last message of the state, if it is an AIMessage with calls: the code."""
    LAST_AI = "last-ai"
    """The last AIMessage of the state, if one of its calls has no result: the prose."""
    UNANSWERED = "unanswered"
    """Each AIMessage of the run with a call that has no result loses those calls, and keeps the others."""


class HalfCallRule(Enum):
    """GAP-5: when a half call becomes an AIMessage."""

    AT_ONCE = "at-once"
    NEXT_RUN = "next-run"
    """The buffer is kept until the user or an agent goes on. What the model gets is the same."""


class ArgumentBuffers(Enum):
    """GAP-6: the arguments of two calls come interleaved, and there is one buffer."""

    ONE = "one"
    """They would run into each other: such a journal is refused with `UnsupportedError`."""
    PER_CALL = "per-call"


class BlankRule(Enum):
    """GAP-8: what an interruption takes a buffer to hold."""

    TRUTHY = "truthy"
    """Anything but the empty text, as JavaScript has it; white space becomes a message."""
    NON_BLANK = "non-blank"


class LateTextRule(Enum):
    """Not in the list of gaps: text that follows a call within one response."""

    OWN_MESSAGE = "own-message"
    """It becomes an AIMessage of its own, which stands between the calls and their results."""
    SAME_MESSAGE = "same-message"
    """It joins the text of its response's AIMessage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One choice for each gap; the defaults are the documented design."""

    tool_event: ToolEventRule = ToolEventRule.FLUSH_TEXT
    calls: CallRule = CallRule.TEXT_AND_CALLS
    buffer_order: BufferOrder = BufferOrder.TEXT_FIRST
    open_calls: OpenCallRule = OpenCallRule.LAST_ELEMENT
    half_call: HalfCallRule = HalfCallRule.AT_ONCE
    arguments: ArgumentBuffers = ArgumentBuffers.ONE
    blank: BlankRule = BlankRule.TRUTHY
    late_text: LateTextRule = LateTextRule.OWN_MESSAGE


DOCUMENTED = Choices()
REPAIRED = Choices(
    open_calls=OpenCallRule.UNANSWERED,
    arguments=ArgumentBuffers.PER_CALL,
    blank=BlankRule.NON_BLANK,
    late_text=LateTextRule.SAME_MESSAGE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What is open, the field of `Choices` that settles it (None: one answer for all), and why the default is that."""

    question: str
    field: str | None
    why: str


GAPS: Mapping[str, Gap] = {
    "GAP-1": Gap(
        question="What does a ToolEvent merge into while no AIMessage of its response exists?",
        field="tool_event",
        why="the example casts the last element, which is the user's message: nothing may be put into their words",
    ),
    "GAP-2": Gap(
        question="Does a ToolEvent set `tool_calls`, or only merge text?",
        field="calls",
        why="the interruption reads `tool_calls`, and tools need them to run at all",
    ),
    "GAP-3": Gap(
        question="Both buffers hold something at the interruption: in which order do they become messages?",
        field="buffer_order",
        why="the model wrote the text first",
    ),
    "GAP-4": Gap(
        question="Is `lastAIMessage` the last element of the state or its last AIMessage?",
        field="open_calls",
        why="code is more exact than prose; with parallel calls either leaves what model APIs reject",
    ),
    "GAP-5": Gap(
        question="Does a half call become a message at once or on the next run?",
        field="half_call",
        why="the example does it at once; only the stored state can tell the difference",
    ),
    "GAP-6": Gap(
        question="What becomes of arguments that interleave in one buffer?",
        field="arguments",
        why="the design has one buffer, so it cannot hold such a stream, and says nothing of it",
    ),
    "GAP-7": Gap(
        question="Can a half text or a half call be told from a whole one, and what of the call is lost?",
        field=None,
        why=(
            "no fact is added: a half text looks like a whole one, a half call keeps its text and loses name and id, a "
            "flattened call keeps its text and loses its arguments as data; `holdings` shows each as missing"
        ),
    ),
    "GAP-8": Gap(
        question="Is a buffer of white space something to keep?",
        field="blank",
        why="the examples test for truth, and one space is true",
    ),
}
