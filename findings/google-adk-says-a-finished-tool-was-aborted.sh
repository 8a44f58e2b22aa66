#!/usr/bin/env bash
# google-adk 2.13.0: with `abort_signal` the model reads of a tool that has returned that it was aborted.
#
# The model calls `pay` and `book` in one answer. `book` has returned "booked 17", `pay` still works when the run's
# `abort_signal` is set, as the package's own server does when a client has left. Then the user asks "Is it booked?".
# Expected: the next request has what `book` returned, and the error of an abort for `pay` alone.
# Seen: both calls have the same error, "Invocation was aborted by client.": the model books again if it is asked to.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0

cat > abort.py <<'PY'
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
    if part.function_response:
        return f"{part.function_response.name}: {part.function_response.response}"
    return part.text


class Scripted(BaseLlm):
    """Calls both tools, then says one word; keeps what it was asked."""

    async def generate_content_async(self, request, stream=False):
        asked.append([(content.role, [shape(part) for part in content.parts]) for content in request.contents])
        calls = [types.Part(function_call=types.FunctionCall(id=name, name=name, args={})) for name in ("pay", "book")]
        parts = calls if len(asked) == 1 else [types.Part(text="Well.")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


async def main():
    pays, booked, signal = asyncio.Event(), asyncio.Event(), asyncio.Event()

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

    agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=[pay, book])
    sessions = InMemorySessionService()
    runner = Runner(app_name="chat", agent=agent, session_service=sessions, auto_create_session=True)

    async def read(question, signal=None):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        run = runner.run_async(user_id="u", session_id="s", new_message=message, abort_signal=signal)
        async for _ in run:
            pass

    task = asyncio.create_task(read("Pay and book.", signal))
    await asyncio.gather(pays.wait(), booked.wait())
    for _ in range(1000):  # whatever wants to run after `book` has returned
        await asyncio.sleep(0)
    signal.set()
    await asyncio.wait([task])
    await read("Is it booked?")
    for role, parts in asked[1]:
        print(f"{role}: {', '.join(parts)}")


asyncio.run(main())
PY

env/bin/python -W ignore abort.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
book() has run
user: Pay and book.
model: pay(), book()
user: pay: {'error': 'Invocation was aborted by client.'}, book: {'error': 'Invocation was aborted by client.'}
user: Is it booked?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
