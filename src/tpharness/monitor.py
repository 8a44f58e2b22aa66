"""Monitors decide when silence or an end is an interruption. Sans-IO: times are passed in, in seconds.

They are the guide's two detectors, with its timeouts as defaults. A monitor knows nothing of sockets or events: its
caller reports what arrived and when the stream closed, and asks for the reason. The first reason stands (R26).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ClientMonitor", "ServerMonitor", "Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The guide's recommended timeouts, in seconds."""

    server_stream: float = 30.0
    """Seconds without a model event after which the server interrupts the turn."""
    client_stream: float = 35.0
    """Seconds without any data after which the client interrupts the turn; slightly more than the server's."""
    max_reconnects: int = 3
    """Attempts one after the other that bring nothing new, after which a client gives a stream up."""
    heartbeat: float = 15.0
    """Seconds between the comments or pings of a server that has nothing else to send."""

    @property
    def heartbeat_lost(self) -> float:
        """The seconds without a heartbeat after which the connection counts as lost: two intervals."""
        return self.heartbeat * 2


class _Monitor:
    """The behaviour of both monitors: the first reason stands, and the end of the turn ends monitoring."""

    def __init__(self, now: float, timeouts: Timeouts | None = None) -> None:
        self.timeouts = timeouts or Timeouts()
        self.last_event = now
        self._reason: str | None = None
        self._ended = False

    def event(self, now: float) -> None:
        """Something of the run arrived."""
        if not self._over(now):
            self.last_event = now

    def ended(self) -> None:
        """The run ended regularly: nothing after this is an interruption (R26)."""
        self._ended = True

    def error(self) -> None:
        """The model, a tool or the system failed."""
        self._settle("error")

    def finish_reason(self, reason: str | None) -> None:
        """The model said why it stopped: a content filter is a safety halt (R27)."""
        if reason in ("content_filter", "content-filter", "safety_filter"):
            self._settle("safety_halt")

    def reason(self, now: float) -> str | None:
        """Return the reason for which the run is interrupted at this time, None if it is not."""
        self._over(now)
        return self._reason

    def _settle(self, reason: str) -> None:
        if not self._ended and self._reason is None:
            self._reason = reason

    def _over(self, now: float) -> bool:
        raise NotImplementedError


class ServerMonitor(_Monitor):
    """Watches the model's events on the server."""

    def __init__(self, now: float, timeouts: Timeouts | None = None) -> None:
        super().__init__(now, timeouts)
        self._sent = now

    def cancel(self) -> None:
        """The user asked to stop."""
        self._settle("user_cancelled")

    def disconnected(self) -> None:
        """The client disconnected, and the server stops the run."""
        self._settle("network_failure")

    def sent(self, now: float) -> None:
        """Data was sent to the client, which may be a heartbeat."""
        self._sent = now

    def heartbeat_due(self, now: float) -> bool:
        """Whether it is time to send a heartbeat."""
        quiet = now - self._sent
        return quiet >= self.timeouts.heartbeat and not self._ended and self._reason is None

    def next_deadline(self) -> float:
        """Return the time at which silence becomes an interruption."""
        return self.last_event + self.timeouts.server_stream

    def _over(self, now: float) -> bool:
        if now - self.last_event > self.timeouts.server_stream:
            self._settle("timeout")
        return self._reason is not None


class ClientMonitor(_Monitor):
    """Watches a stream on the client. A heartbeat proves that the connection lives, so the stream is kept (R55)."""

    def __init__(self, now: float, timeouts: Timeouts | None = None) -> None:
        super().__init__(now, timeouts)
        self._sign = now

    def event(self, now: float) -> None:
        """A chunk arrived."""
        super().event(now)
        self.heartbeat(now)

    def heartbeat(self, now: float) -> None:
        """A comment or a ping arrived (R35)."""
        if not self._over(now):
            self._sign = now

    def alive(self, now: float) -> bool:
        """Whether data or a heartbeat arrived within two heartbeat intervals."""
        return now - self._sign < self.timeouts.heartbeat_lost

    def stop(self) -> None:
        """The user pressed stop."""
        self._settle("user_cancelled")

    def closed(self, *, open_parts: int = 0) -> None:
        """The stream closed without `finish` or `abort`.

        The guide's `incomplete_stream`, parts with a start and no end, is recorded as `network_failure` too (R27).
        """
        del open_parts
        self._settle("network_failure")

    def next_deadline(self) -> float:
        """Return the time at which silence becomes an interruption."""
        return self._sign + self.timeouts.client_stream

    def _over(self, now: float) -> bool:
        if now - self._sign > self.timeouts.client_stream:
            self._settle("timeout")
        return self._reason is not None
