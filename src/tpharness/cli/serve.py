"""`tpharness serve`: the reference server and client over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tpharness.cli.options import Option
from tpharness.errors import UsageError
from tpharness.extras import needs_extra
from tpharness.printable import say

__all__ = ["serve"]


def serve(
    host: Annotated[
        str, Option(help="The address to listen on; an address that other machines reach needs --token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8765,
    store: Annotated[Path | None, Option(help="File in which threads are kept [default: in memory only].")] = None,
    no_sync: Annotated[
        bool,
        Option("--no-sync", help="Do not wait for the disk: what is stored outlives the process, not a power loss."),
    ] = False,
    token: Annotated[
        str | None,
        Option(envvar="TPHARNESS_TOKEN", help="The token that requests have to send as Authorization: Bearer."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        Option(help="A name beside those of this machine under which it may be asked; may be given again."),
    ] = None,
    receive_from: Annotated[
        list[str] | None,
        Option(help="A host beside this machine from which streams are received; may be given again."),
    ] = None,
    on_disconnect: Annotated[
        Literal["stop", "continue"],
        Option(help="What a run does when its client disconnects, unless its request says."),
    ] = "continue",
    heartbeat: Annotated[
        float, Option(min=0.01, help="Seconds without data after which a stream sends a comment.")
    ] = 15.0,
    allow_content: Annotated[
        list[str] | None,
        Option(help="Host from which a content_ref may be fetched when receiving; may be given again."),
    ] = None,
    content_url: Annotated[
        str, Option(help="What references to large returns begin with; /content is served here.")
    ] = "tpharness:content",
) -> None:
    """Serve the reference over HTTP.

    It serves the control contract until SIGINT, SIGTERM or SIGHUP.
    """
    if store is not None and str(store) == ":memory:":
        raise UsageError("--store :memory: would not keep anything", hint="leave --store away, or name a file")
    if store is not None and store.is_dir():  # an empty name is the current folder
        raise UsageError(f"--store takes a file, and {store} is a folder", hint=f"such as {store / 'threads.db'}")
    with needs_extra("serve", "`tpharness serve`"):
        from tpharness.reference_app import Settings, run_server  # noqa: PLC0415  # loads the web server

    settings = Settings(
        store=store,
        sync=not no_sync,
        token=token,
        continues=on_disconnect == "continue",
        heartbeat=heartbeat,
        allow_host=tuple(allow_host or ()),
        receive_from=tuple(receive_from or ()),
        allow_content=tuple(allow_content or ()),
        content_url=content_url,
    )
    run_server(settings, host=host, port=port, on_listening=lambda url: say(f"listening on {url}", flush=True))
