"""Files with a stream, server events, a thread or a log of one: how they are read, and known from one another.

In: a path, or its bytes. Out: bytes, lines and values. Nothing is folded or judged here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tpharness.errors import InputError
from tpharness.protocol.parse import MAX_SIZE, Parsed, parse_json

__all__ = ["NO_TIME", "event_lines", "is_log", "is_of_server", "parse_log", "read_event", "read_file", "sort_of"]

NO_TIME = "1970-01-01T00:00:00Z"
"""The time of a run if neither the caller nor the stream says when it was."""

Sort = Literal["stream", "events", "log", "json"]
"""What a file may be: what a client receives, what a server is given, the lines of a thread, or a JSON value."""

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def read_file(path: Path) -> bytes:
    """Return the bytes of a file. InputError names it and says what is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SIZE + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: {getattr(error, 'strerror', '') or error}", hint="name a file that exists"
        ) from error
    if len(data) > MAX_SIZE:
        raise InputError(f"{path} has more than the {MAX_SIZE // 1024**2} MiB that tpharness reads")
    return data


def sort_of(name: str, data: bytes) -> Sort:
    """Return what the bytes of a file are: the ending of its name says it, or else how they begin."""
    known: dict[str, Sort] = {".sse": "stream", ".jsonl": "events", ".json": "json"}
    suffix = Path(name).suffix
    if suffix not in (".sse", ".json") and is_log(data):
        return "log"
    if suffix in known:
        return known[suffix]
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(_FIELDS):
        return "stream"
    first = start.partition(b"\n")[0]
    return "events" if first.startswith(b"{") and b'"event_kind"' in first and first.rstrip().endswith(b"}") else "json"


def is_log(data: bytes) -> bool:
    """Whether the first line of a file is the blueprint with which a thread log begins."""
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    if b'"thread-blueprint"' not in first:
        return False
    value = parse_json(first).value
    return isinstance(value, dict) and value.get("type") == "thread-blueprint"


def parse_log(data: bytes, *, file: str | None = None) -> tuple[Parsed, list[int]]:
    """Return the lines of a thread log as a list, and the number of each in the file; none for a list in JSON.

    A line that is not JSON is a finding, and not in the list: the program that writes such logs leaves it out as well.
    """
    if data.lstrip().startswith(b"["):
        return parse_json(data, file=file), []
    lines = [(number, parse_json(line, file=file)) for number, line in event_lines(data)]
    found = [finding.with_place(line=number) for number, line in lines for finding in line.findings]
    whole = [(number, line.value) for number, line in lines if line.ok]
    return Parsed(value=[value for _, value in whole], findings=tuple(found)), [number for number, _ in whole]


def is_of_server(piece: Any, answer: bytes | list[Any]) -> bool:
    """Whether an answer is server events, and not what a client receives."""
    if isinstance(piece, Path):
        return isinstance(answer, list) or sort_of(str(piece), answer) == "events"
    return isinstance(answer, list) and any("event_kind" in one for one in answer)


def event_lines(data: bytes) -> list[tuple[int, bytes]]:
    """Return the lines of a file of server events that are not blank, each with its number, from 1."""
    return [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]


def read_event(line: bytes, file: str, number: int, *, hint: str = "one server event on each line") -> Any:
    """Return the JSON value of a line. InputError where there is none."""
    parsed = parse_json(line)
    if parsed.ok:
        return parsed.value
    finding = parsed.findings[-1]
    what = f"not JSON: {finding.message}" if finding.code in ("json-invalid", "json-not-utf8") else finding.message
    raise InputError(f"{file}:{number}: {what}", hint=hint)
