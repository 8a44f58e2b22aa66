"""What `tpharness run --server ag-ui+URL` posts, to whom, and how long it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tpharness.errors import UsageError
from tpharness.findings import shorten
from tpharness.printable import without_credentials
from tpharness.targets.endpoint import TOKEN_VARIABLE, is_loopback
from tpharness.targets.remote import Patience

__all__ = ["PREFIX", "PostOptions", "address_of"]

PREFIX = "ag-ui+"
"""What stands before the address of a server that has nothing but AG-UI."""

PROMPT = "Hello"
NEXT = "Thank you. Please answer only with: OK."


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOptions:
    """Where, what, and which cases.

    `prompts` are what the user says first, each in a chat of its own; `says_next` is what the user says in the turn
    after. `forwarded_props`, `state`, `tools` and `context` are sent as they are; `resume` is the payload that resolves
    an interrupt, None where none is to be resolved. `ids` are ids of cases or patterns, all when empty. `owned` is the
    host of `--i-own-this-host`. `record` keeps of each case what a trace needs.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    prompts: tuple[str, ...] = (PROMPT,)
    says_next: str = NEXT
    forwarded_props: Any = None
    state: Any = None
    tools: Sequence[Mapping[str, Any]] = ()
    context: Sequence[Mapping[str, Any]] = ()
    resume: Any = None
    patience: Patience = field(default_factory=Patience)
    ids: tuple[str, ...] = ()
    baseline: Path | None = None
    owned: str | None = None
    maxfail: int = 0
    record: bool = False

    def __post_init__(self) -> None:
        host = urlsplit(self.url).hostname or ""
        if not is_loopback(host) and self.owned != host:
            raise UsageError(
                f"{without_credentials(self.url)} is not on this machine, and the cases interrupt and repeat what the"
                " prompt leads to, tools too",
                hint=f"run the server here, or say that it is yours: --i-own-this-host {host}",
            )


def address_of(spec: str, environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the address in `ag-ui+http://[TOKEN@]HOST…` and the headers for its token. UsageError for another text."""
    text = spec.removeprefix(PREFIX)
    shown = shorten(without_credentials(text))
    try:
        parts = urlsplit(text)
        host, port, user = parts.hostname, parts.port, parts.username
    except ValueError as error:
        raise UsageError(f"{shown} is not an address: {error}", hint="write ag-ui+http://HOST:PORT/PATH") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{shown or '(empty)'} is not an address", hint="write ag-ui+http://HOST:PORT/PATH")
    if parts.password is not None:
        raise UsageError(
            f"{shown}: a name with a password is not supported", hint="give it with --header 'Authorization: Basic …'"
        )
    token = user or environment.get(TOKEN_VARIABLE, "")
    if not token.isascii() or not token.isprintable():
        raise UsageError(f"the token for {shown} contains characters that a header cannot carry")
    named = f"[{host}]" if ":" in host else host
    bare = parts._replace(netloc=named if port is None else f"{named}:{port}", fragment="").geturl()
    return bare, {"Authorization": f"Bearer {token}"} if token else {}
