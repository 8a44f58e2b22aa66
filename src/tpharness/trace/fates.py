"""A turn of a chat application that was traced → what became of each thing that its model said. Pure.

In: a traced case of `tpharness app`. Out: for each turn its facts: text, thoughts, calls and results, beside what the
user saw of each, and what the next request says of it. Nothing is judged here: the findings do that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.printable import counted
from tpharness.trace.read import TracedCase

__all__ = ["FATE_WORDS", "Fact", "Fate", "call_words", "cut_words", "fate", "turn_facts"]

Line = Mapping[str, Any]

FATE_WORDS = {
    "whole": "all of it",
    "beginning": "the beginning of it",
    "nothing": "nothing",
    "other": "something else",
    "new": "something new",
    "": "not asked again",
}
"""What each word of a `Fate` says to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What is left of a fact somewhere: its `text`, and a `word` for it.

    The words are whole, beginning, nothing, other (something else), new (where nothing was said), "" if unknown.
    """

    word: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that the model said, or that a request gave it as a tool's result: what, `said`, and what became of it.

    `said` is None where nothing was said in the turn: then what is shown or sent is an invention, or the result of a
    tool that the model learns of later (`is_result`). `whole` says that the model came to its end.
    """

    what: str
    said: str | None
    shown: Fate
    sent: Fate
    whole: bool = True
    is_result: bool = False


def fate(said: str | None, kept: str | None, *, shown: bool = False) -> Fate:
    """Return what is left of a text: white space around it and the form of JSON do not count.

    A client that has `shown` half the arguments of a call may have closed them to read them, and has a beginning. A
    history that closes them has made something else of them.
    """
    if kept is None:
        return Fate(word="nothing")
    if said is None or not kept.strip():
        return Fate(word="new" if kept.strip() else "nothing", text=kept)
    if _form(said) == _form(kept):
        return Fate(word="whole", text=kept)
    return Fate(word="beginning" if _is_beginning(said, kept, closed=shown) else "other", text=kept)


def call_words(call: Line) -> str:
    """Return a call as a person reads it."""
    return f"{call['name']}({call['args']})"


def cut_words(cut: Line) -> str:
    """Return what was cut, where, and what the application did then."""
    where = "while a tool ran" if cut["in_tool"] else f"after {counted(cut['pieces'], 'piece')} of the model's answer"
    words = [f"{cut['by']}, {where}"]
    if cut["left_after"] is not None:
        words.append(f"the application left the model {cut['left_after'] * 1000:.0f} ms later")
    after = [
        f"{cut[key]} more {word}" for key, word in (("pieces_after", "pieces"), ("asked_after", "requests")) if cut[key]
    ]
    words += [f"the model was let say {' and asked for '.join(after)}"] if after else []
    return "; ".join((*words, *([cut["tools"]] if cut.get("tools") else [])))


def turn_facts(case: TracedCase, turn: Line) -> list[Fact]:
    """Return the facts of a turn, in order. What the model is sent on the next turn is that of its first request."""
    mine = [asked for asked in case.asked if asked["turn"] == turn["turn"]]
    following = next((asked for asked in case.asked if asked["turn"] > turn["turn"]), None)
    lines = None if following is None else list(_answers(following["told"], turn["says"]))
    shown = list(_answers(turn["screen"], turn["says"]))
    said_calls = {call["id"]: call for asked in mine for call in asked["calls"]}
    returned = [line for asked in mine for line in _answers(asked["told"], turn["says"])]
    results = {one["id"]: one for line in returned for one in line.get("results", ())}
    shown_calls = {part["toolCallId"]: part for part in _parts(shown) if isinstance(part.get("toolCallId"), str)}
    repeated_calls = {call["id"]: call for line in lines or () for call in line.get("calls", ())}
    repeated_results = {one["id"]: one for line in lines or () for one in line.get("results", ())}

    def fact(what: str, said: str | None, on_screen: str | None, kept: str | None, **more: bool) -> Fact:
        sent = Fate(word="") if lines is None else fate(said, kept)
        return Fact(what=what, said=said, shown=fate(said, on_screen, shown=True), sent=sent, **more)

    facts: list[Fact] = []
    text = _joined(asked["said"] for asked in mine) or None
    seen = _joined(part["text"] for part in _parts(shown) if part.get("type") == "text" and _has_text(part)) or None
    repeated = _joined(line["text"] for line in lines or () if line["role"] == "assistant") or None
    if text or seen or repeated:
        whole = all(asked["outcome"] == "completed" or asked["calls"] for asked in mine)
        facts.append(fact("text", text, seen, repeated, whole=whole))
    for name in dict.fromkeys((*said_calls, *shown_calls, *repeated_calls)):
        call = said_calls.get(name)
        said = None if call is None else call_words(call)
        on_screen = None if name not in shown_calls else _shown_call(shown_calls[name])
        kept = None if name not in repeated_calls else call_words(repeated_calls[name])
        facts.append(fact(f"call {name}", said, on_screen, kept, whole=call is None or call.get("whole", True)))
        content = None if name not in results else results[name]["content"]
        on_screen = _shown_result(shown_calls.get(name, {}))
        kept = None if name not in repeated_results else repeated_results[name]["content"]
        if content is not None or on_screen is not None or kept is not None:
            facts.append(fact(f"result of {name}", content, on_screen, kept, is_result=True))
    return facts


def _answers(messages: Sequence[Line], says: str) -> Iterator[Line]:
    """Yield what stands behind a message of the user up to the next one."""
    behind = False
    for message in messages:
        if message.get("role") == "user":
            words = (message.get("text"), *(part.get("text") for part in _parts([message])))
            behind = any(says in word for word in words if isinstance(word, str))
        elif behind:
            yield message


def _parts(messages: Sequence[Line]) -> Iterator[Line]:
    for message in messages:
        parts = message.get("parts")
        yield from (part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, Mapping))


def _has_text(part: Line) -> bool:
    return isinstance(part.get("text"), str)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)


def _shown_call(part: Line) -> str:
    name = part.get("toolName") or str(part.get("type", "")).removeprefix("tool-")
    keys = ("rawInput", "input") if part.get("state") == "input-streaming" else ("input", "rawInput")
    args = next((part[key] for key in keys if key in part), None)
    return f"{name}({args if isinstance(args, str) else '' if args is None else json.dumps(args, ensure_ascii=False)})"


def _shown_result(part: Line) -> str | None:
    value = part.get("output", part.get("errorText"))
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_beginning(said: str, kept: str, *, closed: bool) -> bool:
    """Return whether a text, or the arguments of the same call, were kept up to a place; `closed` ones as JSON."""
    (name, said_args), (kept_name, kept_args) = _split_call(said), _split_call(kept)
    if name != kept_name or said_args is None or kept_args is None:
        return said.strip().startswith(kept.strip())
    if said_args.strip().startswith(kept_args.strip()):
        return True
    try:
        return closed and _value_begins(json.loads(said_args), json.loads(kept_args))
    except (ValueError, RecursionError):
        return False


def _value_begins(said: Any, kept: Any) -> bool:
    """Return whether a JSON value is what closing half the text of another gives: all but its end is the same."""
    if isinstance(said, str) and isinstance(kept, str):
        return said.startswith(kept)
    pairs: list[tuple[Any, Any]]
    if isinstance(said, dict) and isinstance(kept, dict):
        if list(said)[: len(kept)] != list(kept):
            return False
        pairs = [(said[key], kept[key]) for key in kept]
    elif isinstance(said, list) and isinstance(kept, list):
        if len(kept) > len(said):
            return False
        pairs = list(zip(said, kept, strict=False))
    else:
        return bool(said == kept)
    return all(one == other for one, other in pairs[:-1]) and all(_value_begins(*pair) for pair in pairs[-1:])


def _split_call(text: str) -> tuple[str, str | None]:
    """Return the name and the arguments of a call, as `call_words` writes it; None for the arguments of a text."""
    name, bracket, rest = text.partition("(")
    return (name, rest[:-1]) if bracket and rest.endswith(")") else ("", None)


def _form(text: str) -> Any:
    """Return what of a text counts: of JSON its value, of a call its name and the value of its arguments."""
    name, args = _split_call(text)
    try:
        value = json.loads(text if args is None else args)
    except (ValueError, RecursionError):
        return text.strip()
    return value if args is None else (name, value)
