"""Whether a stored content is the one that a `content_ref` names (R56). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.printable import counted

__all__ = ["find_mismatch"]


def find_mismatch(reference: Mapping[str, Any], *, digest: str, size: int) -> str:
    """Return how bytes with this SHA-256 (64 lower-case hex digits) and size depart from a reference, "" if they match.

    What the reference does not name is not compared. A hash that is not `sha256:` or bare digits matches nothing (R6).
    """
    named, named_size = reference.get("hash"), reference.get("size_bytes")
    if named is not None and str(named).removeprefix("sha256:").lower() != digest:
        return f"its bytes have the hash sha256:{digest}"
    if named_size is not None and named_size != size:
        return f"it has {counted(size, 'byte')}"
    return ""
