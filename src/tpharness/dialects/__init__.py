"""Dialects: ways to render a journal as a document."""

from tpharness.dialects.contract import Dialect, Renderer, ThreadHeader
from tpharness.dialects.thread import DIALECTS, ThreadDialect, ThreadRenderer

__all__ = [
    "DIALECTS",
    "Dialect",
    "Renderer",
    "ThreadDialect",
    "ThreadHeader",
    "ThreadRenderer",
]
