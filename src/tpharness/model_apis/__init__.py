"""The APIs of models: one folder for each, and what all of them share. Nothing is sent to an API."""

from tpharness.model_apis.append_only import check_append_only
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.payloads import payload_of
from tpharness.model_apis.registry import API_NAMES, APIS, ApiName, find_api
from tpharness.model_apis.request import ModelRequest, read_request
from tpharness.model_apis.rule import ApiRule, Confidence, Options

__all__ = [
    "APIS",
    "API_NAMES",
    "ApiName",
    "ApiRule",
    "Confidence",
    "ModelRequest",
    "Options",
    "check_append_only",
    "check_payload",
    "find_api",
    "payload_of",
    "read_request",
]
