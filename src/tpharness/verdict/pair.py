"""Which two targets a verdict is about."""

from __future__ import annotations

from dataclasses import dataclass

from tpharness.printable import without_credentials

__all__ = ["Pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The server and the client of a run, as named with `--server` and `--client`; prints without their tokens.

    `wire` names what runs between them where a run has several, "" where it has one.
    """

    server: str
    client: str
    wire: str = ""

    def __str__(self) -> str:
        over = f" over {self.wire}" if self.wire else ""
        return without_credentials(f"server {self.server}, client {self.client}{over}")
