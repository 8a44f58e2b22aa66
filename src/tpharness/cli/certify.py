"""`tpharness certify`: play the suite three times in different orders, and write a certificate of what was found."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

from tpharness.certificate import (
    CONFORMS,
    IN_PART,
    Playing,
    badge_endpoint,
    badge_markdown,
    badge_svg,
    certificate_markdown,
    claim_lines,
    describe_side,
    load_private_key,
    make_statement,
    new_since,
    plan_playing,
    read_report,
    seal,
    verdict_line,
)
from tpharness.cli.files import read_bytes
from tpharness.cli.options import Exit, Option
from tpharness.cli.reports import take_all
from tpharness.cli.wires import over
from tpharness.errors import InputError, UsageError
from tpharness.output import check_writable, json_text, write_atomically
from tpharness.printable import say
from tpharness.profiles import load_profiles, parse_profiles
from tpharness.report import Report
from tpharness.report.json import render_json
from tpharness.report.progress import watch_run_events
from tpharness.report.trace import TraceReport
from tpharness.run import RunOptions
from tpharness.run.baselines import load_baseline
from tpharness.run.engine import play_suite
from tpharness.run.judged_before import JudgedBefore
from tpharness.run.session import Session
from tpharness.run.tracing.secrets import find_secrets
from tpharness.targets import require_wire
from tpharness.trace.format import Traced
from tpharness.verdict import RunEvent
from tpharness.wires.registry import DEFAULT_WIRE, WIRES, wire_named

__all__ = ["certify", "play_order"]


def certify(
    output: Annotated[Path, Option("--output", "-o", metavar="FOLDER", help="Where the certificate goes.")],
    server: Annotated[
        list[str] | None, Option(metavar="TARGET", help="The server to certify [default: reference].")
    ] = None,
    client: Annotated[
        list[str] | None,
        Option(metavar="TARGET", help="The client to play [default: reference]; may be given again."),
    ] = None,
    profile: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Only this profile [default: all]; may be given again."),
    ] = None,
    wire: Annotated[
        str,
        Option(
            metavar="NAME", help="What the streams are: vsp (the AI SDK's), ag-ui, or all; the certificate says which."
        ),
    ] = DEFAULT_WIRE,
    baseline: Annotated[Path | None, Option(help="A YAML file of known failures, each with its reason.")] = None,
    key: Annotated[
        str | None, Option(metavar="PEM", help="An Ed25519 private key to sign with [default: not signed].")
    ] = None,
    revision: Annotated[str, Option(help="The revision of the target, such as a commit.")] = "",
    expires: Annotated[
        str | None, Option(metavar="DATE", help="Until when it counts, such as 2027-12-31 [default: for ever].")
    ] = None,
) -> None:
    """Certify what a server or a client keeps.

    The suite is played three times in different orders. Exit code 0 if at least one profile conforms, or does in part.
    """
    until = "" if expires is None else _parse_expiry(expires)
    profiles = parse_profiles(profile or list(load_profiles()))
    signer = None if key is None else load_private_key(read_bytes(key), key)
    known = None if baseline is None else (baseline.name, read_bytes(str(baseline)))
    if baseline is not None:
        load_baseline(baseline)  # a baseline that cannot be read is refused before anything is played
    servers = server or ["reference"]
    if len(servers) > 1:
        raise UsageError(
            f"a certificate is about one server, and {len(servers)} are named",
            hint="make one for each, in a folder of its own; a server may be played with several --client",
        )
    wires = tuple(WIRES) if wire == "all" else (wire_named(wire).name,)
    for one in wires:
        require_wire(one, (*servers, *(client or ())))
    _check_folder(output)
    playings: list[Playing] = []
    for one, over_wire in product(client or ["reference"], wires):
        if (servers[0], one) == ("reference", "reference") and not playings:
            say("the reference is certified: --server and --client name what is yours", err=True)
        runs = plan_playing(server=servers[0], client=one, profiles=profiles, baseline=baseline, wire=over_wire)
        playings.append(_play(runs, first=len(playings) * len(runs) + 1))
    made = datetime.now(UTC).isoformat(timespec="seconds")
    statement = make_statement(playings, profiles=profiles, time=made, revision=revision, baseline=known, expires=until)
    predicate = statement["predicate"]
    files = {name: data.decode() for playing in playings for name, data in playing.reports.items()}
    files |= {
        "certificate.md": certificate_markdown(
            predicate, [read_report(text.encode(), name) for name, text in files.items()]
        ),
        "badge.svg": badge_svg(predicate),
        "badge.json": json_text(badge_endpoint(predicate)) + "\n",
        "certificate.json": json_text(seal(json_text(statement).encode(), signer)) + "\n",
    }
    _make_folder(output, playings)
    for name, text in files.items():
        write_atomically(str(output / name), text)
    for name in (name for playing in playings for name in playing.traces):
        say(f"what failed is in a trace: {shlex.join(['tpharness', 'show', str(output / name)])}")
    for line in (*claim_lines(predicate), *new_since(predicate["requirements"])):
        say(line)
    say(f"for a README: {badge_markdown(predicate)}")
    say(f"{verdict_line(predicate)}, {'signed' if signer else 'not signed'}: {output / 'certificate.json'}")
    raise Exit(0 if any(claim["status"] in (CONFORMS, IN_PART) for claim in predicate["claims"]) else 1)


def _parse_expiry(text: str) -> str:
    """Return a time in UTC. UsageError for what is not a date or a time, or is over."""
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--expires {text} is not a date", hint="such as 2027-12-31 or 2027-12-31T12:00:00Z") from None
    until = until.replace(tzinfo=UTC) if until.tzinfo is None else until.astimezone(UTC)
    if until <= datetime.now(UTC):
        raise UsageError(f"--expires {text} is over", hint="give a time that is to come")
    return until.isoformat(timespec="seconds")


def play_order(
    options: RunOptions,
    trace: Callable[[RunEvent], None] | None = None,
    judged_before: JudgedBefore | None = None,
) -> Report:
    """Play one run to its end and return its report; what ends it early is raised."""
    report = Report()
    take_all(watch_run_events(play_suite(options, judged_before)), report, None, trace)
    return report


def _play(runs: Sequence[RunOptions], *, first: int) -> Playing:
    """Play all orders. What the targets are is asked after it: to be started and asked nothing would warn them."""
    reports = {}
    traces = {}
    judged_before = JudgedBefore()
    specs = (runs[0].server, runs[0].client)
    where = " and ".join(find_secrets([spec]).text(spec) for spec in specs)
    for number, options in enumerate(runs):
        say(f"order {number + 1} of {len(runs)} ({options.order or 'by id'}) on {where}{over(options.wire)}", err=True)
        report, trace = _play_traced(options, judged_before)
        reports[f"report-{first + number}.json"] = render_json(report).encode()
        if trace is not None:
            traces[f"trace-{first + number}.zip"] = trace
    with Session(server=specs[0], client=specs[1], wire=runs[0].wire) as session:
        server = describe_side(session.players.server, specs[0], "server")
        client = describe_side(session.players.client, specs[1], "client")
    return Playing(server=server, client=client, reports=reports, traces=traces)


def _play_traced(options: RunOptions, judged_before: JudgedBefore) -> tuple[Report, bytes | None]:
    """Play one order; return its report, and the bytes of its trace, None if nothing failed."""
    with tempfile.TemporaryDirectory(prefix="tpharness-certify-") as folder:
        path = Path(folder) / "trace.zip"
        trace = TraceReport(path, Traced.FAILED, targets=[options.server, options.client], whole=True)
        try:
            feed = partial(trace.feed, server=options.server, client=options.client)
            report = play_order(replace(options, trace=Traced.FAILED), feed, judged_before)
        finally:
            trace.close()
        return report, path.read_bytes() if path.exists() else None


def _check_folder(folder: Path) -> None:
    """Look at the folder before anything is played.

    UsageError if it cannot be made, may not be written, or holds a certificate already.
    """
    if (folder / "certificate.json").exists():
        raise UsageError(f"{folder} has a certificate already", hint="name another folder, or remove it first")
    if not (folder if folder.exists() else folder.absolute().parent).is_dir():
        raise UsageError(f"the folder {folder} cannot be made", hint="name one below a folder that is there")
    check_writable(folder / "certificate.json" if folder.exists() else folder.absolute(), "the certificate")


def _make_folder(folder: Path, playings: Sequence[Playing]) -> None:
    """Make the folder, where it is not there, with the traces of these playings."""
    try:
        folder.mkdir(exist_ok=True)
        for playing in playings:
            for name, data in playing.traces.items():
                (folder / name).write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}", hint="name another folder") from error
