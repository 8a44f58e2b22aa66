"""Findings: what is wrong with a document, a stream or a peer, as data.

In: `conformance/findings.yaml`, the catalogue of everything that can be wrong. Out: `Kind` (what can be wrong, one per
stable code), `Place` (where), `Finding` (this is wrong, here). A finding is collected and returned, never raised.

This module detects nothing: each detector names the kinds that it finds, as constants beside its code. What is known
about a kind is written once, in the catalogue, which is read when the first finding is made or shown.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, Self

from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = [
    "Finding",
    "Kind",
    "KindEntry",
    "Level",
    "Place",
    "json_type",
    "load_kinds",
    "parse_finding",
    "quote",
    "shorten",
    "shorten_both",
    "tell_apart",
]

_DEEPEST, _LONGEST, _MOST_ITEMS = 5, 400, 30


class Level(Enum):
    """How strong the broken statement is (RFC 2119). Only `MUST` fails a run."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return tuple(Level).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindEntry:
    """What the catalogue says about one kind of finding.

    `code` is stable kebab-case; `title` says in one line what is wrong; `meaning` says more where that helps, "" where
    it does not; `for_user` what it means for the user of an application, "" if nobody knows; `remedy` says what to do;
    `clauses` are ids of `conformance/clauses.yaml`; `rulings` are like `R21`; `room` names the package beside the core
    that finds it, "" for the core.
    """

    code: str
    level: Level
    title: str
    remedy: str
    meaning: str = ""
    for_user: str = ""
    clauses: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()
    room: str = ""


@cache
def load_kinds() -> Mapping[str, KindEntry]:
    """Return every kind of finding by its code, in the order of `conformance/findings.yaml`."""
    entries = (
        KindEntry(
            **item
            | {"level": Level(item["level"].lower())}
            | {name: tuple(item.get(name, ())) for name in ("clauses", "rulings")}
        )
        for item in load_suite_yaml(conformance_dir() / "findings.yaml")
    )
    return {entry.code: entry for entry in entries}


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that can be wrong, named by its code in the catalogue.

    Naming a kind reads nothing, so that a command that shows no finding does not read the catalogue. A code that the
    catalogue does not have raises ValueError on first use; `tests/test_findings.py` looks every code up.
    """

    code: str

    @classmethod
    def of_report(cls, code: str) -> Self:
        """Return the kind that a report names. ValueError if the catalogue does not have the code."""
        found = cls(code)
        found.entry  # noqa: B018  # it raises
        return found

    @property
    def entry(self) -> KindEntry:
        """The kind's entry in the catalogue."""
        kinds = load_kinds()
        if self.code not in kinds:
            from difflib import get_close_matches  # noqa: PLC0415  # nothing needs it as long as codes are right

            near = get_close_matches(self.code, kinds, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"conformance/findings.yaml has no entry with the code {self.code!r}{meant}")
        return kinds[self.code]

    @property
    def level(self) -> Level:
        """How strong the broken statement is."""
        return self.entry.level

    @property
    def title(self) -> str:
        """What is wrong, in one line."""
        return self.entry.title

    @property
    def remedy(self) -> str:
        """What the reader can do."""
        return self.entry.remedy

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that are broken."""
        return self.entry.clauses

    @property
    def rulings(self) -> tuple[str, ...]:
        """The rulings that decide the case."""
        return self.entry.rulings

    def at(
        self,
        place: Place,
        message: str = "",
        *,
        got: Any = None,
        expected: Any = None,
        symptom: str = "",
        decided: tuple[str, ...] = (),
        advice: str = "",
    ) -> Finding:
        """Make a finding of this kind; `message` defaults to the title, `decided` to the rulings of the kind."""
        return Finding(
            kind=self,
            place=place,
            message=message or self.title,
            got=got,
            expected=expected,
            symptom=symptom,
            decided=decided,
            advice=advice,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where: any of a file position, a JSON pointer into a document, an event or byte of a stream, a side.

    `line`, `column` count from 1; `event` (chunk or server event) and `byte` from 0.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    pointer: str | None = None
    event: int | None = None
    byte: int | None = None
    side: str | None = None
    case: str | None = None

    def __str__(self) -> str:
        position = ":".join(str(x) for x in (self.file, self.line, self.column) if x is not None)
        words = [
            self.case or "",
            self.side or "",
            position,
            f"event {self.event}" if self.event is not None else "",
            f"byte {self.byte}" if self.byte is not None else "",
            self.pointer
            if self.pointer is not None and self.pointer != ""
            else ("(root)" if self.pointer == "" else ""),
        ]
        return " ".join(w for w in words if w)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something of a `kind` that is wrong at a `place`; `message` says it for this case, with `got` and `expected`.

    `symptom` says it without what differs from case to case, such as indices, ids and values, where the kind alone says
    too little: one mistake shows with one symptom in many cases. "" where the kind says enough. `decided` names the
    rulings and clauses of this case where its kind alone does not say which, `advice` what to do where that of the kind
    does not fit. `versions` are the versions of the protocol in whose threads it was found, the oldest first;
    none for what is not found in a thread. `demanded` says that it fails its case below MUST too, as `fail_on` asks.
    """

    kind: Kind
    place: Place
    message: str
    got: Any = field(default=None, hash=False)
    expected: Any = field(default=None, hash=False)
    symptom: str = ""
    decided: tuple[str, ...] = ()
    advice: str = ""
    versions: tuple[str, ...] = ()
    demanded: bool = False

    @property
    def fails(self) -> bool:
        """Whether it fails its case."""
        return self.demanded or self.level is Level.MUST

    @property
    def rulings(self) -> tuple[str, ...]:
        """The rulings that decide the case."""
        return tuple(one for one in self.decided if "." not in one) or self.kind.rulings

    @property
    def code(self) -> str:
        """The stable code of the kind."""
        return self.kind.code

    @property
    def level(self) -> Level:
        """The level of the kind."""
        return self.kind.level

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that are broken, whose ids have a dot."""
        return tuple(one for one in self.decided if "." in one) or self.kind.clauses

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.advice or self.kind.remedy

    @property
    def for_user(self) -> str:
        """What it means for the user of an application."""
        return self.kind.entry.for_user

    def with_place(self, **changes: Any) -> Finding:
        """Return the same finding with fields of its place filled in, such as `file`, `side` or `case`."""
        return replace(self, place=replace(self.place, **changes))

    def in_version(self, version: str) -> Finding:
        """Return the same finding, found in the thread of one more version."""
        return self if version in self.versions else replace(self, versions=(*self.versions, version))

    def shown(self, limit: int = 160) -> dict[str, str]:
        """Return `got` and `expected`, where given, as a person reads them; with their types if they look alike."""
        if self.got is not None and self.expected is not None:
            got, expected = shorten_both(self.got, self.expected, limit)
            return {"got": got, "expected": expected}
        given = {"got": self.got, "expected": self.expected}
        return {word: shorten(value, limit) for word, value in given.items() if value is not None}

    def line(self) -> str:
        """Render on one line: level, code, place, message, got, expected, citations."""
        cites = ", ".join((*self.clauses, *self.rulings))
        tail = "".join(f"; {word} {text}" for word, text in self.shown().items())
        where = " in ".join(filter(None, (str(self.place) or "(unknown place)", ", ".join(self.versions))))
        return f"{self.level.name} {self.code} at {where}: {self.message}{tail}" + (f" [{cites}]" if cites else "")

    def as_json(self) -> dict[str, Any]:
        """Shape of a finding in reports and `--json` output (`conformance/schemas/report.schema.json`)."""
        place = {k: v for k in Place.__slots__ if (v := getattr(self.place, k)) is not None}
        return {
            "code": self.code,
            "level": self.level.value,
            "message": self.message,
            "place": place,
            **self.shown(),
            **({"symptom": self.symptom} if self.symptom else {}),
            **({"versions": list(self.versions)} if self.versions else {}),
            **({"demanded": True} if self.demanded else {}),
            "clauses": list(self.clauses),
            "rulings": list(self.rulings),
            "remedy": self.remedy,
            **({"for_user": self.for_user} if self.for_user else {}),
        }


def parse_finding(value: Mapping[str, Any]) -> Finding:
    """Return the finding that `as_json` wrote; `got` and `expected` are the texts that were shown.

    KeyError, TypeError or ValueError for what it has not written.
    """
    kind, place = Kind.of_report(value["code"]), Place(**value["place"])
    given: dict[str, Any] = {key: value[key] for key in ("got", "expected", "symptom", "demanded") if key in value}
    lists = ((value.get(name, ()), getattr(kind, name)) for name in ("rulings", "clauses"))
    given["decided"] = tuple(one for named, known in lists if tuple(named) != known for one in named)
    given["advice"] = "" if value.get("remedy") == kind.remedy else value.get("remedy", "")
    return Finding(kind=kind, place=place, message=value["message"], versions=tuple(value.get("versions", ())), **given)


_COMPOSED = 4  # characters that may compose one, as a letter and three marks


def shorten(value: Any, limit: int = 160) -> str:
    """Render a value for a person, on one line, cut in the middle when longer than `limit` characters.

    Text and bytes are shown as they are, other values as JSON. Only the part of a large value that can be
    shown is read.
    """
    if isinstance(value, bytes | bytearray):
        value = bytes(value[: 4 * limit]).decode("utf-8", "backslashreplace")
    text = value if isinstance(value, str) else _shorten_json(value, _DEEPEST)
    if len(text) > 4 * limit:
        text = text[: 2 * limit] + text[-2 * limit :]
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def quote(value: Any, limit: int = 160) -> str:
    """Render a value as `shorten` does, text in quotation marks. `repr` would escape its escapes again."""
    return f"'{shorten(value, limit)}'" if isinstance(value, str) else shorten(value, limit)


def shorten_both(one: Any, other: Any, limit: int = 160) -> tuple[str, str]:
    """Render two different values beside each other, so that a person sees that they differ.

    If they look alike but for blanks, each has its JSON type; texts that differ in how their characters are composed
    have escapes for what is not ASCII.
    """
    texts = tell_apart(shorten(one, limit), shorten(other, limit))
    types = json_type(one), json_type(other)
    alike = "".join(texts[0].split()) == "".join(texts[1].split())
    if not alike or types[0] == types[1]:
        return texts
    return f"{texts[0]} ({types[0]})", f"{texts[1]} ({types[1]})"


def tell_apart(one: str, other: str) -> tuple[str, str]:
    """Return both texts; where they differ and look alike, such as é and e with an accent, in ASCII with escapes.

    What follows the first difference decides, since texts that are cut at the same length end differently.
    """
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    forms = [unicodedata.normalize("NFKC", text[at : at + _COMPOSED])[:1] for text in (one, other)]
    alike = one != other and forms[0] == forms[1]
    return (_in_ascii(one), _in_ascii(other)) if alike else (one, other)


def _in_ascii(text: str) -> str:
    return "".join(c if c.isascii() else c.encode("unicode_escape").decode() for c in text)


def json_type(value: Any) -> str:
    """Return the JSON type of a value with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else "a string"


def _shorten_json(value: Any, levels: int) -> str:
    """Return the beginning of a value as JSON, or as Python's `repr` if JSON cannot represent it."""
    if isinstance(value, str):
        cut = value if len(value) <= _LONGEST else f"{value[: _LONGEST // 2]}...{value[-_LONGEST // 2 :]}"
        return json.dumps(cut, ensure_ascii=False)
    if isinstance(value, dict):
        if not levels:
            return "{...}"
        items = [f"{_shorten_json(k, 0)}: {_shorten_json(v, levels - 1)}" for k, v in _first_items(value.items())]
        return "{" + ", ".join(items + ["..."] * (len(value) > _MOST_ITEMS)) + "}"
    if isinstance(value, list | tuple):
        if not levels:
            return "[...]"
        items = [_shorten_json(item, levels - 1) for item in _first_items(value)]
        return "[" + ", ".join(items + ["..."] * (len(value) > _MOST_ITEMS)) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    try:
        return repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "an integer of more than 4300 digits"


def _first_items(items: Iterable[Any]) -> Iterator[Any]:
    return islice(items, _MOST_ITEMS)
