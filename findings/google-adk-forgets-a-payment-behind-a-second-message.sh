#!/usr/bin/env bash
# google-adk 2.13.0: a message that is written while a tool works takes back what the tool does.
#
# Sessions are stored in SQLite, as `adk api_server` and `adk web` do by default. While `pay` works the user writes again,
# and is answered. Then `pay` returns "paid 17", and the user asks "Is it paid?".
# Expected: the first run goes on, or the second message is refused; the last request has the call and "paid 17".
# Seen: the run of `pay` ends with StaleSessionError when its result is to be stored. It has neither result nor answer, and
# the requests behind it do not even have the call: the model pays again if it is asked to. With InMemorySessionService
# the result is stored, and told.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0

cat > second.py <<'PY'
import asyncio

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

asked = []


def shape(part):
    if part.function_call:
        return f"{part.function_call.name}()"
    if part.function_response:
        return f"{part.function_response.name}: {part.function_response.response['result']}"
    return part.text


class Scripted(BaseLlm):
    """Calls the tool, and says a word to everything else; keeps what it was asked."""

    async def generate_content_async(self, request, stream=False):
        asked.append([(content.role, [shape(part) for part in content.parts]) for content in request.contents])
        call = types.Part(function_call=types.FunctionCall(id="pay", name="pay", args={}))
        part = call if len(asked) == 1 else types.Part(text="Well.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(name, sessions):
    asked.clear()
    print(name)
    pays, goes_on = asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        """Pay."""
        pays.set()
        await goes_on.wait()
        print("pay() has run")
        return "paid 17"

    agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=[pay])
    runner = Runner(app_name="chat", agent=agent, session_service=sessions, auto_create_session=True)

    async def read(question):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass

    first = asyncio.create_task(read("Pay."))
    await pays.wait()
    await read("Are you there?")
    goes_on.set()
    await asyncio.wait([first])
    error = first.exception()
    print(f"its run: {type(error).__name__ if error else 'ended'}")
    await read("Is it paid?")
    for role, parts in asked[-1]:
        print(f"{role}: {', '.join(parts)}")


asyncio.run(main("SQLite", SqliteSessionService("sessions.db")))
asyncio.run(main("in memory", InMemorySessionService()))
PY

env/bin/python -W ignore second.py 2> errors.txt > seen.txt || cat errors.txt
cat > described.txt <<'TEXT'
SQLite
pay() has run
its run: StaleSessionError
user: Pay.
user: Are you there?
model: Well.
user: Is it paid?
in memory
pay() has run
its run: ended
user: Pay.
model: pay()
user: pay: paid 17
user: Are you there?
model: Well.
model: Well.
user: Is it paid?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
