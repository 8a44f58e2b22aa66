#!/usr/bin/env bash
# agno 3.1.10: what a cancelled run has shown is stored before its tool's result, or is lost, by what was said before it.
#
# The page of an agent with a database shows "You have 300" when its user presses Stop: `cancel_run`. It is the first answer of
# the session (`first`), or the second (`second`); or the model has called `pay` first, without a word (`call`), or with words
# (`said`). Then the user asks.
# Expected: the database has the half answer in each, at the end of the cancelled run's messages.
# Seen: it has it with `first` alone. With `call` the half answer, which the model gave when it had the result of `pay`, is
# stored as the words of the call, before the result. With `second` and `said` it is lost: it is kept only where the last
# answer before it, of this run or of an earlier one, has no words. The next request has nothing of a cancelled run, not
# even that `pay` has paid, so that what is stored is all that a page can show of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agno==3.1.10 openai==3.57.0

cat > stop.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike

asked = []
stopped = threading.Event()
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}


def chunk(finish_reason=None, **delta):
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


HALF = [chunk(content="You have 300"), stopped, chunk(content=" left."), chunk(content=" So do not"), chunk("stop")]
WELL = [chunk(content="Well."), chunk("stop")]
SCRIPTS = {
    "first": [HALF],
    "second": [WELL, HALF],
    "call": [[chunk(tool_calls=[CALL]), chunk("tool_calls")], HALF],
    "said": [[chunk(content="I pay."), chunk(tool_calls=[CALL]), chunk("tool_calls")], HALF],
}


class Model(BaseHTTPRequestHandler):
    kind = ""

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in [*SCRIPTS[self.kind], WELL][len(asked) - 1]:
            if one is stopped:
                stopped.wait()
            else:
                self.wfile.write(f"data: {json.dumps(one)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args):
        pass


def pay() -> str:
    """Pay."""
    return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for Model.kind in SCRIPTS:
    print(Model.kind)
    asked.clear()
    stopped.clear()
    agent = Agent(
        model=OpenAILike(id="gpt-4o", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none"),
        tools=[pay], db=InMemoryDb(), session_id="1", add_history_to_context=True, telemetry=False,
    )
    for question in ("Hello.", "How much?") if Model.kind == "second" else ("How much?",):
        for event in agent.run(question, stream=True):
            if event.content == "You have 300":
                agent.cancel_run(event.run_id)
                stopped.set()
    run = agent.get_session(session_id="1").runs[-1]
    print(f"  the run is {run.status.value}")
    for message in run.messages:
        words = (message.content or "nothing").partition(" left")[0]
        print(f"  stored: {message.role}, {words}{', with a call' if message.tool_calls else ''}")
    list(agent.run("And now?", stream=True))
    print(f"  asked with: {', '.join(message['content'] for message in asked[-1])}")
PY

env/bin/python -W ignore stop.py 2> /dev/null | grep '^[a-z]\|^  ' > seen.txt
cat > described.txt <<'TEXT'
first
  the run is CANCELLED
  stored: user, How much?
  stored: assistant, You have 300
  asked with: And now?
second
  the run is CANCELLED
  stored: user, How much?
  asked with: Hello., Well., And now?
call
  the run is CANCELLED
  stored: user, How much?
  stored: assistant, You have 300, with a call
  stored: tool, paid
  asked with: And now?
said
  the run is CANCELLED
  stored: user, How much?
  stored: assistant, I pay., with a call
  stored: tool, paid
  asked with: And now?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
