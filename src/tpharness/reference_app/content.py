"""Contents too large for a thread, stored under the hash of their bytes (ContentRef, R6).

In: the content of a tool return. Out: the `content_ref` that stands for it, and later the bytes again, whose hash is
verified on every read. Text is stored as its UTF-8, every other value as canonical JSON (RFC 8785), so that the same
content has the same hash wherever it is computed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tpharness.protocol.jcs import CanonicalError, jcs
from tpharness.reference_app.files import Files
from tpharness.reference_app.settings import LARGE_RETURN

__all__ = [
    "ContentStore",
    "DamagedContentError",
    "content_bytes",
    "contents_of",
    "large_content",
    "reference",
    "seeded_contents",
]

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_DIGEST = re.compile(r"/([0-9a-f]{64})\Z")
_RETURNS = ("function_tool_result", "output_tool_result")


class DamagedContentError(Exception):
    """Stored bytes that no longer have the hash they were stored under."""


def large_content(event: Mapping[str, Any]) -> Any:
    """Return the content of a tool result if it is too large for a thread, else None.

    Only a successful result has content; a result that has its reference already is not changed.
    """
    if event.get("event_kind") not in _RETURNS:
        return None
    part = event["part"]
    whole = part.get("content_ref") is None and (part.get("outcome") or "success") == "success"
    content = part.get("content")
    if not whole or part.get("part_kind") == "retry-prompt" or not isinstance(content, str | list | dict):
        return None
    try:
        return content if len(orjson.dumps(content)) > LARGE_RETURN else None
    except TypeError:  # a value that JSON cannot represent stays, and the rules report it (R38)
        return None


def content_bytes(content: Any) -> tuple[bytes, str] | None:
    """Return the bytes of a content and their media type; None if it does not have a canonical form (R38)."""
    try:
        return (content.encode("utf-8"), _TEXT) if isinstance(content, str) else (jcs(content), _JSON)
    except (CanonicalError, UnicodeEncodeError):
        return None


def reference(data: bytes, media_type: str, base: str) -> dict[str, Any]:
    """Return the `content_ref` of bytes that are stored."""
    digest = hashlib.sha256(data).hexdigest()
    return {"uri": f"{base}/{digest}", "size_bytes": len(data), "hash": f"sha256:{digest}", "media_type": media_type}


def contents_of(entry: Mapping[str, Any]) -> set[str]:
    """Return the hashes of the contents that a thread refers to because of an entry of its log."""
    found = set()
    if entry.get("kind") == "events":
        for event in entry["events"]:
            content = large_content(event)
            stored = None if content is None else content_bytes(content)
            if stored is not None:
                found.add(hashlib.sha256(stored[0]).hexdigest())
    elif entry.get("kind") == "seed":
        for turn in entry["thread"]["turns"]:
            for message in turn.get("messages") or ():
                for part in message.get("parts") or ():
                    found |= set(_DIGEST.findall(str((part.get("content_ref") or {}).get("uri"))))
    return found


def seeded_contents(entries: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the contents that entries refer to with a seed; those of events are put before."""
    return {digest for entry in entries if entry.get("kind") == "seed" for digest in contents_of(entry)}


class ContentStore:
    """Bytes by their SHA-256: files in a folder, or a dictionary without a folder. Its methods block.

    With `sync`, what was put outlives a loss of power: the file, its name in the folder, and the folder's own name.
    """

    def __init__(self, folder: Path | None, *, sync: bool = True, files: Files | None = None) -> None:
        self._sync = sync
        self._folder = folder
        self._files = files or Files()
        self._held: dict[str, bytes] = {}
        self._kept: set[str] = set()
        """What is known to outlive a loss of power; what is merely there may be of a put that failed, or was killed."""

    def put(self, data: bytes) -> str:
        """Store bytes and return their hash in hex. Existing bytes are written again if they are damaged. OSError."""
        digest = hashlib.sha256(data).hexdigest()
        if self._folder is None:
            self._held[digest] = data
            return digest
        target = self._folder / digest
        if self._holds(digest) and (digest in self._kept or not self._sync):
            return digest
        self._kept.discard(digest)
        self._files.make_folder(self._folder)
        draft = self._folder / f"{digest}.draft"
        self._files.write(draft, data, sync=self._sync)
        self._files.rename(draft, target)  # readers see the whole file or nothing
        if self._sync:
            self._files.sync_folder(self._folder)
            self._files.sync_folder(self._folder.parent)
            self._kept.add(digest)
        return digest

    def remove(self, digest: str) -> None:
        """Remove the bytes with this hash, and what a put of them may have left that did not end. OSError."""
        if self._folder is None:
            self._held.pop(digest, None)
            return
        self._kept.discard(digest)
        for name in (digest, f"{digest}.draft"):
            self._files.remove(self._folder / name)
        if self._sync:
            with suppress(FileNotFoundError):  # nothing was ever put
                self._files.sync_folder(self._folder)

    def _holds(self, digest: str) -> bool:
        try:
            return self.get(digest) is not None
        except (DamagedContentError, OSError):
            return False

    def get(self, digest: str) -> bytes | None:
        """Return the bytes with this hash, None if they do not exist. DamagedContentError if they have another hash."""
        if self._folder is None:
            return self._held.get(digest)
        try:
            data = self._files.read(self._folder / digest)
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedContentError(digest)
        return data

    def inline_contents(self, thread: Mapping[str, Any], base: str) -> dict[str, Any]:
        """Return a thread with its stored contents in place of their references, which 2.0.0 does not have.

        They begin with `base`. A content that is missing stays a reference.
        """

        def change_message(message: Any) -> Any:
            return self._replace_items(message, "parts", lambda part: self._inline(part, base))

        return {**thread, "turns": [self._replace_items(turn, "messages", change_message) for turn in thread["turns"]]}

    def _replace_items(self, holder: Any, name: str, change: Any) -> Any:
        items = holder.get(name)
        if not isinstance(items, list):
            return holder
        changed = [change(item) for item in items]
        return (
            {**holder, name: changed}
            if any(new is not old for new, old in zip(changed, items, strict=True))
            else holder
        )

    def _inline(self, part: Any, base: str) -> Any:
        ref = part.get("content_ref")
        uri = ref.get("uri") if isinstance(ref, Mapping) else None
        if not isinstance(uri, str) or not uri.startswith(f"{base}/"):
            return part
        try:
            data = self.get(uri.removeprefix(f"{base}/"))
        except DamagedContentError:
            data = None
        if data is None:
            return part
        content = data.decode("utf-8") if ref.get("media_type") == _TEXT else orjson.loads(data)
        return {**{k: v for k, v in part.items() if k != "content_ref"}, "content": content}
