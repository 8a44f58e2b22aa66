#!/usr/bin/env bash
# google-adk 2.13.0: after a cancel the next request lacks a call whose tool has finished.
#
# The model calls `pay` and `book` in one answer. `book` has returned, `pay` still works when the run is cancelled.
# Expected: the next request has the call of `book` with its response, and some answer to the call of `pay`.
# Seen: the session holds both calls and no response, and the next request leaves both calls out. The model gets the two
# messages of the user one after the other and nothing of the booking, and books again if it is asked to.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0

cat > cancel.py <<'PY'
import asyncio

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

asked = []


def shape(part):
    if part.function_call:
        return f"{part.function_call.name}()"
    return f"response of {part.function_response.name}" if part.function_response else part.text


class Scripted(BaseLlm):
    """Calls both tools, then says one word; keeps what it was asked."""

    async def generate_content_async(self, request, stream=False):
        asked.append([(content.role, [shape(part) for part in content.parts]) for content in request.contents])
        calls = [types.Part(function_call=types.FunctionCall(id=name, name=name, args={})) for name in ("pay", "book")]
        parts = calls if len(asked) == 1 else [types.Part(text="Well.")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


async def main():
    pays, booked = asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        """Pay."""
        pays.set()
        await asyncio.Event().wait()
        return "never"

    async def book() -> str:
        """Book."""
        print("book() has run")
        booked.set()
        return "booked 17"

    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="chat", user_id="u")
    agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=[pay, book])
    runner = Runner(app_name="chat", agent=agent, session_service=sessions)

    async def read(question):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    task = asyncio.create_task(read("Pay and book."))
    await asyncio.gather(pays.wait(), booked.wait())
    for _ in range(1000):  # whatever wants to run after `book` has returned
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await read("Is it booked?")
    for role, parts in asked[1]:
        print(f"{role}: {', '.join(parts)}")


asyncio.run(main())
PY

env/bin/python -W ignore cancel.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
book() has run
user: Pay and book.
user: Is it booked?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
