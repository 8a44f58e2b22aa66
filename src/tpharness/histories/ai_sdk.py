"""The AI SDK's `UIMessage[]` as a history: what `useChat` holds, and what `onEnd` gives a server to store.

In: a journal. Out: UI messages as JSON. Driven with `ai` 7: when the user presses stop, the page and the server hold
the same messages, at every place of a cut. An answer is one message with all of its steps. A text, a thought or a
call that was cut stays with the state `streaming` or `input-streaming`, a call with the text of its arguments so far
and what can be read of it; a call that had come stays as `input-available`, and a result that had come as its output.
Before the first delta the message has no parts. Nothing else tells that the user stopped it, and token counts are
kept only where an application puts them into `metadata`.

The next request gives these messages to `convertToModelMessages`: a call whose input was streaming is left out, half
a text is sent like a whole one. A call without a result is sent without one, which the next `streamText` refuses
itself with `AI_MissingToolResultsError` before anything is sent; only `ignoreIncompleteToolCalls` leaves it out.

What `streamText` never does is not supported: asking the model again before each call of the run has its result.

Choices: the model's API is sent what Pydantic AI's classes would send for the same messages, because each API has a
package of its own; events of the application are not in the messages; a call that waits for an approval is held like
one whose tool runs, because a journal does not have the request. (The package holds it as `approval-requested`, and
leaves it out when the user goes on without an answer.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.facts import parse_tool_args
from tpharness.histories.ai_sdk_model import messages_of_model, model_messages
from tpharness.histories.exchange.to_ui_messages import file_part, provider_metadata, signature_of, ui_messages
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text
from tpharness.journal import AgentTurn, Journal, Part, Prompt, Response, Return, UserTurn
from tpharness.model_apis.history_parts import compact_json
from tpharness.model_apis.payloads import payload_of
from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json

__all__ = ["AI_SDK", "AiSdkHistory"]

_STREAMING = ("streaming", "input-streaming")

_NOT_JSON = (
    "AI_InvalidToolInputError: Invalid input for tool {name}: AI_JSONParseError: JSON parsing failed: Text: {text}."
)
"""What the model is sent for arguments that are not JSON, without the words of the JSON parser that follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AiSdkHistory(ListHistory):
    """The messages of a chat."""

    name: str = "ai-sdk"

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the messages; of a turn that still runs, what has come of it."""
        chat = _Chat()
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                chat.ask(turn.parts)
            else:
                chat.answer(turn)
        return chat.messages

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the provider's payload of what `convertToModelMessages` makes of the messages."""
        return payload_of(provider, messages_of_model(model_messages(document)), next_user=next_user)

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each answer: one for each message of the assistant."""
        return [_turn_content(message["parts"]) for message in document if message["role"] == "assistant"]


AI_SDK: Mapping[str, AiSdkHistory] = {history.name: history for history in (AiSdkHistory(),)}
"""The history by name."""


class _Chat:
    """Appends messages, and what comes in of the last one."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        """The newest call of each id."""

    def ask(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Append what the user submitted."""
        for message in ui_messages([{"kind": "request", "parts": list(parts)}])[0]:
            self._add(message["role"], message["parts"])

    def answer(self, turn: AgentTurn) -> None:
        """Append an answer, or go on with the one that waited for results or an approval."""
        parts = self._answer()
        open_calls: set[str] = set()
        for segment in (*turn.segments, turn.tail):
            for entry in segment.entries:
                match entry:
                    case Response():
                        if open_calls:
                            raise UnsupportedError(
                                "ai-sdk: the model is asked again before each call has its result",
                                hint="streamText asks again when all tools of a step have returned",
                            )
                        self._respond(parts, entry)
                        open_calls = {str(call) for call in entry.calls()}
                    case Return():
                        open_calls.discard(entry.call_id)
                        self._return(entry)
                    case Prompt():
                        parts += _steering(entry.parts, len(parts))

    def _answer(self) -> list[dict[str, Any]]:
        if not self.messages or self.messages[-1]["role"] != "assistant":
            self._add("assistant", [])
        parts: list[dict[str, Any]] = self.messages[-1]["parts"]
        return parts

    def _add(self, role: str, parts: list[Any]) -> None:
        self.messages.append({"id": f"message-{len(self.messages) + 1}", "role": role, "parts": parts})

    def _respond(self, parts: list[dict[str, Any]], response: Response) -> None:
        said = response.parts if response.failed is None else response.failed
        if said or response.finished:
            parts.append({"type": "step-start"})
        for index, part in enumerate(said):
            parts += self._part(part, index, response.facts.get("provider_name"))

    def _part(self, part: Part, index: int, provider: str | None) -> Iterator[dict[str, Any]]:
        fields, state = part.fields, "done" if part.complete else "streaming"
        match part.kind:
            case "text":
                yield {"type": "text", "text": fields.get("content") or "", "state": state}
            case "thinking":
                said = {"type": "reasoning", "id": str(index), "text": fields.get("content") or ""}
                yield {**said, "state": state, **provider_metadata({"provider_name": provider, **fields})}
            case "tool-call" | "builtin-tool-call":
                made = _call(part)
                self._calls[made["toolCallId"]] = made
                yield made
            case "builtin-tool-return":
                call = self._calls.get(fields["tool_call_id"], {})
                _answer(call, state="output-available", output=fields.get("content"))
            case "file":
                yield file_part(fields["content"])

    def _return(self, entry: Return) -> None:
        call = self._calls.get(entry.call_id)
        if call is None:
            raise UnsupportedError(
                f"ai-sdk: there is no call for the result of {entry.call_id!r}",
                hint="its chat reads a result only after its call",
            )
        fields = entry.fields
        content = fields["content_ref"] if fields.get("content_ref") else fields.get("content")
        if entry.kind == "tool-return" and fields.get("status") == "success":
            _answer(call, state="output-available", output=content)
        else:
            text = content if isinstance(content, str) else compact_json(content)
            _answer(call, state="output-error", errorText=text)


def _answer(call: dict[str, Any], **answer: Any) -> None:
    """Let an answer take the place of the one that the call had, such as that its arguments were refused."""
    for name in ("output", "errorText"):
        call.pop(name, None)
    call.update(answer)


def _steering(prompts: Sequence[Mapping[str, Any]], place: int) -> Iterator[dict[str, Any]]:
    """Yield what the user said to a run as a part of its answer."""
    for message in ui_messages([{"kind": "request", "parts": list(prompts)}])[0]:
        yield {"type": "steering-message", "id": f"steering-{place + 1}", "parts": message["parts"]}


def _call(part: Part) -> dict[str, Any]:
    fields = part.fields
    name = str(fields.get("tool_name") or "")
    made: dict[str, Any] = {"type": f"tool-{name}", "toolCallId": fields.get("tool_call_id")}
    if part.kind == "builtin-tool-call":
        made["providerExecuted"] = True
    if not part.complete and not (part.streamed is not None and part.streamed.ended):
        made["state"] = "input-streaming"
        if part.raw:
            value = parse_partial_json(part.raw)
            made |= {"rawInput": part.raw, **({} if value is NOTHING else {"input": value})}
        elif fields.get("args"):
            made["input"] = fields["args"]
        return made
    args = fields.get("args") if part.raw is None else part.raw
    if args in (None, ""):
        return {**made, "state": "input-available", "input": {}}
    value = parse_tool_args(args)
    if value is args and isinstance(value, str):
        return {**made, "state": "output-error", "input": args, "errorText": _NOT_JSON.format(name=name, text=args)}
    return {**made, "state": "input-available", "input": value}


def _turn_content(parts: Sequence[Mapping[str, Any]]) -> TurnContent:
    calls = [part for part in parts if part["type"].startswith("tool-") and not part.get("providerExecuted")]
    signed = (signature_of(part.get("providerMetadata")).get("signature") for part in parts)
    return TurnContent(
        texts=tuple(_joined(parts, "text")),
        thinking=tuple(_joined(parts, "reasoning")),
        signatures=tuple(str(signature) for signature in signed if signature),
        calls=tuple(
            CallContent(
                call_id=part["toolCallId"], name=part["type"].removeprefix("tool-") or None, arguments=_arguments(part)
            )
            for part in calls
        ),
        results=tuple(_results(calls)),
        interrupted=any(part.get("state") in _STREAMING for part in parts),
    )


def _arguments(call: Mapping[str, Any]) -> str:
    if call["state"] == "input-streaming":
        return str(call.get("rawInput") or _text(call.get("input", "")))
    return _text(call["input"])


def _joined(parts: Sequence[Mapping[str, Any]], kind: str) -> Iterator[str]:
    """Yield the text of each step that has one."""
    text = ""
    for part in (*parts, {"type": "step-start"}):
        if part["type"] == kind:
            text += part["text"]
        elif part["type"] == "step-start" and text:
            yield text
            text = ""


def _results(calls: Sequence[Mapping[str, Any]]) -> Iterator[ResultContent]:
    for part in calls:
        if part["state"] == "output-available":
            yield ResultContent(call_id=part["toolCallId"], outcome="success", content=_text(part["output"]))
        elif part["state"] == "output-error":
            yield ResultContent(call_id=part["toolCallId"], outcome="error", content=part["errorText"])


def _text(value: Any) -> str:
    return "" if value is None else canonical_text(value)
