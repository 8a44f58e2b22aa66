"""The messages of a Strands agent, as they are when its run is stopped.

In: a journal. Out: the messages that its session has, from which the next run goes on.

Driven with strands-agents 1.62.0 (`tests/histories/strands/oracle_strands.py` does it again): the user's message is
stored when the run begins, a response when it is whole, and the results of its calls together, when all of its tools
have returned. So of a response that was cut nothing is kept, and of tools that ran together no result is there until
all have returned. The next run answers the calls that a stopped run has left: each, also of a tool that has returned,
with "Tool was interrupted.". There are two ways to stop, which leave different things:

- `strands/left`: the task is cancelled, as by a server whose client has left. An error of the model leaves the same.
  Tools that can be cancelled are, and nothing says that the run was cut but the words above.
- `strands/cancel`: `agent.cancel()`. In place of an answer that was cut the model has said "Cancelled by user", and
  tools go on to their end and are kept, so what is left while they run is not known before, and not held here.

Arguments that are not JSON become `{}`, and the tool runs with that. A response that ends at the token limit has words
in place of its calls, and the run ends with an error. Not held, as it was not played: files, tools of a provider, words
of the user inside of a run, and results without content; nor what its loop never does: asking the model again before
each call has its result, or after an answer without calls. What it sends to Bedrock depends on the model and on what
Bedrock answers, so that no requests are written for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import LoopStep, asked_texts, is_answered, steps_of, unsupported
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Response, Return, UserTurn

__all__ = ["STRANDS", "StrandsHistory"]

Message = dict[str, Any]

_CANCELLED = "Cancelled by user"
_INTERRUPTED = "Tool was interrupted."
_LIMIT = "The selected tool {}'s tool use was incomplete due to maximum token limits being reached."
_NAME = re.compile(r"[a-zA-Z0-9_\-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandsHistory(ListHistory):
    """The messages of a session; `cancels` if `agent.cancel()` stops a run."""

    name: str
    cancels: bool

    def store(self, journal: Journal) -> list[Message]:
        """Return the messages."""
        messages: list[Message] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                messages = _answered(messages)
                messages += [_user(text) for text in asked_texts(turn, self.name)]
            elif _answered(messages) != messages:
                raise unsupported(self.name, "a run without a question runs the tools of the last one")
            else:
                messages += self._run(turn)
        return messages

    def _run(self, turn: AgentTurn) -> Iterator[Message]:
        steps = steps_of(turn, self.name)
        for number, step in enumerate(steps):
            if step.response.finished:
                yield self._said(step, last=number == len(steps) - 1)
            results = {call_id: self._result(entry) for call_id, entry in step.returns.items()}
            if step.done and step.calls:
                yield {"role": "user", "content": [results[call_id] for call_id in step.calls]}
        cut = isinstance(turn.end, Interrupted) and turn.end.reason == "user_cancelled"
        last = steps[-1] if steps else None
        if not (self.cancels and cut) or is_answered(steps):
            return
        if last is not None and last.response.finished and not last.done:
            raise unsupported(self.name, "cancel() waits for the tools that run, and keeps what they return")
        yield {"role": "assistant", "content": [{"text": _CANCELLED}]}

    def _said(self, step: LoopStep, *, last: bool) -> Message:
        response = step.response
        content = [block for part in response.parts if part.complete for block in self._blocks(part)]
        if response.facts.get("finish_reason") == "length" and step.calls:
            if step.returns or not last:
                raise unsupported(self.name, "its loop runs no call of a response that ended at the token limit")
            content = [
                {"text": _LIMIT.format(block["toolUse"]["name"])} if "toolUse" in block else block for block in content
            ]
        return {"role": "assistant", "content": content, **_counted(response)}

    def _blocks(self, part: Part) -> Iterator[Mapping[str, Any]]:
        text = part.fields.get("content") or ""
        match part.kind:
            case "text":
                if text:
                    yield {"text": text}
            case "thinking":
                signature = {"signature": part.fields["signature"]} if part.fields.get("signature") else {}
                if text or signature:
                    yield {"reasoningContent": {"reasoningText": {"text": text, **signature}}}
            case "tool-call":
                name = str(part.fields.get("tool_name") or "")
                if not _NAME.fullmatch(name):
                    raise unsupported(self.name, f"it runs no tool with the name {name!r}")
                yield {"toolUse": {"toolUseId": part.call_id, "name": name, "input": _arguments(part)}}
            case _:
                raise unsupported(self.name, "tools and files of a provider were not played")

    def _result(self, entry: Return) -> Message:
        content = entry.fields.get("content")
        if content is None:
            why = "a result without content, or with one that is stored elsewhere, was not played"
            raise unsupported(self.name, why)
        good = entry.kind == "tool-return" and entry.fields.get("status") == "success"
        text = content if isinstance(content, str) else json.dumps(content)
        return _result_block(entry.call_id, "success" if good else "error", text)

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return what the next run sends over an API; UsageError for one that is not written."""
        messages = document if next_user is None else [*_answered(document), _user(next_user)]
        return writer_for(provider, _WRITERS, self.name)([_normal(message) for message in messages])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each message of the user that is not of results."""
        turns: list[list[Message]] = [[]]
        for message in document:
            if message["role"] == "user" and not any("toolResult" in block for block in message["content"]):
                turns.append([])
            else:
                turns[-1].append(message)
        return [_turn_content(turn) for turn in (turns if turns[0] else turns[1:])]


STRANDS: Mapping[str, StrandsHistory] = {
    history.name: history
    for history in (
        StrandsHistory(name="strands/left", cancels=False),
        StrandsHistory(name="strands/cancel", cancels=True),
    )
}
"""The histories by name."""


def _user(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def _counted(response: Response) -> Message:
    usage = response.facts.get("usage") or {}
    counts = [int(usage.get(name) or 0) for name in ("input_tokens", "output_tokens")]
    names = ("inputTokens", "outputTokens", "totalTokens")
    return {"metadata": {"usage": dict(zip(names, (*counts, sum(counts)), strict=True))}} if any(counts) else {}


def _arguments(part: Part) -> Any:
    if part.raw is None:
        return part.fields.get("args") or {}
    try:
        return json.loads(part.raw) if part.raw.strip() else {}
    except ValueError:
        return {}


def _result_block(call_id: str, status: str, text: str) -> Message:
    return {"toolResult": {"toolUseId": call_id, "status": status, "content": [{"text": text}]}}


def _answered(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with a result for each call of the last one, as the next run begins."""
    calls = _of_kind(messages[-1], "toolUse") if messages else []
    more = [_result_block(call["toolUseId"], "error", _INTERRUPTED) for call in calls]
    return [*messages, {"role": "user", "content": more}] if more else list(messages)


def _normal(message: Message) -> Message:
    """Return a message as a model is given it: an answer without words has some, and beside a call none."""
    if message["role"] != "assistant":
        return message
    content = message["content"]
    if any("toolUse" in block for block in content):
        content = [block for block in content if "text" not in block or block["text"].strip()]
    else:
        content = [{"text": "[blank text]"} if not block.get("text", "-").strip() else block for block in content]
    return {"role": "assistant", "content": content or [{"text": "[blank text]"}]}


# ------------------------------------------------------------------------------------------------ requests


def _chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [made for message in messages for made in _chat_messages(message)]


def _chat_messages(message: Message) -> Iterator[dict[str, Any]]:
    for result in _of_kind(message, "toolResult"):
        yield {"role": "tool", "tool_call_id": result["toolUseId"], "content": result["content"][0]["text"]}
    texts = [{"type": "text", "text": text} for text in _of_kind(message, "text")]
    calls = [
        {"type": "function", "id": call["toolUseId"], "function": _called(call)}
        for call in _of_kind(message, "toolUse")
    ]
    if texts or calls:
        both = {**({"content": texts} if texts else {}), **({"tool_calls": calls} if calls else {})}
        yield {"role": message["role"], **both}


def _responses(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [made for message in messages for made in _items(message)]


def _items(message: Message) -> Iterator[dict[str, Any]]:
    texts = _of_kind(message, "text")
    if texts and message["role"] == "user":
        yield {"role": "user", "content": [{"type": "input_text", "text": text} for text in texts]}
    elif texts:
        yield {"role": "assistant", "content": "\n".join(texts)}
    for call in _of_kind(message, "toolUse"):
        yield {"type": "function_call", "call_id": call["toolUseId"], **_called(call)}
    for result in _of_kind(message, "toolResult"):
        output = {"call_id": result["toolUseId"], "output": result["content"][0]["text"]}
        yield {"type": "function_call_output", **output}


def _anthropic(messages: Sequence[Message]) -> dict[str, Any]:
    contents = (
        {"role": message["role"], "content": [made for block in message["content"] for made in _block(block)]}
        for message in messages
    )
    return {"messages": [message for message in contents if message["content"]]}


def _block(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match block:
        case {"text": text}:
            yield {"type": "text", "text": text}
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
            yield {"type": "thinking", "thinking": text, "signature": signature}
        case {"toolUse": call}:
            yield {"type": "tool_use", "id": call["toolUseId"], "name": call["name"], "input": call["input"]}
        case {"toolResult": result}:
            said = {"content": list(map(dict, _texts(result))), "is_error": result["status"] == "error"}
            yield {"type": "tool_result", "tool_use_id": result["toolUseId"], **said}


def _texts(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for block in result["content"]:
        yield {"type": "text", "text": block["text"]}


def _of_kind(message: Message, kind: str) -> list[Any]:
    return [block[kind] for block in message["content"] if kind in block]


def _called(call: Mapping[str, Any]) -> dict[str, str]:
    return {"name": call["name"], "arguments": json.dumps(call["input"], ensure_ascii=False)}


_WRITERS: Mapping[str, Callable[[Sequence[Message]], Any]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
}


# ------------------------------------------------------------------------------------------------ what is kept


def _turn_content(turn: Sequence[Message]) -> TurnContent:
    said = [message for message in turn if message["role"] == "assistant"]
    texts = ["".join(_of_kind(message, "text")) for message in said]
    thoughts = [block["reasoningText"] for message in said for block in _of_kind(message, "reasoningContent")]
    calls = [call for message in said for call in _of_kind(message, "toolUse")]
    results = [_result_content(result) for message in turn for result in _of_kind(message, "toolResult")]
    unanswered = {call["toolUseId"] for call in calls} - {result.call_id for result in results}
    aborted = any(result.outcome == "aborted" for result in results)
    return TurnContent(
        texts=tuple(text for text in texts if text and text != _CANCELLED),
        thinking=tuple(thought["text"] for thought in thoughts if thought["text"]),
        signatures=tuple(thought["signature"] for thought in thoughts if "signature" in thought),
        calls=tuple(
            CallContent(call_id=call["toolUseId"], name=call["name"], arguments=canonical_text(call["input"]))
            for call in calls
        ),
        results=tuple(results),
        interrupted=_CANCELLED in texts or aborted or bool(unanswered),
        usage=any("metadata" in message for message in said),
    )


def _result_content(result: Mapping[str, Any]) -> ResultContent:
    (text,) = [block["text"] for block in result["content"]]
    outcome: Literal["success", "error", "aborted"] = "success" if result["status"] == "success" else "error"
    if outcome == "error" and text == _INTERRUPTED:
        outcome = "aborted"
    return ResultContent(call_id=result["toolUseId"], outcome=outcome, content=text)
