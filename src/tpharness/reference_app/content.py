"""Contents too large for a thread, stored under the hash of their bytes (ContentRef, R6).

In: the content of a tool return. Out: the `content_ref` that stands for it, and later the bytes again, whose hash is
verified on every read. Text is stored as its UTF-8, every other value as canonical JSON (RFC 8785), so that the same
content has the same hash wherever it is computed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from tpharness.protocol.jcs import CanonicalError, jcs
from tpharness.reference_app.settings import LARGE_RETURN

__all__ = ["ContentStore", "DamagedContentError", "content_bytes", "large_content", "reference"]

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
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


def _sync_folder(folder: Path) -> None:
    """Have the disk keep the names in a folder, which no `fsync` of a file does; Windows has nothing to ask for it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ContentStore:
    """Bytes by their SHA-256: files in a folder, or a dictionary without a folder. Its methods block.

    With `sync`, what was put outlives a loss of power: the file, its name in the folder, and the folder's own name.
    """

    def __init__(self, folder: Path | None, base: str, *, sync: bool = True) -> None:
        self.base = base
        self._sync = sync
        self._folder = folder
        self._held: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Store bytes and return their hash in hex. Existing bytes are written again if they are damaged. OSError."""
        digest = hashlib.sha256(data).hexdigest()
        if self._folder is None:
            self._held[digest] = data
            return digest
        target = self._folder / digest
        if self._holds(digest):
            return digest
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f"{digest}.{os.getpid()}.draft"
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            if self._sync:
                os.fsync(file.fileno())
        draft.replace(target)  # readers see the whole file or nothing
        if self._sync:
            _sync_folder(self._folder)
            _sync_folder(self._folder.parent)
        return digest

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
            data = (self._folder / digest).read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedContentError(digest)
        return data

    def inline_contents(self, thread: Mapping[str, Any]) -> dict[str, Any]:
        """Return a thread with its stored contents in place of their references, which 2.0.0 does not have.

        A content that is missing stays a reference.
        """
        return {**thread, "turns": [self._replace_items(turn, "messages", self._message) for turn in thread["turns"]]}

    def _message(self, message: Any) -> Any:
        return self._replace_items(message, "parts", self._part)

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

    def _part(self, part: Any) -> Any:
        ref = part.get("content_ref")
        uri = ref.get("uri") if isinstance(ref, Mapping) else None
        if not isinstance(uri, str) or not uri.startswith(f"{self.base}/"):
            return part
        try:
            data = self.get(uri.removeprefix(f"{self.base}/"))
        except DamagedContentError:
            data = None
        if data is None:
            return part
        content = data.decode("utf-8") if ref.get("media_type") == _TEXT else orjson.loads(data)
        return {**{k: v for k, v in part.items() if k != "content_ref"}, "content": content}
