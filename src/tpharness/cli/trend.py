"""`tpharness trend`: a peer at several releases, and which differences came and went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.cli.options import Argument, Exit, Option
from tpharness.cli.reports import take_all
from tpharness.errors import TargetError, UsageError
from tpharness.output import check_writable, json_text, write_atomically
from tpharness.printable import say, without_credentials
from tpharness.profiles import parse_profiles
from tpharness.report import Report
from tpharness.report.progress import watch_run_events
from tpharness.report.trend import PlayedRelease, trend_json, trend_lines
from tpharness.run import RunOptions, run_suite
from tpharness.run.baselines import load_baseline
from tpharness.targets.releases import framework_of
from tpharness.targets.spec import resolve_client, resolve_server

__all__ = ["trend"]


def trend(
    peer: Annotated[str, Argument(metavar="PEER", help="A peer without a release, such as peer:ai-sdk-client.")],
    ids: Annotated[
        list[str] | None,
        Argument(metavar="[IDS]...", help="Scenario ids, themes or patterns with *; all if none."),
    ] = None,
    releases: Annotated[
        str | None,
        Option(metavar="LIST", help="Releases with commas between them, the oldest first [default: all known]."),
    ] = None,
    role: Annotated[
        str | None, Option(metavar="ROLE", help="server or client [default: what a framework is, else server].")
    ] = None,
    other: Annotated[str, Option("--with", metavar="TARGET", help="Who plays the other side.")] = "reference",
    profile: Annotated[list[str] | None, Option(metavar="NAME", help="Only this profile; may be given again.")] = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="PATH", help="Write JSON too; - is standard output.")
    ] = None,
) -> None:
    """Play a peer at several releases, and say which differences came and went.

    The same scenarios are played at each release, and no difference is expected. Exit code 1 if one came with the last.
    It is an error if the last release could not be played.
    """
    name = _name_of(peer)
    framework = framework_of(name)
    wanted = [one.strip() for one in (releases or "").split(",") if one.strip()]
    if not wanted and framework is not None:
        wanted = list(framework.releases)
    if not wanted:
        raise UsageError(
            f"the releases of {peer} are not known",
            hint="name them with --releases, such as 5.0.0,6.0.0,7.0.173; tpharness list targets has the peers",
        )
    if len(wanted) < 2:
        raise UsageError("a trend has two releases at least", hint="--releases 5.0.0,6.0.0,7.0.173")
    side = role or (framework.role_of(name) if framework is not None else "server")
    if side not in ("server", "client"):
        raise UsageError(f"there is no role {side!r}", hint="--role server, or --role client")
    resolve = resolve_server if side == "server" else resolve_client
    for release in wanted:
        resolve(f"{peer}@{release}")  # what no release can be is refused before anything is played
    if output is not None and output != "-":
        check_writable(Path(output), "the trend")
    played = []
    for number, release in enumerate(wanted, start=1):
        say(f"release {number} of {len(wanted)}: {peer}@{release}", err=True)
        spec = f"{peer}@{release}"
        server, client = (spec, other) if side == "server" else (other, spec)
        options = RunOptions(ids=tuple(ids or ()), profiles=parse_profiles(profile or []), server=server, client=client)
        played.append(_play(options, release, side))
    if all(one.report is None for one in played):
        raise TargetError(f"no release of {peer} could be played: {played[-1].error}")
    tested = load_baseline(server=peer) if side == "server" else load_baseline(client=peer)
    known = {case: entry.departure for case, entry in tested.entries.items()}
    document = trend_json(peer, side, without_credentials(other), played, known=known, ids=ids or ())
    if output is not None:
        write_atomically(output, json_text(document) + "\n")
    if output != "-":
        say(*trend_lines(document))
    if played[-1].report is None:
        raise TargetError(f"{peer}@{wanted[-1]} could not be played, so nothing is known of it", hint=played[-1].error)
    changes = document["changes"]
    raise Exit(1 if changes and changes[-1]["came"] else 0)


def _name_of(peer: str) -> str:
    """Return the name of a peer. UsageError for another target, and for a peer that names its release."""
    kind, _, rest = peer.partition(":")
    name, at, _ = rest.partition("@")
    if kind != "peer" or not name:
        hint = "name a peer, such as peer:ai-sdk-client; `tpharness list targets` has them"
        raise UsageError(f"{without_credentials(peer)!r} is not a peer", hint=hint)
    if at:
        raise UsageError(
            f"{peer!r} names a release", hint=f"name the peer alone, peer:{name}, and its releases in --releases"
        )
    return name


def _play(options: RunOptions, release: str, side: str) -> PlayedRelease:
    """Play one release. One that cannot be started, or lacks what its peer needs, does not cost the others."""
    report = Report()
    try:
        take_all(watch_run_events(run_suite(options)), report, None)
    except TargetError as error:
        return PlayedRelease(release=release, error=str(error))
    started = report.started
    target = "" if started is None else (started.server if side == "server" else started.client)
    return PlayedRelease(release=release, target=target, report=report)
