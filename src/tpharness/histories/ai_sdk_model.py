"""What the AI SDK tells a model of UI messages: its `ModelMessage`s, and the same in Pydantic AI's form.

`model_messages` is `convertToModelMessages` without options, for the parts that a chat of this suite has, and
`messages_of_model` what `streamText` leaves of them: empty texts go, and a message that has nothing left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.histories.exchange.to_ui_messages import signature_of
from tpharness.histories.web_address import href

__all__ = ["messages_of_model", "model_messages"]


def model_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the model messages: one for each step of an answer, and one for the results of the step."""
    made: list[dict[str, Any]] = []
    for message in messages:
        match message["role"]:
            case "system":
                made.append({"role": "system", "content": "".join(part["text"] for part in message["parts"])})
            case "user":
                made.append({"role": "user", "content": [_content(part) for part in message["parts"]]})
            case _:
                made += _answer(message["parts"])
    return made


def _answer(parts: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    step: list[Mapping[str, Any]] = []
    for part in (*parts, {"type": "step-start"}):
        if part["type"] not in ("step-start", "steering-message"):
            step.append(part)
            continue
        yield from _step(step)
        step = []
        if part["type"] == "steering-message":
            yield {"role": "user", "content": [_content(said) for said in part["parts"]]}


def _step(parts: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    content = [made for part in parts for made in _said(part)]
    if content:
        yield {"role": "assistant", "content": content}
    results = [made for part in parts if not part.get("providerExecuted") for made in _result(part)]
    if results:
        yield {"role": "tool", "content": results}


def _said(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not _is_call(part):
        yield _content(part)
    elif part["state"] != "input-streaming":
        provided = {"providerExecuted": True} if part.get("providerExecuted") else {}
        yield {"type": "tool-call", **_named(part), "input": part["input"], **provided}
        if provided:
            yield from _result(part)


def _content(part: Mapping[str, Any]) -> dict[str, Any]:
    options = {"providerOptions": part["providerMetadata"]} if part.get("providerMetadata") else {}
    if part["type"] == "file":
        data = {"type": "url", "url": href(part["url"])}
        return {"type": "file", "mediaType": part["mediaType"], "data": data, **options}
    return {"type": part["type"], "text": part["text"], **options}


def _result(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not _is_call(part):
        return
    if part["state"] == "output-available":
        output = part["output"]
        written = {"type": "text" if isinstance(output, str) else "json", "value": output}
    elif part["state"] == "output-error":
        written = {"type": "error-json" if part.get("providerExecuted") else "error-text", "value": part["errorText"]}
    else:
        return
    yield {"type": "tool-result", **_named(part), "output": written}


def _is_call(part: Mapping[str, Any]) -> bool:
    return str(part["type"]).startswith("tool-")


def _named(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"toolCallId": part["toolCallId"], "toolName": part["type"].removeprefix("tool-")}


def messages_of_model(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return model messages as Pydantic AI's messages; a part without text is not sent."""
    made: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        match message["role"]:
            case "system":
                parts: list[dict[str, Any]] = [{"part_kind": "system-prompt", "content": content}]
            case "user":
                items = [_item(part) for part in content if part.get("text") != ""]
                parts = [{"part_kind": "user-prompt", "content": items}]
            case "tool":
                parts = [_returned(part) for part in content]
            case _:
                parts = [written for part in content for written in _answered(part)]
        made.append({"kind": "response" if message["role"] == "assistant" else "request", "parts": parts})
    return [message for message in made if message["parts"]]


def _item(part: Mapping[str, Any]) -> Any:
    if part["type"] == "text":
        return part["text"]
    media_type, url = part["mediaType"], part["data"]["url"]
    if url.startswith("data:"):
        return {"kind": "binary", "media_type": media_type, "data": url.partition(",")[2]}
    kind = media_type.partition("/")[0]
    named = f"{kind}-url" if kind in ("image", "audio", "video") else "document-url"
    return {"kind": named, "url": url, "media_type": media_type}


def _returned(part: Mapping[str, Any]) -> dict[str, Any]:
    output = part["output"]
    outcome = "failed" if output["type"].startswith("error") else "success"
    return {
        "part_kind": "tool-return",
        "tool_name": part["toolName"],
        "tool_call_id": part["toolCallId"],
        "content": output["value"],
        "outcome": outcome,
    }


def _answered(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match part["type"]:
        case "text" if part["text"]:
            yield {"part_kind": "text", "content": part["text"]}
        case "reasoning":
            yield {"part_kind": "thinking", "content": part["text"], **signature_of(part.get("providerOptions"))}
        case "tool-call":
            kind = "builtin-tool-call" if part.get("providerExecuted") else "tool-call"
            named = {"tool_name": part["toolName"], "tool_call_id": part["toolCallId"]}
            yield {"part_kind": kind, **named, "args": part["input"]}
        case "file":
            yield {"part_kind": "file", "content": _item(part)}
