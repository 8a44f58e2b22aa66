"""Dialects: ways to render a journal as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.dialects.contract import Dialect, Renderer, ThreadHeader, make_registry
    from tpharness.dialects.thread import DIALECTS, ThreadDialect, ThreadRenderer

__all__ = [
    "DIALECTS",
    "Dialect",
    "Renderer",
    "ThreadDialect",
    "ThreadHeader",
    "ThreadRenderer",
    "make_registry",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.dialects.contract": (
            "Dialect",
            "Renderer",
            "ThreadHeader",
            "make_registry",
        ),
        "tpharness.dialects.thread": (
            "DIALECTS",
            "ThreadDialect",
            "ThreadRenderer",
        ),
    },
)
