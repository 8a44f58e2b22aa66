"""Refuse a request: every answer that is not a success is a `problem` of the contract."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tpharness.findings import shorten
from tpharness.wires.sse.writer import encode_json

__all__ = ["Refusal", "on_failure", "on_http_exception", "on_refusal", "problem"]

_MOST = 400


class Refusal(Exception):  # noqa: N818  # an answer, not an error of ours
    """A request that is refused: the HTTP status, what is wrong, and what to do."""

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint


def problem(status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that says what is wrong."""
    error = {"message": shorten(message, _MOST), **({"hint": hint} if hint else {})}
    return Response(encode_json({"error": error}), status, headers=dict(headers or {}), media_type="application/json")


async def on_refusal(request: Request, error: Exception) -> Response:
    """Answer a refusal."""
    del request
    if not isinstance(error, Refusal):
        return problem(500, str(error))
    headers = {"connection": "close"} if error.status == 408 else {}
    return problem(error.status, str(error), error.hint, headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer an error of the router: an unknown path or method."""
    if not isinstance(error, HTTPException):
        return problem(500, "the server failed")
    asked = shorten(f"{request.method} {request.url.path}", 120)
    hint = "GET /openapi.json has every path"
    return problem(error.status_code, f"{asked}: {error.detail}", hint, error.headers)


async def on_failure(request: Request, error: Exception) -> Response:
    """Answer a defect of this server without details; the log on standard error has the traceback."""
    del request, error
    return problem(500, "the server failed on this request", "its log says why; this is a defect of tpharness")
