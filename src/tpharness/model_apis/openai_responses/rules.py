"""What OpenAI's Responses API accepts: every rule."""

from __future__ import annotations

from tpharness.model_apis.openai_responses import call_rules, item_rules
from tpharness.model_apis.openai_responses.items import open_payload

__all__ = ["RULES", "open_payload"]

RULES = (*call_rules.RULES, *item_rules.RULES)
