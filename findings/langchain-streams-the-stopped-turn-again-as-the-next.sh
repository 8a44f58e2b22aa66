#!/usr/bin/env bash
# langchain 1.4.7 with langgraph 1.2.22: the turn after a stop streams the stopped turn again, as if the model had just said it.
#
# An agent's model calls two tools at once; the arguments of the second call are not JSON. The user stops while the first tool
# runs, and writes again. The application sends what `stream_mode="updates"` gives, as most of them do. Once more with
# two calls whose arguments are JSON.
# Expected: the updates of a run have what the run adds: one answer. So it is where all arguments are JSON.
# Seen: LangChain repairs the history before it asks the model, by removing all messages of the thread and writing them anew.
# That is an update of the node `model`: the user's old message, the stopped answer with its call c0, and a result which says that
# the call could not be executed. A page shows them as this turn's, and whoever stores updates stores the old turn twice; the
# call c0 is shown as waiting for a tool that nobody runs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langchain==1.4.7 langgraph==1.2.22

cat > again.py <<'PY'
import asyncio

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver


class Model(BaseChatModel):
    answers: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, *_, **__):
        return self

    def _generate(self, *_, **__):
        raise NotImplementedError

    async def _astream(self, *_, **__):
        yield ChatGenerationChunk(message=self.answers.pop(0))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))


async def main(second):
    running = asyncio.Event()

    @tool
    async def look(city: str) -> str:
        """Look something up."""
        running.set()
        await asyncio.sleep(60)
        return "sunny"

    calls = [{"name": "look", "args": args, "id": f"c{n}", "index": n, "type": "tool_call_chunk"}
             for n, args in enumerate(('{"city": "Oslo"}', second))]
    answers = [AIMessageChunk(content="", tool_call_chunks=calls), AIMessageChunk(content="Hello")]
    agent = create_agent(Model(answers=answers), tools=[look], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def run(words):
        async for mode, seen in agent.astream({"messages": [("user", words)]}, config, stream_mode=["messages", "updates"]):
            for node, state in seen.items() if mode == "updates" else ():
                for message in state["messages"] if words == "Again" else ():
                    ids = [call["id"] for call in getattr(message, "tool_calls", ())]
                    print(" ", *filter(None, (node, message.type, message.text[:24], *ids)))

    stopped = asyncio.ensure_future(run("Look"))
    await running.wait()
    stopped.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    print("arguments of the second call:", second)
    await run("Again")


asyncio.run(main('{"city": "Rome"}'))
asyncio.run(main("city: Rome"))
PY

env/bin/python again.py > seen.txt 2> errors.txt || { cat errors.txt; exit 1; }
cat > described.txt <<'TEXT'
arguments of the second call: {"city": "Rome"}
  model ai Hello
arguments of the second call: city: Rome
  model remove
  model human Look
  model ai c0
  model tool Tool call look with id c
  model human Again
  model ai Hello
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
