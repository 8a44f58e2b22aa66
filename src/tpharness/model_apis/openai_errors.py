"""Errors as OpenAI answers them, in Chat Completions and in Responses."""

from __future__ import annotations

import re
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.server import ApiRefusal

__all__ = ["openai_error", "openai_refusal"]

_TYPES = {401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error", 429: "requests"}
_INDEX = re.compile(r"/(\d+)")
_NOTHING = ("", "nothing", None)


def openai_error(refusal: ApiRefusal) -> Any:
    """Return the error object of OpenAI's answers."""
    kind = _TYPES.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error")
    code = "rate_limit_exceeded" if refusal.status == 429 and refusal.code is None else refusal.code
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}}


def openai_refusal(finding: Finding, field: str) -> ApiRefusal:
    """Return a refusal for a value that is missing or of a wrong type: what stands at a JSON pointer below `field`."""
    param = field + _INDEX.sub(r"[\1]", finding.place.pointer or "").replace("/", ".")
    if finding.got in _NOTHING:
        return ApiRefusal(
            status=400,
            message=f"Missing required parameter: '{param}'.",
            param=param,
            code="missing_required_parameter",
        )
    what = finding.message.partition(": ")[2] or finding.message
    return ApiRefusal(status=400, message=f"Invalid value for '{param}': {what}.", param=param, code="invalid_value")
