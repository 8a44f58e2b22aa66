"""Which command with which options has made a batch: `--resume` goes on with what the same one has made.

In: the work of a command, a dataclass of its options. Out: a record of JSON values, and in words where two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.metadata import version
from typing import Any, TypeAlias

from tpharness.cli.batch.digest import digest_of
from tpharness.findings import shorten

__all__ = ["CommandRecord", "describe_difference", "record_command"]

CommandRecord: TypeAlias = Mapping[str, Any]
"""`work`, `options` by the names that a user types, and the `version` of tpharness."""

_TYPED = {
    "source": "--from",
    "form": "--for",
    "of_request": "accept --repair",
    "posted": "--input",
    "folder": "the folder",
}
"""What a user types for the fields that are not called as their option is."""
_NOT_GIVEN = (None, False, "")


def record_command(work: Any) -> CommandRecord:
    """Return the record of a command. Fields that are not in the `repr` of the work decide no result."""
    return {"work": type(work).__name__, "options": dict(_options(work)), "version": version("tpharness")}


def describe_difference(before: CommandRecord, now: CommandRecord) -> str:
    """Say in words where two records differ, as somebody has typed it; "" where they are equal."""
    if before == now:
        return ""
    options, other = before.get("options"), now.get("options")
    if before.get("work") != now.get("work") or not isinstance(options, Mapping) or not isinstance(other, Mapping):
        return "it was another command"
    said = [
        f"{name} was {_say(options.get(name))}, and is {_say(other.get(name))}"
        for name in {**options, **other}
        if options.get(name) != other.get(name)
    ]
    if before.get("version") != now.get("version"):
        said.append(f"it was made by tpharness {before.get('version')}, and this is tpharness {now.get('version')}")
    return "; ".join(said)


def _options(work: Any) -> Iterator[tuple[str, Any]]:
    """Yield the options in the fields of a dataclass, and of those in it."""
    for field in fields(work):
        value = getattr(work, field.name)
        if is_dataclass(value):
            yield from _options(value)
        elif field.repr:
            yield _TYPED.get(field.name, f"--{field.name.replace('_', '-')}"), _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return digest_of(value) if isinstance(value, bytes) else value


def _say(value: Any) -> str:
    if value is True:
        return "given"
    return "not given" if value in _NOT_GIVEN else shorten(repr(value), 60)
