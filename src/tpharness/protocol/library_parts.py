"""Parts of a thread ⇄ parts of Pydantic AI's messages, which its `ModelMessagesTypeAdapter` loads.

In: a part of one side, as a JSON value. Out: the part of the other side, or why it has none. A thread has other words
for some facts: the `status` of a return is its `outcome`, the `thinking_id` of a thought its `id`. What only the
library has, such as `provider_details`, stands in a thread under the field `pydantic_ai`, as an unknown field (R7); a
part of a kind that only the library has stands there as a whole, in a part of the kind `custom:pydantic_ai`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tpharness.facts import binary_identifier, outcome_of_status, parse_tool_args, status_of_outcome

__all__ = ["OWN", "ConvertedPart", "from_library", "own_fields", "to_library", "usage_to_library"]

OWN = "pydantic_ai"
"""The field of a thread's turns, messages and parts that holds what only Pydantic AI has."""

_URLS = ("image-url", "audio-url", "video-url", "document-url")
_ERROR_FIELDS = ("type", "loc", "msg", "input")
_CUSTOM = f"custom:{OWN}"
_URL_SAFE = str.maketrans("-_", "+/")


class ConvertedPart(NamedTuple):
    """A part in Pydantic AI's shape, None if it has none; `left_out` has what is not in it and why."""

    part: dict[str, Any] | None
    left_out: tuple[tuple[str, str], ...] = ()


def own_fields(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a turn, a message or a part that only Pydantic AI has."""
    own = holder.get(OWN)
    return own if own is not None and isinstance(own, Mapping) else {}  # an abstract class takes time to say no to None


# ------------------------------------------------------------------------------------------------ thread → library


def to_library(part: Mapping[str, Any], *, role: str, at: Any = None) -> ConvertedPart:
    """Return a part of a thread in Pydantic AI's shape.

    `role` is `request` or `response`, `at` the time of the message, which is that of a request's parts. A return whose
    content is stored elsewhere is to be given with its content.
    """
    kind, own = str(part.get("part_kind")), own_fields(part)
    writer = _WRITERS.get((role, kind))
    if writer is None:
        if kind == _CUSTOM and own:
            return ConvertedPart(dict(own))
        meta = kind.startswith("meta:")
        why = "metadata is not sent to a model" if meta else f"no part of a {role} is sent to a model in this kind"
        return ConvertedPart(None, ((kind, why),))
    fields, left_out = writer(part)
    if fields is None:
        return ConvertedPart(None, left_out)
    timed = {"timestamp": at} if role == "request" and at is not None else {}
    return ConvertedPart({"part_kind": kind, **fields, **timed, **own}, left_out)


_Written = tuple[dict[str, Any] | None, tuple[tuple[str, str], ...]]


def _pick(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: part[name] for name in names if part.get(name) is not None}


def _text(part: Mapping[str, Any]) -> _Written:
    return _pick(part, "content", "id"), ()


def _thought(part: Mapping[str, Any]) -> _Written:
    fields = {"content": part.get("content") or "", **_pick(part, "signature")}
    if part.get("provider_name") != "unknown":  # R15: the word for no provider
        fields |= _pick(part, "provider_name")
    if part.get("thinking_id") is not None:
        fields["id"] = part["thinking_id"]
    return fields, ()


def _call(part: Mapping[str, Any]) -> _Written:
    args = part.get("args")
    if not isinstance(args, str | dict | None):
        args = json.dumps(args, ensure_ascii=False)
    return {**_pick(part, "tool_name", "tool_call_id"), "args": args, **_provider(part)}, ()


def _builtin_return(part: Mapping[str, Any]) -> _Written:
    fields = _pick(part, "tool_name", "tool_call_id")
    return {**fields, "content": part.get("content"), **_provider(part)}, ()


def _provider(part: Mapping[str, Any]) -> dict[str, Any]:
    return _pick(part, "provider_name") if isinstance(part.get("provider_name"), str) else {}


def _return(part: Mapping[str, Any]) -> _Written:
    fields = _pick(part, "tool_name", "tool_call_id", "metadata")
    return {**fields, "content": part.get("content"), "outcome": outcome_of_status(part.get("status"))}, ()


def _retry(part: Mapping[str, Any]) -> _Written:
    content = part.get("content")
    if not isinstance(content, str) and not _are_error_details(content):
        content = json.dumps(content, ensure_ascii=False)
    return {"content": content, **_pick(part, "tool_name", "tool_call_id")}, ()


def _are_error_details(content: Any) -> bool:
    """Whether a value is a list of errors as Pydantic describes them."""
    return isinstance(content, list) and all(
        isinstance(error, Mapping)
        and all(name in error for name in _ERROR_FIELDS)
        and isinstance(error["type"], str)
        and isinstance(error["msg"], str)
        and isinstance(error["loc"], list)
        and all(isinstance(step, str) or type(step) is int for step in error["loc"])
        and isinstance(error.get("ctx", {}), dict)
        and isinstance(error.get("url", ""), str)
        for error in content
    )


def _prompt(part: Mapping[str, Any]) -> _Written:
    content = part.get("content")
    if isinstance(content, str):
        return {"content": content}, ()
    items = [_item(item) for item in content or ()]
    kept = [item for item, _ in items if item is not None]
    left_out = tuple(reason for _, reason in items if reason is not None)
    return ({"content": kept} if kept or not left_out else None), left_out


def _item(item: Any) -> tuple[Any, tuple[str, str] | None]:
    """Return an item of a user's content, or why there is none."""
    if isinstance(item, str):
        return item, None
    kind = str(item.get("kind"))
    if kind == "binary":
        return (item, None) if _is_base64(item.get("data")) else (None, (kind, "its data is not base64"))
    if kind in _URLS:
        return {**_pick(item, "kind", "url", "identifier", "media_type"), **_typed(item)}, None
    if OWN in item:
        return dict(own_fields(item)), None
    return None, (kind, "no content of this kind is sent to a model")


def _typed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a file that the protocol leaves open, if the library can read them."""
    fields: dict[str, Any] = {}
    if isinstance(item.get("vendor_metadata"), dict):
        fields["vendor_metadata"] = item["vendor_metadata"]
    if item.get("force_download") in (True, False, "allow-local"):
        fields["force_download"] = item["force_download"]
    return fields


def _file(part: Mapping[str, Any]) -> _Written:
    content = part["content"]
    if content.get("kind") != "binary":
        return None, ((f"a file by {content.get('kind')}", "files of a model hold their data"),)
    if not _is_base64(content.get("data")):
        return None, (("a file", "its data is not base64"),)
    return {"content": content, **_pick(part, "id")}, ()


def _is_base64(data: Any) -> bool:
    """Whether a value is base64 in either alphabet, as the one encoder writes it: the library reads nothing else."""
    if not isinstance(data, str):
        return False
    text = data.translate(_URL_SAFE)
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


_WRITERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], _Written]] = {
    ("response", "text"): _text,
    ("response", "thinking"): _thought,
    ("response", "tool-call"): _call,
    ("response", "builtin-tool-call"): _call,
    ("response", "builtin-tool-return"): _builtin_return,
    ("response", "file"): _file,
    ("request", "user-prompt"): _prompt,
    ("request", "tool-return"): _return,
    ("request", "retry-prompt"): _retry,
}


def usage_to_library(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token counts of a response under Pydantic AI's names; it adds the total itself."""
    counts = {
        "output_reasoning_tokens" if name == "thinking_tokens" else name: count
        for name, count in (message.get("usage") or {}).items()
        if type(count) is int and name != "total_tokens"
    }
    own = own_fields(message).get("usage")
    return {**counts, **(own if isinstance(own, Mapping) else {})}


# ------------------------------------------------------------------------------------------------ library → thread

_READ: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "id"),
    "thinking": ("content", "signature", "provider_name"),
    "tool-call": ("tool_name", "tool_call_id"),
    "builtin-tool-call": ("tool_name", "tool_call_id", "provider_name"),
    "builtin-tool-return": ("tool_name", "tool_call_id", "content", "provider_name"),
    "file": ("content", "id"),
    "user-prompt": ("content",),
    "tool-return": ("tool_name", "tool_call_id", "content", "metadata"),
    "retry-prompt": ("content", "tool_name", "tool_call_id"),
    "retry-feedback": ("content",),
}
"""The fields that a thread's part of the kind has under the same name."""


def from_library(part: Mapping[str, Any], *, at: str) -> dict[str, Any]:
    """Return a part of Pydantic AI's as a part of a thread; `at` is the time of its message.

    A return whose outcome is `interrupted` is not a part of a thread (R41): the caller leaves it out.
    """
    kind = str(part["part_kind"])
    names = _READ.get(kind)
    if names is None:
        return {"part_kind": _CUSTOM, OWN: dict(part)}
    out: dict[str, Any] = {"part_kind": kind, **_pick(part, *names)}
    own = {k: v for k, v in part.items() if k not in (*names, "part_kind") and v is not None}
    match kind:
        case "thinking":
            out.setdefault("content", "")
            out.setdefault("provider_name", "unknown")
            if "id" in own:
                out["thinking_id"] = own.pop("id")
        case "tool-call" | "builtin-tool-call":
            out["args"] = parse_tool_args(own.pop("args", None) or {})
        case "tool-return" | "builtin-tool-return":
            out.setdefault("content", None)
            if kind == "tool-return":
                outcome = own.pop("outcome", "success")
                out["status"] = status_of_outcome(outcome)
                if outcome_of_status(out["status"]) != outcome:
                    own["outcome"] = outcome
        case "retry-feedback":
            out["part_kind"] = "retry-prompt"
            own["part_kind"] = kind
        case "retry-prompt" if "tool_name" not in out:  # Pydantic AI gives every one an id
            own |= _pick(out, "tool_call_id")
            out.pop("tool_call_id", None)
        case "user-prompt" if isinstance(part.get("content"), list):
            out["content"] = [_read_item(item) for item in part["content"]]
        case "file":
            out["content"] = _read_item(out["content"])
    if kind != "builtin-tool-return" and own.get("timestamp") == at:  # parts of a request have the time of it
        del own["timestamp"]
    return {**out, OWN: own} if own else out


def _read_item(item: Any) -> Any:
    """Return an item of content with the identifier that Pydantic AI gives it; one of an unknown kind is kept whole."""
    if not isinstance(item, Mapping):
        return item
    kind = item.get("kind")
    if kind == "binary":
        data = str(item.get("data")).translate(_URL_SAFE)  # the library writes what no `data:` URL may hold
        return {"identifier": binary_identifier(data), **_without_nulls(item), "data": data}
    if kind in _URLS:
        digest = hashlib.sha1(str(item.get("url")).encode("utf-8", "surrogatepass"), usedforsecurity=False)
        return {"identifier": digest.hexdigest()[:6], **_without_nulls(item)}
    return {"kind": kind, OWN: dict(item)}


def _without_nulls(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if value is not None}
