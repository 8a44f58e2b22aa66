"""Reading a request of OpenAI's Responses: references resolved, items joined to messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.openai_responses.item_store import ItemStore
from tpharness.model_apis.openai_responses.items import item_type
from tpharness.model_apis.reading import call_of_text, files_in, join_results, message_of, text_in
from tpharness.model_apis.rule import Options
from tpharness.model_apis.server import ApiRefusal, Incoming, Request
from tpharness.model_apis.shape import as_list, string, value_of

__all__ = ["read_request"]

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")

ITEM_MISSING = Kind("responses-item-missing")
ITEM_UNFINISHED = Kind("responses-item-of-unfinished")
ENCRYPTED_UNKNOWN = Kind("responses-encrypted-unknown")
REASONING_MISSING = Kind("responses-reasoning-missing")


def read_request(incoming: Incoming, store: ItemStore) -> Request:
    """Read `input`, `instructions`, tools and options; the payload has every reference in place of its item."""
    body = incoming.body
    given = body.get("input")
    own = [{"role": "user", "content": given}] if isinstance(given, str) else given
    keeps = body.get("store") is not False
    reader = _Reader(store, stored=keeps)
    items, refusal = reader.items(body.get("previous_response_id"), as_list(own))
    history = [*_instructions(body), *_history(items, store)]
    return Request(
        model=string(body, "model") or "",
        stream=body.get("stream") is True,
        history=join_results(history),
        tools=_tools(body),
        payload=items if isinstance(own, list) else own,
        # The reader knows what is stored, and what the model made with reasoning; it has resolved the references.
        options=Options(store=True, reasoning=False),
        findings=tuple(reader.findings),
        refusal=refusal or reader.refusal,
        missing=tuple(reader.missing),
        output_schema=_output_schema(value_of(body.get("text"), "format")),
        forced_tool=_forced(body),
    )


class _Reader:
    """Resolves references, and notes what is not there."""

    def __init__(self, store: ItemStore, *, stored: bool) -> None:
        self._store = store
        self._stored = stored
        self.findings: list[Finding] = []
        self.missing: list[str] = []
        self.refusal: ApiRefusal | None = None

    def items(self, previous: Any, own: list[Any]) -> tuple[list[Any], ApiRefusal | None]:
        """Return all items that the model sees, and the refusal of a previous response that is not there."""
        found, refusal = [], None
        if isinstance(previous, str):
            before = self._store.before(previous)
            if before is None:
                self.missing.append(previous)
                place = Place(pointer="/previous_response_id")
                self.findings.append(ITEM_MISSING.at(place, "the previous response is not stored", got=previous))
                message = f"Previous response with id '{previous}' not found."
                param = "previous_response_id"
                refusal = ApiRefusal(status=400, message=message, param=param, code="previous_response_not_found")
            found = before or []
        resolved = [self._resolved(item, index) for index, item in enumerate(own)]
        self._check_reasoning([string(item, "id") for item in found], resolved)
        return [*found, *resolved], refusal

    def _check_reasoning(self, before: list[str | None], own: list[Any]) -> None:
        """An item that the model made with reasoning comes after it, if it is sent by its id."""
        given = {*before}
        for index, item in enumerate(own):
            item_id = string(item, "id")
            needed = self._store.reasoning_of(item_id)
            given.add(item_id)
            if needed is not None and needed not in given:
                kind = item_type(item)
                message = (
                    f"Item '{item_id}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'."
                )
                place = Place(pointer=f"/input/{index}")
                self.findings.append(REASONING_MISSING.at(place, message, got=item_id, expected=needed))
                self._refuse(ApiRefusal(status=400, message=message, param="input"))

    def _resolved(self, item: Any, index: int) -> Any:
        if not isinstance(item, Mapping):
            return item
        kind, item_id = item_type(item), string(item, "id")
        if kind == "item_reference" and item_id is not None:
            stored = self._store.find(item_id)
            if stored is None:
                self._miss(item_id, index)
            return item if stored is None else stored
        encrypted = string(item, "encrypted_content") if kind == "reasoning" else None
        if encrypted and encrypted not in self._store.encrypted:
            place = Place(pointer=f"/input/{index}/encrypted_content")
            self.findings.append(ENCRYPTED_UNKNOWN.at(place, got=item_id))
            message = (
                f"The encrypted content for item {item_id} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed."
            )
            self._refuse(ApiRefusal(status=400, message=message, code="invalid_encrypted_content"))
        if kind == "reasoning" and item_id is not None and not encrypted and self._store.find(item_id) is None:
            self._miss(item_id, index)
        return item

    def _miss(self, item_id: str, index: int) -> None:
        self.missing.append(item_id)
        kind = ITEM_UNFINISHED if self._store.is_unfinished(item_id) else ITEM_MISSING
        self.findings.append(
            kind.at(Place(pointer=f"/input/{index}"), f"Item with id '{item_id}' not found.", got=item_id)
        )
        message = f"Item with id '{item_id}' not found."
        if not self._stored:
            message += (
                " Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input."
            )
        self._refuse(ApiRefusal(status=404, message=message, param="input"))

    def _refuse(self, refusal: ApiRefusal) -> None:
        self.refusal = self.refusal or refusal


def _instructions(body: Mapping[str, Any]) -> list[HistoryMessage]:
    text = string(body, "instructions")
    return [] if text is None else [HistoryMessage(role="system", text=text)]


def _history(items: Iterable[Any], store: ItemStore) -> list[HistoryMessage]:
    """Join the items that the model made in one response to one message."""
    found: list[HistoryMessage] = []
    origin: str | None = None
    for item in items:
        if not isinstance(item, Mapping):
            continue
        message = _message(item)
        if message is None:
            continue
        came = store.origin(string(item, "id"))
        before = found[-1] if found else None
        same = came is None or origin is None or came == origin
        if message.role == "assistant" and before is not None and before.role == "assistant" and same:
            found[-1] = HistoryMessage(
                role="assistant",
                text=before.text + message.text,
                thinking=before.thinking + message.thinking,
                calls=(*before.calls, *message.calls),
                files=(*before.files, *message.files),
            )
            origin = came or origin
        else:
            found.append(message)
            origin = came
    return found


def _message(item: Mapping[str, Any]) -> HistoryMessage | None:
    kind = item_type(item)
    if kind == "message":
        return message_of(item)
    if kind == "reasoning":
        return HistoryMessage(role="assistant", thinking=text_in(item.get("summary")) or text_in(item.get("content")))
    if kind in _CALLS:
        raw = value_of(item, "arguments", "input")
        return HistoryMessage(
            role="assistant", calls=(call_of_text(string(item, "call_id"), string(item, "name"), raw),)
        )
    if kind in _OUTPUTS:
        output = item.get("output")
        result = HistoryResult(call_id=string(item, "call_id") or "", content=text_in(output))
        return HistoryMessage(role="tool", results=(result,), files=files_in(output))
    return None


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    found = [tool for tool in as_list(body.get("tools")) if string(tool, "name")]
    return {tool["name"]: tool.get("parameters") or {} for tool in found}


def _forced(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice")
    return next(iter(_tools(body)), None) if choice == "required" else string(choice, "name")


def _output_schema(wanted: Any) -> Any:
    kind = string(wanted, "type")
    if kind == "json_schema":
        return value_of(wanted, "schema") or {"type": "object"}
    return {"type": "object"} if kind == "json_object" else None
