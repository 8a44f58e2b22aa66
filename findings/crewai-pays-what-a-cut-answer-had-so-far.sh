#!/usr/bin/env bash
# crewai 1.15.30: an answer that ended within a call is repaired, and the tool runs with what it had so far.
#
# A crew has a model that calls its tools in text ("Action:", "Action Input:"), as CrewAI asks of each model that it does not
# give tools, such as o1. It means {"amount": 125, "only_if": "the balance allows"} for `pay`; its answer ends within the
# amount or within the condition, at its token limit: finish_reason "length".
# Expected: the model learns that its input was not JSON, or that its answer was cut.
# Seen: the input is repaired, which closes what is open and drops what has no value. `pay` runs with 12, and with 125 without
# the condition. The next request has the cut input and "Observation: paid" after it, in one message of the assistant:
# nothing says with which arguments the tool has run, or that the answer was cut, and the crew's result is "Paid.".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check crewai==1.15.30 json_repair==0.60.1

cat > cut.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

CUTS = ('{"amount": 12', '{"amount": 125, "on')
asked = []


class Model(BaseHTTPRequestHandler):
    """Calls `pay` and is cut when it is asked first, and gives its answer later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        text, reason = "Thought: It is paid.\nFinal Answer: Paid.", "stop"
        if len(asked) == 1:
            text, reason = f"Thought: I pay.\nAction: pay\nAction Input: {cut}", "length"
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "o1", "choices": [choice], "usage": usage}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@tool("pay")
def pay(amount: int, only_if: str = "") -> str:
    """Pay."""
    print(f"seen:   paid {amount}, {only_if or 'without a condition'}", flush=True)
    return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for cut in CUTS:
    print(f"seen: {cut}")
    asked.clear()
    llm = LLM(model="openai/o1", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
    teller = Agent(role="teller", goal="pay", backstory="a bank", llm=llm, tools=[pay], max_iter=3)
    task = Task(description="Pay 125 if the balance allows.", expected_output="a word", agent=teller)
    result = Crew(agents=[teller], tasks=[task], tracing=False).kickoff()
    (said,) = (message["content"] for message in asked[-1] if message["role"] == "assistant")
    print(f"seen:   asked with {said!r}")
    print(f"seen:   the result is {result.raw}")
PY

export OPENAI_API_KEY=none OTEL_SDK_DISABLED=true CREWAI_DISABLE_TELEMETRY=true CREWAI_TRACING_ENABLED=false CREWAI_TESTING=true
HOME=$folder env/bin/python -W ignore cut.py 2> /dev/null | sed -n 's/^seen: //p' > seen.txt
cat > described.txt <<'TEXT'
{"amount": 12
  paid 12, without a condition
  asked with 'Thought: I pay.\nAction: pay\nAction Input: {"amount": 12\nObservation: paid'
  the result is Paid.
{"amount": 125, "on
  paid 125, without a condition
  asked with 'Thought: I pay.\nAction: pay\nAction Input: {"amount": 125, "on\nObservation: paid'
  the result is Paid.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
