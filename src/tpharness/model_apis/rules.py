"""Every rule of every model API."""

from __future__ import annotations

from tpharness.model_apis.registry import APIS
from tpharness.model_apis.rule import ApiRule

__all__ = ["RULES"]

RULES: tuple[ApiRule, ...] = tuple(rule for api in APIS.values() for rule in api.acceptance.RULES)
"""Every rule, in the order of its API and number."""
