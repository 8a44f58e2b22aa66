"""Every model API, one row each. Whoever asks "which API" asks here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tpharness.errors import UsageError
from tpharness.model_apis.anthropic.row import ANTHROPIC
from tpharness.model_apis.api import ModelApi
from tpharness.model_apis.bedrock.row import BEDROCK
from tpharness.model_apis.gemini.row import GEMINI
from tpharness.model_apis.ollama.row import OLLAMA
from tpharness.model_apis.openai_chat.row import OPENAI_CHAT
from tpharness.model_apis.openai_responses.row import OPENAI_RESPONSES

__all__ = ["APIS", "API_NAMES", "FALLBACK", "PLAYED_APIS", "ApiName", "api_of_server", "find_api", "find_server"]

APIS: Mapping[str, ModelApi] = {
    api.name: api
    for api in (
        OPENAI_CHAT,
        OPENAI_RESPONSES,
        ANTHROPIC,
        GEMINI,
        OLLAMA,
        BEDROCK,
    )
}
"""The model APIs by name, in the order in which they are listed and asked."""

ApiName: TypeAlias = str
"""The name of a model API, by the shape of its input."""

API_NAMES: tuple[ApiName, ...] = tuple(APIS)

PLAYED_APIS: tuple[ApiName, ...] = tuple(name for name, api in APIS.items() if api.played)
"""The APIs on which histories are played."""

FALLBACK = OPENAI_CHAT
"""The API that answers what does not say whose it is: most servers speak it."""


def find_api(name: str) -> ModelApi:
    """Return the API of this name. UsageError if there is none."""
    if name not in APIS:
        api = api_of_server(name)
        hint = f"it is a server of {api}: --api {api} --server {name}; the APIs are " if api else "one of "
        hint += ", ".join(API_NAMES)
        raise UsageError(f"no model API is called {name!r}", hint=hint)
    return APIS[name]


def api_of_server(server: str) -> ApiName | None:
    """Return the API of which alone this is a server, None for an unknown name or one of several APIs."""
    found = [api.name for api in APIS.values() if server in api.servers]
    return found[0] if len(found) == 1 else None


def find_server(api: ModelApi, server: str | None, model: str = "") -> str:
    """Return which other server of the API is meant, by its name or that of the model; "" for the API's own.

    UsageError if the API has no server of this name.
    """
    if server is None:
        return next((chosen for _, option, chosen in api.decide({}, model) if option == "server"), "")
    if server not in api.servers:
        raise UsageError(
            f"no server of {api.name} that is judged otherwise is called {server!r}",
            hint=f"one of {', '.join(api.servers)}" if api.servers else "leave out --server",
        )
    return server
