"""When a certificate was there at the latest, by somebody whom the reader trusts, and whether it still counts.

In: a certificate, the answer of a time authority (RFC 3161) and that authority's certificate; a list of what was
revoked. Out: a time, or refusals in words. Nothing is fetched. The token is verified by `openssl ts`, at the time that
it states: an authority whose own certificate has expired since was right then.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tpharness.certificate.suite import sha256
from tpharness.errors import InputError, UsageError
from tpharness.findings import shorten
from tpharness.protocol.parse import parse_json
from tpharness.schema_misfits import first_misfit

__all__ = ["UntrustedTimeError", "find_expiry", "find_revocations", "find_trusted_time", "read_revocations"]

_STATED = re.compile(r"^Time stamp: (.+) GMT$", re.MULTILINE)
_SECONDS = 60
_FORMS = ("%b %d %H:%M:%S %Y", "%b %d %H:%M:%S.%f %Y")


class UntrustedTimeError(Exception):
    """A token that does not show that the authority has seen the certificate; the text says why."""


def find_trusted_time(certificate: bytes, token: bytes, authority: bytes) -> datetime:
    """Return when the authority has seen these bytes. UntrustedTimeError if its token does not show that.

    `authority` is PEM: the certificates that the reader trusts for this. UsageError without `openssl`.
    """
    with tempfile.TemporaryDirectory(prefix="tpharness-time-") as name:
        folder = Path(name)
        files = {"data": certificate, "token": token, "authority": authority}
        for one, data in files.items():
            (folder / one).write_bytes(data)
        text = _openssl(folder, "-reply", "-in", "token", "-text")
        stated = _STATED.search(text.stdout)
        if text.returncode or stated is None:
            raise UntrustedTimeError("it is not the answer of a time authority (RFC 3161) that grants a time")
        time = _parse(stated[1])
        at = ("-attime", str(int(time.timestamp())))
        checked = _openssl(folder, "-verify", "-data", "data", "-in", "token", "-CAfile", "authority", *at)
        if checked.returncode:
            raise UntrustedTimeError(_reason(checked.stderr))
        return time


def find_expiry(predicate: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Yield that a certificate has expired, if it says until when it counts."""
    until = predicate.get("expires")
    if until is not None and datetime.fromisoformat(until) <= now:
        yield f"expired: it was for the time until {until}"


def read_revocations(data: bytes, name: str) -> list[dict[str, Any]]:
    """Return the entries of a list of revocations. InputError with the place for what is not one."""
    hint = "`tpharness docs CERTIFICATE` has an example"
    parsed = parse_json(data, file=name)
    if parsed.findings:
        raise InputError(f"{name} is not JSON: {parsed.findings[0].message}", hint=hint)
    misfit = first_misfit("revocations", parsed.value)
    if misfit:
        raise InputError(f"{name} is not a list of revocations: {misfit}", hint=hint)
    entries: list[dict[str, Any]] = parsed.value["revoked"]
    return entries


def find_revocations(
    entries: Sequence[Mapping[str, Any]], payload: bytes, key_ids: Sequence[str], seen: datetime | None
) -> Iterator[str]:
    """Yield why a certificate was revoked: it itself, or a key that it is signed with.

    A key that was lost at a known time had signed rightly before: `seen` is when an authority saw the certificate.
    """
    digest = sha256(payload)
    for entry in entries:
        if entry.get("certificate") == digest:
            yield f"revoked: {entry['why']}"
        elif entry.get("keyid") in key_ids:
            since = entry.get("since")
            if since is None or seen is None or seen >= datetime.fromisoformat(since):
                yield f"revoked: the key {entry['keyid'][:16]}… that signed it: {entry['why']}"


def _openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603
            ("openssl", "ts", *words),  # noqa: S607  # whichever the user has
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("openssl is not on the PATH, which checks the time", hint="install OpenSSL") from None
    except subprocess.TimeoutExpired:
        raise UntrustedTimeError(f"openssl did not end within {_SECONDS} s") from None


def _parse(text: str) -> datetime:
    for form in _FORMS:
        try:
            return datetime.strptime(" ".join(text.split()), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise UntrustedTimeError(f"its time is {shorten(text, 40)}")


def _reason(complaint: str) -> str:
    """Return why OpenSSL does not accept a token, in a line."""
    said = [line for line in complaint.splitlines() if "error" in line.lower()]
    words = [line.split(":")[5] if line.count(":") > 5 else line for line in said]
    return f"openssl ts -verify: {shorten('; '.join(dict.fromkeys(words)) or 'refused', 200)}"
