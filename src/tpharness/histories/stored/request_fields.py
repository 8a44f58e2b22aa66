"""Values in a request that an API does not take as they are: what is written in their place, by the rule that finds it.

Each function is given a draft and what a rule found in it, changes the draft, and yields what was done about which
finding. Places behind others are changed first, so that what is left out moves none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tpharness.findings import Finding
from tpharness.histories.stored.arguments import read_object
from tpharness.histories.stored.request_draft import GONE, SAME, Draft, Mended
from tpharness.model_apis.history_parts import NO_WORDS, compact_json
from tpharness.model_apis.openai_chat.history import thinking_as_text
from tpharness.model_apis.openai_chat.server_history import NO_ANSWER
from tpharness.model_apis.shape import string
from tpharness.protocol.parse import parse_json

__all__ = ["MENDS"]

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 64
_DATA_URI = re.compile(r"data:[^,]*;base64,")
_SPEAKERS = ("user", "assistant", "system", "developer")


def _at(change: Callable[[Any], Any], done: str, *, up: int = 0) -> Callable[[Draft, list[Finding]], Iterator[Mended]]:
    """Return what changes the value at each place that was found, or the one `up` steps above it."""

    def mend(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
        for number in reversed(range(len(found))):
            if draft.edit(found[number].place.pointer or "", change, up=up):
                yield Mended(number=number, done=done)

    return mend


def _other(value: Any, _: Any) -> Any:
    return value


def _gone(_: Any) -> Any:
    return GONE


def _written_as_text(value: Any) -> Any:
    return compact_json(value) if isinstance(value, Mapping) else SAME


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return SAME
    return {} if not value.strip() else SAME if (whole := read_object(value)) is None else whole


def _unwrapped(value: Any) -> Any:
    """Return the text of one object for no arguments at all, and for such a text inside of a text (R12)."""
    if not isinstance(value, str):
        return SAME
    if value.strip() in ("", "null"):
        return "{}"
    parsed = parse_json(value.encode("utf-8", "surrogatepass"))
    inner = parsed.value if parsed.ok else None
    return inner if isinstance(inner, str) and read_object(inner) is not None else SAME


def _with_empty_thinking(entry: Any) -> Any:
    return {**entry, "reasoning_content": ""}


def _with_empty_text(entry: Any) -> Any:
    return {**entry, "content": ""}


def _with_summary(item: Any) -> Any:
    """Return reasoning with the list that it needs; R14 is about the ids of other items too, which nobody knows."""
    return {**item, "summary": []} if item.get("type") == "reasoning" else SAME


def _complete_reasoning(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    for number, finding in enumerate(found):
        pointer = finding.place.pointer or ""
        lost = pointer.endswith("/status")
        if draft.edit(pointer, _gone if lost else _with_summary):
            yield Mended(number=number, done=_LEFT_OUT if lost else "an empty summary added")


def _with_words(content: Any) -> Any:
    return content or [{"text": NO_WORDS}]


def _result_as_text(value: Any) -> Any:
    """Return an item of a result as its JSON text: it is not an object, or Bedrock reads a key of it otherwise."""
    return {"text": compact_json(value["json"])} if isinstance(value, Mapping) and "json" in value else SAME


def _converse_values(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """B10: the input of a call is parsed before, where it is the text of an object."""
    for number, finding in enumerate(found):
        if draft.edit(finding.place.pointer or "", _result_as_text, up=1):
            yield Mended(number=number, done="written as text")


def _thinking_in_text(entry: Any) -> Any:
    """Return an assistant message whose thinking stands in its text, as `history --server groq` writes it."""
    thought = entry.get("reasoning_content")
    rest = {name: value for name, value in entry.items() if name != "reasoning_content"}
    if not isinstance(thought, str) or not thought:
        return rest
    content, text = entry.get("content"), thinking_as_text(thought)
    if isinstance(content, list):
        return {**rest, "content": [{"type": "text", "text": text}, *content]}
    return {**rest, "content": f"{text}\n\n{content}" if content else text}


def _plain_name(entry: Any) -> Any:
    """Return a message with a name that is taken; that of a function stands in the tools of the request as well."""
    if entry.get("role") not in _SPEAKERS or not isinstance(entry.get("name"), str):
        return SAME
    name = _NAME.sub("_", entry["name"])[:_NAME_LENGTH]
    rest = {field: value for field, value in entry.items() if field != "name"}
    return {**rest, "name": name} if name else rest


def _find_names(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """C16 is about names of functions too, at places that lie deeper."""
    for number, finding in enumerate(found):
        pointer = finding.place.pointer or ""
        if (
            pointer.endswith("/name")
            and not pointer.endswith("/function/name")
            and draft.edit(pointer, _plain_name, up=1)
        ):
            yield Mended(number=number, done="other characters replaced by _")


def _without_id(item: Any) -> Any:
    """Return an item without its id, which the API does not need; reasoning is nothing without it."""
    if item.get("type") in ("reasoning", "item_reference") or "id" not in item:
        return SAME
    return {name: value for name, value in item.items() if name != "id"}


def _typed_content(found: list[Finding]) -> Iterator[tuple[int, str]]:
    """Yield the findings about texts, each with the type that the text has there."""
    texts = ("text", "input_text", "output_text")
    for number, finding in enumerate(found):
        right = "output_text" if str(finding.expected).startswith("output_text") else finding.expected
        if finding.got in texts and right in texts:
            yield number, str(right)


def _retype_content(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    for number, right in _typed_content(found):
        draft.edit(found[number].place.pointer or "", partial(_other, right))
        yield Mended(number=number, done=f"it is {right}")


def _without_blank_texts(block: Any) -> Any:
    """Return the result of a tool without texts that have no words; one without content is taken (A18)."""
    content = block.get("content")
    rest = {name: value for name, value in block.items() if name != "content"}
    if isinstance(content, list):
        kept = [part for part in content if not _is_blank(part)]
        return SAME if len(kept) == len(content) else {**rest, "content": kept} if kept else rest
    return rest if isinstance(content, str) and not content.strip() else SAME


def _is_blank(part: Any) -> bool:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
    return isinstance(text, str) and not text.strip()


def _unblank_results(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    for number, finding in enumerate(found):
        pointer = finding.place.pointer or ""
        if draft.edit(pointer, _without_blank_texts, up=1 if pointer.endswith("/content") else 3):
            yield Mended(number=number, done="left out: the tool returned nothing")


def _drop_thinking(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """A8, A11, A19: a thinking block that cannot be sent; A11 is about the input of calls too."""
    for number in reversed(range(len(found))):
        pointer = found[number].place.pointer or ""
        block = pointer.removesuffix("/signature")
        seen: list[str] = []

        def change(value: Any, seen: list[str] = seen) -> Any:
            if not isinstance(value, Mapping) or value.get("type") not in ("thinking", "redacted_thinking"):
                return SAME
            seen.append(str(value.get("thinking") or ""))
            return GONE

        if draft.edit(block, change):
            yield Mended(number=number, done="left out: it cannot be sent back", said=seen[0])


def _without_space(text: Any) -> Any:
    return text.rstrip() if isinstance(text, str) else SAME


def _joined_texts(content: Any) -> Any:
    parts = content if isinstance(content, list) else [content]
    texts = [string(part, "text") for part in parts if string(part, "type") == "text"]
    said = [text for text in texts if text is not None]
    return "\n\n".join(said) if said and len(said) == len(parts) else SAME


def _bare_data(image: Any) -> Any:
    found = _DATA_URI.match(image) if isinstance(image, str) else None
    return image[found.end() :] if found is not None else SAME


_PARSED = "the text parsed"
_UNWRAPPED = "written as the text of one object"
_ID_LEFT_OUT = "its id left out: the API gives ids itself"
_LEFT_OUT = "left out"
_JOINED = "its texts joined"

MENDS: Mapping[str, Callable[[Draft, list[Finding]], Iterator[Mended]]] = {
    "chat-call-untyped": _at(_written_as_text, "written as JSON text"),
    "chat-calls-empty": _at(_gone, _LEFT_OUT),
    "chat-arguments-not-object": _at(_unwrapped, _UNWRAPPED),
    "chat-thinking-missing": _at(
        _with_empty_thinking, "an empty reasoning_content added: what was thought is not in the request"
    ),
    "chat-thinking-refused": _at(_thinking_in_text, "put into the text of the message", up=1),
    "chat-content-null": _at(_with_empty_text, "an empty text written"),
    "chat-field-unknown": _at(_gone, _LEFT_OUT),
    "chat-content-parted": _at(_joined_texts, _JOINED),
    "chat-answer-blank": _at(partial(_other, NO_ANSWER), f"the assistant says {NO_ANSWER!r}"),
    "responses-field-missing": _complete_reasoning,
    "chat-name-malformed": _find_names,
    "responses-arguments-not-object": _at(_unwrapped, _UNWRAPPED),
    "responses-id-malformed": _at(_without_id, _ID_LEFT_OUT, up=1),
    "responses-item-without-reasoning": _at(_without_id, _ID_LEFT_OUT),
    "responses-content-mistyped": _retype_content,
    "anthropic-result-blank": _unblank_results,
    "anthropic-signature-empty": _drop_thinking,
    "anthropic-block-untyped": _drop_thinking,
    "anthropic-thinking-last": _drop_thinking,
    "anthropic-prefill-space": _at(_without_space, "the space at its end left out"),
    "bedrock-error-silent": _at(_with_words, f"the text {NO_WORDS!r} written"),
    "bedrock-value-untyped": _converse_values,
    "ollama-arguments-untyped": _at(_parsed, _PARSED),
    "ollama-content-untyped": _at(_joined_texts, _JOINED),
    "ollama-image-unreadable": _at(_bare_data, "what stands before the data left out"),
}
"""What is done about the findings of a rule, by their code."""
