#!/usr/bin/env bash
# google-adk 2.13.0: a call that was stopped is sent without a response once another call of the session has its id.
#
# The model calls `book` with the id `call_0`, as servers do that count the calls of each answer. The task is cancelled
# while `book` works. The next run calls `book` with the same id, and it returns. Then the user asks on.
# Expected: the request leaves the first call out, as it does before the id comes again, or answers it.
# Seen: the request has the first call again, with a message of the user behind it and no response: the package looks for
# the id in the whole session. Gemini, OpenAI and Anthropic refuse such a request, and so each one after it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0

cat > again.py <<'PY'
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
        return f"{part.function_call.name}() {part.function_call.id}"
    return f"response {part.function_response.id}" if part.function_response else part.text


class Scripted(BaseLlm):
    """Calls the tool in the first and in the second run; keeps what it was asked."""

    async def generate_content_async(self, request, stream=False):
        asked.append([(content.role, [shape(part) for part in content.parts]) for content in request.contents])
        call = types.Part(function_call=types.FunctionCall(id="call_0", name="book", args={}))
        part = call if len(asked) in (1, 2) else types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main():
    works, hangs = asyncio.Event(), True

    async def book() -> str:
        """Book."""
        works.set()
        if hangs:
            await asyncio.Event().wait()
        return "booked"

    agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=[book])
    sessions = InMemorySessionService()
    runner = Runner(app_name="chat", agent=agent, session_service=sessions, auto_create_session=True)

    async def read(question):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass

    task = asyncio.create_task(read("Book."))
    await works.wait()
    task.cancel()
    await asyncio.wait([task])
    hangs = False
    await read("Again.")
    await read("Is it?")
    for name, number in (("the second run", 1), ("the third run", 3)):
        print(f"{name} is asked:")
        for role, parts in asked[number]:
            print(f"  {role}: {', '.join(parts)}")


asyncio.run(main())
PY

env/bin/python -W ignore again.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
the second run is asked:
  user: Book.
  user: Again.
the third run is asked:
  user: Book.
  model: book() call_0
  user: Again.
  model: book() call_0
  user: response call_0
  model: Done.
  user: Is it?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
