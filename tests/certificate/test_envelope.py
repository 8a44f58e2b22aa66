"""The envelope is DSSE, by its specification, and a signature of it is that of the whole payload."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tpharness.certificate import has_valid_signature, load_private_key, load_public_key, open_envelope, seal
from tpharness.certificate.envelope import pre_authentication
from tpharness.errors import InputError, UsageError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def test_what_is_signed_is_what_dsse_says() -> None:
    """The example of the specification, to the byte."""
    assert pre_authentication("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_the_signature_is_of_type_and_payload() -> None:
    """Another reader finds both by the specification alone."""
    envelope = seal(b"{}", KEY)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert base64.b64decode(envelope["payload"]) == b"{}"
    (one,) = envelope["signatures"]
    # What securesystemslib 1.6, another implementation, computes for this key: it finds signatures by it.
    assert one["keyid"] == "63d00ee3cf4f5c61ad94efa696c68f13b608fe56ecea13fb144a6fd18e9235b9"
    KEY.public_key().verify(base64.b64decode(one["sig"]), b"DSSEv1 28 application/vnd.in-toto+json 2 {}")


def test_a_changed_payload_or_another_key_is_no_valid_signature() -> None:
    """Nor is what is not a signature at all, wherever it stands in the list."""
    envelope = seal(b"{}", KEY)
    public = KEY.public_key()
    assert has_valid_signature(envelope, public)
    assert not has_valid_signature(envelope | {"payload": base64.b64encode(b"[]").decode()}, public)
    assert not has_valid_signature(envelope, Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key())
    assert not has_valid_signature(seal(b"{}"), public)
    odd = [{"keyid": "x"}, {"sig": 7}, {"sig": "#"}, {"sig": "AAAA"}]
    assert not has_valid_signature(envelope | {"signatures": odd}, public)
    assert has_valid_signature(envelope | {"signatures": [*odd, *envelope["signatures"]]}, public)


@pytest.mark.parametrize(
    ("envelope", "why"),
    [
        ([], "not a DSSE envelope"),
        ({}, "not a DSSE envelope"),
        (seal(b"") | {"payloadType": "text/plain"}, "holds 'text/plain', and not application/"),
        (seal(b"") | {"payloadType": None}, "holds null, and not application/"),
        (seal(b"") | {"payload": "#"}, "is not base64"),
        (seal(b"") | {"signatures": [1]}, "not a list of objects"),
    ],
)
def test_what_is_not_an_envelope_is_refused(envelope: object, why: str) -> None:
    """By an error that says why, and not by a traceback."""
    with pytest.raises(InputError, match=why):
        open_envelope(envelope)


def test_keys_that_are_not_ed25519_are_refused() -> None:
    """Another curve, a public key in place of a private one, and text."""
    other = X25519PrivateKey.from_private_bytes(bytes(32))
    private = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    ours = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for pem in (private, ours, b"x"):
        with pytest.raises(UsageError, match=r"key\.pem is not"):
            load_private_key(pem, "key.pem")
    for pem in (public, private, b"x"):
        with pytest.raises(UsageError, match=r"public\.pem is not"):
            load_public_key(pem, "public.pem")
