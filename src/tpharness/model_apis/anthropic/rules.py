"""What Anthropic's Messages API accepts: every rule."""

from __future__ import annotations

from tpharness.model_apis.anthropic import block_rules, empty_rules, message_rules
from tpharness.model_apis.anthropic.messages import open_payload

__all__ = ["RULES", "open_payload"]

RULES = (*message_rules.RULES, *block_rules.RULES, *empty_rules.RULES)
