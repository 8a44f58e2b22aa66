#!/usr/bin/env bash
# langgraph 1.2.24: the user's next message after a cancel runs a node again that had finished and is shown as finished.
#
# Two nodes run side by side: `hotel` has booked and returned, `flight` still works when the run is cancelled. The state
# then shows "hotel booked".
# Expected: what the state shows stays when the user goes on with another message.
# Seen: with a new input the result of `hotel` is gone and the node runs once more, so the hotel is booked twice. Going on
# without input (`None`) keeps it and runs `flight` alone. What the state shows are pending writes, which a new input drops.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langgraph==1.2.24 langgraph-checkpoint==4.3.2

cat > cancel.py <<'PY'
import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph


class State(TypedDict):
    messages: Annotated[list[str], operator.add]


async def chat(next_input):
    flies, may_fly, runs = asyncio.Event(), asyncio.Event(), {"hotel": 0, "flight": 0}

    async def hotel(state):
        runs["hotel"] += 1
        return {"messages": ["hotel booked"]}

    async def flight(state):
        runs["flight"] += 1
        flies.set()
        await may_fly.wait()
        return {"messages": ["flight booked"]}

    graph = StateGraph(State).add_node(hotel).add_node(flight).add_edge(START, "hotel").add_edge(START, "flight")
    app = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    finished = asyncio.Event()

    async def run():
        async for update in app.astream({"messages": ["Book both."]}, config):
            if "hotel" in update:
                finished.set()

    task = asyncio.create_task(run())
    await asyncio.gather(flies.wait(), finished.wait())
    task.cancel()
    await asyncio.wait([task])
    shown = (await app.aget_state(config)).values["messages"]
    may_fly.set()
    await app.ainvoke(next_input, config)
    print(f"shown after the cancel: {shown}; next input {next_input}: hotel ran {runs['hotel']} times")


asyncio.run(chat(None))
asyncio.run(chat({"messages": ["Are both booked?"]}))
PY

env/bin/python cancel.py > seen.txt
cat > described.txt <<'TEXT'
shown after the cancel: ['Book both.', 'hotel booked']; next input None: hotel ran 1 times
shown after the cancel: ['Book both.', 'hotel booked']; next input {'messages': ['Are both booked?']}: hotel ran 2 times
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
