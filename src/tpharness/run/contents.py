"""Ask a client that declares `integrity` for contents: right ones, and ones that were tampered with (R56).

In: a client and the threads that it returned. Out: what it gave out for each. The reference is the first of its thread,
with hash and size of a content of the harness, which is the only thing that may be given out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.checks import Evidence, Resolution
from tpharness.errors import TargetError
from tpharness.protocol.versions import Version
from tpharness.targets.contract import ClientTarget, ResolvingClient

__all__ = ["resolve_contents"]

# Its spaces, number and characters change if a client gives out anything but the stored bytes themselves.
_CONTENT = '{"stored":  "Gr\u00fc\u00dfe \U0001f600", "rows": [1, 2.0]}\n'.encode()
_TAMPERED = _CONTENT.replace(b"rows", b"sows")


async def resolve_contents(
    client: ClientTarget, threads: Mapping[Version, Mapping[str, Any]], *, thorough: bool
) -> tuple[tuple[Resolution, ...], str]:
    """Return what the client gave out, and why it was asked for nothing. TargetError if it does not answer."""
    if not client.capabilities.integrity:
        return (), "the client does not declare integrity"
    if not thorough:
        return (), Evidence.unresolved
    if not isinstance(client, ResolvingClient):
        raise TargetError(
            f"{client.capabilities.name} declares integrity and lacks resolve",
            hint="see tpharness.targets.contract.ResolvingClient, or do not declare integrity",
        )
    reference = next(_references(threads), None)
    if reference is None:
        return (), "no thread of the client refers to a content"
    return tuple(
        [
            Resolution(stored=words, right=right, given=await client.resolve(named, data))
            for words, named, data, right in _trials(reference)
        ]
    ), ""


def _references(threads: Mapping[Version, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for version, thread in threads.items():
        if not version.features.content_refs:
            continue
        for turn in thread["turns"]:
            for message in turn.get("messages") or ():
                for part in message.get("parts") or ():
                    reference = part.get("content_ref")
                    if isinstance(reference, Mapping) and isinstance(reference.get("uri"), str):
                        yield reference


def _trials(reference: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bytes, bytes | None]]:
    """Yield what is played, the reference, what its store answers with, and what may be given out."""
    digest, size = hashlib.sha256(_CONTENT).hexdigest(), len(_CONTENT)
    named = {**reference, "hash": f"sha256:{digest}", "size_bytes": size}
    yield "the bytes are those that the reference names", named, _CONTENT, _CONTENT
    yield "they are, and the hash is in bare digits (R6)", {**named, "hash": digest}, _CONTENT, _CONTENT
    yield "one byte is another one", named, _TAMPERED, None
    yield "the last byte is missing", named, _CONTENT[:-1], None
    yield "a byte follows", named, _CONTENT + b" ", None
    yield "there are no bytes", named, b"", None
    yield "the reference names another size_bytes", {**named, "size_bytes": size + 1}, _CONTENT, None
    yield "the reference names a size_bytes of 0, and there are bytes", {**named, "size_bytes": 0}, _CONTENT, None
    yield "the reference names another algorithm", {**named, "hash": f"sha512:{digest}"}, _CONTENT, None
    without_size = {name: value for name, value in named.items() if name != "size_bytes"}
    yield "the reference names no size_bytes, and one byte is another one", without_size, _TAMPERED, None
