"""`tpharness serve`: the reference server and client over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["serve"]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; one beyond this machine needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")] = 8765,
    store: Annotated[
        Path | None, typer.Option(help="File to keep threads in; they live in memory when there is none.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="TPHARNESS_TOKEN", help="What requests have to name in Authorization: Bearer."),
    ] = None,
    on_disconnect: Annotated[
        Literal["stop", "continue"],
        typer.Option(help="What a run does when nobody reads it any more and its request does not say."),
    ] = "continue",
    heartbeat: Annotated[
        float, typer.Option(min=0.01, help="Seconds after which a stream with nothing to say sends a comment.")
    ] = 15.0,
    allow_content: Annotated[
        list[str] | None,
        typer.Option(help="Host from which a content_ref may be fetched when receiving; may be given again."),
    ] = None,
    content_url: Annotated[
        str, typer.Option(help="What references to large returns begin with; /content is served here.")
    ] = "tpharness:content",
) -> None:
    """Serve the reference over HTTP.

    It keeps to the control contract, until SIGINT or SIGTERM.
    """
    from tpharness.reference_app import Settings, run_server  # noqa: PLC0415  # loads the web server
    from tpharness.targets.server_process import end_with_parent  # noqa: PLC0415  # as above

    end_with_parent()

    settings = Settings(
        store=store,
        token=token,
        continues=on_disconnect == "continue",
        heartbeat=heartbeat,
        allow_content=tuple(allow_content or ()),
        content_url=content_url,
    )
    run_server(settings, host=host, port=port, on_listening=lambda url: print(f"listening on {url}", flush=True))
