#!/usr/bin/env bash
# google-adk 2.13.0: a tool that books and then raises is forgotten, and so is one that has paid and still works beside it.
#
# `book` books a room and then raises, as its mail cannot be sent. The model calls it alone (`alone`), beside a `pay` that has
# returned (`paid`), or beside one that has paid and waits for its receipt (`pays`). The run raises. Then the user asks.
# Expected: the next request has a response for each call, and that of `book` says that it has failed, as @google/adk 2.0.0
# does it for JavaScript.
# Seen: it has no call of `book`, and not that it failed. With `alone` and `pays` it is the two questions of the user: the
# model books again, and pays again, if it is asked to. With `pays` the tool is cancelled where it waits. Only what has
# returned before the error is kept. The session has the calls without a response, and an event with the error's class;
# both are left out of each request.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0

cat > raises.py <<'PY'
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
    """Calls the tools that it has, then says one word; keeps what it was asked."""

    async def generate_content_async(self, request, stream=False):
        asked.append([(content.role, [shape(part) for part in content.parts]) for content in request.contents])
        calls = [types.Part(function_call=types.FunctionCall(id=name, name=name, args={})) for name in request.tools_dict]
        parts = calls if len(asked) == 1 else [types.Part(text="Well.")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


async def main():
    for kind in ("alone", "paid", "pays"):
        print(kind)
        asked.clear()
        paid = asyncio.Event()

        async def pay() -> str:
            """Pay."""
            print("  pay: paid")
            paid.set()
            try:
                if kind == "pays":
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                print("  pay: cancelled")
                raise
            return "paid"

        async def book() -> str:
            """Book."""
            if kind != "alone":
                await paid.wait()
            for _ in range(1000):  # whatever wants to run after `pay` has returned
                await asyncio.sleep(0)
            print("  book: booked")
            raise RuntimeError("the mail cannot be sent")

        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="chat", user_id="u")
        tools = [book] if kind == "alone" else [pay, book]
        agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=tools)
        runner = Runner(app_name="chat", agent=agent, session_service=sessions)

        async def read(question):
            message = types.Content(role="user", parts=[types.Part(text=question)])
            async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                pass

        try:
            await read("Do it.")
        except RuntimeError as error:
            print(f"  the run raises: {error}")
        await read("Is it booked?")
        for role, parts in asked[1]:
            print(f"  asked with: {role} {', '.join(parts)}")
        stored = (await sessions.get_session(app_name="chat", user_id="u", session_id=session.id)).events
        print(f"  the session: {', '.join(event.error_code or shape(event.content.parts[-1]) for event in stored[1:-2])}")


asyncio.run(main())
PY

env/bin/python -W ignore raises.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
alone
  book: booked
  the run raises: the mail cannot be sent
  asked with: user Do it.
  asked with: user Is it booked?
  the session: book(), RuntimeError
paid
  pay: paid
  book: booked
  the run raises: the mail cannot be sent
  asked with: user Do it.
  asked with: model pay()
  asked with: user response of pay
  asked with: user Is it booked?
  the session: book(), response of pay, RuntimeError
pays
  pay: paid
  book: booked
  pay: cancelled
  the run raises: the mail cannot be sent
  asked with: user Do it.
  asked with: user Is it booked?
  the session: book(), RuntimeError
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
