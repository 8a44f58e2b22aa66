"""Threads, scenarios and recorded streams → what is wrong with them, without playing anything.

In: a document as a file or as a value. Out: findings, in order of their place. This is what `tpharness check` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tpharness import scenario, server_events
from tpharness.document_files import NO_TIME, event_lines, is_log, is_of_server, parse_log, read_file, sort_of
from tpharness.errors import ScenarioError, UsageError
from tpharness.findings import Finding, Place
from tpharness.protocol.parse import parse_json
from tpharness.protocol.reading import check_as_read
from tpharness.wires import checked
from tpharness.wires.checked import NO_EVENTS, UNFINISHED
from tpharness.wires.registry import default_wire

__all__ = [
    "RepairFormat",
    "check",
    "check_data",
    "check_json",
    "check_scenario",
    "input_beside",
    "input_file",
    "is_input",
]

RepairFormat: TypeAlias = Literal[
    "thread",
    "ai-sdk",
    "pydantic-ai",
    "thread-log",
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "bedrock",
]
"""The formats of stored conversations. A type checker needs the names; a test holds them to those of the registry."""

_STORED = "tpharness.histories.stored.formats"
_NAME_IT = "its format is not plain: --from ai-sdk|pydantic-ai|openai-chat|…, in Python format=, names it"


def check(
    document: Mapping[str, Any] | bytes | Path | Sequence[Mapping[str, Any]],
    *,
    major: int | None = None,
    format: RepairFormat | None = None,  # noqa: A002  # as everybody calls it
) -> list[Finding]:
    """Return what is wrong with a document, nothing if it is right; a finding of the level `must` breaks a rule.

    A mapping is a thread, read as a reader has to (R3). `bytes` are a stream, a list is its chunks, or server events. A
    `Path` is a thread (`.json`), a scenario (`.yaml`), a stream (`.sse`) or server events (`.jsonl`). Streams are
    held to the order of chunks, and with `major`, 5 to 7, to what that major of the AI SDK takes. A stream of AG-UI is
    known by its content and held to the rules of AG-UI; `NAME.input.json` beside a `Path` is the input that it answers.

    `format` names that of a stored conversation, as a `Path`, a list of messages or an object that has them; messages
    of the AI SDK and of Pydantic AI are recognised without it, and so is an object that is plainly a request to an API.

    InputError for a file that cannot be read, UsageError for a value of another type, an unknown major or format.
    """
    known = default_wire().majors
    if major is not None and major not in known:
        hint = f"give {', '.join(map(str, known[:-1]))} or {known[-1]}"
        raise UsageError(f"there are no rules for major {major!r} of the AI SDK", hint=hint)
    if format is not None:
        return _check_in_format(document, format)
    if isinstance(document, Mapping):
        return _check_value(dict(document), None)[1]
    if isinstance(document, Path):
        if document.suffix in (".yaml", ".yml"):
            return check_scenario(document)
        data = read_file(document)
        return check_data(data, str(document), major=major, posted=input_beside(document, data))
    if isinstance(document, bytes | bytearray | memoryview):
        return check_stream(bytes(document), major=major)
    _require_list(document)
    first = document[0] if document else None
    if isinstance(first, Mapping) and "parts" in first and (recognised := _recognise(document)) is not None:
        return _check_value(document, recognised)[1]
    if is_of_server(document, list(document)):
        return _check_events(document)
    wire = default_wire()
    return check_stream(wire.encode(document) + wire.end, major=major)


def _require_list(document: object) -> None:
    """UsageError for what is not a form of a document, such as the name of a file as a text."""
    if isinstance(document, str) or not isinstance(document, Sequence):
        hint = "give a thread as a dict, a stream as bytes, a list of chunks or of server events, or the Path of a file"
        raise UsageError(f"a document is not checked as {type(document).__name__}", hint=hint)


_INPUT = ".input.json"


def input_file(stream: Path) -> Path:
    """Return the file in which the input lies that a stream answers: `NAME.input.json` beside `NAME.sse`."""
    return stream.with_suffix(_INPUT)


def input_beside(file: Path, data: bytes) -> bytes | None:
    """Return the input that lies beside a stream which answers one, as `NAME.input.json` beside `NAME.sse`."""
    beside = input_file(file)
    if file.suffix != ".sse" or not beside.is_file() or not checked.answers_input(data):
        return None
    posted = read_file(beside)
    return None if posted.strip() == b"null" else posted  # a turn for which nothing was posted


def is_input(file: str) -> bool:
    """Whether a file is the input that the stream beside it answers."""
    return file.endswith(_INPUT) and Path(f"{file.removesuffix(_INPUT)}.sse").is_file()


def check_data(data: bytes, file: str, *, major: int | None = None, posted: bytes | None = None) -> list[Finding]:
    """Return what is wrong with the bytes of a file: a stream, events, a log or a thread, as `sort_of` says.

    `NAME.input.json` beside `NAME.sse` is what was posted to a server of AG-UI, and `posted` what a stream answers.
    """
    match sort_of(file, data):
        case "stream":
            return check_stream(data, file, major=major, posted=posted)
        case "events":
            return _check_event_lines(data, file)
        case "log":
            return _check_log_lines(data, file)
    if is_input(file):
        return [finding.with_place(file=file) for finding in checked.check_input(data)]
    return check_json(data, file)[1]


def check_json(data: bytes, file: str | None, format_: str | None = None) -> tuple[str, list[Finding]]:
    """Return the format that a document in JSON is in, "" if it is not JSON, and what is wrong with it."""
    if format_ == "thread-log" or (format_ is None and is_log(data)):
        return "thread-log", _check_log_lines(data, file)
    parsed = parse_json(data, file=file)
    if not parsed.ok:
        return "", list(parsed.findings)
    known, found = _check_value(parsed.value, format_, safe=not parsed.findings)
    return known, [*parsed.findings, *(finding.with_place(file=file) if file else finding for finding in found)]


def _check_in_format(document: Any, format_: str) -> list[Finding]:
    if isinstance(document, Path):
        return check_json(read_file(document), str(document), format_)[1]
    if isinstance(document, bytes | bytearray | memoryview):
        return check_json(bytes(document), None, format_)[1]
    return _check_value(document, format_)[1]


def _check_value(value: Any, format_: str | None, *, safe: bool = False) -> tuple[str, list[Finding]]:
    """Return the format of a JSON value, recognised where it is not given, and what is wrong with it as one.

    What is in no format that is known is held to be a thread. `safe` is that of `check_thread`.
    """
    recognised = format_ or _recognise(value)
    known = recognised or "thread"
    if known == "thread":
        found = check_as_read(value, observations=True, safe=safe)
        unknown = isinstance(value, list) or (isinstance(value, Mapping) and "messages" in value)
        return known, [replace(one, advice=_NAME_IT) for one in found] if unknown and recognised is None else found
    if find_spec("tpharness.histories") is None:
        raise UsageError("format= needs the package tpharness.histories", hint="install tpharness whole")
    room: Any = import_module(_STORED)
    stored: list[Finding] = room.check_stored(value, room.require_format(known), safe=safe)
    return known, stored


def _recognise(value: Any) -> str | None:
    """Return the format of a value where it is plain, None elsewhere."""
    if isinstance(value, Mapping) and "turns" in value:  # without loading what knows the others
        return "thread"
    if find_spec("tpharness.histories") is None:
        return None
    found: str | None = import_module(_STORED).format_of(value)
    return found


def _check_log_lines(data: bytes, file: str | None) -> list[Finding]:
    """Return what is wrong with a log; of a file of lines each place is a line of it, and a pointer inside of it."""
    parsed, numbers = parse_log(data, file=file)
    found = _check_value(parsed.value, "thread-log")[1] if parsed.ok else []
    return [*parsed.findings, *(_at_line(finding.with_place(file=file), numbers) for finding in found)]


def _at_line(finding: Finding, numbers: Sequence[int]) -> Finding:
    first, _, rest = (finding.place.pointer or "").removeprefix("/").partition("/")
    if not numbers or not first:
        return finding
    return finding.with_place(line=numbers[int(first)], pointer=f"/{rest}" if rest else None)


def _check_event_lines(data: bytes, file: str) -> list[Finding]:
    """Return what is wrong with the first line that is not JSON, else with the events."""
    events = []
    for number, line in event_lines(data):
        parsed = parse_json(line, file=file)
        if not parsed.ok:
            return [finding.with_place(line=number, byte=None) for finding in parsed.findings]
        events.append(parsed.value)
    return _check_events(events, file)


def _check_events(events: Sequence[Any], file: str | None = None) -> list[Finding]:
    recorder = server_events.Recorder()
    recorder.begin("assistant", NO_TIME)
    server_events.record_events(recorder, events)
    found = recorder.findings
    if recorder.state is not server_events.RunState.ENDED:
        message = "the events end before their run does, so its turn is interrupted"
        found = [UNFINISHED.at(Place(side="server", event=len(events)), message), *found]
    if not events:
        found = [NO_EVENTS.at(Place(side="server", event=0), "the file does not contain an event of a run"), *found]
    return [finding.with_place(file=file) for finding in found]


def check_scenario(path: Path) -> list[Finding]:
    """Return why a scenario file does not load."""
    try:
        scenario.load_scenario(path, root=path.absolute().parent.parent)
    except ScenarioError as error:
        return list(error.findings)
    return []


def check_stream(
    data: bytes, file: str | None = None, *, major: int | None = None, posted: bytes | None = None
) -> list[Finding]:
    """Return what is wrong with the bytes of a whole stream, on the wire that its first event shows."""
    return [finding.with_place(file=file) for finding in checked.check_stream(data, major, posted)]
