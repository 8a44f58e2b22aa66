"""What a model API is to the provider: reading a request, writing a plan, refusing.

`ChatApi`, `ResponsesApi`, `AnthropicApi` and `GeminiApi` are the four; each has a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tpharness.findings import Finding
from tpharness.model_apis.messages import HistoryMessage
from tpharness.model_apis.names import ApiName
from tpharness.model_apis.plan import Item, Plan
from tpharness.model_apis.rule import Options

__all__ = ["Answer", "ApiServer", "Incoming", "Refusal", "Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as it came: its number, path without the query, whether the query asks for `alt=sse`, and its body."""

    number: int
    path: str
    sse: bool
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error as the API answers it: the HTTP status, its text, and OpenAI's `param` and `code`."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it was read.

    `payload` and `options` are what `check_payload` judges; `findings` what only this API's server can know
    (items that it does not have, signatures that it did not give), and `refusal` what it answers because of that.
    `output_schema` is the JSON Schema that the answer has to fit, None for plain text; `forced_tool` names the tool
    that has to be called.
    """

    model: str
    stream: bool
    history: tuple[HistoryMessage, ...]
    tools: Mapping[str, Any] = field(default_factory=dict)
    payload: Any = None
    options: Options = field(default_factory=Options)
    findings: tuple[Finding, ...] = ()
    refusal: Refusal | None = None
    missing: tuple[str, ...] = ()
    output_schema: Any = None
    forced_tool: str | None = None


class Answer(Protocol):
    """One answer in the bytes of an API; it knows what it has written.

    A stream is `begin`, then for each item `open`, `piece` for each of its pieces, `close`, then `end`. `failure` may
    come at any place after `begin`. `whole` is the answer to a request without streaming.
    """

    content_type: str

    def begin(self) -> bytes:
        """Return what stands before the first item."""

    def open(self, item: Item) -> bytes:
        """Return what begins an item."""

    def piece(self, text: str, *, last: bool) -> bytes:
        """Return the next piece of the open item; `last` says that the item has no more."""

    def close(self) -> bytes:
        """Return what ends the open item."""

    def end(self) -> bytes:
        """Return what ends the answer: reason and usage."""

    def failure(self, text: str) -> bytes:
        """Return the API's error event."""

    def whole(self) -> Any:
        """Return the answer as one JSON value."""

    def over(self, *, complete: bool) -> None:
        """Note that nothing more is written, and whether all of it was: a store keeps complete answers."""


class ApiServer(Protocol):
    """One model API."""

    api: ApiName

    def read(self, incoming: Incoming) -> Request:
        """Read a request; a body of any shape is read as far as it can be."""

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> Answer:
        """Return the answer of a plan to a request."""

    def error(self, refusal: Refusal, number: int) -> Any:
        """Return the JSON body of an error."""

    def refuse(self, finding: Finding, request: Request) -> Refusal:
        """Return how the API refuses a request for what a rule finds in it."""
