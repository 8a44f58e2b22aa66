"""Writing one answer as it was planned: piece by piece, held, broken off, or whole."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.model_apis.plan import Break, Finish, Plan
from tpharness.model_apis.server import AnswerWriter, ApiRefusal, ApiServer, NamesErrors
from tpharness.output import json_bytes
from tpharness.targets.connection import delivered, reset

__all__ = ["Answering", "json_response", "refusal_response"]

_DELIVERY = 5.0  # seconds in which the other side takes what was written, before its connection is reset
_JSON = "application/json"
_SOON = "20"


def json_response(value: Any, status: int = 200, request_id: str = "") -> web.Response:
    """Return a JSON answer with the id of its request in the headers that the APIs use."""
    headers = {"x-request-id": request_id, "request-id": request_id} if request_id else None
    return web.Response(body=json_bytes(value), status=status, content_type=_JSON, headers=headers)


def refusal_response(server: ApiServer, refusal: ApiRefusal, number: int) -> web.Response:
    """Return an error as an API answers it to the request of this number."""
    response = json_response(server.error(refusal, number), refusal.status, f"req_{number}")
    if isinstance(server, NamesErrors):
        response.headers.update(server.error_headers(refusal))
    return response


class Answering:
    """One answer on its way to the application."""

    def __init__(self, http: web.Request, exchange: Exchange, server: ApiServer, answer: AnswerWriter) -> None:
        self._http = http
        self._exchange = exchange
        self._server = server
        self._answer = answer
        self._response: web.StreamResponse = web.StreamResponse()
        self._loop = asyncio.get_running_loop()

    async def run(self, plan: Plan) -> web.StreamResponse:
        """Write the answer of a plan, and note in the exchange what became of it.

        The application may leave at any time. CancelledError, which says so, is passed on after it was noted; a
        connection that is found closed ends the answer, because aiohttp reports any other error of a handler.
        """
        try:
            if plan.breaks is Break.STATUS:
                return await self._status(plan)
            return await (self._stream(plan) if self._exchange.stream else self._whole(plan))
        except asyncio.CancelledError:
            self._over(ExchangeOutcome.DISCONNECTED)
            raise
        except ConnectionError:
            self._over(ExchangeOutcome.DISCONNECTED)
            return self._response
        except BaseException:
            self._over(ExchangeOutcome.ERRORED)
            raise

    def _over(self, outcome: ExchangeOutcome) -> None:
        if self._exchange.is_over:
            return
        self._answer.over(complete=outcome is ExchangeOutcome.COMPLETED)
        self._exchange.change(outcome, self._loop.time())

    async def _status(self, plan: Plan) -> web.StreamResponse:
        await self._hold()
        return self._error(plan.status, plan.error_text)

    def _error(self, status: int, text: str) -> web.StreamResponse:
        exchange = self._exchange
        exchange.status, exchange.error_text = status, text
        self._over(ExchangeOutcome.BROKEN)
        response = refusal_response(self._server, ApiRefusal(status=status, message=text), exchange.number)
        if exchange.plan is not None and exchange.plan.once:
            response.headers["retry-after-ms"] = _SOON  # the SDKs of OpenAI, Anthropic and Vercel wait so long
        exchange.wrote_body(response.body)
        return response

    # ------------------------------------------------------------------------------------------------- one answer

    async def _whole(self, plan: Plan) -> web.StreamResponse:
        if plan.hold_at is not None:
            await self._exchange.hold()
        match plan.breaks:
            case Break.STALL:
                await self._exchange.hold()
                return self._closed()
            case Break.END:
                return self._closed()
            case Break.RESET:
                return self._reset()
            case Break.ERROR:
                return self._error(500, plan.error_text)
        if plan.reason is Finish.ERROR and self._server.failed_answer_is_status:
            return self._error(500, plan.error_text)
        response = self._response = json_response(self._answer.whole(), request_id=f"req_{self._exchange.number}")
        self._exchange.status = 200
        await response.prepare(self._http)
        await response.write_eof()
        self._exchange.pieces_written = plan.piece_count
        self._exchange.wrote_body(response.body)
        self._over(ExchangeOutcome.COMPLETED)
        return response

    # -------------------------------------------------------------------------------------------------- a stream

    async def _stream(self, plan: Plan) -> web.StreamResponse:
        exchange, answer = self._exchange, self._answer
        headers = {
            "Content-Type": answer.content_type,
            "Cache-Control": "no-cache",
            "x-request-id": f"req_{exchange.number}",
            "request-id": f"req_{exchange.number}",
        }
        self._response = web.StreamResponse(headers=headers)
        exchange.status, exchange.content_type = 200, answer.content_type
        await self._response.prepare(self._http)
        await self._hold()
        if self._breaks(plan):
            return await self._break(plan)
        waiting = answer.begin()
        for item in plan.items:
            waiting += answer.open(item)
            for index, piece in enumerate(item.pieces, 1):
                waiting += answer.piece(piece, last=index == len(item.pieces))
                await self._write(waiting)
                waiting = b""
                exchange.pieces_written += 1
                await self._hold()
                if self._breaks(plan):
                    return await self._break(plan)
            waiting += answer.close()
        await self._write(waiting + answer.end())
        await self._response.write_eof()
        self._over(ExchangeOutcome.COMPLETED)
        return self._response

    def _breaks(self, plan: Plan) -> bool:
        return plan.breaks is not None and plan.break_at <= self._exchange.pieces_written

    async def _hold(self) -> None:
        if self._exchange.wants_hold():
            await self._exchange.hold()

    async def _write(self, data: bytes) -> None:
        if data:
            await self._response.write(data)
            self._exchange.written.append(data)
            self._exchange.bytes_written += len(data)
        await asyncio.sleep(0)  # other cases have their turn, and an application that has gone is noticed

    async def _break(self, plan: Plan) -> web.StreamResponse:
        match plan.breaks:
            case Break.RESET:
                transport = self._http.transport
                if transport is not None:
                    await delivered(transport, _DELIVERY)
                return self._reset()
            case Break.STALL:
                await self._exchange.hold()
            case Break.ERROR:
                begun = b"" if self._exchange.pieces_written else self._answer.begin()
                await self._write(begun + self._answer.failure(plan.error_text))
        self._exchange.error_text = plan.error_text if plan.breaks is Break.ERROR else ""
        await self._response.write_eof()
        self._over(ExchangeOutcome.BROKEN)
        return self._response

    def _reset(self) -> web.StreamResponse:
        self._over(ExchangeOutcome.BROKEN)
        if self._http.transport is not None:
            reset(self._http.transport)
        return self._response

    def _closed(self) -> web.StreamResponse:
        """Close the connection without an answer."""
        self._over(ExchangeOutcome.BROKEN)
        if self._http.transport is not None:
            self._http.transport.close()
        return self._response
