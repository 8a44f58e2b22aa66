"""Every history dialect by name, each with its codec.

A name without its variant means all of them: `langchain` is `langchain/documented` and `langchain/repaired`. The
versions of ThreadProtocol are here too; where only the others are meant, `OTHER_HISTORIES` has those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.histories import message_parts
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain.state import messages_of
from tpharness.histories.message_parts import MESSAGE_PARTS, MessageParts
from tpharness.histories.projections import HistoryDialect
from tpharness.histories.thread_history import THREADS

__all__ = ["HISTORIES", "OTHER_HISTORIES", "NamedHistory", "histories_named", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHistory:
    """A history dialect and its codec: `loads` reads back what `dumps` wrote, as far as the dialect's readers read it.

    `shows_interruptions` is whether its replay has `InterruptEvent`s, by which a UI tells each interruption.
    """

    dialect: HistoryDialect
    dumps: Callable[[Any], str]
    loads: Callable[[str], Any]
    shows_interruptions: bool = False

    @property
    def name(self) -> str:
        """The name of the dialect."""
        return self.dialect.name


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)


def _langchain(text: str) -> Any:
    document = json.loads(text)
    messages_of(document)  # InputError for what is no state
    return document


def _message_parts(dialect: MessageParts) -> NamedHistory:
    def loads(text: str) -> list[dict[str, Any]]:
        return [message_parts.encode(event) for event in message_parts.loads(text, dialect.variant).events]

    return NamedHistory(dialect=dialect, dumps=message_parts.dumps, loads=loads, shows_interruptions=True)


OTHER_HISTORIES: Mapping[str, NamedHistory] = {
    **{name: _message_parts(dialect) for name, dialect in MESSAGE_PARTS.items()},
    **{name: NamedHistory(dialect=dialect, dumps=_json, loads=_langchain) for name, dialect in LANGCHAIN.items()},
}
"""The histories that are no threads, by name."""

HISTORIES: Mapping[str, NamedHistory] = {
    **{name: NamedHistory(dialect=dialect, dumps=_json, loads=json.loads) for name, dialect in THREADS.items()},
    **OTHER_HISTORIES,
}
"""All of them by name, the versions of ThreadProtocol first."""


def histories_named(name: str, among: Mapping[str, NamedHistory] = HISTORIES) -> list[NamedHistory]:
    """Return the histories that a name means, with or without its variant; none for a name that nothing has."""
    return [history for full, history in among.items() if name in (full, full.partition("/")[0])]


def names(among: Iterable[str] = HISTORIES) -> list[str]:
    """Return all names that can be given: those of families, and those with their variants."""
    return list(dict.fromkeys(part for full in among for part in (full.partition("/")[0], full)))
