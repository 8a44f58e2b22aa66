"""A header as the command line has it."""

from __future__ import annotations

from tpharness.errors import UsageError
from tpharness.findings import shorten

__all__ = ["parse_header"]


def parse_header(text: str) -> tuple[str, str]:
    """Return name and value of a header. UsageError for another text."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"{shorten(text)} is not a header", hint="write 'Name: value'")
    return name.strip(), value.strip()
