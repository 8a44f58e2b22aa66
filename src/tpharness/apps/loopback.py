"""Listening on the loopback interface, for what tpharness itself serves to an application."""

from __future__ import annotations

from aiohttp import web

from tpharness.errors import TargetError

__all__ = ["LOOPBACK", "listen"]

LOOPBACK = "127.0.0.1"


async def listen(app: web.Application, port: int, *, name: str) -> tuple[web.AppRunner, int]:
    """Serve an application on a port, any free one for 0; return its runner, to be cleaned up, and the port.

    A request whose client has disconnected is cancelled. TargetError, which calls the server `name`, if the port cannot
    be had.
    """
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, port).start()
    except OSError as error:
        await runner.cleanup()
        raise TargetError(
            f"{name} cannot listen on {LOOPBACK}:{port}: {error.strerror or error}",
            hint="choose another port, or 0 for any that is free",
        ) from error
    return runner, runner.addresses[0][1]
