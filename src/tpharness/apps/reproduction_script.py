"""The program that a reproduction is: a model of some twenty lines, and what posts; Python's standard library alone.

It is a text, since it is written for somebody who has no tpharness: `DATA` stands for the literals of one case.
"""

from __future__ import annotations

__all__ = ["SCRIPT"]

SCRIPT = '''\
"""ABOUT"""
import http.client, http.server, json, os, random, signal, socket, struct, subprocess, threading, time, uuid
import urllib.parse

DATA

CHAT, SENT, RAN, OPEN = str(uuid.uuid4()), [], [], []  # OPEN: answers and tools that go on
reached, go_on, holding, lock = threading.Event(), threading.Event(), threading.Event(), threading.Lock()


class Model(http.server.BaseHTTPRequestHandler):
    """The model's API, which answers request for request what it answered then, and the service of the tools."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        with lock:
            is_tool, log = self.path.startswith("/tools/"), RAN if self.path.startswith("/tools/") else SENT
            known = (TOOLS if is_tool else ANSWERS)[len(log):][:1] or [{}]
            log.append(body)
            OPEN.append(self)
        try:
            self.answer_tool(known[0]) if is_tool else self.answer_model(known[0])
        except OSError:
            pass  # the application has left
        OPEN.remove(self)

    def answer_model(self, answer):
        self.send_response(answer.get("status", 500))
        self.send_header("content-type", answer.get("type", "application/json"))
        self.send_header("retry-after-ms", "20")
        self.end_headers()
        pieces, hold = answer.get("pieces", ["{}"]), answer.get("hold")
        for number, piece in enumerate([*pieces, ""]):
            if number == hold:
                reached.set()
                go_on.wait(60)
            self.wfile.write(piece.encode())
            time.sleep(0.01)
        if answer.get("reset"):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def answer_tool(self, answer):
        if holding.is_set():
            reached.set()
            go_on.wait(60)
        data = json.dumps(answer).encode()
        self.send_response(500 if "error" in answer else 200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def request(url, method, data):
    """Send a request, and return its connection."""
    to = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=60)
    headers = {"content-type": "application/json", **HEADERS}
    connection.request(method, to.path + ("?" + to.query if to.query else ""), data, headers)
    return connection


def read(connection, seen):
    try:
        response = connection.getresponse()
        seen["status"] = response.status
        while piece := response.read1():
            seen["answer"] = (seen["answer"] + piece.decode(errors="replace"))[-300:]
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        pass  # the user has left, or the application has closed the connection


def play(number, turn):
    """Post what a user has posted, and leave, or press stop, where that was done."""
    for event in (reached, go_on, holding):
        event.clear()
    if turn["in_tool"]:
        holding.set()
    first, seen = len(SENT), {"turn": number, "status": 0, "answer": ""}
    connection = request(URL, "POST", turn["post"].replace(CHAT_THEN, CHAT).encode())
    reading = threading.Thread(target=read, args=(connection, seen), daemon=True)
    reading.start()
    if turn["by"]:
        if turn["in_tool"] and not TOOLS:  # the tool runs when the answer that calls it is whole
            while len(SENT) == first or OPEN:
                time.sleep(0.01)
        else:
            reached.wait(60)
        time.sleep(0.3)
        if turn["by"] == "stop":
            body = json.dumps(STOP[2]).replace("{id}", CHAT)
            request(STOP[1].replace("{id}", CHAT), STOP[0], body).getresponse().read()
        if turn["by"] in ("leave", "stop"):
            connection.sock.shutdown(socket.SHUT_RDWR)
        time.sleep(1)
    go_on.set()
    if turn["by"] not in ("leave", "stop"):
        reading.join(60)
    time.sleep(PAUSE)
    while OPEN:
        time.sleep(0.01)
    for line in (seen, *({"turn": number, "the model was sent": body} for body in SENT[first:])):
        print(json.dumps(line).replace(CHAT, "CHAT"), flush=True)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for port in random.sample(range(15000, 32000), 100):  # below those that a system chooses from by itself
    with socket.socket() as trying:
        if trying.connect_ex(("127.0.0.1", port)) != 0:
            break
URL = URL.replace("{port}", str(port))
STOP = [one.replace("{port}", str(port)) if isinstance(one, str) else one for one in STOP]
model = f"127.0.0.1:{server.server_port}"
env = {name: value.replace("{model}", model) for name, value in ENVIRONMENT.items()}
words = [word.replace("{port}", str(port)) for word in COMMAND]
given = {**os.environ, "PORT": str(port), **env}
app = subprocess.Popen(words, cwd=FOLDER, env=given, stdout=subprocess.DEVNULL, start_new_session=True)
try:
    for _ in range(600):
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    for number, turn in enumerate(TURNS, 1):
        play(number, turn)
    print(json.dumps({"runs of tools": len(RAN)}))
finally:
    app.terminate() if os.name == "nt" else os.killpg(app.pid, signal.SIGTERM)
'''
