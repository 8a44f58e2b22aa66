"""What a model API is to whoever serves it: reading a request, writing an answer, refusing. No I/O.

The folder of each API has one in its module `server`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tpharness.findings import Finding
from tpharness.model_apis.messages import HistoryMessage
from tpharness.model_apis.plan import Item, Plan
from tpharness.model_apis.rule import Options

__all__ = [
    "PREFIX",
    "AnswerWriter",
    "ApiRefusal",
    "ApiServer",
    "Incoming",
    "NamesErrors",
    "Request",
    "ServerOptions",
    "SideAnswer",
    "SideRequest",
    "not_an_object",
    "path_pattern",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as it came: its number, path without the query, whether the query asks for `alt=sse`, and its body."""

    number: int
    path: str
    sse: bool
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRefusal:
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
    refusal: ApiRefusal | None = None
    missing: tuple[str, ...] = ()
    output_schema: Any = None
    forced_tool: str | None = None


class AnswerWriter(Protocol):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What one run of an application decides: letters for ids that no other run has, and `keeps_unfinished`.

    `keeps_unfinished`: items of a stored answer that never completed can be referred to.
    """

    run: str
    keeps_unfinished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRequest:
    """A request that asks for no answer of a model: its method, path, headers, query, and `size` in bytes.

    `body` is the JSON object of its body, None where it has none; `models` are the models that answers of this API were
    asked of, in order.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    size: int
    body: Mapping[str, Any] | None = None
    models: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAnswer:
    """The JSON value that answers a side request."""

    value: Any


class ApiServer(Protocol):
    """One model API, as one run of an application meets it.

    `answers` matches the paths of the requests that a model answers. `failed_answer_is_status`: an answer that ends
    with an error, and is not streamed, is an error status.
    """

    answers: re.Pattern[str]
    failed_answer_is_status: bool

    def read(self, incoming: Incoming) -> Request:
        """Read a request; a body of any shape is read as far as it can be."""

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> AnswerWriter:
        """Return the answer of a plan to a request."""

    def error(self, refusal: ApiRefusal, number: int) -> Any:
        """Return the JSON body of an error."""

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:
        """Return how the API refuses a request for what a rule finds in it."""

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:
        """Answer what is not asked of a model, such as the list of models; None for what is not this API's."""


@runtime_checkable
class NamesErrors(Protocol):
    """An API that says in a header, too, which error it answers."""

    def error_headers(self, refusal: ApiRefusal) -> Mapping[str, str]:
        """Return the headers of an error."""


PREFIX = r"(?:/[\w.-]+)*?"
"""What may stand before a path: /v1, /v1beta, /openai/v1, /api, or nothing."""


def path_pattern(path: str) -> re.Pattern[str]:
    """Return what matches a path (a regular expression) with or without a version before it."""
    return re.compile(f"^{PREFIX}{path}$")


def not_an_object() -> ApiRefusal:
    """Return the refusal of a body that is not a JSON object."""
    return ApiRefusal(status=400, message="We could not parse the JSON body of your request: it is not a JSON object.")
