"""How many transactions a store has acknowledged, in a file beside it.

SQLite ends a write-ahead log at the first frame whose checksum is wrong, and says nothing: what was committed after it
is gone. Its file format asks for this, since a crash leaves such a frame as well. So the number of the last transaction
stands in the database (`store_file`), and here, outside of what can be torn. A database with a smaller number than the
one here has lost something that was acknowledged.

The number is written after the commit and before anybody hears of it, without a wait for the disk, which would cost as
much as the commit: it outlives the process at once, and a loss of power after 64 transactions or a second. There are
two places for it, used in turn. One that cannot be read was being written, and then its transaction, the one after that
of the other place, is in the database; or a disk has changed it, and then nobody knows better.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from tpharness.reference_app.files import Files

__all__ = ["SYNC_EVERY", "Acknowledged", "TransactionsLostError", "beside"]

SYNC_EVERY = 64
"""Transactions after which the disk is waited for."""
_PLACES = (0, 4096)
_LENGTH = 64


class TransactionsLostError(Exception):
    """A database does not have all that was acknowledged, or it is not known what was."""


def beside(store: Path, ending: str) -> Path:
    """Return a path beside the file of a store itself, by whatever link it was named."""
    file = store.resolve()
    return file.with_name(file.name + ending)


class Acknowledged:
    """The file with the number. Its methods block, and raise OSError."""

    def __init__(self, path: Path, files: Files, *, sync: bool) -> None:
        self.path = path
        self._files = files
        self._sync = sync
        self._place = 0
        self._unsynced = 0

    @property
    def waits(self) -> bool:
        """Whether something was written that a loss of power may take."""
        return self._sync and self._unsynced > 0

    def require(self, number: int) -> None:
        """Raise TransactionsLostError if the last transaction of a database, `number`, is not the last acknowledged."""
        try:
            data = self._files.read(self.path)
        except FileNotFoundError:
            return
        found = [_parse(data[place : place + _LENGTH]) for place in _PLACES]
        known = [one for one in found if one is not None]
        if not known:
            raise TransactionsLostError(f"{self.path.name} cannot be read, and says what the store should have")
        least = max(known) + (len(known) < len(_PLACES))
        if number < least:
            raise TransactionsLostError(
                f"it ends with transaction {number}, and transaction {least} was acknowledged: it, or the end of its "
                "write-ahead log, is damaged, gone, or an older copy"
            )

    def begin(self, number: int) -> None:
        """Make the file anew: `number` is the last transaction now, whatever was there before."""
        draft = self.path.with_name(self.path.name + ".draft")
        self._files.write(draft, _record(number).ljust(_PLACES[1], b"\n") + _record(number), sync=self._sync)
        self._files.rename(draft, self.path)
        if self._sync:
            self._files.sync_folder(self.path.parent)

    def write(self, number: int) -> None:
        """Write down that transaction `number` will be acknowledged. A place that was not written is written again."""
        self._files.write_at(self.path, _PLACES[self._place], _record(number))
        self._place = 1 - self._place
        self._unsynced += 1
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        """Have the disk keep the number. If it does not, the next call tries again."""
        if self.waits:
            with suppress(OSError):
                self._files.sync(self.path)
                self._unsynced = 0


def _record(number: int) -> bytes:
    digits = b"%020d" % number
    return (digits + b" " + hashlib.blake2b(digits, digest_size=16).hexdigest().encode()).ljust(_LENGTH - 1) + b"\n"


def _parse(record: bytes) -> int | None:
    """Return the number of a record, None if it is not one that was written."""
    digits = record[:20]
    return int(digits) if digits.isdigit() and _record(int(digits)) == record else None
