"""Pydantic AI: to a client that names no version of AG-UI, a run that was cancelled ends as a success."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent, CancellationToken
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

POSTED = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}


async def main(**version: str) -> None:
    token = CancellationToken()

    async def model(*_: Any) -> AsyncIterator[str]:
        yield "Half an ans"
        token.cancel()  # the user presses stop
        await asyncio.sleep(60)

    posted = {**POSTED, "messages": [{"id": "u", "role": "user", "content": "Hi"}], **version}
    run = AGUIAdapter.build_run_input(json.dumps(posted).encode())
    adapter = AGUIAdapter(agent=Agent(FunctionModel(stream_function=model)), run_input=run)
    events = [event async for event in adapter.encode_stream(adapter.run_stream(cancellation_token=token))]
    last = json.loads(events[-1].removeprefix("data: "))
    print(version, last["type"], last.get("outcome"))


asyncio.run(main(protocolVersion="1.0"))
asyncio.run(main())
