"""A certificate is public: the address of a target is shown, and no secret in it."""

from __future__ import annotations

import pytest

from tpharness.certificate import describe_side
from tpharness.targets import Reference


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("https://me:s3cret-token@host/chat", "https://host/chat"),
        ("stdio:serve --api-key=s3cret-token", "stdio:serve --api-key=(left out)"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_addresses_are_shown_without_secrets(spec: str, shown: str) -> None:
    """Credentials of URLs, and what looks like a secret in a command."""
    assert describe_side(Reference(), spec, "server")["address"] == shown
