"""Who may ask: decided from the headers of a request, before anything else is read.

A page of a browser can make requests to this machine, and can give its own name this machine's address. So a server
without a token answers only for the names that it was started for, and no server answers a page of another host.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tpharness.findings import shorten
from tpharness.reference_app import refusal
from tpharness.reference_app.settings import Settings
from tpharness.targets.endpoint import is_loopback

__all__ = ["Gate"]

_ALLOW = "start the server with --allow-host"


class Gate:
    """Checks host, origin and token of a request, and gives the application undecoded paths."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in settings.allow_host)
        self._expected = None if settings.token is None else f"Bearer {settings.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with 401 or 403."""
        if scope["type"] == "http":
            refused = self._refusal(dict(scope["headers"]))
            if refused is not None:
                await refused(scope, receive, send)
                return
            raw = scope.get("raw_path") or scope["path"].encode()
            scope = {**scope, "path": raw.decode("ascii", "replace")}
        await self._app(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> Response | None:
        origin = headers.get(b"origin")
        if origin is not None and not self._is_known(origin.decode("latin-1")):
            said = shorten(origin.decode("latin-1"), 80)
            return refusal.problem(403, f"pages of {said} may not use this server", f"{_ALLOW}, if they should")
        host = headers.get(b"host", b"").decode("latin-1")
        if self._expected is None and host and not self._is_known(f"//{host}"):
            hint = f"ask for 127.0.0.1, or {_ALLOW} or with a token"
            return refusal.problem(403, f"this server is not known as {shorten(host, 80)}", hint)
        if self._expected is not None and not self._has_token(headers.get(b"authorization", b"")):
            hint = "send Authorization: Bearer TOKEN, with the token that the server was started with"
            return refusal.problem(401, "this server requires a token", hint, {"www-authenticate": "Bearer"})
        return None

    def _is_known(self, url: str) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return is_loopback(host) or host in self._hosts

    def _has_token(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        said = b"Bearer " + token.strip() if scheme.lower() == b"bearer" else b""
        return hmac.compare_digest(said, self._expected or b"")
