"""A request that somebody has in hand: whose API it is for, and what it says about itself.

In: a JSON value, the body of a request or its list of messages. Out: the API, and the options that the body and the
name of its model decide. The API is guessed only from what no other API has; otherwise UsageError asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.errors import UsageError
from tpharness.model_apis.registry import API_NAMES, APIS, ApiName, api_of_server, find_api, find_server
from tpharness.model_apis.rule import Options
from tpharness.model_apis.shape import as_list, objects, string

__all__ = ["ModelRequest", "read_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as it is judged: the API, the payload for `check_payload`, the model's name or "", and the options.

    `decided` says in words which options the request itself decided; `entries` counts messages, items or contents.
    """

    provider: ApiName
    payload: Any
    model: str
    options: Options
    decided: tuple[str, ...]
    entries: int


def read_request(
    value: Any, *, provider: str | None = None, model: str | None = None, server: str | None = None
) -> ModelRequest:
    """Read a request body, or a list of messages, items or contents.

    `server` names another server of the API, which takes less; where it is one of a single API, the API is that one.

    UsageError if `provider` is not an API or `server` not one of its servers, if the request does not show its API,
    and for what is not a request.
    """
    if provider is not None:
        find_api(provider)
    if not isinstance(value, Mapping | list):
        raise UsageError(
            "this is neither an object nor a list, so it is not a request",
            hint="give the body of the request as it is sent, or its list of messages, items or contents",
        )
    _refuse_other_formats(value)
    api = find_api(provider or _guess(value, server))
    field = api.entries
    if isinstance(value, Mapping) and field not in value:
        has = ", ".join(map(repr, list(value)[:8])) or "nothing"
        raise UsageError(
            f"a request for {api.name} has the field {field!r}; this object has {has}",
            hint=f"give the body of the request as it is sent, or the list of {field} alone",
        )
    if server is not None:
        find_server(api, server)
    body = value if isinstance(value, Mapping) else {}
    spoken = model or string(body, "model", "modelId") or ""
    decided = [one for one in api.decide(body, spoken) if server is None or one[1] != "server"]
    decided += [(f"the server is {server}", "server", server)] if server is not None else []
    listed = body.get(field) if body else value
    return ModelRequest(
        provider=api.name,
        payload=value,
        model=spoken,
        options=Options(**{option: chosen for _, option, chosen in decided}),
        decided=tuple(words for words, _, _ in decided),
        entries=len(listed) if isinstance(listed, list) else 1,
    )


def _refuse_other_formats(value: Any) -> None:
    """Say what to type for messages that are not yet written for an API."""
    first = next((entry.value for entry in objects(value, "")), {})
    if isinstance(value, Mapping) and "turns" in value:
        what, hint = (
            "a thread of ThreadProtocol",
            "`tpharness history FILE --for anthropic --request --next-user TEXT` writes its request",
        )
    elif string(first, "kind") in ("request", "response"):
        what = "a list of Pydantic AI's messages"
        hint = "`tpharness import FILE --from pydantic-ai`, then `tpharness history`, writes a request"
    elif any(string(part, "type") for part in as_list(first.get("parts"))):
        what = "a list of the AI SDK's UI messages"
        hint = "`tpharness import FILE --from ai-sdk`, then `tpharness history`, writes a request"
    else:
        return
    raise UsageError(f"this is {what}, not what a model API is sent", hint=hint)


def _guess(value: Any, server: str | None) -> ApiName:
    implied = api_of_server(server) if server is not None else None
    shown = _signs(value)
    if implied is not None and (not shown or implied in shown):
        return implied
    if len(shown) == 1:
        return shown[0]
    what = f"has marks of {' and of '.join(sorted(shown))}" if shown else "could be for several model APIs"
    raise UsageError(f"this request {what}", hint=f"name the API: --api {'|'.join(API_NAMES)}")


def _signs(value: Any) -> list[ApiName]:
    """Return the APIs of which a request has what no other API has."""
    body: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    lists = [body[field] for field in dict.fromkeys(api.entries for api in APIS.values()) if field in body]
    entries = [entry.value for one in (lists if body else [value]) for entry in objects(one, "")]
    owner = next((api.name for api in APIS.values() if api.owns(body, entries)), None)
    if owner is not None:
        return [owner]
    return [
        api.name for api in APIS.values() if api.has_options(body) or any(api.has_entry(entry) for entry in entries)
    ]
