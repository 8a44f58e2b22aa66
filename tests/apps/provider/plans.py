"""Plans of every kind, and what a client has to have read of each: made from the plan alone, not from the provider."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tpharness.model_apis.plan import Break, Call, Finish, Plan, Text, Thinking, Usage
from tpharness.model_apis.registry import ApiName

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
    "additionalProperties": True,
}

HELLO = Text(pieces=("Hello", " wor", "ld"))
THOUGHT = Thinking(pieces=("The user ", "wants a ", "hotel."))
PARIS = Call(call_id="call_paris", name="book_hotel", pieces=('{"ci', 'ty":"Pa', 'ris","nights":2}'))
ROME = Call(call_id="call_rome", name="book_hotel", pieces=('{"city":"Rome"}',))
LODZ = Call(call_id="call_lodz", name="book_hotel", pieces=tuple('{"city":"Łódź"}'))
CUT = Call(call_id="call_cut", name="book_hotel", pieces=('{"city', '":"Pa'))
NOTHING = Call(call_id="call_nothing", name="book_hotel", pieces=("{}",))
HARD = Text(
    pieces=(
        '„quoted“ "',
        "\\ new\nline\r\n\ttab",
        "\u2028\u2029",
        "\U0001f469\u200d\U0001f680",
        " data: x\n\n",
        " [DONE]",
        "\x00\x7f",
    )
)

WHOLE: dict[str, Plan] = {
    "one piece": Plan(items=(Text(pieces=("Hello",)),)),
    "three pieces": Plan(items=(HELLO,)),
    "hard characters": Plan(items=(HARD,)),
    "many pieces": Plan(items=(Text(pieces=tuple(f"{n} " for n in range(100))),)),
    "a long piece": Plan(items=(Text(pieces=("x" * 200_000, "end")),)),
    "two texts": Plan(items=(HELLO, Text(pieces=(" and", " more")))),
    "thinking and text": Plan(items=(THOUGHT, HELLO)),
    "thinking with its signature": Plan(items=(Thinking(pieces=("Hm.",), signature="c2lnbmF0dXJl"), HELLO)),
    "a call": Plan(items=(PARIS,)),
    "a call without arguments": Plan(items=(NOTHING,)),
    "arguments character by character": Plan(items=(LODZ,)),
    "text and a call": Plan(items=(HELLO, PARIS)),
    "two calls": Plan(items=(PARIS, ROME)),
    "thinking, text and three calls": Plan(items=(THOUGHT, HELLO, PARIS, ROME, NOTHING)),
    "length in the text": Plan(items=(HELLO,), finish=Finish.LENGTH),
    "length in the arguments": Plan(items=(HELLO, CUT), finish=Finish.LENGTH),
    "content filter": Plan(items=(HELLO,), finish=Finish.CONTENT_FILTER),
    "usage": Plan(items=(THOUGHT, HELLO), usage=Usage(input=1234, output=567, cached=1000, reasoning=321)),
}  # fmt: skip
"""Answers that come to their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a client has read: as the client tells it, or as it follows from the plan."""

    text: str = ""
    thinking: str = ""
    calls: list[list[Any]] = field(default_factory=list)  # id, name, arguments
    finish: str | None = None
    usage: list[int] = field(default_factory=list)  # input, output, cached, reasoning
    error: str | None = None
    complaints: list[str] = field(default_factory=list)


FINISHES: dict[ApiName, dict[Finish, str]] = {
    "openai-chat": {
        Finish.STOP: "stop",
        Finish.LENGTH: "length",
        Finish.CONTENT_FILTER: "content_filter",
        Finish.TOOL_CALL: "tool_calls",
    },
    "openai-responses": {
        Finish.STOP: "completed",
        Finish.LENGTH: "max_output_tokens",
        Finish.CONTENT_FILTER: "content_filter",
        Finish.TOOL_CALL: "completed",
    },
    "anthropic": {
        Finish.STOP: "end_turn",
        Finish.LENGTH: "max_tokens",
        Finish.CONTENT_FILTER: "refusal",
        Finish.TOOL_CALL: "tool_use",
    },
    "ollama": {
        Finish.STOP: "stop",
        Finish.LENGTH: "length",
        Finish.CONTENT_FILTER: "stop",
        Finish.TOOL_CALL: "stop",
    },
    "gemini": {
        Finish.STOP: "STOP",
        Finish.LENGTH: "MAX_TOKENS",
        Finish.CONTENT_FILTER: "SAFETY",
        Finish.TOOL_CALL: "STOP",
    },
}
AI_SDK_FINISHES = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.CONTENT_FILTER: "content-filter",
    Finish.TOOL_CALL: "tool-calls",
}


def expected(api: ApiName, plan: Plan) -> Read:
    """Return what a client of an API reads of a plan that comes to its end."""
    text = thinking = ""
    calls: list[list[Any]] = []
    for item in plan.items:
        said = "".join(item.pieces)
        if isinstance(item, Text):
            text += said
        elif isinstance(item, Thinking):
            thinking += said
        else:
            calls.append([item.call_id, item.name, said])
    finish = Finish.TOOL_CALL if calls and plan.finish is Finish.STOP else plan.finish
    usage = [plan.usage.input, plan.usage.output, plan.usage.cached, plan.usage.reasoning]
    return Read(text=text, thinking=thinking, calls=calls, finish=FINISHES[api][finish], usage=usage)


def as_object(arguments: str) -> Any:
    """Return arguments as a client has them that is given an object; half arguments are never given."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def broken(base: Plan, breaks: Break, at: int) -> Plan:
    """Return the same answer, failing after so many pieces."""
    return Plan(items=base.items, usage=base.usage, breaks=breaks, break_at=at, error_text="planned failure")
