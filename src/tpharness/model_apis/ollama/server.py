"""Ollama's chat API: reading a request, errors, and the models and versions that it lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tpharness.findings import Finding
from tpharness.model_apis.event_bytes import load_object
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.ollama.answer import OllamaAnswer
from tpharness.model_apis.ollama.pairs import Pairs, SentCall, pair_results, sent_calls
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.reading import call_of_object, call_of_text, join_results
from tpharness.model_apis.server import (
    ApiRefusal,
    Incoming,
    Request,
    ServerOptions,
    SideAnswer,
    SideRequest,
    not_an_object,
    path_pattern,
)
from tpharness.model_apis.shape import as_list, objects, string, value_of

__all__ = ["OllamaServer", "asks_for_thoughts", "make_server"]

_KNOWN_MODELS = ("llama3.2:latest", "qwen3:latest", "gpt-oss:20b")
_MADE_AT = "2025-01-01T00:00:00Z"
_VERSION = "0.12.10"  # from which calls have ids
_CAPABILITIES = ("completion", "tools", "thinking", "vision")
_TAGS = path_pattern("/api/tags")
_RUNNING = path_pattern("/api/ps")
_NUMBER = path_pattern("/api/version")
_SHOW = path_pattern("/api/show")


Ids: TypeAlias = dict[tuple[int, int], str]
"""The id of each call of a history, by its place."""


class OllamaServer:
    """The chat API; it knows the calls that it gave, as most clients send them back without their ids."""

    answers = path_pattern("/api/chat")
    failed_answer_is_status = True

    def __init__(self, options: ServerOptions) -> None:
        del options  # nothing in an answer has an id of its own
        self._given: dict[str, list[HistoryCall]] = {}

    def read(self, incoming: Incoming) -> Request:
        """Read `messages`, tools and options; an absent `stream` is true."""
        body = incoming.body
        model = string(body, "model") or ""
        return Request(
            model=model,
            stream=body.get("stream") is not False,
            history=join_results(self._history(body.get("messages"))),
            tools=_tools(body),
            payload={"messages": body.get("messages", [])},
            refusal=None if model else ApiRefusal(status=400, message="model is required"),
            output_schema=_output_schema(body.get("format")),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> OllamaAnswer:  # noqa: ARG002
        """Return the answer of a plan, and remember its calls."""
        given = self._given.setdefault(_first_words(request.history), [])
        given += (call_of_object(call.call_id, call.name, load_object("".join(call.pieces))) for call in plan.calls)
        return OllamaAnswer(plan, model=request.model)

    def error(self, refusal: ApiRefusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return Ollama's error object."""
        return {"error": refusal.message}

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400 in the API's words."""
        return ApiRefusal(status=400, message=finding.message.partition(": ")[2] or finding.message)

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:
        """Answer the lists of models, the version, and what a model can do; every model that is asked for exists."""
        if asked.method == "POST" and _SHOW.match(asked.path):
            return not_an_object() if asked.body is None else SideAnswer(value=_shown())
        if asked.method != "GET":
            return None
        if _NUMBER.match(asked.path):
            return SideAnswer(value={"version": _VERSION})
        if _TAGS.match(asked.path):
            names = dict.fromkeys((*_KNOWN_MODELS, *asked.models))
            return SideAnswer(value={"models": [_model(name) for name in names]})
        if _RUNNING.match(asked.path):
            return SideAnswer(value={"models": [_model(name) for name in asked.models]})
        return None

    def _history(self, messages: Any) -> list[HistoryMessage]:
        sent = [entry.value for entry in objects(messages, "")]
        pairs = pair_results(sent)
        ids = self._call_ids(sent, pairs)
        return [_message(message, index, pairs, ids) for index, message in enumerate(sent)]

    def _call_ids(self, sent: Sequence[Mapping[str, Any]], pairs: Pairs) -> Ids:
        """Return the id of every call: its own if it came from here, else that of an equal call of the conversation.

        A call that nobody here made keeps its own id, or is called by its name and the number of the call of that name.
        """
        first = next((string(message, "content") or "" for message in sent if message.get("role") == "user"), "")
        given = list(self._given.get(first, ()))
        found: Ids = {}
        counts: dict[str, int] = {}
        for call in pairs.calls:
            counts[call.name] = counts.get(call.name, 0) + 1
            same = next((one for one in given if one.call_id == call.call_id), None) or next(
                (one for one in given if (one.name, one.args) == (call.name, call.arguments)), None
            )
            if same is not None:
                given.remove(same)
            found[call.place] = same.call_id if same is not None else call.call_id or f"{call.name}#{counts[call.name]}"
        return found


make_server = OllamaServer


def asks_for_thoughts(body: Any) -> bool:
    """Whether the request has `think`, as true or as a level."""
    return value_of(body, "think") not in (None, False)


def _first_words(history: Sequence[HistoryMessage]) -> str:
    return next((message.text for message in history if message.role == "user"), "")


def _message(message: Mapping[str, Any], index: int, pairs: Pairs, ids: Ids) -> HistoryMessage:
    text = string(message, "content") or ""
    files = ("image",) * len(as_list(message.get("images")))
    if message.get("role") == "tool":
        call = pairs.answered[index]
        name = string(message, "tool_call_id", "tool_name") or ""
        result = HistoryResult(call_id=name if call is None else ids[call.place], content=text)
        return HistoryMessage(role="tool", results=(result,), files=files)
    calls = tuple(_call(call, ids) for call in sent_calls(message, index))
    role = string(message, "role") or ""
    return HistoryMessage(role=role, text=text, thinking=string(message, "thinking") or "", calls=calls, files=files)


def _call(call: SentCall, ids: Ids) -> HistoryCall:
    if isinstance(call.arguments, str):  # which is refused, but read
        return call_of_text(ids[call.place], call.name, call.arguments)
    return call_of_object(ids[call.place], call.name, call.arguments)


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    declared = [value_of(tool, "function") for tool in as_list(body.get("tools"))]
    return {tool["name"]: tool.get("parameters") or {} for tool in declared if string(tool, "name")}


def _output_schema(wanted: Any) -> Any:
    if isinstance(wanted, Mapping):
        return wanted
    return {"type": "object"} if wanted == "json" else None


def _model(name: str) -> dict[str, Any]:
    details = {"format": "gguf", "family": "llama", "families": ["llama"], "parameter_size": "3B"}
    return {
        "name": name,
        "model": name,
        "modified_at": _MADE_AT,
        "size": 2_000_000_000,
        "digest": "0" * 64,
        "details": {**details, "parent_model": "", "quantization_level": "Q4_K_M"},
    }


def _shown() -> dict[str, Any]:
    shown = {"modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "modified_at": _MADE_AT}
    return {**shown, "details": _model("")["details"], "model_info": {}, "capabilities": list(_CAPABILITIES)}
