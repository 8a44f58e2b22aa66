#!/usr/bin/env bash
# starlette 1.10.0, litestar 2.25.0, quart 0.22.0, blacksheep 2.6.4 on uvicorn 0.54.0: one generator, three endings.
#
# The same async generator is the body of a stream in each framework. It says words, and in its `finally` it stores what
# it has said, which takes one `await`, as a database does. The client reads a little and leaves.
# Expected: the same in all four: on one server they get the same `http.disconnect`. Best: the half answer is stored.
# Seen: in Starlette and Litestar the `finally` runs and its first `await` is cancelled: nothing is stored, and nothing is
# logged. Quart closes the generator, and the half answer is stored. BlackSheep does not hear that the client has left: the
# model is paid to its last word, and an answer is stored as whole that nobody has read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check starlette==1.10.0 litestar==2.25.0 quart==0.22.0 \
  blacksheep==2.6.4 uvicorn==0.54.0

cat > leave.py <<'PY'
import asyncio
import http.client
import sys
import threading
import time

import uvicorn

WORDS = 300  # three seconds
log = []
over = threading.Event()


async def answer():
    said = 0
    try:
        while said < WORDS:
            said += 1
            yield b"data: word\n\n"
            await asyncio.sleep(0.01)
    finally:
        log.append("finally")
        try:
            await asyncio.sleep(0.01)  # the database
            log.append("whole answer stored" if said == WORDS else "half answer stored")
        except asyncio.CancelledError:
            log.append("storing cancelled")
            raise
        finally:
            over.set()


def starlette():
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def stream(request):
        return StreamingResponse(answer(), media_type="text/event-stream")

    return Starlette(routes=[Route("/", stream)])


def litestar():
    from litestar import Litestar, get
    from litestar.response import Stream

    @get("/")
    async def stream() -> Stream:
        return Stream(answer(), media_type="text/event-stream")

    return Litestar([stream])


def quart():
    from quart import Quart, Response

    app = Quart("app")

    @app.get("/")
    async def stream():
        return Response(answer(), content_type="text/event-stream")

    return app


def blacksheep():
    from blacksheep import Application, Response, StreamedContent, get

    @get("/")
    async def stream():
        return Response(200, content=StreamedContent(b"text/event-stream", answer))

    return Application()


server = uvicorn.Server(uvicorn.Config(globals()[sys.argv[1]](), port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
client = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
client.request("GET", "/")
response = client.getresponse()
response.read(9)
response.close()
client.close()
assert over.wait(60)
print(f"{sys.argv[1]}: {', '.join(log)}")
PY

for framework in starlette litestar quart blacksheep; do
  env/bin/python -W ignore leave.py "$framework"
done > seen.txt
cat > described.txt <<'TEXT'
starlette: finally, storing cancelled
litestar: finally, storing cancelled
quart: finally, half answer stored
blacksheep: finally, whole answer stored
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
