"""The APIs of models: one folder for each, and what all of them share. Nothing is sent to an API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.model_apis.append_only": ("check_append_only",),
        "tpharness.model_apis.check": ("check_payload",),
        "tpharness.model_apis.payloads": ("payload_of",),
        "tpharness.model_apis.registry": ("APIS", "API_NAMES", "ApiName", "find_api"),
        "tpharness.model_apis.request": ("ModelRequest", "read_request"),
        "tpharness.model_apis.rule": ("ApiRule", "Confidence", "Options"),
    },
)
