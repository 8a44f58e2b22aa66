"""A certificate is dated by somebody whom the reader trusts, and stops to count when it was said so."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tpharness.certificate import (
    UntrustedTimeError,
    find_expiry,
    find_revocations,
    find_trusted_time,
    read_revocations,
)
from tpharness.certificate.suite import sha256
from tpharness.errors import InputError, UsageError

CONFIG = """\
[tsa]
default_tsa = one
[one]
serial = serial
signer_cert = authority.pem
certs = root.pem
signer_key = authority.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
"""
KEYS = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
SEEN = datetime(2026, 11, 27, 12, tzinfo=UTC)


class Authority:
    """A time authority made with `openssl`, in a folder of its own."""

    def __init__(self, folder: Path, use: str = "critical,timeStamping") -> None:
        self.folder = folder
        folder.mkdir()
        for name, text in (("config", CONFIG), ("serial", "01"), ("use", f"extendedKeyUsage={use}\n")):
            (folder / name).write_text(text)
        self.run("req", "-x509", *KEYS, "-keyout", "root.key", "-out", "root.pem", "-days", "9", "-subj", "/CN=Root")
        self.run("req", *KEYS, "-keyout", "authority.key", "-out", "request", "-subj", "/CN=Time")
        signed = ("-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-extfile", "use", "-days", "9")
        self.run("x509", "-req", "-in", "request", *signed, "-out", "authority.pem")

    def run(self, *words: str) -> None:
        """Run openssl."""
        subprocess.run(("openssl", *words), cwd=self.folder, check=True, capture_output=True)  # noqa: S607  # whichever there is

    @property
    def pem(self) -> bytes:
        """What a reader trusts."""
        return (self.folder / "root.pem").read_bytes()

    def stamp(self, data: bytes) -> bytes:
        """Return the answer to a request about these bytes."""
        (self.folder / "data").write_bytes(data)
        self.run("ts", "-query", "-data", "data", "-sha256", "-cert", "-out", "query")
        self.run("ts", "-reply", "-config", "config", "-section", "one", "-queryfile", "query", "-out", "answer")
        return (self.folder / "answer").read_bytes()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority."""
    return Authority(tmp_path_factory.mktemp("time") / "authority")


@pytest.mark.openssl
def test_the_time_is_that_of_the_authority(authority: Authority) -> None:
    """Without asking anybody: the token is signed by a certificate below the one that is trusted."""
    before = datetime.now(UTC).replace(microsecond=0)
    token = authority.stamp(b"{}")
    assert before <= find_trusted_time(b"{}", token, authority.pem) <= datetime.now(UTC)


@pytest.mark.openssl
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data, token: (data + b" ", token), "message imprint mismatch"),
        (lambda data, _: (data, b"not a token"), "not the answer of a time authority"),
        (lambda data, _: (data, b""), "not the answer of a time authority"),
        (lambda data, token: (data, token[:-1] + bytes([token[-1] ^ 1])), "openssl ts -verify"),
    ],
    ids=["another certificate", "text", "nothing", "a changed signature"],
)
def test_a_token_that_does_not_fit_is_refused(authority: Authority, change: Any, why: str) -> None:
    """With what openssl says."""
    data, token = change(b"{}", authority.stamp(b"{}"))
    with pytest.raises(UntrustedTimeError, match=why):
        find_trusted_time(data, token, authority.pem)


@pytest.mark.openssl
def test_another_authority_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    """Anybody can make one."""
    other = Authority(tmp_path / "other")
    with pytest.raises(UntrustedTimeError, match="certificate verify error"):
        find_trusted_time(b"{}", other.stamp(b"{}"), authority.pem)


@pytest.mark.openssl
def test_without_openssl_it_is_said_what_is_missing(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that cannot be checked is not a time."""
    token = authority.stamp(b"{}")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="openssl is not on the PATH"):
        find_trusted_time(b"{}", token, authority.pem)


@pytest.mark.parametrize(("until", "over"), [(SEEN, True), (SEEN + timedelta(seconds=1), False), (None, False)])
def test_a_certificate_counts_until_it_says(until: datetime | None, *, over: bool) -> None:
    """One that says nothing counts for ever."""
    predicate = {} if until is None else {"expires": until.isoformat()}
    assert [why[:8] for why in find_expiry(predicate, SEEN)] == (["expired:"] if over else [])


KEY, OTHER = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("entry", "seen", "revoked"),
    [
        ({"certificate": sha256(b"{}")}, SEEN, True),
        ({"certificate": sha256(b"[]")}, SEEN, False),
        ({"keyid": KEY}, SEEN, True),
        ({"keyid": OTHER}, SEEN, False),
        ({"keyid": KEY, "since": "2026-11-27T12:00:00Z"}, SEEN, True),
        ({"keyid": KEY, "since": "2026-11-27T12:00:01Z"}, SEEN, False),
        ({"keyid": KEY, "since": "2026-11-27T12:00:01Z"}, None, True),
    ],
)
def test_what_was_revoked_is_refused(entry: dict[str, str], seen: datetime | None, *, revoked: bool) -> None:
    """What a lost key had signed before counts, if somebody else has seen it then."""
    text = json.dumps({"format": "tpharness-revocations/1", "revoked": [{**entry, "why": "it was lost"}]})
    entries = read_revocations(text.encode(), "list.json")
    found = list(find_revocations(entries, b"{}", [KEY], seen))
    assert [one.endswith("it was lost") for one in found] == ([True] if revoked else [])


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"format": "tpharness-revocations/1", "revoked": [{"why": "x"}]}',
        '{"format": "tpharness-revocations/1", "revoked": [{"why": "x", "keyid": "7"}]}',
        '{"format": "tpharness-revocations/1", "revoked": [], "revoked": []}',
        json.dumps(
            {"format": "tpharness-revocations/1", "revoked": [{"why": "x", "certificate": KEY, "since": "now"}]}
        ),
    ],
)
def test_a_list_that_is_not_one_is_an_error(text: str) -> None:
    """A misspelt key would revoke nothing."""
    with pytest.raises(InputError, match=r"list\.json is not"):
        read_revocations(text.encode(), "list.json")
