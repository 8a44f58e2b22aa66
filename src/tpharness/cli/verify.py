"""`tpharness verify`: whether a certificate holds, and why not."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tpharness.certificate import (
    UntrustedTimeError,
    claim_lines,
    claims_by_reports,
    compare_replay,
    find_earlier_suite,
    find_expiry,
    find_refusals,
    find_revocations,
    find_trusted_time,
    has_valid_signature,
    load_public_key,
    new_since,
    open_envelope,
    plan_playing,
    read_revocations,
    read_statement,
    relaxed_since,
    verdict_line,
    wires_of,
)
from tpharness.certificate.suite import sha256
from tpharness.cli.certify import play_order
from tpharness.cli.files import read_bytes, read_json
from tpharness.cli.options import Argument, Exit, Option
from tpharness.errors import InputError, UsageError
from tpharness.printable import counted, say
from tpharness.protocol.parse import parse_json, unreadable
from tpharness.report.json import as_json
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["verify"]

_CLOCKS = timedelta(minutes=5)
"""How far two clocks may be apart."""


def verify(
    certificate: Annotated[Path, Argument(metavar="FILE", help="certificate.json, with its reports beside it.")],
    key: Annotated[str | None, Option(metavar="PEM", help="The Ed25519 public key that has to have signed it.")] = None,
    time_authority: Annotated[
        str | None,
        Option(metavar="PEM", help="Certificates of the time authority (RFC 3161) whose answer is in certificate.tsr."),
    ] = None,
    revoked: Annotated[
        str | None, Option(metavar="FILE", help="A list of certificates and keys that do not count any more.")
    ] = None,
    replay: Annotated[bool, Option("--replay", help="Play it again, and compare the verdicts.")] = False,
    server: Annotated[
        str, Option(metavar="TARGET", help="With --replay: the server, at the address that it has now.")
    ] = "reference",
    client: Annotated[
        list[str] | None,
        Option(metavar="TARGET", help="With --replay: the clients, in the order in which they were certified."),
    ] = None,
) -> None:
    """Verify a certificate: signature, suite, reports, counts and claims.

    Each refusal names its reason. Exit code 0 if there is none.
    """
    if not replay and (server != "reference" or client):
        raise UsageError("--server and --client are for --replay", hint="add --replay to play it again")
    if certificate.is_dir():
        raise InputError(
            f"{certificate} is a folder", hint=f"tpharness verify {shlex.quote(str(certificate / 'certificate.json'))}"
        )
    public = None if key is None else load_public_key(read_bytes(key), key)
    envelope = _read_envelope(certificate)
    payload = open_envelope(envelope)
    statement = read_statement(payload)
    predicate = statement["predicate"]
    entries = [] if revoked is None else read_revocations(read_bytes(revoked), revoked)
    refusals, seen = _judge_time(certificate, predicate, time_authority)
    keys = [str(one.get("keyid")) for one in envelope["signatures"]]
    refusals += find_revocations(entries, payload, keys, seen)
    if public is not None and not envelope["signatures"]:
        refusals.append("bad signature: it is not signed")
    elif public is not None and not has_valid_signature(envelope, public):
        refusals.append(f"bad signature: it is not signed by the key in {key}, or was changed since")
    beside = partial(_read_beside, certificate)
    refusals += find_refusals(statement, beside)
    if replay and not refusals:
        refusals += _replay(predicate, certificate, server, client or ["reference"])
    for why in refusals:
        say(f"refused: {why}")
    say(f"the SHA-256 of its statement is {sha256(payload)}", err=True)
    if seen is not None:
        say(f"it was there at {seen.isoformat()}, by the time authority of {time_authority}")
    elif time_authority is None and _token_of(certificate).exists():
        say("time-stamped, and not checked: --time-authority PEM checks it")
    if public is None:
        say("signed, and not checked: --key PUBLIC.pem checks it" if envelope["signatures"] else "not signed")
    if not refusals:
        predicate = _say_claims(statement, beside)
    for line in new_since(predicate["requirements"]):
        say(line)
    signer = _signer(envelope, key)
    verdict = f"VERIFIED {verdict_line(predicate)}; {signer}"
    say(f"REFUSED for {counted(len(refusals), 'reason')}" if refusals else verdict)
    raise Exit(1 if refusals else 0)


def _say_claims(statement: Mapping[str, Any], beside: Callable[[str], bytes | None]) -> Mapping[str, Any]:
    """Say what a certificate that holds claims; return its predicate, with the claims that its reports come to."""
    predicate: Mapping[str, Any] = statement["predicate"]
    earlier = find_earlier_suite(predicate["suite"])
    if earlier:
        say(f"it was made by the suite of {earlier}, and is held to its reports and to the set that it names;")
        say("its claims by profile, and that no case was left out, only that suite could judge")
        say(*relaxed_since(predicate["requirements"]))
    else:
        predicate = {**predicate, "claims": claims_by_reports(statement, beside)}
    say(*claim_lines(predicate))
    return predicate


def _read_envelope(certificate: Path) -> Any:
    """Return the JSON value in a file. InputError if two readers could read it in two ways."""
    parsed = parse_json(read_bytes(str(certificate)), file=str(certificate))
    if parsed.findings:
        raise unreadable(parsed)
    return parsed.value


def _token_of(certificate: Path) -> Path:
    return certificate.with_suffix(".tsr")


def _judge_time(
    certificate: Path, predicate: Mapping[str, Any], authority: str | None
) -> tuple[list[str], datetime | None]:
    """Return refusals, and when the authority has seen the certificate; None without one, or if it has not."""
    refusals = list(find_expiry(predicate, datetime.now(UTC)))
    if authority is None:
        return refusals, None
    token, trusted = _token_of(certificate), read_bytes(authority)
    if not token.exists():
        return [*refusals, f"bad time: there is no {token.name} beside it"], None
    try:
        seen = find_trusted_time(read_bytes(str(certificate)), read_bytes(str(token)), trusted)
    except UntrustedTimeError as error:
        return [*refusals, f"bad time: {error}"], None
    if datetime.fromisoformat(predicate["time"]) > seen + _CLOCKS:
        refusals.append(
            f"bad time: it says that it was made at {predicate['time']}, and was seen at {seen.isoformat()}"
        )
    return refusals, seen


def _signer(envelope: Mapping[str, Any], key: str | None) -> str:
    """Return who vouches for a certificate: reports hold what was counted, and nothing but a signature the rest."""
    if key is not None:
        return f"signed by the key in {key}"
    why = "the signature was not checked" if envelope["signatures"] else "nobody signed it"
    return f"{why}: address, revision, time and platform are whatever its writer says"


def _read_beside(certificate: Path, name: str) -> bytes | None:
    """Return a report beside the certificate. The schema holds that its name is that of a file and no path."""
    try:
        return read_bytes(str(certificate.parent / name))
    except InputError:
        return None


def _replay(predicate: Mapping[str, Any], certificate: Path, server: str, clients: Sequence[str]) -> Iterator[str]:
    playings, wires = predicate["playings"], wires_of(predicate)
    if len(clients) * len(wires) != len(playings):
        played = counted(len(playings) // len(wires), "client")
        raise UsageError(
            f"this server was certified with {played}, and --client names {len(clients)}",
            hint="name the same --client options as for `tpharness certify`",
        )
    for playing, client in zip(playings, (client for client in clients for _ in wires), strict=True):
        name = playing["reports"][0]
        say(f"playing {name} again", err=True)
        wire = playing.get("wire", DEFAULT_WIRE)
        runs = plan_playing(server=server, client=client, profiles=predicate["played"], wire=wire)
        report = play_order(runs[0])
        yield from compare_replay(name, read_json(str(certificate.parent / name)), as_json(report))
