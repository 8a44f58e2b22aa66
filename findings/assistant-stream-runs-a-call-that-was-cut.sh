#!/usr/bin/env bash
# assistant-stream 0.3.57 (assistant-ui): a data stream that died in a call becomes a call that waits to be run.
#
# The server means to call the page's tool `pay` with {"amount": 125}; its data stream ends after `{"amount": 12`, without
# the lines that finish a step and a message (`call`), or after half a text (`text`). The page reads it with
# DataStreamDecoder and AssistantMessageAccumulator, and runs what is pending with `unstable_runPendingTools`.
# Expected: an error, as UIMessageStreamDecoder of the same package has for the same end ("Stream ended abruptly without
# receiving [DONE] marker"), or a message whose status is "incomplete".
# Seen: the call has `state: "call"` and args {"amount": 12}, the message "requires-action", and the tool runs: 12 is paid.
# The half text is "complete". Only `unstable_toolResultStream` parses the arguments strictly and refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund assistant-stream@0.3.57

cat > died.mjs <<'JS'
import {
  AssistantMessageAccumulator, DataStreamDecoder, UIMessageStreamDecoder, unstable_runPendingTools,
  unstable_toolResultStream,
} from "assistant-stream";

const half = '{"amount": 12';
const line = (kind, value) => `${kind}:${JSON.stringify(value)}\n`;
const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const data = {
  text: line("f", { messageId: "m" }) + line(0, "Paying 12"),
  call: line("f", { messageId: "m" }) + line("b", { toolCallId: "c1", toolName: "pay" })
    + line("c", { toolCallId: "c1", argsTextDelta: half }),
};
const ui = {
  text: [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Paying 12" }],
  call: [{ type: "tool-input-start", toolCallId: "c1", toolName: "pay" },
    { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: half }],
};
const execute = async ({ amount }) => (console.log(`  paid ${amount}`), "paid");
const tools = { pay: { type: "frontend", parameters: { type: "object" }, execute } };
const never = new AbortController().signal;

async function read(body, decoder, ...through) {
  let stream = new Response(body).body.pipeThrough(decoder);
  for (const one of through) stream = stream.pipeThrough(one);
  let last;
  for await (const message of stream.pipeThrough(new AssistantMessageAccumulator())) last = message;
  return last;
}

for (const kind of ["text", "call"]) {
  console.log(`${kind}, data stream`);
  const message = await read(data[kind], new DataStreamDecoder());
  const [{ state = "text", args = "" }] = message.parts;
  console.log(`  message ${message.status.type}; ${state} ${JSON.stringify(args)}`);
  await unstable_runPendingTools(message, tools, never, async () => {});
  const strict = await read(data[kind], new DataStreamDecoder(), unstable_toolResultStream(tools, never, async () => {}));
  console.log(`  with unstable_toolResultStream: ${strict.parts[0].isError ? "refused" : "not refused"}`);
  console.log(`${kind}, UI message stream`);
  const events = [{ type: "start", messageId: "m" }, { type: "start-step" }, ...ui[kind]].map(event).join("");
  await read(events, new UIMessageStreamDecoder()).catch(({ message }) => console.log(`  ${message}`));
}
JS

node died.mjs > seen.txt
cat > described.txt <<'TEXT'
text, data stream
  message complete; text ""
  with unstable_toolResultStream: not refused
text, UI message stream
  Stream ended abruptly without receiving [DONE] marker
call, data stream
  message requires-action; call {"amount":12}
  paid 12
  with unstable_toolResultStream: refused
call, UI message stream
  Stream ended abruptly without receiving [DONE] marker
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
