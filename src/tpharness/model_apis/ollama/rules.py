"""What Ollama's chat API accepts as `messages`: rules O1 to O6.

It checks types and nothing else: roles, order, calls and results go to the template of the model as they are. So what
a template leaves out, or gives the model without its other half, is worth knowing (MAY) and not refused.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.findings import Finding, Kind
from tpharness.model_apis.ollama.pairs import pair_results
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options, malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, entries, objects, value_of

__all__ = ["RULES", "open_payload"]

_GO_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "bool"),
    ((int, float), "number"),
    (str, "string"),
    (list, "array"),
    (Mapping, "object"),
)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\r\n]")
_ROLES = ("system", "user", "assistant", "tool")


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, and findings about values of unknown types.

    The payload is the list of messages, or an object with `messages`.
    """
    whole = isinstance(payload, Mapping)
    messages = payload.get("messages") if whole else payload
    prefix = "/messages" if whole else ""
    found = entries(messages, prefix)
    return found, list(_check_messages(messages, found, prefix))


def _check_messages(messages: Any, found: list[PayloadEntry], prefix: str) -> Iterator[Finding]:
    if not isinstance(messages, list):
        yield malformed_finding(prefix, "list of messages", messages)
    for entry, item in zip(found, as_list(messages), strict=True):
        if not isinstance(item, Mapping):
            yield malformed_finding(entry.pointer, "message object", item)
            continue
        if not isinstance(item.get("role"), str):
            yield malformed_finding(f"{entry.pointer}/role", f"role of {', '.join(_ROLES)}", item.get("role"))
        for name, kind, words in (("thinking", str, "text"), ("tool_name", str, "text"), ("images", list, "list")):
            value = item.get(name)
            if value is not None and not isinstance(value, kind):
                yield malformed_finding(f"{entry.pointer}/{name}", words, value)
        yield from _check_calls(entry)


def _check_calls(entry: PayloadEntry) -> Iterator[Finding]:
    calls, pointer = entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls"
    if calls is not None and not isinstance(calls, list):
        yield malformed_finding(pointer, "list of tool calls", calls)
    for index, call in enumerate(as_list(calls)):
        function = value_of(call, "function")
        if not isinstance(call, Mapping) or not isinstance(function, Mapping | None):
            yield malformed_finding(f"{pointer}/{index}", "tool call object", call)


def _go_name(value: Any) -> str:
    return next(name for kind, name in _GO_NAMES if isinstance(value, kind))


def _find_untyped_arguments(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O1."""
    for entry in messages:
        for call in objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls"):
            arguments = value_of(value_of(call.value, "function"), "arguments")
            if arguments is not None and not isinstance(arguments, Mapping):
                words = {"got": _go_name(arguments)}
                yield Hit(pointer=f"{call.pointer}/function/arguments", words=words, got=arguments, expected="object")


def _find_other_contents(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O2."""
    for entry in messages:
        content = entry.value.get("content")
        if content is not None and not isinstance(content, str):
            yield Hit(
                pointer=f"{entry.pointer}/content", words={"got": _go_name(content)}, got=content, expected="text"
            )


def _find_unreadable_images(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O3: the first character that base64 does not have decides the number in the error."""
    for entry in messages:
        for index, image in enumerate(as_list(entry.value.get("images"))):
            pointer = f"{entry.pointer}/images/{index}"
            if not isinstance(image, str):
                yield Hit(pointer=pointer, error=None, got=image, expected="base64")
            elif (wrong := _NOT_BASE64.search(image)) is not None:
                byte = len(image[: wrong.start()].encode())
                yield Hit(pointer=pointer, words={"byte": str(byte)}, got=image, expected="base64")
            elif not _decodes(image):
                yield Hit(pointer=pointer, error=None, got=image, expected="base64")


def _decodes(text: str) -> bool:
    try:
        base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except ValueError:
        return False
    return True


def _find_unanswered_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O4."""
    for call in pair_results([entry.value for entry in messages]).unanswered():
        pointer = f"{messages[call.message].pointer}/tool_calls/{call.index}"
        yield Hit(pointer=pointer, ids=(call.call_id or call.name or "without a name",))


def _find_lone_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O5."""
    for index, call in pair_results([entry.value for entry in messages]).answered.items():
        if call is None:
            yield Hit(pointer=messages[index].pointer, got=messages[index].value.get("tool_call_id"))


def _find_unknown_roles(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """O6."""
    for entry in messages:
        role = entry.value.get("role")
        if isinstance(role, str) and role not in _ROLES:
            yield Hit(pointer=f"{entry.pointer}/role", got=role, expected=" or ".join(_ROLES))


_TEMPLATE = "docs.ollama.com, the chat API and templates: the server compares nothing"

RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="O1",
        provider="ollama",
        kind=Kind("ollama-arguments-untyped"),
        errors=(
            (
                "json: cannot unmarshal {got} into Go struct field ChatRequest.messages.tool_calls.function.arguments "
                "of type api.ToolCallFunctionArguments"
            ),
        ),
        source="aliasrobotics/cai#76, ollama/ollama#12794",
        confidence=Confidence.REPORTED,
        find=_find_untyped_arguments,
    ),
    ApiRule(
        id="O2",
        provider="ollama",
        kind=Kind("ollama-content-untyped"),
        errors=("json: cannot unmarshal {got} into Go struct field ChatRequest.messages.content of type string",),
        source="BerriAI/litellm#9959, #11273, ollama/ollama#10255",
        confidence=Confidence.REPORTED,
        find=_find_other_contents,
    ),
    ApiRule(
        id="O3",
        provider="ollama",
        kind=Kind("ollama-image-unreadable"),
        errors=("illegal base64 data at input byte {byte}",),
        source="BerriAI/litellm#18338, #30313, ollama/ollama-js#68",
        confidence=Confidence.REPORTED,
        find=_find_unreadable_images,
    ),
    ApiRule(
        id="O4",
        provider="ollama",
        kind=Kind("ollama-call-unanswered"),
        source=_TEMPLATE,
        confidence=Confidence.DOCUMENTED,
        find=_find_unanswered_calls,
    ),
    ApiRule(
        id="O5",
        provider="ollama",
        kind=Kind("ollama-result-alone"),
        source=_TEMPLATE,
        confidence=Confidence.DOCUMENTED,
        find=_find_lone_results,
    ),
    ApiRule(
        id="O6",
        provider="ollama",
        kind=Kind("ollama-role-unknown"),
        source=_TEMPLATE,
        confidence=Confidence.DOCUMENTED,
        find=_find_unknown_roles,
    ),
)
