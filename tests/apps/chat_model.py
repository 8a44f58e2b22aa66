"""Chat Completions over HTTP, read as an application does that has no SDK.

The applications under test ask it thousands of times, and OpenAI's package takes half of the time of that, and of the
start of a program. That the packages themselves read the provider is the matter of `provider/test_python_sdks.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

Json = dict[str, Any]

_LONGEST_LINE = 1 << 22


class ModelError(Exception):
    """The model refused a request, failed, or ended its answer too early."""


class ChatModel:
    """The model's API. Without an address and a key those of the environment are taken, as OpenAI's package does."""

    def __init__(self, base_url: str | None, api_key: str | None) -> None:
        self._url = f"{base_url or os.environ['OPENAI_BASE_URL']}/chat/completions"
        headers = {"authorization": f"Bearer {api_key or os.environ['OPENAI_API_KEY']}"}
        self._session = ClientSession(headers=headers, timeout=ClientTimeout(), read_bufsize=_LONGEST_LINE)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def ask(self, messages: list[Json]) -> Json:
        """Return a whole answer. ModelError if the request is refused."""
        async with self._post({"messages": messages}) as answer:
            found: Json = await answer.json()
            return found

    @contextlib.asynccontextmanager
    async def stream(self, messages: list[Json], tools: list[Json] | None = None) -> AsyncIterator[AsyncIterator[Json]]:
        """Yield the chunks of an answer; its connection is closed whatever happens. ModelError if the model fails."""
        offered = {} if tools is None else {"tools": tools}
        async with self._post({"messages": messages, **offered, "stream": True}) as answer:
            yield _chunks(answer)

    @contextlib.asynccontextmanager
    async def _post(self, body: Json) -> AsyncIterator[ClientResponse]:
        try:
            async with self._session.post(self._url, json={"model": "any", **body}) as answer:
                if answer.status != 200:
                    raise ModelError(f"Error code: {answer.status} - {await answer.text()}")
                yield answer
        except ClientError as error:
            raise ModelError(f"Connection error: {error}") from error


async def _chunks(answer: ClientResponse) -> AsyncIterator[Json]:
    async for line in answer.content:
        if not line.startswith(b"data: "):
            continue
        if line.startswith(b"data: [DONE]"):
            return
        chunk: Json = json.loads(line[len(b"data: ") :])
        if "error" in chunk:
            raise ModelError(str(chunk["error"].get("message", chunk["error"])))
        yield chunk
