"""Read the JSON and SSE data of a scenario, inline or from files next to it.

A named file has to be in the folder of the scenario or below it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.position import Position
from tpharness.scenario.problems import BAD_FILE, BAD_VALUE, TOO_LARGE, UNREADABLE, Problems
from tpharness.scenario.records import GivenStream
from tpharness.scenario.yaml_nodes import ListNode, Node, plain
from tpharness.scenario_files import read_regular

__all__ = ["MAX_FILE_BYTES", "EventSources"]

MAX_FILE_BYTES = 64 * 1024 * 1024
_EVENT = "a server event, which is an object"
_CHUNK = "a chunk, which is an object"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSources:
    """Reads the values of `server`, `client` and `history`. `folder` has the named files; None allows none."""

    problems: Problems
    folder: Path | None

    def events(self, node: Node, where: str) -> list[Any]:
        """Return the server events of `{file: …}` or `{jsonl: …}`.

        `then` lists events that follow them, for those that a recording of the server's own events cannot contain.
        """
        fields = Fields(node, self.problems, where, ("file", "jsonl", "then"))
        then = fields.any("then")
        more = [event for event in then if isinstance(event, dict)] if isinstance(then, list) else []
        if then is not None and (not isinstance(then, list) or len(more) != len(then)):
            fields.report_bad("then", "a list of server events")
        return [*self._read_given_events(fields), *more]

    def _read_given_events(self, fields: Fields) -> list[Any]:
        match fields.one_of(("file", "jsonl"), what="a map of server events"):
            case "file":
                data = self._file(fields)
                return [] if data is None else self._lines(data, fields, "file", _EVENT)
            case "jsonl":
                text = fields.text("jsonl", empty=True) or ""
                return self._lines(text.encode(), fields, "jsonl", _EVENT)
            case _:
                return []

    def wire(self, node: Node, where: str) -> GivenStream | None:
        """Return an explicit client stream: a list of chunks, or `{sse|file|jsonl|base64: …}`."""
        if isinstance(node, ListNode):
            return GivenStream(chunks=tuple(self._objects(node, where)))
        forms = ("sse", "file", "jsonl", "base64")
        fields = Fields(node, self.problems, where, forms)
        match fields.one_of(forms, what="a client stream that is not a list"):
            case "sse":
                return GivenStream(data=(fields.text("sse", empty=True) or "").encode())
            case "file":
                data = self._file(fields)
                if data is not None and str(fields.any("file")).endswith(".jsonl"):
                    return GivenStream(chunks=tuple(self._lines(data, fields, "file", _CHUNK)))
                return GivenStream(data=data or b"")
            case "jsonl":
                text = fields.text("jsonl", empty=True) or ""
                return GivenStream(chunks=tuple(self._lines(text.encode(), fields, "jsonl", _CHUNK)))
            case "base64":
                try:
                    return GivenStream(data=base64.b64decode(fields.text("base64", empty=True) or "", validate=True))
                except binascii.Error:
                    fields.report_bad("base64", "base64 text")
        return None

    def messages(self, node: Node, where: str) -> tuple[Any, ...]:
        """Return library messages: a list, `{file: …}` or `{json: …}`."""
        if isinstance(node, ListNode):
            return tuple(plain(node))
        fields = Fields(node, self.problems, where, ("file", "json"))
        word = fields.one_of(("file", "json"), what="a history that is not a list")
        data = None
        if word == "file":
            data = self._file(fields)
        elif word == "json":
            data = (fields.text("json") or "[]").encode()
        if data is None or word is None:
            return ()
        value = self._json(data, lambda why: self._report_bad(fields, word, f"not JSON: {why}"))
        if not isinstance(value, list):
            self._report_bad(fields, word, "not a list of messages")
            return ()
        return tuple(value)

    def _objects(self, node: ListNode, where: str) -> list[dict[str, Any]]:
        for number, item in enumerate(node.items):
            if not isinstance(plain(item), dict):
                message = f"{where}[{number}] must be a map"
                self.problems.add(BAD_VALUE, item.position, message, got=describe_node(item), expected="a map")
        return [value for item in node.items if isinstance(value := plain(item), dict)]

    def _lines(self, data: bytes, fields: Fields, key: str, what: str) -> list[Any]:
        values = []
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            failed: list[str] = []
            value = self._json(line, failed.append)
            if failed:
                self._report_bad(fields, key, f"line {number} is not JSON: {failed[0]}")
                return []
            if not isinstance(value, dict):
                self._report_bad(fields, key, f"line {number} is not {what}")
                return []
            values.append(value)
        return values

    def _json(self, data: bytes, report: Callable[[str], object]) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            report(str(error) or type(error).__name__)
            return None

    def _report_bad(self, fields: Fields, key: str, why: str) -> None:
        named = f"file {fields.any(key)!r}" if key == "file" else f"{fields.path(key)}"
        self.problems.add(BAD_FILE, fields.value_position(key), f"{named} is bad: {why}")

    def _file(self, fields: Fields) -> bytes | None:
        name = fields.text("file", required=True)
        if name is None:
            return None
        position = fields.value_position("file")
        if self.folder is None:
            self.problems.add(UNREADABLE, position, "a scenario without a folder cannot name files", got=name)
            return None
        try:
            path = (self.folder / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a null character; links that lead back to themselves
            self.problems.add(UNREADABLE, position, f"the file {name!r} cannot be read: {error}", got=name)
            return None
        if not path.is_relative_to(self.folder.resolve()):
            expected = "a file in the folder of the scenario, or below it"
            self.problems.add(UNREADABLE, position, f"the file {name!r} lies outside", got=name, expected=expected)
            return None
        return self._read(path, name, position)

    def _read(self, path: Path, name: str, position: Position) -> bytes | None:
        try:
            size, data = read_regular(path, MAX_FILE_BYTES)
        except OSError as error:
            self.problems.add(UNREADABLE, position, f"the file {name!r} cannot be read: {error.strerror}", got=name)
            return None
        if size > MAX_FILE_BYTES:
            message = f"the file {name!r} is too large"
            self.problems.add(TOO_LARGE, position, message, got=f"{size} bytes", expected=f"≤ {MAX_FILE_BYTES}")
            return None
        return data
