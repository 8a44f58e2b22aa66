#!/usr/bin/env bash
# ai 7.0.173: an approval whose tool was never run locks the chat, and `ignoreIncompleteToolCalls` does not open it.
#
# A tool needs approval. Its user approves, and the run that would have started the tool never comes, as the page was
# closed or the connection broke. The user then writes something else; `convertToModelMessages` and `streamText` get the
# page's messages. The same with a call that was stopped (`stopped`) and with an approval that was never answered (`asked`).
# Expected: the approved call is treated as the stopped one: with `ignoreIncompleteToolCalls` it is left out. Or it is run.
# Seen: `asked` is always left out, `stopped` with the option. `approved` is kept with the option too, is not run, and the
# model is not asked: AI_MissingToolResultsError, at this and at each later message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 zod@4.6.7

cat > approved.mjs <<'JS'
import { convertToModelMessages, streamText, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const execute = () => console.log("paid");
const inputSchema = z.object({ amount: z.number() });
const tools = { pay: tool({ inputSchema, needsApproval: true, execute }) };
const calls = {
  stopped: { state: "input-available" },
  asked: { state: "approval-requested", approval: { id: "a1" } },
  approved: { state: "approval-responded", approval: { id: "a1", approved: true } },
};
for (const [name, call] of Object.entries(calls)) {
  for (const ignoreIncompleteToolCalls of [false, true]) {
    const says = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
    const pay = { type: "tool-pay", toolCallId: "c1", input: { amount: 125 }, ...call };
    const chat = [says("1", "Pay 125."), { id: "2", role: "assistant", parts: [{ type: "step-start" }, pay] }];
    const outcomes = [];
    for (const text of ["Wait.", "Hello?"]) {
      chat.push(says(text, text));
      const finish = { type: "finish", finishReason: { unified: "stop" }, usage: { inputTokens: {}, outputTokens: {} } };
      const model = new MockLanguageModelV4({ doStream: async () => ({ stream: ReadableStream.from([finish]) }) });
      const messages = await convertToModelMessages(chat, { tools, ignoreIncompleteToolCalls });
      const { fullStream } = streamText({ model, tools, messages, onError: ({ error }) => outcomes.push(error.name) });
      for await (const _ of fullStream);
      if (model.doStreamCalls.length > 0) outcomes.push("asked");
    }
    console.log(`${name}${ignoreIncompleteToolCalls ? ", ignored" : ""}: ${outcomes.join(", ")}`);
  }
}
JS

node approved.mjs > seen.txt
cat > described.txt <<'TEXT'
stopped: AI_MissingToolResultsError, AI_MissingToolResultsError
stopped, ignored: asked, asked
asked: asked, asked
asked, ignored: asked, asked
approved: AI_MissingToolResultsError, AI_MissingToolResultsError
approved, ignored: AI_MissingToolResultsError, AI_MissingToolResultsError
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
