"""Provider: one HTTP server on a loopback port that speaks every model API and answers as it was planned.

In: plans, by conversation. Out: exchanges, each with the request to the model and what became of its answer. The server
runs on the event loop that enters its context, listens on 127.0.0.1 only, and writes no log.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

from tpharness.apps.loopback import LOOPBACK, listen
from tpharness.apps.provider.answering import Answering, json_response, refusal_response
from tpharness.apps.provider.conversation import Conversation, Conversations
from tpharness.apps.provider.environment import environment
from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.apps.provider.plain import plain_plan
from tpharness.findings import Finding, Level
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.event_bytes import load
from tpharness.model_apis.registry import APIS, FALLBACK, ApiName
from tpharness.model_apis.server import (
    ApiRefusal,
    ApiServer,
    Incoming,
    Request,
    ServerOptions,
    SideRequest,
    not_an_object,
)

__all__ = ["Provider"]

_LOG = logging.getLogger("tpharness.provider")
_BODY_LIMIT = 64 << 20  # bytes of a request: histories with files are large


class Provider:
    """The model's API of an application under test; an async context manager.

    `port` 0 takes any free one. With `strict` a request is refused, with the real API's status and error, for every
    finding of the API's rules at level MUST and for items, signatures and encrypted contents that the provider never
    gave; without it everything is answered, and the findings are noted all the same. `keeps_unfinished`: items of a
    Responses answer that never completed can be referred to. TargetError when the port is taken.
    """

    def __init__(self, *, port: int = 0, strict: bool = True, keeps_unfinished: bool = False) -> None:
        self.port = port
        self.strict = strict
        self.others: list[Exchange]
        self.strays: list[str] = []
        self._conversations = Conversations()
        self.others = self._conversations.others
        # An application may remember ids of an earlier run.
        options = ServerOptions(run=secrets.token_hex(4), keeps_unfinished=keeps_unfinished)
        # The fallback is asked last: the others answer only what is plainly theirs.
        ordered = sorted(APIS.values(), key=lambda api: api is FALLBACK)
        self._apis: Mapping[ApiName, ApiServer] = {api.name: api.served.make_server(options) for api in ordered}
        self._count = 0
        self._models: dict[ApiName, dict[str, None]] = {api: {} for api in self._apis}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[Exchange] = set()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner, self.port = await listen(app, self.port, name="the model provider")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening; answers on their way are cut off, and are noted as `ERRORED`."""
        now = asyncio.get_running_loop().time()
        for exchange in self._open:
            exchange.change(ExchangeOutcome.ERRORED, now)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def base(self) -> str:
        """The address without a path."""
        return f"http://{LOOPBACK}:{self.port}"

    def environment(self, base: str | None = None) -> dict[str, str]:
        """Return the variables that make SDKs and frameworks use this provider, with dummy keys."""
        return environment(base or self.base)

    def server_of(self, name: ApiName) -> ApiServer:
        """Return one of the APIs, with what it remembers."""
        return self._apis[name]

    def conversation(self, mark: str) -> Conversation:
        """Return the conversation of a mark; requests whose user texts hold it are answered with its plans."""
        return self._conversations.of(mark)

    # -------------------------------------------------------------------------------------------------- requests

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        path = re.sub(r"//+", "/", http.path).rstrip("/")  # a slash more, or one at the end, does not matter
        body = await _read_object(http) if http.method == "POST" else None
        if http.method == "POST":
            for name, api in self._apis.items():
                if api.answers.match(path):
                    return (
                        await self._tracked(http, name, body)
                        if body is not None
                        else self._refused(name, not_an_object())
                    )
        for name, api in self._apis.items():
            asked = SideRequest(
                method=http.method,
                path=path,
                headers=http.headers,
                query=http.query,
                size=http.content_length or 0,
                body=body,
                models=tuple(self._models[name]),
            )
            answer = api.serve(asked)
            if answer is not None:
                return self._refused(name, answer) if isinstance(answer, ApiRefusal) else json_response(answer.value)
        self.strays.append(f"{http.method} {http.path}")
        message = f"Unknown request URL: {http.method} {http.path}. Please check the URL for typos."
        return self._refused(FALLBACK.name, ApiRefusal(status=404, message=message, code="unknown_url"))

    async def _tracked(self, http: web.Request, api: ApiName, body: dict[str, Any]) -> web.StreamResponse:
        task = asyncio.current_task()
        if task is not None:  # each connection has one task, for all of its requests
            self._tasks.add(task)
        try:
            return await self._answer(http, api, body)
        except Exception:
            _LOG.exception("tpharness: the provider cannot answer %s %s", http.method, http.path)
            raise
        finally:
            if task is not None:
                self._tasks.discard(task)

    async def _answer(self, http: web.Request, api: ApiName, body: dict[str, Any]) -> web.StreamResponse:
        server = self._apis[api]
        self._count += 1
        sse = http.query.get("alt") == "sse"
        incoming = Incoming(number=self._count, path=http.path, sse=sse, body=body)
        request = server.read(incoming)
        self._models[api][request.model] = None
        findings = [*request.findings, *check_payload(api, request.payload, options=request.options)]
        exchange = Exchange(
            api=api,
            path=http.path,
            headers=dict(http.headers),
            body=body,
            payload=request.payload,
            number=self._count,
            model=request.model,
            stream=request.stream,
            history=request.history,
            tools=request.tools,
            refusals=tuple(findings),
            missing=request.missing,
            started_at=asyncio.get_running_loop().time(),
        )
        conversation = self._conversations.assign(exchange)
        refusal = self._refusal(server, request, findings)
        if refusal is not None:
            exchange.status, exchange.error_text = refusal.status, refusal.message
            exchange.change(ExchangeOutcome.REFUSED, exchange.started_at)
            refused = self._refused(api, refusal)
            exchange.wrote_body(refused.body)
            return refused
        plan = conversation.plan_for(exchange) if conversation is not None else None
        exchange.unplanned = conversation is not None and plan is None
        plan = plan or plain_plan(request, exchange.number)
        exchange.begin(plan)
        self._open.add(exchange)
        try:
            return await Answering(http, exchange, server, server.answer(incoming, request, plan)).run(plan)
        finally:
            self._open.discard(exchange)

    def _refusal(self, server: ApiServer, request: Request, findings: list[Finding]) -> ApiRefusal | None:
        if not self.strict:
            return None
        if request.refusal is not None:
            return request.refusal
        first = next((finding for finding in findings if finding.level is Level.MUST), None)
        return None if first is None else server.refuse(first, request)

    def _refused(self, api: ApiName, refusal: ApiRefusal) -> web.Response:
        return refusal_response(self._apis[api], refusal, self._count)


async def _read_object(http: web.Request) -> dict[str, Any] | None:
    """Return the JSON object of a body, None if it is not one."""
    try:
        body = load(await http.read())
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
