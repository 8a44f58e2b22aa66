"""Dialects: ways to render a journal as a document."""

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
