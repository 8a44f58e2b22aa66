"""Where an HTTP target is: the address of its control contract, and the token that it wants."""

from __future__ import annotations

import os
from dataclasses import dataclass

from yarl import URL

from tpharness.errors import UsageError
from tpharness.findings import shorten

__all__ = ["TOKEN_VARIABLE", "Endpoint"]

TOKEN_VARIABLE = "TPHARNESS_TOKEN"  # noqa: S105  # the name of the variable, not what it holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a target is: a base URL without a slash at its end, and the token it wants. Prints without the token.

    `relay` says that faults are made on the way, so that what breaks is not looked into with another connection;
    `silence`, in seconds, is how long that is listened to without hearing anything, the usual time when None.
    """

    base: str
    token: str = ""
    relay: bool = False
    silence: float | None = None

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Read `http://[TOKEN@]HOST:PORT[/base]`; TPHARNESS_TOKEN is the token otherwise. UsageError if it is none."""
        try:
            url = URL(text)
            host, port, user, password = url.host, url.port, url.user, url.password
        except (ValueError, UnicodeError) as error:
            raise UsageError(f"{shorten(text)} is no address: {error}", hint="write http://HOST:PORT") from None
        shown = str(url.with_user(None)) if host else text
        if url.scheme not in ("http", "https") or not host or not port:
            raise UsageError(f"{shorten(shown)} is no address of a server", hint="write http://HOST:PORT[/base]")
        if url.query_string or url.fragment:
            raise UsageError(f"{shorten(shown)}: a base address has no query and no fragment")
        if password is not None:
            raise UsageError(
                f"{shorten(shown)}: a name and a password are not spoken here", hint="write http://TOKEN@HOST"
            )
        token = user or os.environ.get(TOKEN_VARIABLE, "")
        if not token.isascii() or not token.isprintable():
            raise UsageError(f"the token for {shorten(shown)} holds characters that no header can carry")
        return cls(base=shown.rstrip("/"), token=token)

    def __str__(self) -> str:
        return self.base

    def url(self, path: str) -> URL:
        """Return the address of a path; what in it needs to be escaped is escaped already."""
        return URL(self.base + path, encoded=True)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}
