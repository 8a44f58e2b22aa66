"""Would a model API accept this payload: every rule applied to a payload in the API's own format.

In: the API, its input as JSON values of any form, options. Out: findings. No payload makes this raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.acceptance import (
    anthropic_messages,
    responses_items,
    rules_anthropic,
    rules_anthropic_blocks,
    rules_chat,
    rules_gemini,
    rules_responses,
    rules_responses_items,
)
from tpharness.acceptance.provider import PROVIDERS, Provider
from tpharness.acceptance.rule import Options, Rule
from tpharness.acceptance.shape import PayloadEntry
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level

__all__ = ["RULES", "check_payload"]

_OPEN: Mapping[Provider, Callable[[Any], tuple[list[PayloadEntry], list[Finding]]]] = {
    "openai-chat": rules_chat.open_payload,
    "openai-responses": responses_items.open_payload,
    "anthropic": anthropic_messages.open_payload,
    "gemini": rules_gemini.open_payload,
}

RULES: tuple[Rule, ...] = (
    *rules_chat.RULES,
    *rules_responses.RULES,
    *rules_responses_items.RULES,
    *rules_anthropic.RULES,
    *rules_anthropic_blocks.RULES,
    *rules_gemini.RULES,
)
"""Every rule, in the order of its API and number."""


def check_payload(provider: Provider, payload: Any, *, options: Options | None = None) -> list[Finding]:
    """Return what the API would reject (MUST) or might reject (SHOULD), with JSON pointers into the payload.

    The payload is the list of messages (`openai-chat`), input items (`openai-responses`), messages or an object with
    `messages` and `system` (`anthropic`), contents or an object with `contents` (`gemini`). UsageError for another API.
    """
    if provider not in _OPEN:
        raise UsageError(f"no model API is called {provider!r}", hint=f"one of {', '.join(PROVIDERS)}")
    chosen = options or Options()
    entries, found = _OPEN[provider](payload)
    for rule in RULES:
        if rule.provider == provider and (rule.kind.level is not Level.MAY or chosen.observations):
            found.extend(rule.findings(entries, chosen))
    return found
