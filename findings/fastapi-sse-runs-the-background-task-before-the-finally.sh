#!/usr/bin/env bash
# fastapi 0.165.0 on uvicorn 0.54.0: when the client leaves, the task that stores the answer runs before the answer ends.
#
# Two routes stream an answer. Its generator collects what it says, and its `finally` marks the answer as interrupted; a
# background task, which runs after the response, stores the mark and the text. The client reads a little and leaves.
# Expected: both routes store "interrupted", since the generator is over when the response is.
# Seen: with StreamingResponse they do. With FastAPI's own EventSourceResponse the task runs first: it stores an answer that
# is "streaming", and the `finally` runs after it. A page that loads the chat again waits for an answer that nobody writes.
# An answer that is read to its end is stored as "whole" by both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check fastapi==0.165.0 starlette==1.10.0 uvicorn==0.54.0

cat > leave.py <<'PY'
import asyncio
import http.client
import threading
import time
from collections.abc import AsyncIterable

import uvicorn
from fastapi import BackgroundTasks, FastAPI
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

app = FastAPI()
order = []
over = threading.Semaphore(0)  # released by the task and by the `finally`


def store(answer):
    order.append(f"stored as {answer['state']}")
    over.release()


async def say(answer, words):
    try:
        for _ in range(words):
            yield "Do not take both"
            await asyncio.sleep(0.01)
        answer["state"] = "whole"
    except asyncio.CancelledError:
        answer["state"] = "interrupted"
        raise
    finally:
        order.append("finally")
        over.release()


@app.get("/StreamingResponse/{words}")
async def stream(words: int, tasks: BackgroundTasks):
    answer = {"state": "streaming"}
    tasks.add_task(store, answer)
    return StreamingResponse((f"data: {text}\n\n" async for text in say(answer, words)), media_type="text/event-stream")


@app.get("/EventSourceResponse/{words}", response_class=EventSourceResponse)
async def events(words: int, tasks: BackgroundTasks) -> AsyncIterable[ServerSentEvent]:
    answer = {"state": "streaming"}
    tasks.add_task(store, answer)
    try:
        for _ in range(words):
            yield ServerSentEvent(data="Do not take both")
            await asyncio.sleep(0.01)
        answer["state"] = "whole"
    except (asyncio.CancelledError, GeneratorExit):
        answer["state"] = "interrupted"
        raise
    finally:
        order.append("finally")
        over.release()


server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
for name in ("StreamingResponse", "EventSourceResponse"):
    for how, words in (("left", 10_000), ("read", 3)):
        order.clear()
        client = http.client.HTTPConnection("127.0.0.1", port)
        client.request("GET", f"/{name}/{words}")
        response = client.getresponse()
        response.read(9 if how == "left" else None)
        response.close()
        client.close()
        assert over.acquire(timeout=20) and over.acquire(timeout=20)
        print(f"{name}, {how}: {', '.join(order)}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
StreamingResponse, left: finally, stored as interrupted
StreamingResponse, read: finally, stored as whole
EventSourceResponse, left: stored as streaming, finally
EventSourceResponse, read: finally, stored as whole
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
