"""What the parts of messages in Pydantic AI's format mean to a model, before an API's own format is chosen.

In: parts as `tpharness.protocol.history.model_history` gives them. Out: arguments, tool results, items of content.
As in Pydantic AI, arguments that are not a JSON object are sent as `{"INVALID_JSON": …}`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from tpharness.errors import UsageError
from tpharness.facts import parse_tool_args
from tpharness.model_apis.shape import as_list, string, value_of

__all__ = [
    "NO_WORDS",
    "REDACTED",
    "ToolResult",
    "call_arguments",
    "compact_json",
    "content_items",
    "data_uri",
    "decode_text",
    "file_extension",
    "kind_of",
    "merge_messages",
    "nothing_added",
    "own_signature",
    "parts_of",
    "prompt_messages",
    "read_tool_result",
    "retry_text",
    "unsupported_content",
]

NO_WORDS = "(the tool failed without a message)"
"""What a failed tool is sent to have said that said nothing, to an API that wants a content."""
REDACTED = ("redacted_thinking", "redacted_content")
"""The ids of thinking that nobody can read: its signature is what the model wrote."""
_FILES = ("image-url", "audio-url", "video-url", "document-url", "binary")
_FAILED = ("error", "validation_error", "failed", "retried")
_RETRIED = ("validation_error", "retried")
_EXTENSIONS = {"text/plain": "txt", "text/markdown": "md", "audio/mpeg": "mp3", "audio/x-wav": "wav"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call: its id and name, the data without files, the files, whether the call failed.

    `items` are the texts and files of the result in order; `several` says whether the result was a list.
    """

    call_id: str
    name: str
    data: Any
    items: tuple[str | Mapping[str, Any], ...]
    files: tuple[Mapping[str, Any], ...]
    failed: bool
    retried: bool
    several: bool

    def text(self) -> str:
        """Return the data as one text: a text unchanged, None as the empty text, any other value as JSON."""
        return "" if self.data is None else _text(self.data)

    def error(self) -> Any:
        """Return the value of an error object: the text, or for a retry the unchanged data."""
        return self.data if self.retried and self.data is not None else self.text()


def kind_of(part: Any) -> str | None:
    """Return the kind of a part, or None if it has none."""
    return string(part, "part_kind")


def parts_of(message: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a message; values that are not parts are skipped."""
    for part in as_list(value_of(message, "parts")):
        if isinstance(part, Mapping):
            yield part


def call_arguments(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as an object."""
    args = part.get("args")
    if not args:
        return {}
    if isinstance(args, Mapping):
        return dict(args)
    text = args if isinstance(args, str) else compact_json(args)
    parsed = parse_tool_args(text)
    return parsed if isinstance(parsed, dict) else {"INVALID_JSON": text}


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_tool_result(part: Mapping[str, Any]) -> ToolResult | None:
    """Return the result that a tool return, or a retry prompt for a call, reports; None for any other part."""
    kind, call_id = kind_of(part), string(part, "tool_call_id")
    if call_id is None or kind not in ("tool-return", "retry-prompt"):
        return None
    content = part.get("content")
    several = isinstance(content, list)
    items = content if isinstance(content, list) else [content]
    files = tuple(item for item in items if _is_file(item))
    data = [item for item in items if not _is_file(item)]
    status = string(part, "outcome", "status")
    retried = kind == "retry-prompt" or status in _RETRIED
    whole = several and retried and not files
    return ToolResult(
        call_id=call_id,
        name=string(part, "tool_name") or "",
        data=None if not data else data[0] if len(data) == 1 and (files or not several) else data,
        items=(_text(data),) if whole else tuple(item if _is_file(item) else _text(item) for item in items),
        files=files,
        failed=retried or status in _FAILED,
        retried=retried,
        several=several,
    )


def retry_text(part: Mapping[str, Any]) -> str:
    """Return the text that the model receives for a retry prompt without a call."""
    content = part.get("content")
    if isinstance(content, str):
        return f"Validation feedback:\n{content}\n\nFix the errors and try again."
    count, errors = len(as_list(content)), compact_json(content)
    return f"{count} validation errors:\n```json\n{errors}\n```\n\nFix the errors and try again."


def prompt_messages(
    part: Mapping[str, Any], piece: Callable[[str | Mapping[str, Any]], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the message of one of OpenAI's APIs for a prompt, nothing for another part.

    `piece` returns an item of content in the API's form.
    """
    match kind_of(part):
        case "system-prompt":
            yield {"role": "system", "content": string(part, "content") or ""}
        case "user-prompt":
            content = part.get("content")
            items = [piece(item) for item in content_items(content)]
            yield {"role": "user", "content": content if isinstance(content, str) else items}
        case "retry-prompt":
            yield {"role": "user", "content": retry_text(part)}


def content_items(content: Any) -> Iterator[str | Mapping[str, Any]]:
    """Yield the texts and files of a user's content; unknown kinds are skipped."""
    for item in [content] if isinstance(content, str) else as_list(content):
        if isinstance(item, str) or _is_file(item):
            yield item


def own_signature(part: Mapping[str, Any], issuers: Collection[str]) -> str:
    """Return the signature of a part if one of these made it, else "": an API rejects the signatures of others."""
    if string(part, "provider_name") not in issuers:
        return ""
    return string(part, "signature") or ""


def data_uri(item: Mapping[str, Any]) -> str:
    """Return the data of a binary item as a data URI."""
    return f"data:{string(item, 'media_type') or ''};base64,{string(item, 'data') or ''}"


def decode_text(item: Mapping[str, Any]) -> str | None:
    """Return the data of a binary item as text, or None if it is not text."""
    try:
        return base64.b64decode(string(item, "data") or "", validate=True).decode()
    except ValueError:  # binascii and the codec raise subclasses of it
        return None


def file_extension(media_type: str) -> str:
    """Return the ending of a file of this type."""
    return _EXTENSIONS.get(media_type, media_type.rpartition("/")[2])


def unsupported_content(item: Mapping[str, Any], api: str) -> UsageError:
    """Make the error for content that an API does not accept in any form, or only after a download."""
    what = " ".join(word for word in (string(item, "kind"), string(item, "media_type")) if word)
    return UsageError(
        f"{api} does not accept {what} here", hint="leave the item out, or send its content in another form"
    )


def nothing_added(_: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Say what an API adds to messages that adds nothing."""
    return iter(())


def _is_file(item: Any) -> TypeGuard[Mapping[str, Any]]:
    if string(item, "kind") not in _FILES:
        return False
    return string(item, "url") is not None or None not in (string(item, "data"), string(item, "media_type"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def merge_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Join consecutive requests, results first, and consecutive responses that were not made by an API."""
    out: list[dict[str, Any]] = []
    joined: list[dict[str, Any]] = []
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        parts = list(parts_of(message))
        last = out[-1] if out else None
        if last is None or last.get("kind") != message.get("kind") or not _joins(last, message):
            out.append({**message, "parts": parts})
            continue
        last["parts"] += parts
        if not joined or joined[-1] is not last:
            joined.append(last)
    for message in joined:
        if message.get("kind") == "request":  # sorted once: a request may be joined of thousands
            message["parts"].sort(key=lambda part: read_tool_result(part) is None)
    return out


def _joins(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    names = ("provider_response_id", "provider_name", "model_name")
    return other.get("kind") == "request" or all(m.get(name) is None for m in (one, other) for name in names)
