"""Bytes → JSON value, strictly: everything in the bytes about which two readers could disagree is a finding.

No bytes make this raise: if there is no value, it is None with a finding.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from tpharness.errors import InputError
from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.protocol.jcs import escape, has_odd_number, unsafe_places, write_safe

__all__ = ["MAX_DEPTH", "MAX_SIZE", "Parsed", "parse_json", "unreadable"]

MAX_SIZE = 256 * 1024 * 1024
MAX_DEPTH = 500

TOO_LARGE = Kind("json-too-large")
NOT_UTF8 = Kind("json-not-utf8")
BOM = Kind("json-bom")
NOT_JSON = Kind("json-invalid")
TOO_DEEP = Kind("json-too-deep")
DUPLICATE = Kind("json-duplicate-key")
UNSAFE = Kind("json-not-interoperable")

_BOM = b"\xef\xbb\xbf"
_MOST_PLACES = 20
_UNSURE = object()
_STRING_OR_NUMBER = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(?P<integer>\d++)(?P<rest>[.eE][\d.eE+-]*+)?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The value and the findings. `ok` is false if there is no value; `value` is None then."""

    value: Any
    findings: tuple[Finding, ...]
    ok: bool = True

    @property
    def incomplete(self) -> tuple[Finding, ...]:
        """What the value does not have of the document, or not as every reader has it: all but a byte order mark."""
        return tuple(finding for finding in self.findings if finding.kind is not BOM)


def parse_json(data: bytes, *, file: str | None = None, max_size: int = MAX_SIZE) -> Parsed:
    """Parse bytes strictly; duplicate keys, unsafe numbers and lone surrogates are reported with their places.

    The first 20 duplicate keys and the first 20 unsafe values are reported. The time is in proportion to the bytes,
    whatever they contain; if they are certainly sound, only native code reads them.
    """
    place = Place(file=file)
    if len(data) > max_size:
        got, expected = f"{len(data)} bytes", f"at most {max_size}"
        return _failure(TOO_LARGE.at(place, got=got, expected=expected))
    findings: list[Finding] = []
    if data.startswith(_BOM):
        findings.append(BOM.at(place))
        data = data[len(_BOM) :]
    value = _parse_sound(data)
    if value is not _UNSURE:
        return Parsed(value=value, findings=tuple(findings))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        finding = NOT_UTF8.at(Place(file=file, byte=error.start), f"byte 0x{data[error.start]:02x}: {error.reason}")
        return _failure(*findings, finding)
    too_deep = TOO_DEEP.at(place, got=f"more than {MAX_DEPTH} levels", expected=f"at most {MAX_DEPTH}")
    duplicates: list[tuple[dict[str, Any], str]] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, duplicates))
    except json.JSONDecodeError as error:
        where = Place(file=file, line=error.lineno, column=error.colno)
        return _failure(*findings, NOT_JSON.at(where, error.msg, got=text[error.pos : error.pos + 40] or "end of file"))
    except ValueError:  # an integer with more digits than Python converts
        return _failure(*findings, _too_many_digits(text, file))
    except RecursionError:
        return _failure(*findings, too_deep)
    if _is_too_deep(value):
        return _failure(*findings, too_deep)
    findings += [
        DUPLICATE.at(Place(file=file, pointer=pointer), f"an object has the key {key!r} twice")
        for pointer, key in _places_of(value, duplicates[:_MOST_PLACES])
    ]
    unsafe = islice(unsafe_places(value), _MOST_PLACES)
    findings += [UNSAFE.at(Place(file=file, pointer=pointer), reason) for pointer, reason in unsafe]
    return Parsed(value=value, findings=tuple(findings))


def _parse_sound(data: bytes) -> Any:
    """Return the value of bytes that certainly have no finding, else `_UNSURE`. Only native code reads and writes."""
    try:
        value = orjson.loads(data)  # refuses what is not JSON, not UTF-8, or has a lone surrogate
        again = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _UNSURE
    if has_odd_number(again) and write_safe(value, largest=0) is None:  # an integer of more than 64 bits is a float now
        return _UNSURE
    # A key that is there twice is written once, with fewer colons, unless an escaped colon makes up for it.
    if data.count(b":") != again.count(b":") or b"\\u003" in data:
        return _UNSURE
    return value


def unreadable(parsed: Parsed, *, hint: str = "") -> InputError:
    """Return the error for a file that has no value: where, what is there, and what to do, the finding's own remedy."""
    finding = parsed.findings[-1]
    got = "" if finding.got is None else f"; got {shorten(finding.got)}"
    return InputError(f"{finding.place}: {finding.message}{got}", hint=hint or finding.remedy)


def _too_many_digits(text: str, file: str | None) -> Finding:
    """Return the finding for the first integer with more digits than Python converts; there has to be one."""
    most = sys.get_int_max_str_digits()
    integers = (found for found in _STRING_OR_NUMBER.finditer(text) if found["integer"] and not found["rest"])
    start = next(found.start() for found in integers if len(found["integer"]) > most)
    at = json.JSONDecodeError("", text, start)
    where = Place(file=file, line=at.lineno, column=at.colno)
    return UNSAFE.at(where, f"an integer has more than {most} digits", got=f"{text[start : start + 20]}…")


def _failure(*findings: Finding) -> Parsed:
    return Parsed(value=None, findings=findings, ok=False)


def _object(pairs: list[tuple[str, Any]], duplicates: list[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                duplicates.append((value, key))
            seen.add(key)
    return value


def _places_of(value: Any, duplicates: list[tuple[dict[str, Any], str]]) -> list[tuple[str | None, str]]:
    """Return each duplicate key with its JSON pointer; None if a duplicate key replaced the object itself."""
    wanted = {id(holder) for holder, _ in duplicates}
    places: dict[int, str] = {}
    waiting: list[tuple[str, Any]] = [("", value)] if wanted else []
    while waiting:
        pointer, item = waiting.pop()
        if isinstance(item, dict):
            if id(item) in wanted:
                places[id(item)] = pointer
            waiting += [(f"{pointer}/{escape(key)}", child) for key, child in item.items()]
        elif isinstance(item, list):
            waiting += [(f"{pointer}/{index}", child) for index, child in enumerate(item)]
    found: list[tuple[str | None, str]] = []
    for holder, key in duplicates:
        place = places.get(id(holder))
        found.append((None if place is None else f"{place}/{escape(key)}", key))
    return found


def _is_too_deep(value: Any) -> bool:
    """Return whether lists and objects are nested deeper than MAX_DEPTH, level by level."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
