"""Messages → the input of a model API, as Pydantic AI's model classes would send them.

In: messages shaped as Pydantic AI's, such as `model_history(…).messages`, and the next user message. Out: JSON values
in the API's own format. Consecutive requests are joined, results first. Nothing is repaired, so that what an API would
reject can be found. Tools that a provider runs itself and their results are left out, because they need the provider's
own state. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpharness.errors import UsageError
from tpharness.model_apis.anthropic.history import anthropic_payload
from tpharness.model_apis.gemini.history import gemini_payload
from tpharness.model_apis.history_parts import merge_messages
from tpharness.model_apis.names import API_NAMES, ApiName
from tpharness.model_apis.openai_chat.history import chat_payload
from tpharness.model_apis.openai_responses.history import responses_payload

__all__ = ["payload_of"]

_WRITERS: Mapping[ApiName, Callable[[list[dict[str, Any]]], Any]] = {
    "openai-chat": chat_payload,
    "openai-responses": responses_payload,
    "anthropic": anthropic_payload,
    "gemini": gemini_payload,
}


def payload_of(provider: ApiName, messages: Sequence[Mapping[str, Any]], *, next_user: str | None = None) -> Any:
    """Return the input for the API: a list of messages (`openai-chat`) or of items (`openai-responses`).

    For `anthropic` an object with `messages` and, if there is a system prompt, `system`; for `gemini` one with
    `contents` and, if there is one, `system_instruction`. `next_user` is added at the end. UsageError for another API,
    and for a file that this API does not accept in any form.
    """
    if provider not in _WRITERS:
        raise UsageError(f"no model API is called {provider!r}", hint=f"one of {', '.join(API_NAMES)}")
    more = [] if next_user is None else [{"kind": "request", "parts": [_prompt(next_user)]}]
    return _WRITERS[provider](merge_messages([*messages, *more]))


def _prompt(text: str) -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": text}
