"""The streams of `conformance/statements/ag-ui-streams.yaml`, as bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

STREAMS: list[dict[str, Any]] = load_suite_yaml(conformance_dir() / "statements" / "ag-ui-streams.yaml")

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
