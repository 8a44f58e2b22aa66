"""OpenAI's Responses: errors, and what is stored. `reading` reads a request."""

from __future__ import annotations

from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.openai_errors import openai_error, openai_refusal
from tpharness.model_apis.openai_responses.answer import ResponsesAnswer
from tpharness.model_apis.openai_responses.item_store import ItemStore
from tpharness.model_apis.openai_responses.models import reasons
from tpharness.model_apis.openai_responses.reading import read_request
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.server import (
    ApiRefusal,
    Incoming,
    Request,
    ServerOptions,
    SideAnswer,
    SideRequest,
    path_pattern,
)
from tpharness.model_apis.shape import string, value_of

__all__ = ["ResponsesServer", "asks_for_thoughts", "make_server"]

_STORED = path_pattern("/responses/([^/]+)(/input_items)?")


class ResponsesServer:
    """Responses, with the store of its items."""

    answers = path_pattern("/responses")
    failed_answer_is_status = False

    def __init__(self, options: ServerOptions) -> None:
        self._run = options.run
        self.store = ItemStore(keeps_unfinished=options.keeps_unfinished)

    def read(self, incoming: Incoming) -> Request:
        """Read a request; references are looked up in the store."""
        return read_request(incoming, self.store)

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> ResponsesAnswer:
        """Return the answer of a plan."""
        return ResponsesAnswer(
            plan, body=incoming.body, request=request, token=f"{self._run}{incoming.number:06x}", store=self.store
        )

    def error(self, refusal: ApiRefusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return OpenAI's error object."""
        return openai_error(refusal)

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400; what the store does not have was refused when the request was read."""
        if finding.code.startswith("responses-"):
            return ApiRefusal(status=400, message=finding.message.partition(": ")[2], param="input")
        return openai_refusal(finding, "input")

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:
        """Answer requests for a stored response, its input, or its end."""
        found = _STORED.match(asked.path)
        if found is None or asked.method not in ("GET", "DELETE"):
            return None
        name, of_input = found[1], found[2]
        kept = self.store.responses.get(name)
        if kept is None:
            return ApiRefusal(status=404, message=f"Response with id '{name}' not found.")
        if asked.method == "DELETE":
            self.store.drop(name)
            return SideAnswer(value={"id": name, "object": "response", "deleted": True})
        if of_input:
            return SideAnswer(value={"object": "list", "data": list(kept.input), "has_more": False})
        return SideAnswer(value=kept.response)


make_server = ResponsesServer


def asks_for_thoughts(body: Any) -> bool:
    """Whether the request has `reasoning`, or the name of its model says that it reasons."""
    return value_of(body, "reasoning") is not None or reasons(string(body, "model") or "") is True
