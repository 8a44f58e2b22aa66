"""What a reference server is told when it starts. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpharness.monitor import Timeouts

__all__ = ["LARGE_RETURN", "Settings"]

LARGE_RETURN = 100 * 1024
"""Returns whose JSON is longer than this, in bytes, are stored beside the thread (ContentRef)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where threads are kept, who may ask, and the limits that keep one caller from using the machine up.

    `store` None keeps everything in memory. `continues` is what a run does when its last reader goes away and the
    request does not say. Sizes are bytes, times seconds.
    """

    store: Path | None = None
    token: str | None = None
    continues: bool = True
    heartbeat: float = Timeouts().heartbeat
    content_url: str = "tpharness:content"
    """What `content_ref.uri` begins with; `/<sha256>` follows. The default names the server that holds the thread."""
    allow_content: tuple[str, ...] = ()
    """Hosts from which the client's role may fetch what a `content_ref` names; none by default."""
    unread_seconds: float = 60.0
    """A run that waits for its end and that nobody reads is given up after this."""
    client_seconds: float = Timeouts().client_stream
    """Silence after which the client's role gives a stream up whose limits do not say."""
    max_body: int = 64 * 1024 * 1024
    max_events: int = 100_000
    max_threads: int = 50_000
    max_runs: int = 20_000
    max_stream: int = 256 * 1024 * 1024
