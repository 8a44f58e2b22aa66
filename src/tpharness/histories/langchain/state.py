"""Messages in LangChain's own serialised form, as plain JSON values.

A message is what `langchain_core.messages.messages_to_dict` makes of it: `{"type": "human" | "ai" | "tool" | "system",
"data": {…}}` with every field that the class has. The state of the design (its conversation state and its two buffers)
is the document `{"messages": [message, …], "response_buffer": text, "tool_call_buffers": [text, …]}`; the buffers are
empty unless a run is in progress, or `half_call` is `next-run` (GAP-5). A bare list of messages is accepted as a
state too.

The design writes contents that are texts, and no system messages. Real messages that are read have more, so a content
may also be a list of blocks: text in any message, and the model's thinking and calls as Anthropic's API writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from tpharness.errors import InputError
from tpharness.facts import parse_tool_args

__all__ = [
    "BLOCKS",
    "Message",
    "ai",
    "ai_calls",
    "blocks_of",
    "calls_of_the_api",
    "human",
    "kept_calls",
    "messages_of",
    "read_state",
    "text_of",
    "tool",
]

Message: TypeAlias = dict[str, Any]

_KINDS = ("human", "ai", "tool", "system")
_CALL_LISTS = ("tool_calls", "invalid_tool_calls")
BLOCKS: Mapping[str, tuple[str, ...]] = {"text": ("text",), "thinking": ("thinking",), "tool_use": ("id", "name")}
"""The blocks of a content, each with the fields that have to be texts; only an AIMessage has the last two."""


def human(text: str) -> Message:
    """Return a HumanMessage."""
    return {"type": "human", "data": _data("human", text)}


def ai(text: str) -> Message:
    """Return an AIMessage without calls, as the design makes it: `new AIMessage({ content })`."""
    data = {**_data("ai", text), "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
    return {"type": "ai", "data": data}


def tool(text: str, call_id: str, status: Literal["success", "error"]) -> Message:
    """Return a ToolMessage, without a name as in the design."""
    return {
        "type": "tool",
        "data": {**_data("tool", text), "tool_call_id": call_id, "artifact": None, "status": status},
    }


def _data(kind: str, text: str) -> dict[str, Any]:
    return {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": None,
    }


def ai_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of an AIMessage, those whose arguments are not an object last."""
    return [call for name in _CALL_LISTS for call in message["data"].get(name) or ()]


def kept_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of an AIMessage with those that are left elsewhere in it when `tool_calls` is deleted.

    A message that was read from an API has its calls in the form of that API, too: as blocks of its content
    (Anthropic), or under `additional_kwargs` (OpenAI).
    """
    calls = ai_calls(message)
    blocks = [{**block, "args": block.get("input") or {}} for block in blocks_of(message, "tool_use")]
    for call in [*blocks, *calls_of_the_api(message, _object_or_text)]:
        if call["id"] not in [known["id"] for known in calls]:
            calls.append(call)
    return calls


def calls_of_the_api(message: Mapping[str, Any], read: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Return the calls under `additional_kwargs`; `read` makes their arguments of the text that the API wrote."""
    return [
        {"name": call["function"]["name"], "args": read(call["function"]["arguments"]), "id": call["id"]}
        for call in (message["data"].get("additional_kwargs") or {}).get("tool_calls") or ()
    ]


def _object_or_text(text: str) -> Any:
    args = parse_tool_args(text)
    return args if isinstance(args, dict) else text


def blocks_of(message: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the blocks of a kind in a message's content; none if it is a text."""
    content = message["data"]["content"]
    return [] if isinstance(content, str) else [block for block in content if block["type"] == kind]


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, that of its text blocks one after another."""
    content = message["data"]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in blocks_of(message, "text"))


def messages_of(document: Any) -> list[Message]:
    """Return the messages of a state; InputError as for `read_state`."""
    return read_state(document)[0]


def read_state(document: Any) -> tuple[list[Message], list[str]]:
    """Return the messages and the tool call buffers of a state, or of a bare list of messages.

    Raises `InputError`, which names the place, for a state that this design cannot have written.
    """
    buffers: Any = []
    messages = document
    if isinstance(document, Mapping):
        messages, buffers = document.get("messages"), document.get("tool_call_buffers", [])
    if not isinstance(messages, list):
        raise InputError("langchain state: a list of messages is needed, or an object with one under `messages`")
    if not isinstance(buffers, list) or not all(isinstance(text, str) for text in buffers):
        raise InputError("langchain state: /tool_call_buffers is not a list of texts")
    for index, message in enumerate(messages):
        wrong = _wrong(message)
        if wrong:
            raise InputError(f"langchain state: message {index} {wrong}", hint="write it with messages_to_dict")
    return messages, buffers


def _wrong(message: Any) -> str:
    """Return what is wrong with a message, an empty text if nothing is."""
    if not isinstance(message, Mapping) or message.get("type") not in _KINDS:
        return f"is not an object with a type of {', '.join(_KINDS)}"
    data = message.get("data")
    if not isinstance(data, Mapping) or not isinstance(data.get("content"), str | list):
        return "has no data with a content that is text or a list of blocks"
    if isinstance(data["content"], list) and (wrong := _wrong_block(data["content"], message["type"])):
        return wrong
    if message["type"] == "tool":
        return "" if isinstance(data.get("tool_call_id"), str) else "has no tool_call_id"
    if message["type"] == "ai":
        known = bool(data.get("additional_kwargs"))
        for name in _CALL_LISTS:
            calls = data.get(name)
            if calls is None:
                continue
            if not isinstance(calls, list) or not all(_is_call(call, name, of_the_api=known) for call in calls):
                return f"has {name} that are not a list of calls, each with name, args and id"
    return ""


def _wrong_block(content: list[Any], kind: str) -> str:
    """Return what is wrong with the blocks of a content, an empty text if nothing is."""
    known = tuple(BLOCKS) if kind == "ai" else ("text",)
    for index, block in enumerate(content):
        if not isinstance(block, Mapping) or block.get("type") not in known:
            return f"has a block {index} that is not an object with a type of {', '.join(known)}"
        missing = [name for name in BLOCKS[block["type"]] if not isinstance(block.get(name), str)]
        if missing:
            return f"has a {block['type']} block {index} without {', '.join(missing)}"
    return ""


def _is_call(call: Any, where: str, *, of_the_api: bool) -> bool:
    if not isinstance(call, Mapping) or not {"name", "args", "id"} <= call.keys():
        return False
    text = isinstance(call["args"], str)
    # JavaScript's parser takes any JSON; a text that was in JSON is what its storage reads of an API's message.
    args = of_the_api or not text if where == "tool_calls" else text or call["args"] is None
    return args and all(isinstance(call[key], str | None) for key in ("name", "id"))
