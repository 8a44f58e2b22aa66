"""What changes when the bytes of a document or of its result change."""

from __future__ import annotations

import hashlib

__all__ = ["digest_of"]


def digest_of(data: bytes) -> str:
    """Return the digest of bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
