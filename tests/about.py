"""A test that plays many inputs says which of them an error is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["about"]


@contextmanager
def about(subject: object) -> Iterator[None]:
    """Add to whatever is raised inside which input it is about, as a note that pytest prints below the error."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"this is about {subject}")
        raise
