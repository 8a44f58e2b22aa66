"""Calls of request profiles and translators, which may be the user's own: what they raise is an error about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tpharness.errors import UsageError

__all__ = ["StreamRefusedError", "calling"]


class StreamRefusedError(Exception):
    """A translator raises it where the client of its wire ends the stream with an error; the text says why."""


@contextlib.contextmanager
def calling(owner: object, method: str) -> Iterator[None]:
    """Raise UsageError with the name of the method for anything that is raised while it is called and read."""
    try:
        yield
    except StreamRefusedError:
        raise
    except Exception as error:  # foreign code may raise anything
        kind = type(owner)
        raise UsageError(
            f"{kind.__module__}.{kind.__qualname__}.{method} cannot be used: {type(error).__name__}: {error}",
            hint="body(chat, trigger) returns a dict of JSON values, translator() None or an object whose feed(data)"
            " returns chunks, thread(chat) JSON values; see tpharness docs APPLICATIONS",
        ) from error
