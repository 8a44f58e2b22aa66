"""Messages that the AI SDK 4 stored, as its newer versions write them: calls beside the text, or as parts of their own.

In: any JSON value. Out: the messages in the form of the AI SDK 5 and later, and where each part was. What has no place
there stays in `metadata`. Nothing is judged here: what cannot be read stays as it is, and is found as any other part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["Places", "are_version_4", "as_stored", "newer_messages"]

Places: TypeAlias = Mapping[str, str]
"""Where a part was stored, by its pointer in the newer messages; for those alone that have moved."""

_STATES = {"partial-call": "input-streaming", "call": "input-available", "result": "output-available"}
_ELSEWHERE = ("createdAt", "annotations", "data")
_OLDER = ("content", "toolInvocations", "reasoning", "experimental_attachments", *_ELSEWHERE)
_OLD_PARTS = ("tool-invocation", "source")


def are_version_4(value: Any, *, certain: bool = True) -> bool:
    """Whether these are messages of the AI SDK 4.

    A message whose only marks are an id and a text `content` could be one for a model API as well: not `certain`.
    """
    if not isinstance(value, list):
        return False
    for message in value:  # noqa: SIM110  # of a long conversation `any` takes twice as long
        if _is_version_4(message, certain=certain):
            return True
    return False


def _is_version_4(message: Any, *, certain: bool) -> bool:
    if type(message) is not dict and not isinstance(message, Mapping):
        return False
    parts = message.get("parts")
    if isinstance(parts, list):
        for part in parts:
            if (type(part) is dict or isinstance(part, Mapping)) and part.get("type") in _OLD_PARTS:
                return True
        return False
    if isinstance(message.get("toolInvocations"), list):
        return True
    said = isinstance(message.get("id"), str) and isinstance(message.get("content"), str)
    return not certain and "parts" not in message and said


def newer_messages(value: list[Any]) -> tuple[list[Any], Places]:
    """Return the messages in the newer form, and where the parts were that have moved."""
    made: list[Any] = []
    places: dict[str, str] = {}
    for index, message in enumerate(value):
        if not isinstance(message, Mapping):
            made.append(message)
        elif isinstance(message.get("parts"), list):
            made.append({**_rest(message), "parts": [_newer_part(part) for part in message["parts"]]})
        elif isinstance(message.get("content"), str):
            placed = list(_parts_of(message))
            places |= {f"/{index}/parts/{number}": f"/{index}/{place}" for number, (place, _) in enumerate(placed)}
            made.append({**_rest(message), "parts": [part for _, part in placed]})
        else:
            made.append(message)
    return made, places


def as_stored(pointer: str, places: Places) -> str:
    """Return the place in the stored messages of one in the newer ones."""
    steps = pointer.split("/")
    part, inside = "/".join(steps[:4]), steps[4:]
    if part not in places:
        return pointer
    names = {"input": "args", "output": "result"}
    return "/".join([places[part], *(names.get(step, step) for step in inside)])


def _rest(message: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in message.items() if name not in _OLDER}
    beside = {name: message[name] for name in _ELSEWHERE if message.get(name) is not None}
    return {**rest, "metadata": {**beside, **_object(rest.get("metadata"))}} if beside else rest


def _object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _parts_of(message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a message without parts had, each with its place.

    Its order was not stored. As in the AI SDK 4, the text comes after the results; before a call without one, after
    which the model cannot have spoken.
    """
    if isinstance(message.get("reasoning"), str) and message["reasoning"]:
        yield "reasoning", {"type": "reasoning", "text": message["reasoning"]}
    calls = message.get("toolInvocations")
    invoked = list(enumerate(calls)) if isinstance(calls, list) else []
    said = [("content", {"type": "text", "text": message["content"]})] if message["content"] else []
    waits = any(_object(call).get("state") != "result" for _, call in invoked)
    if waits:
        yield from said
    step = None
    for number, call in sorted(invoked, key=lambda one: _step(one[1])):
        place = f"toolInvocations/{number}"
        if step not in (None, _step(call)):
            yield place, {"type": "step-start"}
        step = _step(call)
        yield place, _call(_object(call))
    if not waits:
        if said and invoked:
            yield "content", {"type": "step-start"}
        yield from said
    attached = message.get("experimental_attachments")
    for number, one in enumerate(attached if isinstance(attached, list) else ()):
        file = _object(one)
        name = {"filename": file["name"]} if isinstance(file.get("name"), str) else {}
        part = {"type": "file", "mediaType": file.get("contentType"), "url": file.get("url"), **name}
        yield f"experimental_attachments/{number}", part


def _step(call: Any) -> int:
    step = _object(call).get("step")
    return step if isinstance(step, int) else 0


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    state = call.get("state")
    made = {
        "type": f"tool-{call.get('toolName') or ''}",
        "toolCallId": call.get("toolCallId"),
        "state": _STATES.get(str(state), state),
        "input": call.get("args"),
    }
    return {**made, "output": call["result"]} if "result" in call else made


def _newer_part(part: Any) -> Any:
    kind = _object(part).get("type")
    if kind == "tool-invocation" and isinstance(part.get("toolInvocation"), Mapping):
        return _call(part["toolInvocation"])
    if kind == "source" and isinstance(part.get("source"), Mapping):
        source = part["source"]
        title = {"title": source["title"]} if isinstance(source.get("title"), str) else {}
        return {"type": "source-url", "sourceId": source.get("id"), "url": source.get("url"), **title}
    if kind == "reasoning" and "text" not in part and isinstance(part.get("reasoning"), str):
        return {"type": "reasoning", "text": part["reasoning"], **_signature(part.get("details"))}
    if kind == "file" and "mimeType" in part and "url" not in part:
        mime, data = part.get("mimeType"), part.get("data")
        return {"type": "file", "mediaType": mime, "url": f"data:{mime};base64,{data}"}
    return part


def _signature(details: Any) -> dict[str, Any]:
    """Return the signature of thinking, which with the AI SDK 4 was one of Anthropic's."""
    found = [_object(one).get("signature") for one in details] if isinstance(details, list) else []
    signed = next((one for one in found if isinstance(one, str)), None)
    return {} if signed is None else {"providerMetadata": {"anthropic": {"signature": signed}}}
