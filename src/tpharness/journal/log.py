"""An append-only sequence whose versions share their storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Log"]

T_co = TypeVar("T_co", covariant=True)


class Log(Sequence[T_co], Generic[T_co]):
    """An append-only sequence whose versions share one buffer: `append` and taking a version are both O(1)."""

    __slots__ = ("_buffer", "_length")

    def __init__(self, items: Sequence[T_co] = ()) -> None:
        self._buffer: list[T_co] = list(items)
        self._length = len(self._buffer)

    def append(self, item: Any) -> Log[T_co]:
        """Return a new version with one more item, in O(1); this version does not change."""
        buffer = self._buffer if len(self._buffer) == self._length else self._buffer[: self._length]
        buffer.append(item)
        longer: Log[T_co] = Log.__new__(Log)
        longer._buffer = buffer
        longer._length = self._length + 1
        return longer

    def is_prefix_of(self, other: Log[Any]) -> bool:
        """Whether `other` is a later version of this log. Items are not compared, so False may be wrong."""
        return self._buffer is other._buffer and self._length <= other._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T_co]:
        buffer = self._buffer
        return (buffer[i] for i in range(self._length))

    def __getitem__(self, index: Any) -> Any:
        chosen = range(self._length)[index]
        return self._buffer[chosen] if isinstance(chosen, int) else tuple(self._buffer[i] for i in chosen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Log) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Log({list(self)!r})"
