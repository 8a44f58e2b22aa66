"""The streams of `conformance/statements/`, as bytes, and where tpharness differs from what a person has read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tpharness import fold
from tpharness.resources import conformance_dir
from tpharness.scenario.outline import outline
from tpharness.suite_yaml import load_suite_yaml
from tpharness.wires.ag_ui.judge import judge_stream

STATEMENTS = conformance_dir() / "statements"
STREAMS: list[dict[str, Any]] = load_suite_yaml(STATEMENTS / "ag-ui-streams.yaml")
FOLDS: list[dict[str, Any]] = load_suite_yaml(STATEMENTS / "ag-ui-folds.yaml")

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def framed(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Return events as a server sends them."""
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


def run_of(*events: Mapping[str, Any]) -> bytes:
    """Return the body of one run with these events in it."""
    return framed([STARTED, *events, FINISHED])


def events_of(stream: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a stream; none for one that is given as bytes."""
    return [STARTED, *stream["run"], FINISHED] if "run" in stream else list(stream.get("stream", ()))


def body_of(stream: Mapping[str, Any]) -> bytes:
    """Return the body of a stream."""
    return str(stream["bytes"]).encode() if "bytes" in stream else framed(events_of(stream))


def input_of(stream: Mapping[str, Any]) -> bytes | None:
    """Return the input that a stream answers, if it has one."""
    return json.dumps(stream["input"]).encode() if "input" in stream else None


def differing_findings(stream: Mapping[str, Any]) -> str:
    """Return which findings, or which rejection by a client, differ from those that a stream names; "" if none do."""
    judge = judge_stream(body_of(stream), input_of(stream))
    found = [finding.code for finding in judge.findings], judge.rejected_at is not None
    expected = stream.get("findings", []), stream.get("rejected", False)
    return "" if found == expected else f"found {found}, and {expected} is right"


def differing_fold(vector: Mapping[str, Any]) -> str:
    """Return how the thread of a stream, as bytes and as events, differs from what `ag-ui-folds.yaml` has; or ""."""
    for answer in (body_of(vector), events_of(vector)):
        turns = fold("Hi", answer).thread["turns"]
        if (found := outline({"turns": turns})[1:]) != vector["outline"]:
            return f"the outline is {found}, and {vector['outline']} is right"
        for pointer, value in vector.get("values", {}).items():
            if (seen := value_at(turns[1:], pointer)) != value:
                return f"at {pointer} is {seen!r}, and {value!r} is right"
    return ""


def value_at(turns: list[Any], pointer: str) -> Any:
    """Return what stands at a JSON pointer into turns."""
    value: Any = turns
    for token in pointer.split("/")[1:]:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value
