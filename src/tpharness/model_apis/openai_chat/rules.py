"""What OpenAI's Chat Completions API and other servers of it accept: every rule."""

from __future__ import annotations

from tpharness.model_apis.openai_chat import field_rules, message_rules, server_rules, strict_rules
from tpharness.model_apis.openai_chat.message_rules import open_payload

__all__ = ["RULES", "open_payload"]

RULES = (*message_rules.RULES, *server_rules.RULES, *field_rules.RULES, *strict_rules.RULES)
