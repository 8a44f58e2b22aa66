# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Ids and names that are compared or stored otherwise than they are: R7, R11, R22, R36."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from tests.seeded_defects.seeding import both_writers, client_writer, defect, wrap
from tests.seeded_defects.values import on_part

from tpharness.explore.mutation import Defect
from tpharness.facts import recorded_reason
from tpharness.journal import Interrupted, JournalWriter
from tpharness.journal.provider_calls import ProviderCalls
from tpharness.wires.vsp.context import OpenParts
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = ["DEFECTS"]


def alike(same: Callable[[str], str]) -> Any:
    """Return a kind of map for which keys are the same if `same` makes the same of them."""

    class Alike(dict[str, Any]):
        def __contains__(self, key):
            return super().__contains__(same(key))

        def __getitem__(self, key):
            return super().__getitem__(same(key))

        def __setitem__(self, key, value):
            super().__setitem__(same(key), value)

        def get(self, key, default=None):
            return super().get(same(key), default)

        def pop(self, key, *default):
            return super().pop(same(key), *default)

    return Alike


def finding_calls(same: Callable[[str], str]) -> type[JournalWriter]:
    """Return a writer that finds calls by ids that are the same in this way."""
    kind = alike(same)

    class Finding(JournalWriter):
        def __init__(self):
            super().__init__()
            self._calls = kind()

        def interrupt_turn(self, reason, at):
            self._need_turn()
            kept = {call_id: key for call_id, key in self._calls.items() if key not in self._open_keys}
            self._calls = kind(kept)
            self._close(Interrupted(reason=recorded_reason(reason), at=at))

    return Finding


def blocks_by(same: Callable[[str], str]):
    """Let the client find texts by ids of blocks that are the same in this way."""

    def make(was):
        def init(self):
            was(self)
            self.texts = alike(same)()

        return init

    return wrap(OpenParts, "__init__", make)


def renamed(field: str, change: Callable[[str], str]):
    return on_part(lambda part: {**part, field: change(part[field])} if field in part else part)


def stored(
    prefix: str, what: str, field: str, table: Iterable[tuple[str, str, Callable[[str], str]]], clauses: str
) -> Iterator[Defect]:
    """Yield a defect for each way in which ids or names are stored: its name, "stored" in which words, the change."""
    for name, words, change in table:
        yield defect(f"{prefix}-{name}", "both", f"{what} are stored {words}.", clauses, renamed(field, change))


def keeping(name: str):
    """Let what is known by an id stay when the id is used again."""

    def make(was):
        def forget(self, call_id):
            held = getattr(self, name)
            before = held.copy()
            was(self, call_id)
            held.update(before)

        return forget

    return wrap(ToolCalls, "_forget", make)


def provider_call_stays(was):
    """The provider's call stays, and waits, when an application's call has its id."""

    def note(self, part):
        if part.kind != "tool-call":
            was(self, part)

    return note


class NamedByTheFirst(JournalWriter):
    """A return has the name of the tool that was called first by its id."""

    def _note_completed(self, part):
        super()._note_completed(part)
        if part.kind == "tool-call":
            self.__dict__.setdefault("_first", {}).setdefault(part.fields["tool_call_id"], part.fields["tool_name"])

    def tool_name(self, call_id):
        return self.__dict__.get("_first", {}).get(call_id)


_SAME = (
    ("in-small-letters", "that differ in capital letters alone", str.lower),
    ("cut-to-40", "that have the same first 40 characters", lambda key: key[:40]),
    ("cut-to-64", "that have the same first 64 characters", lambda key: key[:64]),
    ("of-letters-and-digits", "that have the same letters and digits", lambda key: re.sub("[^A-Za-z0-9]", "", key)),
    ("as-numbers", "that are the same number", lambda key: str(int(key)) if key.isdigit() else key),
)
_SAME_BLOCKS = (
    *_SAME,
    ("without-blanks", "that differ in blanks alone", str.strip),
    ("composed", "that look alike", lambda key: unicodedata.normalize("NFC", key)),
    ("decoded", "that are the same address", unquote),
)
_TOOLS = (
    ("in-small-letters", "in small letters", str.lower),
    ("made-safe", "in the letters of an API, others as underscores", lambda name: re.sub("[^A-Za-z0-9_-]", "_", name)),
    ("without-their-server", "as what follows the last two underscores", lambda name: name.rpartition("__")[2] or name),
    ("cut-to-64", "in a column of 64 characters", lambda name: name[:64]),
    ("trimmed", "without the blanks around them", str.strip),
)

DEFECTS = (
    *(
        defect(
            f"ids-of-calls-{name}",
            "both",
            f"Ids of calls {words} name one call.",
            "tool.ids-match",
            both_writers(finding_calls(same)),
        )
        for name, words, same in _SAME
    ),
    *(
        defect(
            f"ids-of-blocks-{name}",
            "client",
            f"Ids of texts {words} name one text.",
            "stream.interleaved stream.text",
            blocks_by(same),
        )
        for name, words, same in _SAME_BLOCKS
    ),
    defect(
        "ids-of-calls-stored-shorter",
        "both",
        "An id of a call is stored in a column of 64 characters.",
        "tool.ids-match",
        renamed("tool_call_id", lambda name: name[:64]),
    ),
    defect(
        "prefixes-of-ids-cut-off",
        "both",
        "The prefix that a provider gives to its ids is cut off.",
        "tool.ids-match",
        renamed("tool_call_id", lambda name: name.removeprefix("call_")),
    ),
    *stored("names-of-tools", "Names of tools", "tool_name", _TOOLS, "tool.ids-match stream.tool-input"),
    defect(
        "return-named-by-the-first-call-of-its-id",
        "client",
        "A return has the name of the tool that was called first by its id.",
        "tool.id-reused tool.ids-match R36",
        client_writer(NamedByTheFirst),
    ),
    *(
        defect(f"{name}-stays-with-its-id", "client", sentence, "tool.id-reused R36", keeping(held))
        for name, sentence, held in (
            ("denial", "A call whose id is used again is denied for the reason of the call before.", "_denials"),
            (
                "refusal",
                "A failure of a call is taken for the refusal of the call that had its id before.",
                "_input_errors",
            ),
        )
    ),
    defect(
        "provider-stays-with-its-id",
        "client",
        "A call whose id a call of the provider had is taken for that one.",
        "tool.id-reused R36",
        wrap(ProviderCalls, "note", provider_call_stays),
    ),
)
