"""Which answers of the address `thread` are ThreadProtocol, and what is wrong with such a document by itself.

The answer is a thread, or an object that holds one under any name. Whether it is meant as a thread is decided by the
names of its fields, so that one with a wrong version or without its turns is still judged as a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.apps.client import Fetched
from tpharness.findings import Finding, Level
from tpharness.protocol.jcs import escape
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version

__all__ = ["Document", "find_thread", "read_document"]

_ROOT_FIELDS = ("version", "thread_id", "turns", "agents")
_ENOUGH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A thread as it was fetched, and its findings, whose pointers begin at the root of the answer."""

    thread: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def version(self) -> Version | None:
        """The version that it is written in, None if it breaks its rules and cannot be compared with anything."""
        broken = any(finding.level is Level.MUST for finding in self.findings)
        return None if broken else Version(self.thread["version"])


def find_thread(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the thread in an answer with its JSON pointer, None where the answer has none."""
    for pointer, candidate in _candidates(value):
        if isinstance(candidate, Mapping) and sum(name in candidate for name in _ROOT_FIELDS) >= _ENOUGH:
            return pointer, candidate
    return None


def read_document(fetched: Fetched | None) -> Document | None:
    """Return the thread that was fetched, judged as `tpharness check` judges a file; None where it is not one."""
    found = find_thread(fetched.value) if fetched is not None else None
    if fetched is None or found is None:
        return None
    pointer, thread = found
    syntax = [f for f in parse_json(fetched.text.encode()).findings if (f.place.pointer or pointer).startswith(pointer)]
    rules = [
        finding.with_place(pointer=pointer + finding.place.pointer) if finding.place.pointer is not None else finding
        for finding in check_thread(thread, observations=True)
    ]
    return Document(thread=thread, findings=(*syntax, *rules))


def _candidates(value: Any) -> Iterator[tuple[str, Any]]:
    yield "", value
    if isinstance(value, Mapping):
        yield from ((f"/{escape(key)}", held) for key, held in value.items())
