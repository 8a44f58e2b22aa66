"""Every kind of finding that a command can print: the catalogue, and what the commands find themselves."""

from __future__ import annotations

from collections.abc import Mapping

from tpharness import causes
from tpharness.catalogue import all_kinds
from tpharness.cli import check, fold
from tpharness.findings import Kind

__all__ = ["known_kinds"]


def known_kinds() -> Mapping[str, Kind]:
    """Return every kind by its code, in order of codes."""
    return dict(
        sorted({**all_kinds(), **{kind.code: kind for kind in (*check.KINDS, *fold.KINDS, *causes.KINDS)}}.items())
    )
