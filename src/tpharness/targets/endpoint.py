"""Where an HTTP target is: the address of its control contract, and the token for it."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass

from yarl import URL

from tpharness.errors import UsageError
from tpharness.findings import shorten

__all__ = ["TOKEN_VARIABLE", "Endpoint", "is_loopback"]

TOKEN_VARIABLE = "TPHARNESS_TOKEN"  # noqa: S105  # the name of the variable, not what it holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a target is: a base URL without a slash at its end, and the token for it. Prints without the token.

    `relay`: a relay with faults is in between, so errors are not examined with another connection. `alone`: each
    request has a connection of its own. `silence`: seconds without a byte after which a read fails, the usual time if
    None.
    """

    base: str
    token: str = ""
    relay: bool = False
    alone: bool = False
    silence: float | None = None

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Read `http://[TOKEN@]HOST:PORT[/base]`; TPHARNESS_TOKEN is the default token. UsageError for another text."""
        try:
            url = URL(text)
            host, port, user, password = url.host, url.port, url.user, url.password
        except (ValueError, UnicodeError) as error:
            raise UsageError(f"{shorten(text)} is not an address: {error}", hint="write http://HOST:PORT") from None
        shown = str(url.with_user(None)) if host else text
        if url.scheme not in ("http", "https") or not host or not port:
            raise UsageError(f"{shorten(shown)} is not the address of a server", hint="write http://HOST:PORT[/base]")
        if url.query_string or url.fragment:
            raise UsageError(f"{shorten(shown)}: a base address must not have a query or a fragment")
        if password is not None:
            raise UsageError(
                f"{shorten(shown)}: a name with a password is not supported", hint="write http://TOKEN@HOST"
            )
        token = user or os.environ.get(TOKEN_VARIABLE, "")
        if not token.isascii() or not token.isprintable():
            raise UsageError(f"the token for {shorten(shown)} contains characters that a header cannot carry")
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


def is_loopback(host: str) -> bool:
    """Whether a host is this machine for certain."""
    if host in ("127.0.0.1", "localhost"):  # by far the most frequent, asked about with each request to `serve`
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
