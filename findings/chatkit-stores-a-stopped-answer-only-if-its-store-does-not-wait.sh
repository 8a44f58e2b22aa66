#!/usr/bin/env bash
# openai-chatkit 1.6.5 with starlette 1.10.0 on uvicorn 0.54.0: what Stop stores is lost with each store that really waits.
#
# A ChatKitServer streams "Do not take " and then waits for its model; the client leaves, as with Stop and as with a lost
# connection. `handle_stream_cancelled` promises to keep the assistant message that was shown, and a hidden item for the
# model. The route is the documented one, a StreamingResponse. The store keeps items in a dict: as it is (`at once`), or after
# `asyncio.sleep(0.01)`, as long as a database takes (`waits`).
# Expected: both stores have the question, the half answer and the hidden item.
# Seen: the store that waits has the question alone. The hook runs within the cancelled request, whose server cancels each of
# its awaits again: the first one ends it, and nothing is logged. What a developer tries in memory works, and with a database
# the next request lacks what its user has read. The hidden item says "The user cancelled", also of a lost connection.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai-chatkit==1.6.5 openai-agents==0.24.0 openai==3.57.0 \
  starlette==1.10.0 uvicorn==0.54.0

cat > leave.py <<'PY'
import asyncio
import http.client
import json
import threading
import time
from datetime import datetime

import uvicorn
from chatkit.server import ChatKitServer
from chatkit.store import NotFoundError, Store
from chatkit.types import (
    AssistantMessageContent, AssistantMessageContentPartTextDelta, AssistantMessageItem, Page, ThreadItemAddedEvent,
    ThreadItemUpdatedEvent,
)
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route


class InMemory(Store[dict]):
    """Keeps threads and items, each after a pause."""

    def __init__(self, pause):
        self.pause, self.threads, self.items = pause, {}, []

    async def wait(self):
        if self.pause:
            await asyncio.sleep(self.pause)

    async def load_thread(self, thread_id, context):
        await self.wait()
        if thread_id not in self.threads:
            raise NotFoundError
        return self.threads[thread_id]

    async def save_thread(self, thread, context):
        await self.wait()
        self.threads[thread.id] = thread

    async def add_thread_item(self, thread_id, item, context):
        await self.wait()
        self.items.append(item)

    async def load_thread_items(self, thread_id, after, limit, order, context):
        await self.wait()
        return Page(data=list(self.items), has_more=False, after=None)

    async def unused(self, *args, **kwargs):
        raise AssertionError("not asked for here")

    save_item = load_item = delete_thread_item = delete_thread = load_threads = unused
    save_attachment = load_attachment = delete_attachment = unused


left = threading.Event()


class Server(ChatKitServer[dict]):
    async def respond(self, thread, input_user_message, context):
        content = [AssistantMessageContent(text="")]
        now = datetime.now()
        yield ThreadItemAddedEvent(item=AssistantMessageItem(id="m", thread_id=thread.id, created_at=now, content=content))
        for word in ("Do not ", "take "):
            part = AssistantMessageContentPartTextDelta(content_index=0, delta=word)
            yield ThreadItemUpdatedEvent(item_id="m", update=part)
        try:
            await asyncio.sleep(60)  # the model goes on later
        finally:
            left.set()


async def chat(request):
    return StreamingResponse(await chatkit.process(await request.body(), {}), media_type="text/event-stream")


app = Starlette(routes=[Route("/", chat, methods=["POST"])])
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
asked = {"content": [{"type": "input_text", "text": "May I take both?"}], "attachments": [], "inference_options": {}}
for name, pause in (("at once", 0), ("waits", 0.01)):
    chatkit = Server(InMemory(pause))
    left.clear()
    client = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
    client.request("POST", "/", json.dumps({"type": "threads.create", "params": {"input": asked}, "metadata": {}}))
    response = client.getresponse()
    for line in response:
        if b"take " in line and b"delta" in line:
            break
    response.close()
    client.close()
    assert left.wait(20)
    time.sleep(1)  # a hundred times as long as the store takes
    print(f"{name}:")
    for item in chatkit.store.items:
        print(f"  {item.type}: {item.content if isinstance(item.content, str) else item.content[0].text}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
at once:
  user_message: May I take both?
  assistant_message: Do not take 
  sdk_hidden_context: The user cancelled the stream. Stop responding to the prior request.
waits:
  user_message: May I take both?
TEXT
sed -i 's/ $//' described.txt seen.txt
cat seen.txt
diff described.txt seen.txt && echo "as described"
