"""What the LangChain CLI design leaves open, with one named choice for each gap in it.

The design's prose and its code disagree in places, and its code does not cover everything that a stream can contain.
`DOCUMENTED` follows the design's code examples; `OF_THE_API` follows them with messages that LangChain has made of what
an API said. `REPAIRED` makes the smallest change after which model APIs accept every interrupted history.

The repair covers interruptions only: calls that a complete run leaves open (R30, R46), results that arrive after the
model has continued, and two agents in a row are in the history as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DOCUMENTED", "OF_THE_API", "REPAIRED", "Choices", "OpenCallRule"]

OpenCallRule = Literal["last-element", "last-ai", "unanswered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One choice for each gap; the defaults are the documented design.

    GAP-7 has one answer, so it has no field: no fact is added. A half text looks like a complete one; a half call keeps
    its text and loses its name and id; a flattened call keeps its text and loses its arguments as data. `turn_contents`
    shows each of these as missing.
    """

    tool_event: Literal["flush-text", "own-message"] = "flush-text"
    """GAP-1: what a ToolEvent is merged into while its response has no AIMessage.

    `flush-text`: the buffered text becomes that AIMessage. `own-message`: the call gets an AIMessage without text ("or
    create a separate message"), and the text follows at MessageEvent. The example casts the last element, which is the
    user's message, and nothing may be added to that.
    """

    calls: Literal["text-and-calls", "text-only"] = "text-and-calls"
    """GAP-2: whether a ToolEvent merges the text and sets `tool_calls`, or only merges the text, as the example does.

    The interruption reads `tool_calls`, and tools need them to run. With `text-only`, tools answer calls that no
    message contains.
    """

    buffer_order: Literal["text-first", "call-first"] = "text-first"
    """GAP-3: the order of the messages if both buffers have content at the interruption.

    The model wrote the text first. `call-first` is the order of the design's scenarios, which reverses that.
    """

    open_calls: OpenCallRule = "last-element"
    """GAP-4: which AIMessage loses its calls when tools were running.

    `last-element`: the last message of the state, if it is an AIMessage with calls (the code). `last-ai`: the last
    AIMessage of the state, if one of its calls has no result (the prose). `unanswered`: each AIMessage of the run loses
    its calls without results and keeps the others. Code is more exact than prose; with parallel calls both leave what
    model APIs reject.
    """

    half_call: Literal["at-once", "next-run"] = "at-once"
    """GAP-5: whether a half call becomes an AIMessage at once, as in the example, or when the conversation continues.

    Only the stored state differs; the model's input is the same.
    """

    arguments: Literal["one-buffer", "buffer-per-call"] = "one-buffer"
    """GAP-6: where the arguments of two calls go if they interleave.

    The design has one buffer, in which they would be mixed: such a journal raises `UnsupportedError`.
    """

    blank: Literal["truthy", "non-blank"] = "truthy"
    """GAP-8: which buffer is not empty at an interruption.

    `truthy`: one with any text, as in JavaScript, so white space becomes a message. `non-blank`: one with more than
    white space.
    """

    messages: Literal["own", "of-the-api"] = "own"
    """Not in the list of gaps: who has made an AIMessage with calls.

    `own`: the design, which gives it `tool_calls`. `of-the-api`: LangChain, from what OpenAI's API said. That message
    has the calls a second time, in the API's form under `additional_kwargs`, and the interruption does not delete them.
    """

    late_text: Literal["own-message", "same-message"] = "own-message"
    """Not in the list of gaps: text after a call in the same response.

    `own-message`: it becomes an AIMessage between the calls and their results. `same-message`: it is added to the text
    of its response's AIMessage.
    """


DOCUMENTED = Choices()
OF_THE_API = Choices(messages="of-the-api")
REPAIRED = Choices(open_calls="unanswered", arguments="buffer-per-call", blank="non-blank", late_text="same-message")
