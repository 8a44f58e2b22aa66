"""The settings of a reference server. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["LARGE_RETURN", "Settings"]

LARGE_RETURN = 100 * 1024
"""Returns whose JSON is longer than this, in bytes, are stored beside the thread (ContentRef)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where threads are kept, who may ask, and the limits that keep one caller from using the machine up.

    `store` None keeps everything in memory; without `sync` a store outlives the process, and not a loss of power.
    `continues` is what a run does when its last reader disconnects and the request does not say. Sizes are bytes, times
    seconds.
    """

    store: Path | None = None
    sync: bool = True
    token: str | None = None
    continues: bool = True
    heartbeat: float = 15.0
    """Seconds without data after which a stream sends a comment (R35); the default is the guide's."""
    content_url: str = "tpharness:content"
    """What `content_ref.uri` begins with; `/<sha256>` follows. The default names the server that holds the thread."""
    allow_host: tuple[str, ...] = ()
    """Names beside those of this machine under which the server may be asked, and whose pages may ask."""
    receive_from: tuple[str, ...] = ()
    """Hosts (`HOST` or `HOST:PORT`) beside this machine from which the client's role may read streams."""
    allow_content: tuple[str, ...] = ()
    """Hosts from which the client's role may fetch the content of a `content_ref`; by default none."""
    unread_seconds: float = 60.0
    """Seconds after which a run that waits for its end is ended if it does not have a reader."""
    client_seconds: float = 35.0
    """Silence after which the client's role gives a stream up whose limits do not say; the default is the guide's."""
    head_seconds: float = 10.0
    """Seconds within which the head of a request has to arrive, from its first byte or the start of the connection."""
    body_seconds: float = 30.0
    """Seconds without a byte after which the body of a request is given up."""
    max_head: int = 64 * 1024
    max_connections: int = 40_000
    max_body: int = 64 * 1024 * 1024
    max_events: int = 100_000
    max_threads: int = 50_000
    max_runs: int = 20_000
    max_stream: int = 256 * 1024 * 1024
