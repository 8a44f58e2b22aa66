#!/usr/bin/env bash
# starlette 1.10.0 on uvicorn 0.54.0: the `finally` of a sync generator does not run when the client leaves.
#
# Two routes answer with a StreamingResponse: one has an async generator, one a sync generator (FastAPI hands both to the
# same class). Both send without end and store what they have said in `finally`. The client reads a little and leaves.
# Expected: both generators are closed, as the request is over.
# Seen: the async one runs its `finally` within moments. The sync one is neither advanced nor closed: its `finally` runs
# only once Python's collector of cycles has passed, on whatever thread that is. What it would store, or the model's
# connection that it holds, waits until then.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check starlette==1.10.0 uvicorn==0.54.0

cat > leave.py <<'PY'
import asyncio
import gc
import http.client
import threading
import time

import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

gc.disable()  # so that the collector passes when this script says so
closed = {"async": threading.Event(), "sync": threading.Event()}


async def async_generator():
    try:
        while True:
            yield "data: x\n\n"
            await asyncio.sleep(0.01)
    finally:
        closed["async"].set()


def sync_generator():
    try:
        while True:
            yield "data: x\n\n"
            time.sleep(0.01)
    finally:
        closed["sync"].set()


async def answer_async(request):
    return StreamingResponse(async_generator(), media_type="text/event-stream")


async def answer_sync(request):
    return StreamingResponse(sync_generator(), media_type="text/event-stream")


app = Starlette(routes=[Route("/async", answer_async), Route("/sync", answer_sync)])
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
for name, event in closed.items():
    client = http.client.HTTPConnection("127.0.0.1", port)
    client.request("GET", f"/{name}")
    response = client.getresponse()
    response.read(9)
    response.close()
    client.close()
    print(f"{name}: closed within 5 s: {event.wait(5)}")
gc.collect()
print(f"sync: closed after a collection: {closed['sync'].wait(5)}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
async: closed within 5 s: True
sync: closed within 5 s: False
sync: closed after a collection: True
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
