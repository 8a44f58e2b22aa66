"""What the scripted model provider costs: processor time of ours for an answer of 20 pieces, in each API.

The client is a process of its own with one connection, so that only the provider is counted.

    python -m benchmarks.provider
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import sys
import time

from benchmarks.table import Row, at_most, report

from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Plan, Text

ANSWERS = 300
LIMIT = 5.0  # milliseconds
MARK = "[tp:bench]"
PLAN = Plan(items=(Text(pieces=tuple(f"word {number} " for number in range(20))),))
USER = {"role": "user", "content": f"Hello {MARK}"}
REQUESTS = {
    "Chat Completions": ("/v1/chat/completions", {"model": "gpt-4o", "messages": [USER], "stream": True}),
    "Responses": ("/v1/responses", {"model": "gpt-5", "input": [USER], "stream": True}),
    "Anthropic Messages": ("/v1/messages", {"model": "claude-sonnet-4-6", "messages": [USER], "stream": True}),
    "Gemini": (
        "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": USER["content"]}]}]},
    ),
}


def ask(port: int, path: str, body: object) -> None:
    """Ask for every answer, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(ANSWERS):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        connection.getresponse().read()


async def measure(name: str) -> Row:
    """Return the processor time of one answer in milliseconds."""
    async with Provider() as provider:
        conversation = provider.conversation(MARK)
        conversation.plans([PLAN] * ANSWERS)
        path, body = REQUESTS[name]
        client = multiprocessing.get_context("spawn").Process(target=ask, args=(provider.port, path, body))
        client.start()
        await conversation.next_exchange(60)
        start = time.process_time()
        await asyncio.to_thread(client.join)
        spent = time.process_time() - start
        if conversation.plans_left or client.exitcode:
            raise SystemExit(f"{name}: {conversation.plans_left} of {ANSWERS} answers were not asked for")
    return at_most(f"{name}: an answer of 20 pieces", round(1000 * spent / (ANSWERS - 1), 2), LIMIT, "ms")


def main() -> int:
    """Measure every API."""
    return report([asyncio.run(measure(name)) for name in REQUESTS])


if __name__ == "__main__":
    sys.exit(main())
