#!/usr/bin/env bash
# langgraph-sdk 0.4.14 (Python): of a resumable stream that is cut inside of an event a word comes twice, or it is not resumed.
#
# A run is started with `stream_resumable=True`: its events have ids, its answer a Location, and the client reconnects with
# Last-Event-ID when the body ends before the event `end`. A proxy ends the body properly: after the second event
# (`between`), after its `data` line and before its `id` line (`before the id`), or in the middle of its JSON (`in the data`).
# Expected: the client drops the half event, as WHATWG's server-sent events have it, and reconnects after the first one.
# Seen: `before the id` gives the second event, reconnects after the first, and gives the second again: the page shows a word
# twice, and so is stored what is collected of it. `in the data` raises JSONDecodeError and does not reconnect, though the run
# goes on. At the end of a body the client has its decoder give out the event that it is in.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langgraph-sdk==0.4.14

cat > resume.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from langgraph_sdk import get_client


def event(number, name, data):
    return f"event: {name}\r\ndata: {json.dumps(data)}\r\nid: {number}\r\n\r\n"


WORDS = ["Do ", "not ", "take ", "both."]
EVENTS = [event(n, "messages", [{"content": word, "type": "AIMessageChunk"}, {}]) for n, word in enumerate(WORDS, 1)]
EVENTS.append(event(5, "end", None))
HEAD = EVENTS[0] + EVENTS[1]
CUTS = {
    "between": len(HEAD),
    "before the id": HEAD.index("id: 2"),
    "in the data": HEAD.index("not "),
}


class Server(BaseHTTPRequestHandler):
    """Cuts the first answer, and goes on after the Last-Event-ID in the second."""

    protocol_version = "HTTP/1.1"
    cut = 0

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("location", "/threads/t/runs/r/stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer("text/event-stream", "".join(EVENTS)[: self.cut])

    def do_GET(self):
        if not self.path.startswith("/threads/t/runs/r/stream"):
            self.answer("application/json", json.dumps({"run_id": "r", "thread_id": "t", "status": "running"}))
            return
        last = self.headers["last-event-id"]
        print(f"  reconnects after event {last}")
        self.answer("text/event-stream", "".join(EVENTS[int(last) :]))

    def log_message(self, *args):
        pass


async def main():
    client = get_client(url=f"http://127.0.0.1:{server.server_port}", api_key=None)
    for cut, Server.cut in CUTS.items():
        print(f"{cut}:")
        said = []
        try:
            async for part in client.runs.stream("t", "agent", input={}, stream_mode="messages-tuple", stream_resumable=True):
                if part.event == "messages":
                    said.append(part.data[0]["content"])
        except json.JSONDecodeError as error:
            print(f"  raises {type(error).__name__}")
        print(f"  the page shows: {''.join(said)}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main())
PY

env/bin/python -W ignore resume.py > seen.txt
cat > described.txt <<'TEXT'
between:
  reconnects after event 2
  the page shows: Do not take both.
before the id:
  reconnects after event 1
  the page shows: Do not not take both.
in the data:
  raises JSONDecodeError
  the page shows: Do 
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
