"""The messages that the next model call gets, in the form of a library or of an API, and what is not in them.

In: a valid thread. Out: JSON values and losses. Nothing is rendered here: `model_history` rebuilds the messages,
`model_apis` writes the payloads of the APIs, `to_ui_messages` those of the AI SDK, `thread_log` the lines of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpharness.histories.exchange.to_ui_messages import ui_messages
from tpharness.histories.thread_log.write import log_losses, log_of_history
from tpharness.model_apis.history_parts import read_tool_result
from tpharness.model_apis.payloads import additions_to, payload_of
from tpharness.model_apis.registry import API_NAMES, ApiName, find_api
from tpharness.protocol.history import ModelHistory, PendingCall, model_history
from tpharness.protocol.losses import Loss

__all__ = ["FORMS", "ModelCall", "model_call", "model_of", "request_of"]

FORMS = ("pydantic-ai", "ai-sdk", "thread-log", *API_NAMES)
"""The libraries and APIs for which messages can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """The messages, what the thread has beside them, and the calls that wait for a return.

    `left_out` has JSON pointers into the thread; `not_sent` into the messages for `pydantic-ai`: this form has no place
    for what is there, and `moved` what stands elsewhere in it. `added` has pointers into `messages`: what is there
    and not in the thread, for the API or a server of it.
    """

    messages: Any
    left_out: tuple[Loss, ...]
    not_sent: tuple[Loss, ...]
    pending: tuple[PendingCall, ...]
    moved: tuple[Loss, ...] = ()
    added: tuple[Loss, ...] = ()


def model_call(
    thread: Mapping[str, Any],
    form: str,
    *,
    agent_id: str | None = None,
    system_prompt: str | None = None,
    next_user: str | None = None,
    resolve: Callable[[Mapping[str, Any]], Any] | None = None,
    server: str = "",
) -> ModelCall:
    """Return the messages of the next call of a model for one of `FORMS`; the options are those of `model_history`.

    `next_user` is what the user says next, at the end of the messages. `server` is another server of the API.
    UsageError for a file that the API does not accept.
    """
    history = model_history(thread, viewing_agent=agent_id, system_prompt=system_prompt, resolve=resolve)
    if next_user is not None:
        prompt = {"part_kind": "user-prompt", "content": next_user}
        history = replace(history, messages=[*history.messages, {"kind": "request", "parts": [prompt]}])
    messages, not_sent = _written(history, form, server, agent_id)
    losses = tuple(Loss(pointer=p, what=what, why=f"{form} has no place for it") for p, what in not_sent)
    left_out = (*history.left_out, *(log_losses(thread) if form == "thread-log" else ()))
    more: Any = {}
    if form in API_NAMES:
        added = additions_to(form, history.messages, server)
        more = {
            "moved": tuple(_moved(form, history.messages, server)),
            "added": tuple(Loss(pointer=pointer, what=what, why=why) for pointer, what, why in added),
        }
    return ModelCall(messages=messages, left_out=left_out, not_sent=losses, pending=history.pending, **more)


def model_of(thread: Mapping[str, Any], agent_id: str | None = None) -> str:
    """Return the model that answered last, for an agent the one that it had; "" if the thread names none."""
    for turn in reversed(thread["turns"]):
        for message in reversed(turn.get("messages") or ()):
            speaks = agent_id in (None, message.get("agent_id") or turn.get("agent_id"))
            if speaks and message.get("message_type") == "response" and message.get("model_name"):
                return str(message["model_name"])
    return ""


def request_of(messages: Any, form: ApiName, model: str) -> dict[str, Any]:
    """Return the body of a request to an API, with the messages that are written for it."""
    payload = messages if isinstance(messages, Mapping) else {find_api(form).entries: messages}
    return {find_api(form).names_model: model, **payload} if model else dict(payload)


def _written(history: ModelHistory, form: str, server: str, agent: str | None) -> tuple[Any, list[tuple[str, str]]]:
    if form == "pydantic-ai":
        return history.messages, []
    if form == "ai-sdk":
        return ui_messages(history.messages)
    if form == "thread-log":
        return log_of_history(history, agent)
    provider: ApiName = next(name for name in API_NAMES if name == form)
    return payload_of(provider, history.messages, server=server), list(_not_sent(provider, history.messages, server))


def _moved(provider: ApiName, messages: list[dict[str, Any]], server: str) -> Iterator[Loss]:
    """Yield thinking that is sent as text, and files of a result that follow it in a message of the user."""
    for index, message in enumerate(messages):
        for number, part in enumerate(message["parts"]):
            kind, pointer = part.get("part_kind"), f"/{index}/parts/{number}"
            result = read_tool_result(part)
            if kind == "thinking" and part.get("content"):
                alone = payload_of(provider, [{**message, "parts": [part]}], server=server)
                if any(text.startswith("<") and part["content"] in text for text in _texts(alone)):
                    why = f"{provider} has no field for it: it is sent as text"
                    yield Loss(pointer=pointer, what="thinking", why=why)
            elif result is not None and result.files:
                alone = request_of(payload_of(provider, [{**message, "parts": [part]}], server=server), provider, "")
                if len(alone[find_api(provider).entries]) > 1:
                    why = "a result is a text: they follow in a message of the user"
                    yield Loss(pointer=pointer, what=f"files of {result.call_id}", why=why)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def _not_sent(provider: ApiName, messages: list[dict[str, Any]], server: str) -> Iterator[tuple[str, str]]:
    """Yield the parts without which the payload of their message is the same: they are not in it."""
    for index, message in enumerate(messages):
        parts = message["parts"]
        whole = payload_of(provider, [message], server=server)
        for number, part in enumerate(parts):
            others = [*parts[:number], *parts[number + 1 :]]
            if payload_of(provider, [{**message, "parts": others}], server=server) == whole:
                yield f"/{index}/parts/{number}", str(part.get("part_kind"))
