"""The addresses of an application, and fetching one of them as a whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp

__all__ = ["Addresses", "Fetched", "Route", "fetch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A method and an address in which `{id}` stands for the chat's id, as in the texts of `body`, a JSON object.

    An address may have other names, which the request profile gives values.
    """

    method: str
    url: str
    body: Mapping[str, Any] | None = None

    def of(self, chat_id: str, names: Mapping[str, str] | None = None) -> str:
        """Return the address for a chat."""
        url = self.url
        for name, value in {"id": chat_id, **(names or {})}.items():
            url = url.replace(f"{{{name}}}", quote(value, safe=""))
        return url

    def body_of(self, chat_id: str) -> dict[str, Any] | None:
        """Return what is posted for a chat, None without a body."""
        if self.body is None:
            return None
        return {key: v.replace("{id}", chat_id) if isinstance(v, str) else v for key, v in self.body.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where an application is reached: `chat` takes the posts, the others are None where it has no such address."""

    chat: str
    stop: Route | None = None
    thread: Route | None = None
    resume: Route | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A whole answer: status 0 and the reason in `text` where there is none; `value` is its JSON, None without any."""

    status: int
    text: str = ""
    value: Any = None


async def fetch(
    session: aiohttp.ClientSession,
    addresses: Addresses,
    route: Route | None,
    chat_id: str,
    seconds: float,
    names: Mapping[str, str] | None = None,
) -> Fetched | None:
    """Ask for an address and read its whole answer, in so many seconds; None for no address."""
    if route is None:
        return None
    try:
        async with (
            asyncio.timeout(seconds),
            session.request(
                route.method,
                route.of(chat_id, names),
                headers=addresses.headers,
                allow_redirects=False,
                json=route.body_of(chat_id),
            ) as response,
        ):
            text = await response.text(errors="replace")
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return Fetched(status=0, text=f"{type(error).__name__}: {error}".removesuffix(": "))
    try:
        return Fetched(status=response.status, text=text, value=json.loads(text))
    except (ValueError, RecursionError):
        return Fetched(status=response.status, text=text)
