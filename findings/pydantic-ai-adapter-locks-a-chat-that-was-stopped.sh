#!/usr/bin/env bash
# pydantic-ai-slim 2.68.0: a history that was stored as the AI SDK's messages forgets that a call was interrupted.
#
# A run was stopped when the model had called `pay`: the history ends with a response that has `state: "interrupted"`. The
# chat is stored with VercelAIAdapter.dump_messages, or AGUIAdapter's, and loaded with load_messages. Then the user asks:
# `Agent.run` is given the question and the loaded history.
# Expected: the loaded history does what the original does: the call gets "The tool call was interrupted before a result was
# produced." and the model is asked, whether its arguments were whole or cut.
# Seen: the loaded response is "complete" (so is half a text: its part is dumped with `state: "done"`). The question raises
# UserError, "Cannot provide a new user prompt when the message history contains unprocessed tool calls", now and with
# each later question. What the error advises, a run without a prompt, makes the payment that was stopped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check pydantic-ai-slim==2.68.0 ag-ui-protocol==1.0.0 starlette==1.10.0

cat > load.py <<'PY'
import asyncio

from pydantic_ai import Agent, UserError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter


def answer(messages, info):
    print(f"  the model is asked; {', '.join(part.part_kind for message in messages for part in message.parts)}")
    return ModelResponse(parts=[TextPart("Well.")])


agent = Agent(FunctionModel(answer))


@agent.tool_plain
def pay(amount: int) -> str:
    """Pay somebody."""
    print(f"  paid {amount}")
    return "paid"


async def ask(name, history, question):
    print(f"{name}, {history[-1].state}, {question or 'without a prompt'}")
    try:
        await agent.run(question, message_history=history)
    except UserError as error:
        print(f"  UserError: {str(error).partition('. ')[0]}")


async def main():
    ends = {
        "text": TextPart("I am going to"),
        "whole call": ToolCallPart("pay", '{"amount": 125}', tool_call_id="c1"),
        "cut call": ToolCallPart("pay", '{"amount": 12', tool_call_id="c1"),
    }
    for name, part in ends.items():
        question = ModelRequest(parts=[UserPromptPart("Pay 125.")])
        kept = [question, ModelResponse(parts=[part], state="interrupted")]
        loaded = VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages(kept))
        await ask(f"{name} kept", kept, "Why?")
        await ask(f"{name} loaded", loaded, "Why?")
        await ask(f"{name} loaded from AG-UI", AGUIAdapter.load_messages(AGUIAdapter.dump_messages(kept)), "Why?")
        if name == "whole call":
            await ask(f"{name} loaded", loaded, None)


asyncio.run(main())
PY

env/bin/python -W ignore load.py > seen.txt
cat > described.txt <<'TEXT'
text kept, interrupted, Why?
  the model is asked; user-prompt, text, user-prompt
text loaded, complete, Why?
  the model is asked; user-prompt, text, user-prompt
text loaded from AG-UI, complete, Why?
  the model is asked; user-prompt, text, user-prompt
whole call kept, interrupted, Why?
  the model is asked; user-prompt, tool-call, tool-return, user-prompt
whole call loaded, complete, Why?
  UserError: Cannot provide a new user prompt when the message history contains unprocessed tool calls
whole call loaded from AG-UI, complete, Why?
  UserError: Cannot provide a new user prompt when the message history contains unprocessed tool calls
whole call loaded, complete, without a prompt
  paid 125
  the model is asked; user-prompt, tool-call, tool-return
cut call kept, interrupted, Why?
  the model is asked; user-prompt, tool-call, tool-return, user-prompt
cut call loaded, complete, Why?
  UserError: Cannot provide a new user prompt when the message history contains unprocessed tool calls
cut call loaded from AG-UI, complete, Why?
  UserError: Cannot provide a new user prompt when the message history contains unprocessed tool calls
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
