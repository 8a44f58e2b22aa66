"""Whether a model API would accept a history, judged by its payload alone: nothing is sent to an API."""

from tpharness.acceptance.append_only import check_append_only
from tpharness.acceptance.check import RULES, check_payload
from tpharness.acceptance.payloads import payload_of
from tpharness.acceptance.provider import PROVIDERS, Provider
from tpharness.acceptance.request import ModelRequest, read_request
from tpharness.acceptance.rule import Confidence, Options, Rule

__all__ = [
    "PROVIDERS",
    "RULES",
    "Confidence",
    "ModelRequest",
    "Options",
    "Provider",
    "Rule",
    "check_append_only",
    "check_payload",
    "payload_of",
    "read_request",
]
