"""DSSE: a signed envelope around a statement, by the specification of secure-systems-lab, signed with Ed25519.

In: bytes, and keys as PEM. Out: the envelope as JSON values, and whether a signature of it is valid. Signing, and
checking a signature, needs the extra `certify`; an envelope without signatures is made and opened without it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tpharness.certificate.suite import sha256
from tpharness.errors import InputError, UsageError
from tpharness.extras import needs_extra
from tpharness.findings import quote
from tpharness.protocol.jcs import jcs

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["PAYLOAD_TYPE", "has_valid_signature", "load_private_key", "load_public_key", "open_envelope", "seal"]

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_MAKE = "openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem"


def seal(payload: bytes, key: Ed25519PrivateKey | None = None) -> dict[str, Any]:
    """Return the envelope around a payload; without a key its list of signatures is empty."""
    signatures = []
    if key is not None:
        signature = base64.b64encode(key.sign(pre_authentication(PAYLOAD_TYPE, payload))).decode()
        signatures.append({"keyid": _key_id(key.public_key()), "sig": signature})
    return {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": signatures}


def open_envelope(envelope: Any) -> bytes:
    """Return the payload, whoever signed it. InputError for what is not an envelope around an in-toto statement."""
    hint = "name the certificate.json that `tpharness certify` has written"
    if not isinstance(envelope, dict) or not {"payload", "payloadType", "signatures"} <= envelope.keys():
        raise InputError("this is not a DSSE envelope: it needs payload, payloadType and signatures", hint=hint)
    if envelope["payloadType"] != PAYLOAD_TYPE:
        raise InputError(f"the envelope holds {quote(envelope['payloadType'])}, and not {PAYLOAD_TYPE}", hint=hint)
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or not all(isinstance(one, dict) for one in signatures):
        raise InputError("the signatures of the envelope are not a list of objects", hint=hint)
    payload = _decode(envelope["payload"])
    if payload is None:
        raise InputError("the payload of the envelope is not base64", hint=hint)
    return payload


def has_valid_signature(envelope: Mapping[str, Any], key: Ed25519PublicKey) -> bool:
    """Whether one of the signatures is that of the key. `keyid` is a hint only, as DSSE says, and not asked."""
    with needs_extra("certify", "checking a signature"):
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  # an extra
    signed = pre_authentication(envelope["payloadType"], open_envelope(envelope))
    for one in envelope["signatures"]:
        signature = _decode(one.get("sig"))
        if signature is None:
            continue
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            continue
        return True
    return False


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's pre-authentication encoding of type and payload, with their lengths."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def load_private_key(pem: bytes, name: str) -> Ed25519PrivateKey:
    """Return the key in a PEM file. UsageError without the extra, or if it is not an Ed25519 key without password."""
    with needs_extra("certify", "signing a certificate"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  # an extra
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name} is not a private key in PEM without a password", hint=_MAKE) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{name} is not an Ed25519 key", hint=_MAKE)
    return key


def load_public_key(pem: bytes, name: str) -> Ed25519PublicKey:
    """Return the key in a PEM file. UsageError if the extra is missing, or it is not a public Ed25519 key."""
    with needs_extra("certify", "checking a signature"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  # an extra
        from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415
    try:
        key = load_pem_public_key(pem)
    except ValueError as error:
        raise UsageError(
            f"{name} is not a public key in PEM", hint="openssl pkey -in key.pem -pubout -out public.pem"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{name} is not an Ed25519 key", hint=_MAKE)
    return key


def _key_id(key: Ed25519PublicKey) -> str:
    """Return the id by which securesystemslib, in-toto and TUF know a key: the SHA-256 of its canonical JSON."""
    public = key.public_bytes_raw().hex()
    return sha256(jcs({"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": public}}))


def _decode(text: Any) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None
