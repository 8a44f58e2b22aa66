"""Which request means what: the paths of four APIs, with and without a version before them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tpharness.model_apis.names import ApiName

__all__ = ["Action", "Route", "find_route"]

_PREFIX = r"(?:/[\w.-]+)*?"  # /v1, /v1beta, /openai/v1, /api, or nothing
_ANSWERS: tuple[tuple[re.Pattern[str], ApiName], ...] = (
    (re.compile(rf"^{_PREFIX}/chat/completions$"), "openai-chat"),
    (re.compile(rf"^{_PREFIX}/responses$"), "openai-responses"),
    (re.compile(rf"^{_PREFIX}/messages$"), "anthropic"),
    (re.compile(rf"^{_PREFIX}/models/[^/:]+:(?:streamGenerateContent|generateContent)$"), "gemini"),
)
_COUNTS: tuple[tuple[re.Pattern[str], ApiName], ...] = (
    (re.compile(rf"^{_PREFIX}/messages/count_tokens$"), "anthropic"),
    (re.compile(rf"^{_PREFIX}/models/[^/:]+:countTokens$"), "gemini"),
)
_STORED = re.compile(rf"^{_PREFIX}/responses/([^/]+)(/input_items)?$")
_MODELS = re.compile(rf"^{_PREFIX}/models(?:/([^:]+))?$")


class Action(Enum):
    """What is asked for."""

    ANSWER = "answer"
    COUNT = "count"
    STORED = "stored"
    STORED_INPUT = "stored input"
    MODELS = "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What is asked for, of which API; `name` is the id of a stored response or of a model, "" where none is named."""

    action: Action
    api: ApiName
    name: str = ""


def find_route(method: str, path: str, headers: Mapping[str, str], query: Mapping[str, str]) -> Route | None:
    """Return what a request asks for, None where nothing is served. A slash at the end does not matter."""
    path = re.sub(r"//+", "/", path).rstrip("/")
    if method == "POST":
        for action, patterns in ((Action.ANSWER, _ANSWERS), (Action.COUNT, _COUNTS)):
            for pattern, api in patterns:
                if pattern.match(path):
                    return Route(action=action, api=api)
    stored = _STORED.match(path)
    if stored is not None and method in ("GET", "DELETE"):
        action = Action.STORED_INPUT if stored[2] else Action.STORED
        return Route(action=action, api="openai-responses", name=stored[1])
    models = _MODELS.match(path)
    if models is not None and method == "GET":
        return Route(action=Action.MODELS, api=guess_api(path, headers, query), name=models[1] or "")
    return None


def guess_api(path: str, headers: Mapping[str, str], query: Mapping[str, str]) -> ApiName:
    """Return whose API a request means whose path does not say it: each has its own header for the key."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return "anthropic"
    if "x-goog-api-key" in headers or "key" in query or path.startswith(("/v1beta", "/v1alpha")):
        return "gemini"
    return "openai-chat"
