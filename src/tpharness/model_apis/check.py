"""Would a model API accept this payload: every rule applied to a payload in the API's own format.

In: the API, its input as JSON values of any form, options. Out: findings. No payload makes this raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.errors import UsageError
from tpharness.findings import Finding, Level
from tpharness.model_apis.anthropic import block_rules as anthropic_block_rules
from tpharness.model_apis.anthropic import messages as anthropic_messages
from tpharness.model_apis.anthropic import rules as anthropic_rules
from tpharness.model_apis.gemini import rules as gemini_rules
from tpharness.model_apis.names import API_NAMES, ApiName
from tpharness.model_apis.openai_chat import rules as chat_rules
from tpharness.model_apis.openai_responses import item_rules as responses_item_rules
from tpharness.model_apis.openai_responses import items as responses_items
from tpharness.model_apis.openai_responses import rules as responses_rules
from tpharness.model_apis.rule import Options, Rule
from tpharness.model_apis.shape import PayloadEntry

__all__ = ["RULES", "check_payload"]

_OPEN: Mapping[ApiName, Callable[[Any], tuple[list[PayloadEntry], list[Finding]]]] = {
    "openai-chat": chat_rules.open_payload,
    "openai-responses": responses_items.open_payload,
    "anthropic": anthropic_messages.open_payload,
    "gemini": gemini_rules.open_payload,
}

RULES: tuple[Rule, ...] = (
    *chat_rules.RULES,
    *responses_rules.RULES,
    *responses_item_rules.RULES,
    *anthropic_rules.RULES,
    *anthropic_block_rules.RULES,
    *gemini_rules.RULES,
)
"""Every rule, in the order of its API and number."""


def check_payload(provider: ApiName, payload: Any, *, options: Options | None = None) -> list[Finding]:
    """Return what the API would reject (MUST) or might reject (SHOULD), with JSON pointers into the payload.

    The payload is the list of messages (`openai-chat`), input items (`openai-responses`), messages or an object with
    `messages` and `system` (`anthropic`), contents or an object with `contents` (`gemini`). UsageError for another API.
    """
    if provider not in _OPEN:
        raise UsageError(f"no model API is called {provider!r}", hint=f"one of {', '.join(API_NAMES)}")
    chosen = options or Options()
    entries, found = _OPEN[provider](payload)
    for rule in RULES:
        if rule.provider == provider and (rule.kind.level is not Level.MAY or chosen.observations):
            found.extend(rule.findings(entries, chosen))
    return found
