#!/usr/bin/env bash
# strands-agents 1.62.0: a Stop that comes just after an answer's end cancels the next question.
#
# A page shows an answer to its end, and its user presses Stop a moment too late: `agent.cancel()` is called when no run is
# under way (`late`). Then the user asks twice. The same with no Stop (`never`), and with the `after_current_tools=True` of
# `cancel` (`deferred`).
# Expected: `cancel` does nothing, as it cancels "the currently running agent invocation" and its signal is "cleared when
# an invocation completes, so the agent stays reusable". So it is with `deferred`.
# Seen: the next run ends as "cancelled" after nothing has been shown, though its user has stopped nothing. The model is asked
# and its answer is thrown away; the history has "Cancelled by user" as what the model has said, and the last request has
# that too. The signal is cleared at the end of a run, and not at its start.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check strands-agents==1.62.0

cat > late.py <<'PY'
import asyncio
import json

from strands import Agent
from strands.models import Model


class Scripted(Model):
    """Answers each question alike; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        raise AssertionError("nobody asks for it")
        yield

    async def stream(self, messages, *args, **kwargs):
        self.asked.append(json.loads(json.dumps(messages)))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Not both."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


async def main():
    for kind, options in (("never", None), ("late", {}), ("deferred", {"after_current_tools": True})):
        print(kind)
        model = Scripted()
        agent = Agent(model=model, callback_handler=None)
        for question in ("May I take both?", "Why?", "Hello?"):
            shown = ""
            async for event in agent.stream_async(question):
                shown += event.get("data", "")
                result = event.get("result")
            print(f"  {question} shown: {shown or 'nothing'}, ends with {result.stop_reason}")
            if len(model.asked) == 1 and options is not None:
                agent.cancel(**options)
        said = [message["content"][0]["text"] for message in model.asked[-1] if message["role"] == "assistant"]
        print(f"  in the request {len(model.asked)} the model has said: {', '.join(said)}")


asyncio.run(main())
PY

env/bin/python -W ignore late.py > seen.txt
cat > described.txt <<'TEXT'
never
  May I take both? shown: Not both., ends with end_turn
  Why? shown: Not both., ends with end_turn
  Hello? shown: Not both., ends with end_turn
  in the request 3 the model has said: Not both., Not both.
late
  May I take both? shown: Not both., ends with end_turn
  Why? shown: nothing, ends with cancelled
  Hello? shown: Not both., ends with end_turn
  in the request 3 the model has said: Not both., Cancelled by user
deferred
  May I take both? shown: Not both., ends with end_turn
  Why? shown: Not both., ends with end_turn
  Hello? shown: Not both., ends with end_turn
  in the request 3 the model has said: Not both., Not both.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
