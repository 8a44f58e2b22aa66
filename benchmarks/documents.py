"""Threads as documents: canonical form against the rfc8785 package, schema and rules against parsing."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import rfc8785
from benchmarks.table import Row, at_least, at_most, median_seconds, report

from tpharness.protocol.jcs import jcs
from tpharness.protocol.rules import check_thread


def thread(size: int) -> dict[str, Any]:
    """Return a valid thread of about `size` bytes of JSON, texts, calls and returns as agents write them."""
    start = "2025-01-20T10:00:00Z"
    messages: list[dict[str, Any]] = []
    head = {"timestamp": start, "agent_id": "a"}
    for n in range(size // 950):
        call = {"tool_name": "get_weather", "tool_call_id": f"call_{n}"}
        words = f"Step {n}: the weather in Paris, Zürich and 東京 is what it was. " * 4
        messages += [
            {
                "message_type": "response",
                **head,
                "parts": [
                    {"part_kind": "text", "content": words},
                    {"part_kind": "tool-call", **call, "args": {"city": "Paris", "days": n, "units": ["c", "f"]}},
                ],
                "usage": {"input_tokens": 100 + n, "output_tokens": 20},
            },
            {
                "message_type": "request",
                **head,
                "parts": [
                    {
                        "part_kind": "tool-return",
                        **call,
                        "status": "success",
                        "content": {"temp": 18.5 + n, "wind": [n, n / 7], "sky": "cloudy", "ok": True, "note": None},
                    }
                ],
            },
        ]
    turn = {
        "turn_type": "agent",
        "agent_id": "a",
        "started_at": start,
        "completed_at": start,
        "completion_status": "complete",
        "messages": messages,
    }
    return {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": start,
        "updated_at": start,
        "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": start}},
        "turns": [turn],
    }


def main() -> int:
    """Measure, print; return the exit code."""
    rows = []
    for size, repeat in ((1_000_000, 5), (50_000_000, 1)):
        document = thread(size)
        same = jcs(document) == rfc8785.dumps(document)
        peer = median_seconds(partial(rfc8785.dumps, document), repeat=repeat)
        ours = median_seconds(partial(jcs, document), repeat=repeat)
        rows += [
            at_least(f"rfc8785 / ours, {size // 1_000_000} MB", peer / ours, 5),
            Row(name="  both write the same bytes", value="yes" if same else "no", target="yes", passed=same),
        ]
    document = thread(1_000_000)
    text = json.dumps(document, ensure_ascii=False)
    if check_thread(document):
        raise SystemExit("the thread of this benchmark is not valid")
    ratio = median_seconds(lambda: check_thread(document)) / median_seconds(lambda: json.loads(text))
    rows.append(at_most("schema and rules / parsing, 1 MB", ratio, 3))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
