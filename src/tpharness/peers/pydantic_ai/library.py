"""What Pydantic AI does not have in every release, in one place: the rest of the peer asks here.

A release that lacks something plays what it can; what it cannot is refused with the name of what it lacks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib.metadata import version as package_version
from typing import Any

import pydantic_ai
from pydantic_ai import exceptions

from tpharness.targets.remote import CannotPlayError

__all__ = [
    "RELEASE",
    "RunCancelled",
    "adapter_options",
    "make_token",
    "require",
    "tool_call_events",
    "tool_failed",
]

RELEASE = package_version("pydantic-ai-slim")


class _NeverRaisedError(BaseException):
    """Stands for an exception that this release does not have."""


_TOKEN: Callable[[], Any] | None = getattr(pydantic_ai, "CancellationToken", None)
_TOOL_FAILED: Callable[[str], Exception] | None = getattr(exceptions, "ToolFailed", None)
RunCancelled: type[BaseException] = getattr(pydantic_ai, "RunCancelled", _NeverRaisedError)


def make_token() -> Any | None:
    """Return a token by which a run can be cancelled, None where the release has none."""
    return None if _TOKEN is None else _TOKEN()


def require(*, token: bool = False, tool_failed: bool = False) -> None:
    """Raise CannotPlayError for what this release lacks: a way to cancel a run, a way for a tool to fail."""
    if token and _TOKEN is None:
        raise CannotPlayError(f"a stop that the stream reports: Pydantic AI {RELEASE} has no CancellationToken")
    if tool_failed and _TOOL_FAILED is None:
        raise CannotPlayError(f"a tool that fails: Pydantic AI {RELEASE} has no ToolFailed")


def tool_failed(text: str) -> Exception:
    """Return what a tool raises to say that it has failed."""
    require(tool_failed=True)
    if _TOOL_FAILED is None:
        raise AssertionError(RELEASE)
    return _TOOL_FAILED(text)


def adapter_options(adapter: Callable[..., Any], **wanted: Any) -> dict[str, Any]:
    """Return those of an adapter's options that it has in this release.

    Before `manage_message_history` the adapter always did what "server" says: it appended the messages of the request
    to the history that it was given.
    """
    known = inspect.signature(adapter).parameters
    return {name: value for name, value in wanted.items() if name in known}


def tool_call_events(parts: Any, **delta: Any) -> Iterator[Any]:
    """Yield the events of a piece of a call: several in newer releases, one or none in older ones."""
    several = getattr(parts, "handle_tool_call_delta_events", None)
    if several is not None:
        yield from several(**delta)
        return
    event = parts.handle_tool_call_delta(**delta)
    if event is not None:
        yield event
