#!/usr/bin/env bash
# @openai/agents-realtime 0.20.0 (npm): after an interruption the history has the whole answer, as one that was completed.
#
# A RealtimeSession speaks over a WebSocket. The model's voice says "You may take one of them. Do not take both." in four
# seconds, which are sent at once; after one second the user interrupts. The SDK has the server cut its item there, and asks
# for the item again, which then has no transcript.
# Expected: the history has no transcript of the answer ("Responses that were truncated due to an interruption do not have a
# transcript", as the SDK's guide says), or what was heard, or a mark that it was cut.
# Seen: `session.history` has all words and the status "completed", which nobody can tell from an answer that was heard to
# its end. The model's own context is cut, so that whoever stores the history, or has another model read it, has words in
# it that nobody has heard. A transcript that an update lacks is filled with the one from before the cut.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @openai/agents-realtime@0.20.0 ws@8.23.0 zod@4.6.7

cat > interrupt.mjs <<'JS'
import { once } from "node:events";
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } from "@openai/agents-realtime";
import { WebSocketServer } from "ws";

const words = "You may take one of them. Do not take both.";
const item = (status, ...content) => ({ id: "i1", type: "message", role: "assistant", status, content });
const whole = item("completed", { type: "output_audio", transcript: words });
const at = { response_id: "r1", item_id: "i1", output_index: 0, content_index: 0 };
const fourSeconds = Buffer.alloc(4 * 24000 * 2).toString("base64");
const answer = [
  { type: "response.created", response: { id: "r1" } },
  { type: "response.output_item.added", ...at, item: item("in_progress") },
  { type: "conversation.item.added", previous_item_id: null, item: item("in_progress") },
  { type: "response.output_audio.delta", ...at, delta: fourSeconds },
  { type: "response.output_audio_transcript.delta", ...at, delta: words },
  { type: "response.output_audio.done", ...at },
  { type: "response.output_audio_transcript.done", ...at, transcript: words },
  { type: "response.output_item.done", ...at, item: whole },
  { type: "conversation.item.done", previous_item_id: null, item: whole },
  { type: "response.done", response: { id: "r1", status: "completed", output: [whole] } },
];
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
await once(server, "listening");
let retrieved;
server.on("connection", (socket) => {
  let count = 0;
  const send = (event) => socket.send(JSON.stringify({ event_id: `e${(count += 1)}`, ...event }));
  send({ type: "session.created", session: { id: "s", type: "realtime" } });
  socket.on("message", (data) => {
    const { type, session, ...event } = JSON.parse(data);
    if (type === "session.update") send({ type: "session.updated", session });
    if (type === "response.create") answer.forEach(send);
    if (type === "conversation.item.truncate") {
      const early = event.audio_end_ms > 500 && event.audio_end_ms < 3500;
      console.log(`the server is to cut the item ${early ? "in the middle" : `at ${event.audio_end_ms} ms`}`);
      send({ type: "conversation.item.truncated", ...event });
    }
    if (type === "conversation.item.retrieve") {
      const cut = item("completed", { type: "output_audio", transcript: null });
      console.log(`the server sends the item again: ${JSON.stringify(cut.content)}`);
      send({ type: "conversation.item.retrieved", item: cut });
      retrieved();
    }
  });
});

for (const end of ["heard", "interrupted"]) {
  console.log(`${end}:`);
  const transport = new OpenAIRealtimeWebSocket({ url: `ws://127.0.0.1:${server.address().port}` });
  const session = new RealtimeSession(new RealtimeAgent({ name: "a" }), { transport, model: "gpt-realtime" });
  await session.connect({ apiKey: "none" });
  const done = new Promise((resolve) => transport.once("turn_done", resolve));
  const again = new Promise((resolve) => (retrieved = resolve));
  session.sendMessage("May I take both?");
  await done;
  if (end === "interrupted") {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    session.interrupt();
    await again;
    await new Promise((resolve) => setTimeout(resolve, 500)); // for what the session makes of it
  }
  for (const { role, status, content } of session.history) {
    console.log(`the history has: ${role}, ${status}: ${content.map((part) => part.transcript)}`);
  }
  session.close();
}
process.exit(0);
JS

node interrupt.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
heard:
the history has: assistant, completed: You may take one of them. Do not take both.
interrupted:
the server is to cut the item in the middle
the server sends the item again: [{"type":"output_audio","transcript":null}]
the history has: assistant, completed: You may take one of them. Do not take both.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
