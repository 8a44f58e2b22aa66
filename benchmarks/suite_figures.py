"""The figures of whole runs: the suite, HTTP, processes, mutation."""

from __future__ import annotations

__all__: list[str] = []
