"""The screen of a page on AG-UI: the messages of its thread as UI messages, and back. Pure.

The page keeps AG-UI's own messages in the metadata of the UI messages that show them, so that a tab that copies the
messages has them, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from tpharness.apps.client.ag_ui_messages import AgUiMessages
from tpharness.apps.client.message_parts import is_tool_part
from tpharness.apps.client.profile import text_of
from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json

__all__ = ["approvals_on", "asked_calls", "kept_beside", "messages_of", "screen_of", "texts_of", "value_of"]

Json = dict[str, Any]
_HELD = "agUi"


def kept_beside(shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is kept beside a UI message."""
    own: Mapping[str, Any] = (shown.get("metadata") or {}).get(_HELD, {})
    return own


def messages_of(shown: Mapping[str, Any]) -> list[Json]:
    """Return the messages that a UI message shows; one of another page is read as what it shows."""
    if "messages" in kept_beside(shown):
        return deepcopy(list(kept_beside(shown)["messages"]))
    if shown["role"] != "assistant":
        return [{"id": shown["id"], "role": shown["role"], "content": text_of(shown)}]
    return list(_as_messages(shown))


def _as_messages(shown: Mapping[str, Any]) -> Iterator[Json]:
    """Yield a message for each step: texts and calls, then the results."""
    said: Json = {}
    results: list[Json] = []
    number = 0
    for part in (*shown.get("parts", ()), {"type": "end"}):
        kind = str(part.get("type"))
        if kind == "end" or (kind == "text" and results):
            if said:
                yield {"id": f"{shown['id']}-{number}" if number else shown["id"], "role": "assistant", **said}
            yield from results
            number, said, results = number + 1, {}, []
        if kind == "text":
            said["content"] = said.get("content", "") + part.get("text", "")
        elif is_tool_part(part):
            name = part.get("toolName") or kind.removeprefix("tool-")
            arguments = part.get("rawInput")
            arguments = arguments if isinstance(arguments, str) else json.dumps(part.get("input", {}))
            call = {"id": part["toolCallId"], "type": "function", "function": {"name": name, "arguments": arguments}}
            said.setdefault("toolCalls", []).append(call)
            if "output" in part:
                output = part["output"]
                content = output if isinstance(output, str) else json.dumps(output)
                result = {"id": f"{part['toolCallId']}-result", "role": "tool", "content": content}
                results.append({**result, "toolCallId": part["toolCallId"]})


# ---------------------------------------------------------------------------------------------------- the screen


def screen_of(held: AgUiMessages, streaming: set[str], approvals: Mapping[str, Json]) -> list[Json]:
    """Return UI messages: those of the user, and what stands between two of them as one of the assistant."""
    asked = {call_id: interrupt["id"] for interrupt, call_id in asked_calls(held)}
    results = {message["toolCallId"]: message for message in held.messages if message["role"] == "tool"}
    shown: list[Json] = []
    for message in held.messages:
        if message["role"] == "user" or not shown or shown[-1]["role"] == "user":
            role = "user" if message["role"] == "user" else "assistant"
            shown.append({"id": message["id"], "role": role, "parts": [], "metadata": {_HELD: {"messages": []}}})
        shown[-1]["metadata"][_HELD]["messages"].append(deepcopy(message))
        parts = shown[-1]["parts"]
        if message["role"] in ("user", "assistant", "reasoning"):
            kind = "reasoning" if message["role"] == "reasoning" else "text"
            state = {} if message["role"] == "user" else {"state": _state(message["id"], streaming)}
            parts += [{"type": kind, "text": text, **state} for text in texts_of(message)]
        for call in message.get("toolCalls", ()):
            approval = approvals.get(call["id"])
            if call["id"] in asked and (approval is None or approval["id"] != asked[call["id"]]):
                approval = {"id": asked[call["id"]]}
            waits = call["id"] in asked and "approved" not in (approval or {})
            parts.append(_tool_part(call, results.get(call["id"]), approval, waits, call["id"] in held.unfinished))
    if shown and held.interrupts:
        shown[-1]["metadata"][_HELD]["interrupts"] = deepcopy(held.interrupts)
    return shown


def _state(message_id: str, streaming: set[str]) -> str:
    return "streaming" if message_id in streaming else "done"


def _tool_part(call: Json, result: Json | None, approval: Json | None, waits: bool, unfinished: bool) -> Json:
    """Return the part that shows a call: half arguments as they are, and what has become of it."""
    text = call["function"]["arguments"]
    part: Json = {"type": f"tool-{call['function']['name']}", "toolCallId": call["id"], "state": "input-available"}
    value = value_of(text)
    if value is NOTHING or (unfinished and result is None):
        half = parse_partial_json(text)
        part |= {"state": "input-streaming", "rawInput": text} | ({} if half is NOTHING else {"input": half})
    else:
        part["input"] = value
    if approval is not None:
        part["approval"] = dict(approval)
        if waits:
            part["state"] = "approval-requested"
        elif "approved" in approval:
            part["state"] = "approval-responded"
    if result is not None:
        if "error" in result:
            part |= {"state": "output-error", "errorText": result["error"]}
        elif approval is not None and approval.get("approved") is False:
            part |= {"state": "output-denied", "output": deepcopy(result["content"])}
        else:
            part |= {"state": "output-available", "output": deepcopy(result["content"])}
    return part


def approvals_on(shown: Iterable[Mapping[str, Any]]) -> dict[str, Json]:
    """Return what the screen says of approvals, by the ids of the calls."""
    parts = [part for message in shown for part in message.get("parts", ()) if is_tool_part(part)]
    return {part["toolCallId"]: dict(part["approval"]) for part in parts if "approval" in part}


def asked_calls(held: AgUiMessages) -> Iterator[tuple[Json, str]]:
    """Yield each interrupt with the call that it is about: the one that it names, else the next that has no result."""
    named = {interrupt.get("toolCallId") for interrupt in held.interrupts}
    others = iter([call_id for call_id in held.unanswered() if call_id not in named])
    for interrupt in held.interrupts:
        call_id = interrupt.get("toolCallId")
        call_id = call_id if call_id is not None and held.call(call_id) is not None else next(others, None)
        if call_id is not None:
            yield interrupt, call_id


def texts_of(message: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message that are shown."""
    content = message.get("content")
    if message["role"] not in ("user", "assistant", "reasoning"):
        return []
    if isinstance(content, str):
        return [content] if content else []
    return [str(part.get("text")) for part in content or () if isinstance(part, dict) and part.get("type") == "text"]


def value_of(arguments: str) -> Any:
    """Return arguments as a JSON value, NOTHING where they are none."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return NOTHING
