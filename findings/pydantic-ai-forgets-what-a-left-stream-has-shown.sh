#!/usr/bin/env bash
# pydantic-ai 2.68.0: after leaving `run_stream` the history has nothing of the answer that was shown.
#
# The page shows "Do not take both " and leaves the loop over `stream_text()`; the block of `run_stream` ends. The next run
# is given `all_messages()`.
# Expected: the history has the half answer, marked as interrupted, as it has after `await result.cancel()`.
# Seen: `all_messages()` ends with the question. The next request has two questions one after the other, and the model
# does not know what its user has read: "Why not both?" makes no sense to it. Whether the half answer is kept depends on
# one call that nothing else requires.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check pydantic-ai-slim==2.68.0

cat > leave.py <<'PY'
import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

asked = []


async def say(messages, info):
    asked.append([part.content for message in messages for part in message.parts])
    for text in ("Do not ", "take both ", "at once."):
        yield text


async def main():
    for name in ("left", "cancelled"):
        agent = Agent(FunctionModel(stream_function=say))
        async with agent.run_stream("May I take both pills?") as result:
            async for text in result.stream_text(debounce_by=None):
                if text == "Do not take both ":
                    print(f"{name}: shown {text!r}")
                    break
            if name == "cancelled":
                await result.cancel()
        async with agent.run_stream("Why not both?", message_history=result.all_messages()) as result:
            await result.get_output()
        print(f"{name}: asked {asked[-1]}")


asyncio.run(main())
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
left: shown 'Do not take both '
left: asked ['May I take both pills?', 'Why not both?']
cancelled: shown 'Do not take both '
cancelled: asked ['May I take both pills?', 'Do not take both ', 'Why not both?']
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
