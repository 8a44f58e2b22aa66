"""Who may ask: decided from the headers of a request, before anything else is read.

A page of a browser can make requests to this machine, and can give its own name this machine's address. So a server
without a token answers only for the names that it was started for, and no server answers a page of another host.
"""

from __future__ import annotations

import hmac
import re
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tpharness.findings import shorten
from tpharness.reference_app import refusal
from tpharness.reference_app.settings import Settings
from tpharness.targets.endpoint import is_loopback

__all__ = ["Gate"]

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+,;=-]+)(?::[0-9]{0,5})?")
"""A host and a port as a URL has them (RFC 3986 3.2.2)."""
_ALLOW = "start the server with --allow-host"


class Gate:
    """Checks host, origin and token of a request, and gives the application undecoded paths."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._most = settings.max_head
        self._hosts = frozenset(host.lower() for host in settings.allow_host)
        self._expected = None if settings.token is None else f"Bearer {settings.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with 401 or 403."""
        if scope["type"] == "http":
            refused = self._refusal(scope)
            if refused is not None:
                await refused(scope, receive, send)
                return
            raw = scope.get("raw_path") or scope["path"].encode()
            scope = {**scope, "path": raw.decode("ascii", "replace")}
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        given = scope["headers"]
        if sum(len(name) + len(value) for name, value in given) > self._most:  # of a head that came in one read
            return refusal.problem(431, f"the head has more than {self._most} bytes")
        hosts = [value.decode("latin-1") for name, value in given if name == b"host"]
        wrong = _find_wrong_host(hosts, required=scope["http_version"] != "1.0")
        if wrong:
            return refusal.problem(400, wrong, "send one header Host with the host and port of the address")
        headers = dict(given)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_known(origin.decode("latin-1")):
            said = shorten(origin.decode("latin-1"), 80)
            return refusal.problem(403, f"pages of {said} may not use this server", f"{_ALLOW}, if they should")
        host = "".join(hosts)
        if self._expected is None and host and not self._is_known(f"//{host}"):
            hint = f"ask for 127.0.0.1, or {_ALLOW} or with a token"
            return refusal.problem(403, f"this server is not known as {shorten(host, 80)}", hint)
        if self._expected is not None and not self._has_token(headers.get(b"authorization", b"")):
            hint = "send Authorization: Bearer TOKEN, with the token that the server was started with"
            return refusal.problem(401, "this server requires a token", hint, {"www-authenticate": "Bearer"})
        return None

    def _is_known(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        host = parts.hostname or ""
        if "@" in parts.netloc:
            return False
        return is_loopback(host) or host in self._hosts

    def _has_token(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        said = b"Bearer " + token.strip() if scheme.lower() == b"bearer" else b""
        return hmac.compare_digest(said, self._expected or b"")


def _find_wrong_host(hosts: list[str], *, required: bool) -> str:
    """Return what is wrong with the headers `Host` of a request (RFC 9112 3.2); "" if nothing is.

    Another reader of the same request may take the first of two, or what stands before an `@`.
    """
    if len(hosts) > 1:
        return f"the request has {len(hosts)} headers Host"
    if required and not hosts:
        return "the request does not have a header Host"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return f"Host is {shorten(hosts[0], 80)}, which is not a host and a port"
    return ""
