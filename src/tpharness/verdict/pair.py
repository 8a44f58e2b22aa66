"""Which two targets a verdict is about."""

from __future__ import annotations

from dataclasses import dataclass

from tpharness.printable import without_credentials

__all__ = ["Pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The server and the client of a run, as named with `--server` and `--client`; prints without their tokens."""

    server: str
    client: str

    def __str__(self) -> str:
        return without_credentials(f"server {self.server}, client {self.client}")
