#!/usr/bin/env bash
# openai-agents 0.24.0 (Python): `cancel()` while a tool runs lets the tool run to its end, and the session forgets it.
#
# A streamed run with an SQLiteSession calls `pay`. While `pay` runs, the page's user presses Stop:
# `result.cancel()`, whose default mode is "immediate".
# Expected: the tool is cancelled, or its call and its result are in the session.
# Seen: the payment is made after the cancel, and the session holds the user's message alone: on the next turn the model
# does not know of the payment, and makes it again if it is asked to. With `mode="after_turn"` call and result are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai-agents==0.24.0 openai==3.57.0

cat > cancel.py <<'PY'
import asyncio
import sys

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFunctionToolCall

set_tracing_disabled(True)
mode = sys.argv[1]


class Scripted(Model):
    """Calls `pay` once."""

    async def get_response(self, *args, **kwargs) -> ModelResponse:
        raise AssertionError("the run is streamed")

    async def stream_response(self, *args, **kwargs):
        call = ResponseFunctionToolCall(
            type="function_call", call_id="c1", name="pay", arguments='{"to": "Ann", "amount": 125}'
        )
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=0,
            response=Response(
                id="r1", created_at=0, model="scripted", object="response", output=[call], tool_choice="auto",
                tools=[], parallel_tool_calls=False,
            ),
        )


async def main():
    runs, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @function_tool
    async def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        runs.set()
        await may_end.wait()
        print(f"{mode}: paid {amount} to {to}")
        ended.set()
        return "paid"

    session = SQLiteSession("chat")
    result = Runner.run_streamed(Agent("teller", model=Scripted(), tools=[pay]), "Pay 125 to Ann.", session=session)

    async def read():
        async for _ in result.stream_events():
            pass

    reader = asyncio.create_task(read())
    await runs.wait()
    result.cancel(mode=mode)
    may_end.set()
    await asyncio.wait([reader])
    await ended.wait()
    if result.run_loop_task:
        await asyncio.wait([result.run_loop_task])
    kinds = [item.get("type") or item["role"] for item in await session.get_items()]
    print(f"{mode}: the session holds {', '.join(kinds)}")


asyncio.run(main())
PY

for mode in immediate after_turn; do env/bin/python -W ignore cancel.py "$mode"; done > seen.txt
cat > described.txt <<'TEXT'
immediate: paid 125 to Ann
immediate: the session holds user
after_turn: paid 125 to Ann
after_turn: the session holds user, function_call, function_call_output
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
