"""The environment that points SDKs and frameworks at a provider: base URLs and dummy keys, in every spelling."""

from __future__ import annotations

from tpharness.model_apis.registry import APIS

__all__ = ["environment"]

DUMMY_KEY = "sk-tpharness-0000000000000000000000000000000000000000"


def environment(base: str) -> dict[str, str]:
    """Return variables for a provider at `base` (scheme, host and port).

    NO_PROXY keeps the requests from a proxy that the environment may name.
    """
    return {
        **{
            name: value.format(base=base, key=DUMMY_KEY)
            for api in APIS.values()
            for name, value in api.environment.items()
        },
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
